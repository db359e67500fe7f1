// See derived.h.
#include "vm/tape/derived.h"

#include <algorithm>

namespace cairn::tape {

void Derived::add(const TensorRecord& record, As as) {
  // What the runtime does itself, such as a copy to another device, is not done twice.
  bool can = record.kind == TensorRecord::Kind::apply && (record.op->kernel != nullptr || record.op->view != nullptr);
  std::uint8_t depth = 0;
  KeptTensors::Kept kept;
  for (std::uint32_t i = 0, at = 0; can && record.inputs.next(at, kept); ++i) {
    if (kept.weak || (kept.storage != nullptr && as == As::recorded)) continue;
    if (const std::uint8_t behind = depth_of(record.operands[i]); behind != 0)
      depth = std::max(depth, behind);
    else
      can = kept.storage != nullptr || kept.bytes == 0;
  }
  if (!can || depth >= kDeepest) return;
  depths_.resize(record.end(), 0);
  std::fill(depths_.begin() + record.node, depths_.end(), static_cast<std::uint8_t>(depth + 1));
}

} // namespace cairn::tape
