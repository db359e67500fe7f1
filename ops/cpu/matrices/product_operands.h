// The operands of a product of matrices, or of a stack of them, as they lie in memory.
#pragma once

#include "ops/device.h"

#include <array>
#include <cstdint>
#include <utility>

namespace cairn::ops::cpu::product {

// Row and column strides of the matrices of a stack, and offsets of the stacks' members.
struct Stack {
  int axes = 0; // of the result that count members
  std::array<std::int64_t, kMostAxes> sizes{}, a{}, b{}, c{};
  std::int64_t members = 1;

  Stack(const View& c_view, const View& a_view, const View& b_view) {
    axes = c_view.shape.rank() - 2;
    for (int i = 0; i < axes; ++i) {
      const auto k = static_cast<std::size_t>(i);
      sizes[k] = c_view.shape[i];
      members *= sizes[k];
      c[k] = c_view.strides[k];
      a[k] = stride(a_view, i);
      b[k] = stride(b_view, i);
    }
  }
  void add_offsets(std::int64_t member, std::int64_t& in_a, std::int64_t& in_b, std::int64_t& in_c) const {
    for (int i = axes; i-- > 0;) {
      const auto k = static_cast<std::size_t>(i);
      in_a += member % sizes[k] * a[k];
      in_b += member % sizes[k] * b[k];
      in_c += member % sizes[k] * c[k];
      member /= sizes[k];
    }
  }

private:
  std::int64_t stride(const View& v, int axis) const {
    const int from = axis - (axes + 2 - v.shape.rank());
    return from < 0 || v.shape[from] == 1 ? 0 : v.strides[static_cast<std::size_t>(from)];
  }
};

struct Matrix {
  char* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, row = 0, column = 0; // sizes and strides
  std::int64_t element = 4;

  Matrix() = default;
  explicit Matrix(const View& v) : data(static_cast<char*>(v.data)), dtype(v.dtype), element(bytes_of(v.dtype)) {
    const int rank = v.shape.rank();
    rows = v.shape[rank - 2];
    columns = v.shape[rank - 1];
    row = v.strides[static_cast<std::size_t>(rank - 2)];
    column = v.strides[static_cast<std::size_t>(rank - 1)];
  }
  Matrix at(std::int64_t elements) const {
    Matrix m = *this;
    m.data += elements * element;
    return m;
  }
  Matrix from(std::int64_t i, std::int64_t j) const { return at(i * row + j * column); }
  Matrix transposed() const {
    Matrix m = *this;
    std::swap(m.rows, m.columns);
    std::swap(m.row, m.column);
    return m;
  }
};

} // namespace cairn::ops::cpu::product
