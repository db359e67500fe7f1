// Room for the scratch memory of kernels that cannot be begun again with more.
#pragma once

#include "ops/device.h"

#include <span>

namespace cairn::ops {

// Whatever can give way does, until there is room for so many times the operands and results of the call.
inline void make_scratch_room(Ledger& ledger, const KernelCall& call, std::int64_t times) {
  std::int64_t bytes = Ledger::kScratchAlways;
  for (const std::span<const View> views : {call.inputs, call.outputs})
    for (const View& view : views) bytes += view.elements() * bytes_of(view.dtype);
  while (ledger.headroom() < times * bytes)
    if (!ledger.make_way_for_scratch()) return;
}

} // namespace cairn::ops
