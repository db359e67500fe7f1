// Where memory has run out after all: less is kept, and what there is goes on.
#include "vm/schedule/binomials.h"
#include "vm/schedule/budgeted.h"

#include <algorithm>
#include <utility>

namespace cairn::schedule {

std::size_t Budgeted::sweeps_begun() const {
  return static_cast<std::size_t>(std::ranges::count(todo_.begin(), todo_.begin() + static_cast<std::ptrdiff_t>(done_),
                                                     Action::Kind::reverse, &Action::kind));
}

std::uint64_t Budgeted::left_to_reverse(bool sweeping) const {
  if (stage_ != Stage::reversing || survey_) return 0;
  if (sweeping && (done_ == 0 || todo_[done_ - 1].kind != Action::Kind::reverse)) return 0;
  // No sweep: since memory ran out the last time, or of a known run, the end of which was not seen.
  const std::size_t begun = sweeps_begun();
  return begun == 0 ? relieved_at_ : sweeps_[begun - 1].from;
}

// A plan that was made in the middle of a sweep begins with the next one.
std::uint64_t Budgeted::left_that_is_too_much() const {
  const std::uint64_t left = left_to_reverse(done_ != 0);
  const std::size_t next = sweeps_begun();
  const bool fits = next >= sweeps_.size() || older_ + sweeps_[next].peak + left_for_rule() <= most_there_is();
  return fits ? 0 : left;
}

namespace {

// Of an interval only so many of its steps are left: they are taken to cost as much as the others did.
void shorten(Interval& interval, std::uint64_t left, std::uint64_t steps) {
  for (std::uint64_t* const cost : {&interval.forward, &interval.taped, &interval.sweep})
    *cost = static_cast<std::uint64_t>(Wide{*cost} * left / std::max<std::uint64_t>(1, steps));
}

} // namespace

// The parts of an interval may be on tapes of their own, some of which are swept already: the rest counts as all of it.
bool Budgeted::relieve(bool sweeping) {
  constexpr std::uint64_t kMore = 16; // of the room is left alone each time
  const std::uint64_t left = left_to_reverse(sweeping);
  if (left == 0 || (left == relieved_at_ && peak_ > room_)) return false;
  const std::uint64_t room = room_;
  short_ = bounded(short_ + room / kMore);
  set_room();
  if (std::exchange(relieved_at_, left) == left && room_ == room) return false; // nothing came of the last time, nor will now
  const auto behind = std::ranges::lower_bound(positions_, left);
  const std::uint64_t whole = std::exchange(*behind, left);
  todo_.clear();
  sweeps_.clear();
  done_ = forward_ = 0;
  end_seen_ = true;
  tapes_.clear();
  spilled_.clear();
  joined_.clear();
  slots_ = Slots();
  states_ = {{0, slots_.take()}};
  peak_ = 0;
  again_ = again_cost_ = 0; // from here on, of what is left alone
  const auto intervals = static_cast<std::size_t>(behind - positions_.begin());
  Profile run = with_reads();
  shorten(run.intervals[intervals - 1], left - positions_[intervals - 1], whole - positions_[intervals - 1]);
  PlannedGaps gaps(room_);
  plan_gap(gaps, run, 0, intervals);
  for (std::size_t i = 0; i < intervals; ++i)
    again_cost_ = bounded(again_cost_ + run.intervals[i].sweep + profile_.intervals[i].again());
  for (Interval& interval : profile_.intervals) interval.form = 0; // the tapes are gone, and those to come are in todo_
  *behind = whole;
  planned_beside_ = 0; // another call is planned anew
  return true;
}

bool Budgeted::relieve_ahead() { return relieve(done_ != 0) && older_ + peak_ + left_for_rule() <= most_there_is(); }

// The tape in work is given up, and its interval runs again from the state at its start, once there is room for twice as much as
// was left for it, or for so much more that something goes.
bool Budgeted::relieve_first_run(bool weighing) {
  if (stage_ != (weighing ? Stage::going : Stage::running) || done_ != todo_.size() || survey_ || handed_over_) return false;
  if (profile_.size() == 0 || states_.back().boundary != profile_.size()) return false;
  todo_.clear();
  done_ = 0;
  for (left_for_next_ = bounded(2 * left_for_next_ + 1); todo_.empty() && left_for_next_ < 2 * room_; left_for_next_ *= 2)
    make_room(left_for_next_);
  if (todo_.empty()) return false;
  push(Action::Kind::restore, 0, states_.back().slot);
  stage_ = Stage::going;
  return true;
}

} // namespace cairn::schedule
