// See derived.h.
#include "vm/tape/derived.h"

#include <algorithm>

namespace cairn::tape {

// Chains are not longer than Tape::link() lets them become.
void Derived::add(const TensorRecord& record, As as) {
  // What the runtime does itself, such as a copy to another device, is not done twice.
  if (record.level == 0 || record.kind != TensorRecord::Kind::apply) return;
  if (record.op->kernel == nullptr && record.op->view == nullptr) return;
  std::uint8_t level = as == As::recorded ? 1 : record.again;
  KeptTensors::Kept kept;
  for (std::uint32_t i = 0, at = 0; as == As::recorded && record.inputs.next(at, kept); ++i) {
    if (kept.weak || kept.storage != nullptr) continue; // where a lean tape does not keep that, it can be had there
    const std::uint8_t of_operand = level_of(record.operands[i]);
    if (of_operand == 0 && kept.bytes != 0) return;
  }
  levels_.resize(record.end(), 0);
  std::fill(levels_.begin() + record.node, levels_.end(), level);
}

} // namespace cairn::tape
