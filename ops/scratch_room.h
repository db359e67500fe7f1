// Room for the scratch memory of kernels that cannot be begun again with more.
#pragma once

#include "ops/device.h"

#include <span>

namespace cairn::ops {

// Whatever can give way does, until there is room for so many times the operands and results of the call, and so many bytes.
inline void make_scratch_room(Ledger& ledger, const KernelCall& call, std::int64_t times, std::int64_t more) {
  std::int64_t bytes = 0;
  for (const std::span<const View> views : {call.inputs, call.outputs})
    for (const View& view : views) bytes += view.elements() * bytes_of(view.dtype);
  const std::int64_t wanted = times * bytes + more;
  if (wanted <= Ledger::kScratchAlways) return;
  ledger.want_scratch(wanted);
  while (ledger.headroom() < wanted)
    if (!ledger.make_way_for_scratch()) return;
}

} // namespace cairn::ops
