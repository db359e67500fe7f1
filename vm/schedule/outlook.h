// What other budgets would give a run that a schedule has got to know: how time falls as memory grows. Every point is planned as
// the schedule itself would plan it.
#pragma once

#include "vm/schedule/schedule.h"

#include <functional>

namespace cairn::schedule {

struct Point {
  std::uint64_t budget = 0; // bytes
  double time = 1;          // modelled, of that of one tape
  bool again = false;       // a first run begins again within it
};

// A budget that fits the schedule's estimate of its peak, not below `from`, found with a few questions; nothing if it does not
// plan.
std::optional<std::uint64_t> enough_budget(const Schedule& schedule, std::uint64_t from);

// The same of a schedule that knows the whole run beforehand: the least above `from`, to within a hundredth. Some twenty
// questions at most, and nothing where these do not do.
std::optional<std::uint64_t> least_budget(const Schedule& schedule, std::uint64_t from);

// From the least budget to the one that the whole tape fits into, at most so many points (three or more); empty if the schedule
// does not plan. The least is one that a run which is known beforehand is planned within, as that which begins again is, where
// that is less than what a first run takes. Each takes up to a tenth of a second; `between` is called before each, and may throw.
std::vector<Point> outlook(
    const Schedule& schedule, std::size_t points, const std::function<void()>& between = [] {});

} // namespace cairn::schedule
