// Tapes of a planned run that are in a file. Which those are is decided where it is decided what to let go of (keeping.h): a tape
// goes there where that takes less time than to run its interval again. At the end tapes come back as they are swept, and those
// next in turn ahead of it as far as there is room.
#include "vm/schedule/binomials.h"
#include "vm/schedule/budgeted.h"

#include <algorithm>

namespace cairn::schedule {

namespace {

// Of the room, what may still be on its way to the file while the run goes on.
constexpr std::uint64_t kUnderWay = 16;

} // namespace

std::uint64_t Budgeted::under_way() const { return room_ / kUnderWay; }

std::uint64_t Budgeted::held() const {
  std::vector<bool> tapes = kept_tapes();
  const std::vector<bool> spilled = spilled_tapes();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < tapes.size(); ++i) {
    if (!spilled[i]) continue;
    tapes[i] = false;
    bytes += profile_.intervals[i].stays;
  }
  return bytes + held_bytes(profile_, kept_states(), tapes);
}

File Budgeted::file() const {
  if (spill_bytes_ == 0) return {};
  return {spilled_tapes(), spill_bytes_, spill_ticks_, moved_};
}

void Budgeted::spill_tape(std::size_t interval) {
  const auto begin = std::lower_bound(tapes_.begin(), tapes_.end(), positions_[interval]);
  const auto end = std::lower_bound(begin, tapes_.end(), positions_[interval + 1]);
  for (auto tape = begin; tape != end; ++tape)
    push_moving(Action::Kind::spill, under_way(), static_cast<std::uint32_t>(tape - tapes_.begin()));
  spilled_.insert(spilled_.end(), begin, end);
  std::sort(spilled_.begin(), spilled_.end());
  moved_ = bounded(moved_ + in_file(profile_.intervals[interval]));
  most_in_file_ = std::max(most_in_file_, in_file(profile_, spilled_tapes()));
}

// Tapes that are there are let go of, with those that nothing would run to any more.
void Budgeted::give_up_file() {
  const std::vector<bool> states = kept_states(), spilled = spilled_tapes();
  std::vector<bool> tapes = kept_tapes();
  for (std::size_t i = profile_.size(); i-- > 0;) {
    if (!spilled[i] || !tapes[i]) continue;
    for (std::size_t k = i;; --k) {
      tapes[k] = false;
      drop_tape(k);
      if (k == 0 || states[k] || !tapes[k - 1]) break;
    }
  }
  spill_bytes_ = 0;
}

// Of this tape and those that come next, while it is swept: a piece of its own, and as much as is free then.
std::uint64_t Budgeted::fetched_beside(std::size_t interval) const {
  std::vector<bool> states = kept_states(), tapes = kept_tapes();
  const std::vector<bool> spilled = spilled_tapes();
  const Interval& its = profile_.intervals[interval];
  const std::vector<std::uint64_t> reads = read_from();
  std::uint64_t taken = swept_bytes(its) + std::max(reads[interval], reads[interval + 1]);
  for (std::size_t i = 0; i < profile_.size(); ++i) {
    if (tapes[i]) states[i] = false;
    if (i >= interval) states[i] = tapes[i] = false;
    if (!spilled[i] || i >= interval) continue;
    tapes[i] = false;
    taken += profile_.intervals[i].stays;
  }
  states.back() = false;
  taken += held_bytes(profile_, states, tapes);
  return its.piece + room_ - std::min(room_, taken);
}

std::uint64_t Budgeted::waiting_for_file(std::uint64_t again) const {
  std::uint64_t forward = last_.taped;
  for (const Interval& interval : profile_.intervals) forward = bounded(forward + interval.taped);
  return waiting_for(File{{}, 0, spill_ticks_, 0}, moved_, forward, bounded(cost_of_one_tape() - forward + again));
}

} // namespace cairn::schedule
