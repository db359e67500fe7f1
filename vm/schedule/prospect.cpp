// What a planned run takes, and what it would take within another budget.
#include "vm/schedule/budgeted.h"

#include <algorithm>

namespace cairn::schedule {

std::optional<Schedule::Foreseen> Budgeted::foreseen(std::uint64_t total) const {
  if (stage_ != Stage::reversing || handed_over_) return std::nullopt;
  return Schedule::Foreseen{total + again_, older_ + peak_, budget_, time_of_one_tape()};
}

// Of the plan at hand.
double Budgeted::time_of_one_tape() const {
  std::uint64_t cost = 3 * last_.forward; // with its sweep
  std::uint64_t more = again_cost_;
  for (const Interval& interval : profile_.intervals) {
    cost += interval.taped + interval.sweep;
    if (interval.lean) more += interval.again;
  }
  return static_cast<double>(cost + more) / static_cast<double>(std::max<std::uint64_t>(1, cost));
}

// As if everything had been kept in the first run and room made for its end only, with the same intervals.
std::optional<Schedule::Prospect> Budgeted::prospect(std::uint64_t budget) const {
  const std::size_t n = profile_.size();
  if (n == 0 || nested_) return std::nullopt;
  Budgeted other = *this;
  other.budget_ = std::min(kMostOfOne, budget);
  other.set_room();
  other.stage_ = Stage::reversing;
  other.peak_ = other.again_ = other.again_cost_ = 0;
  other.todo_.clear();
  other.done_ = 0;
  other.states_.clear();
  other.slots_ = Slots();
  for (std::uint32_t i = 0; i <= n; ++i) other.states_.push_back({i, other.slots_.take()});
  other.tapes_.assign(positions_.begin(), positions_.end() - 1);
  std::uint64_t tapes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t tape = tape_bytes(profile_, i, i + 1);
    tapes += tape;
    other.peak_ = std::max(other.peak_, std::min(kMostOfOne, tape + profile_.intervals[i].taping));
  }
  const bool cut = tapes / kPlanned <= other.largest_tape(); // into so many intervals, or the run is handed over
  other.peak_ = std::max(other.peak_, std::min(kMostOfOne, last_.bytes + last_.taping));
  other.plan_rest(true);
  const std::uint64_t peak = older_ + other.peak_;
  return Schedule::Prospect{peak, other.time_of_one_tape(), cut && peak + other.left_alone() / 2 <= other.budget_};
}

} // namespace cairn::schedule
