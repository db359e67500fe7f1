// What a plan comes to in a memory of some size, before it is followed: which elements will have to be copied out anyway. What
// leaves is written back once for each time that it was written, whenever it leaves first; so where it cannot stay for as long as
// it will be needed, keeping it for a part of that time saves one copy, not two.
//
// That depends on what else is kept, which depends on this: the plan is gone through some times, each time with what came out the
// time before, and the way that moves fewest bytes is taken.
#pragma once

#include "ops/plans/follower.h"

#include <cstdint>
#include <vector>

namespace cairn::ops::plans {

struct Foresight {
  // For each use of each block of the plan (in the order of AccessPlan::first_use), whether what it writes is copied out before it
  // is overwritten.
  std::vector<bool> written_back;
  // What costs two copies stays so many times as long as what costs one, if that moves fewer bytes.
  std::uint64_t twice = 2;
  std::uint64_t bytes = 0; // moved in and out; along a plan that follows itself, the second time
  bool fits = false;       // every launch finds room
};
Foresight foresee(const AccessPlan& plan, std::uint64_t capacity, Ending ending);

} // namespace cairn::ops::plans
