// See derived.h.
#include "vm/tape/derived.h"

#include <algorithm>

namespace cairn::tape {

std::uint8_t Derived::depth_of(std::uint32_t node) const {
  const auto behind =
      std::upper_bound(entries_.begin(), entries_.end(), node, [](std::uint32_t n, const Entry& e) { return n < e.node; });
  if (behind == entries_.begin() || node >= (behind - 1)->end) return 0;
  return (behind - 1)->depth;
}

void Derived::add(const TensorRecord& record, std::span<const ops::Tensor> inputs, As as, bool may) {
  // What the runtime does itself, such as a copy to another device, is not done twice.
  bool can = may && record.kind == TensorRecord::Kind::apply && (record.op->kernel != nullptr || record.op->view != nullptr);
  std::uint8_t depth = 0;
  for (std::size_t i = 0; can && i < inputs.size(); ++i) {
    const ops::Tensor& t = inputs[i];
    if (t.weak || (t.storage && as == As::recorded)) continue;
    if (const std::uint8_t behind = depth_of(record.operands[i]); behind != 0)
      depth = std::max(depth, behind);
    else
      can = t.storage || t.elements() == 0;
  }
  entries_.push_back({record.node, record.end(), static_cast<std::uint8_t>(can && depth < kDeepest ? depth + 1 : 0)});
}

} // namespace cairn::tape
