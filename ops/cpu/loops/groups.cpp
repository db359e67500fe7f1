// See groups.h.
#include "ops/cpu/loops/groups.h"

namespace cairn::ops::cpu {

View with_axes(const View& small, const Shape& shape, unsigned mask) {
  if (small.shape.rank() == shape.rank()) return small; // they are kept, or none is reduced
  View with = small;
  with.shape = Shape();
  with.strides.fill(0);
  for (int i = 0, from = 0; i < shape.rank(); ++i) {
    const bool gone = (mask >> i & 1) != 0;
    with.shape.push_back(gone ? 1 : shape[i]);
    if (!gone) with.strides[static_cast<std::size_t>(i)] = small.strides[static_cast<std::size_t>(from++)];
  }
  return with;
}

void Groups::add(Axis axis, std::array<Axis, kMostAxes>& axes, std::size_t& n) {
  if (axis.size == 1) return;
  if (n != 0 && axes[n - 1].stride == axis.stride * axis.size)
    axes[n - 1] = {axes[n - 1].size * axis.size, axis.stride};
  else
    axes[n++] = axis;
}

Groups::Groups(const View& v, unsigned mask) : bytes_(bytes_of(v.dtype)), data_(static_cast<char*>(v.data)), dtype_(v.dtype) {
  for (int i = 0; i < v.shape.rank(); ++i) {
    const bool inside = (mask >> i & 1) != 0;
    const Axis axis{v.shape[i], v.strides[static_cast<std::size_t>(i)]};
    (inside ? size_ : count_) *= axis.size;
    add(axis, inside ? gone_ : kept_, inside ? n_gone_ : n_kept_);
  }
  if (n_gone_ != 0) stride_ = gone_[n_gone_ - 1].stride;
}

} // namespace cairn::ops::cpu
