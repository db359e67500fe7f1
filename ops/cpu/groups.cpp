// See groups.h.
#include "ops/cpu/groups.h"

namespace cairn::ops::cpu {

Groups::Groups(const View& v, unsigned mask) : bytes_(bytes_of(v.dtype)), data_(static_cast<char*>(v.data)), dtype_(v.dtype) {
  for (int i = 0; i < v.shape.rank(); ++i) {
    const bool inside = (mask >> i & 1) != 0;
    const Axis axis{v.shape[i], v.strides[static_cast<std::size_t>(i)]};
    (inside ? size_ : count_) *= axis.size;
    (inside ? gone_[n_gone_++] : kept_[n_kept_++]) = axis;
  }
  if (n_gone_ != 0) stride_ = gone_[n_gone_ - 1].stride;
}

} // namespace cairn::ops::cpu
