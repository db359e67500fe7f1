// A tensor a piece at a time, in row-major order: who only looks at its elements holds no more of them than a piece, however
// large it is or is stretched to be.
#pragma once

#include "ops/tensor.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cairn::ops {

inline constexpr std::int64_t kPieceElements = 1 << 16;

// The pieces of all tensors of a shape: for (Pieces p(shape); p.there(); p.next()) ... p.of(tensor) ...
class Pieces {
public:
  explicit Pieces(const Shape& shape, std::int64_t most = kPieceElements) : shape_(shape), inner_(shape.rank()) {
    there_ = shape.elements() != 0;
    if (!there_) return;
    // The axes from inner_ on fit into a piece together; of the one before it come as many indices as fit.
    while (inner_ > 0 && block_ * shape[inner_ - 1] <= most) block_ *= shape[--inner_];
    at_once_ = inner_ == 0 ? 1 : std::min(std::max<std::int64_t>(1, most / block_), shape[inner_ - 1]);
    count_ = at_once_;
  }
  bool there() const { return there_; }
  std::int64_t elements() const { return count_ * block_; }
  std::int64_t first() const { return first_; } // the row-major number of its first element
  void next() {
    first_ += elements();
    if (inner_ == 0) {
      there_ = false;
      return;
    }
    int axis = inner_ - 1;
    at(axis) += count_;
    for (; at(axis) == shape_[axis]; ++at(axis)) {
      if (axis == 0) {
        there_ = false;
        return;
      }
      at(axis--) = 0;
    }
    count_ = std::min(at_once_, shape_[inner_ - 1] - at(inner_ - 1));
  }
  // The part of a tensor of that shape, over the same storage.
  Tensor of(const Tensor& t) const {
    if (inner_ == 0) return t;
    Tensor view = t;
    view.shape = Shape();
    view.strides.fill(0);
    for (int i = 0; i < inner_; ++i)
      view.offset += first_index_[static_cast<std::size_t>(i)] * t.strides[static_cast<std::size_t>(i)];
    for (int i = inner_ - 1; i < t.rank(); ++i) {
      view.strides[static_cast<std::size_t>(view.shape.rank())] = t.strides[static_cast<std::size_t>(i)];
      view.shape.push_back(i < inner_ ? count_ : t.shape[i]);
    }
    return view;
  }

private:
  std::int64_t& at(int axis) { return first_index_[static_cast<std::size_t>(axis)]; }
  Shape shape_;
  int inner_;
  std::int64_t block_ = 1, at_once_ = 1, count_ = 1, first_ = 0;
  std::array<std::int64_t, kMostAxes> first_index_{};
  bool there_ = false;
};

} // namespace cairn::ops
