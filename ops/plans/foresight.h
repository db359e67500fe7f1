// What a plan comes to in a memory of some size, before it is followed: which elements will have to be copied out anyway, and how
// long what costs two copies should stay beside what costs one. What leaves is written back once for each time that it was
// written, whenever it leaves first; so where it cannot stay for as long as it will be needed, keeping it for a part of that time
// saves one copy, not two.
//
// What will be copied out depends on what else is kept, which depends on this: the plan is gone through in virtual time some
// times, each time with what came out the time before, and the best way is taken.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/follower.h"
#include "ops/plans/memory.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace cairn::ops::plans {

struct Foresight {
  // For each use of each block of the plan (in the order of AccessPlan::first_use), whether what it writes is copied out before
  // it is overwritten. Empty: nothing is known, or nothing has to leave.
  std::vector<bool> copied_out;
  // What costs two copies stays as long as what costs one and is needed so many times as soon.
  std::uint64_t twice = 2;
  // In the same order, whether a block leaves behind that use, so that others may stay. Empty: that is left to next uses.
  std::vector<bool> leaves = {};
  // What is to stay does so even if something could be brought ahead in its room.
  bool firm = false;
  // So many bytes lie there at most before they are asked for, or one block.
  std::uint64_t early = UINT64_MAX;
  // When launches begin that wait for room alone, one more than there are: where going out bounds a stretch of them, what comes
  // in has time. Empty: nobody waits, and what is looked ahead for is a memory full of copies and no more.
  std::vector<Picoseconds> begins = {};
  Picoseconds begins_at(std::uint64_t position) const {
    const std::size_t size = begins.size() - 1;
    return position / size * begins.back() + begins[static_cast<std::size_t>(position % size)];
  }
};

// `poll` is called every now and then, and may throw: a long plan takes a second.
Foresight foresee(const AccessPlan& plan, const Memory& memory, Ending ending, const std::function<void()>& poll = {});
std::uint64_t work_to_foresee(const AccessPlan& plan); // at most

} // namespace cairn::ops::plans
