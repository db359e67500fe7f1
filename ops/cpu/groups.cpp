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

std::vector<std::int64_t> integers_of(const View& v) {
  if (v.weak) return {to_integer<std::int64_t>(v.number)};
  const Groups all(v, (1u << v.shape.rank()) - 1);
  std::vector<pointwise::Integer> staged;
  all.load(0, staged);
  std::vector<std::int64_t> out(staged.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = staged[i].v;
  return out;
}

} // namespace cairn::ops::cpu
