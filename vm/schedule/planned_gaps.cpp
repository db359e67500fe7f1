// Which planners are kept: those of the gaps that were asked about last.
#include "vm/schedule/planned_gaps.h"

#include <algorithm>

namespace cairn::schedule {
namespace {

constexpr std::size_t kMostKnown = 4; // their tables are large

} // namespace

const Planner& PlannedGaps::Gap::unlimited() {
  if (unlimited_ == nullptr) unlimited_ = std::make_unique<Planner>(profile, kMostOfOne, kTables, forms);
  return *unlimited_;
}

PlannedGaps::Gap& PlannedGaps::of(const Profile& whole, std::size_t from, std::size_t to) {
  const auto known = std::ranges::find_if(known_, [&](const Known& gap) { return gap.from == from && gap.to == to; });
  if (known != known_.end()) return *known->gap;
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  Profile gap = part_of(whole, from, to);
  for (Interval& interval : gap.intervals) interval.form = 0;
  known_.push_back({from, to, std::make_unique<Gap>(std::move(gap), most_budget_)});
  return *known_.back().gap;
}

} // namespace cairn::schedule
