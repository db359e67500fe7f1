// Which blocks should stay in a memory behind each of their uses, so that few bytes are copied: chosen for a whole plan at once,
// before it is followed. To go by next uses is right for blocks of one size that need not be written back; among others a large
// one that is needed soon may be worth less than two small ones that are needed late in its room.
//
// Each launch has a price for a byte that only lies there while it runs, and a block stays where its copies would cost more than
// the prices of the launches until its next use. Prices rise where more would stay than there is room for and fall where there is
// room, until hardly any choice can be better (Lagrange's relaxation: what it costs at any prices is a bound for all choices).
// What they leave undecided is settled one by one, what saves most for its price first, as long as there is room.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/follower.h"
#include "ops/plans/memory.h"

#include <cstdint>
#include <vector>

namespace cairn::ops::plans {

struct Kept {
  // For each use of each block, in the order of AccessPlan::first_use. Empty: they are more bytes than can be counted.
  std::vector<bool> leaves;     // the block leaves behind it
  std::vector<bool> copied_out; // what it writes is copied out before it is overwritten
  // Bytes that are copied in and out: for this choice, if nothing comes before it is needed, and for the best one at least.
  std::uint64_t bytes = 0, least = 0;
};
// `ahead`: copies are under way for so many times as long as they take, and there is room for them meanwhile.
Kept worth_keeping(const AccessPlan& plan, const Memory& memory, Ending ending, unsigned ahead);

} // namespace cairn::ops::plans
