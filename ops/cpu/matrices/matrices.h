// Stacks of small dense matrices, which are shared out among threads.
#pragma once

#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"

namespace cairn::ops::cpu {

template <class T> struct MatrixOf {
  std::int64_t rows = 0, columns = 0;
  Array<T> elements; // row-major
  T& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return elements[static_cast<std::size_t>(i * columns + j)]; }
};
using Matrix = MatrixOf<double>;

// Of zeros.
template <class T = double> MatrixOf<T> made(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, filled(rows * columns, T())};
}

// A tensor as a stack of matrices.
struct Stack {
  explicit Stack(const View& v)
      : rows(v.shape[v.shape.rank() - 2]), columns(v.shape[v.shape.rank() - 1]),
        matrices(v, 3u << static_cast<unsigned>(v.shape.rank() - 2)) {}
  Matrix load(std::int64_t i) const {
    Matrix m{rows, columns, {}};
    matrices.load(i, m.elements);
    return m;
  }
  void store(std::int64_t i, const Matrix& m) const { matrices.store(i, m.elements); }
  std::int64_t rows, columns;
  Groups matrices;
};

template <class F> void each_matrix(const Stack& stack, F&& f) {
  const std::int64_t work = std::max<std::int64_t>(1, stack.rows * stack.rows * stack.columns);
  parallel_for(stack.matrices.count(), std::max<std::int64_t>(1, kElementsInline / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) f(i);
               });
}

} // namespace cairn::ops::cpu
