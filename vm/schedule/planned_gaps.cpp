#include "vm/schedule/planned_gaps.h"

#include <algorithm>

namespace cairn::schedule {
namespace {

constexpr std::size_t kMostKnown = 4; // their tables are large

} // namespace

const PlannedGaps::Gap& PlannedGaps::of(const Profile& whole, std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> forms;
  for (std::size_t i = from; i < to; ++i) forms.push_back(whole.intervals[i].form);
  const auto known =
      std::ranges::find_if(known_, [&](const Known& gap) { return gap.from == from && gap.to == to && gap.forms == forms; });
  if (known != known_.end()) return *known->gap;
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  known_.push_back({from, to, std::move(forms), std::make_unique<Gap>(part_of(whole, from, to), most_budget_)});
  return *known_.back().gap;
}

} // namespace cairn::schedule
