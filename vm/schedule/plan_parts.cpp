// Weighs the building blocks of plans. What tapes hold is a sum over births, of which those count that are not older than the
// base. So for a base one boundary earlier one birth is added to each of these sums.
#include "vm/schedule/plan_parts.h"

namespace cairn::schedule {

Parts::Parts(const Profile& profile, std::size_t base, std::size_t end, std::size_t least_base)
    : profile_(&profile), least_base_(least_base), base_(base), end_(end) {
  const std::size_t boundaries = end + 1 - least_base;
  forward_.assign(boundaries, 0);
  taped_ = newer_ = advance_peak_ = alive_ = forward_;
  rows_.resize(boundaries);
  shared_.resize(boundaries);
  for (std::size_t i = least_base; i < end; ++i) {
    const Interval& interval = profile.intervals[i];
    forward_[i + 1 - least_base] = forward_to(i) + interval.forward;
    taped_[i + 1 - least_base] = taped_to(i) + interval.taped + interval.sweep;
    const std::uint64_t cotangents = profile.cotangents[i + 1];
    taken_.push_back({profile.reach[i + 1][i] + interval.taping, interval.taping_alone, cotangents + interval.sweeping(),
                      cotangents + interval.sweeping_of[0], interval.form != 0});
    for (const TapeShare& share : interval.shares)
      if (share.birth >= least_base) shared_[share.birth - least_base].push_back({i, &share});
  }
  for (std::size_t i = base; i <= end; ++i)
    for (std::size_t k = base; k < i; ++k) newer_[i - least_base] += profile.reach[i][k];
  weigh_states();
}

std::vector<Parts> parts_of(const Profile& profile, const std::vector<Profile>& forms, std::size_t base, std::size_t end,
                            std::size_t least_base) {
  std::vector<Parts> parts;
  parts.reserve(forms.size() + 1);
  parts.emplace_back(profile, base, end, least_base);
  for (const Profile& form : forms) parts.emplace_back(form, base, end, least_base);
  return parts;
}

void Parts::move_base() {
  --base_;
  for (std::size_t i = base_ + 1; i <= end_; ++i) newer_[i - least_base_] += profile_->reach[i][base_];
  weigh_states();
  note_alive(base_);
  for (std::size_t first = base_ + 1; first <= end_; ++first) {
    if (!is_weighed(first)) continue;
    add_birth(base_, first);
    weigh_tapes(first);
  }
}

void Parts::weigh(std::size_t first) {
  if (is_weighed(first)) return;
  Row& of_first = row(first);
  of_first.tapes.resize(end_ + 1 - first);
  of_first.sums.reserve(end_ + 1 - first);
  std::uint64_t own = 0; // what they do not share
  of_first.sums.emplace_back();
  for (std::size_t i = first; i < end_; ++i) {
    own += profile_->intervals[i].tape;
    of_first.sums.push_back({own, own, own, own, own});
  }
  for (std::size_t birth = base_; birth < end_; ++birth) {
    if (shared_[birth - least_base_].empty()) continue;
    note_alive(birth);
    add_birth(birth, first);
  }
  weigh_tapes(first);
}

void Parts::weigh_states() {
  advance_peak_[base_ - least_base_] = 0;
  for (std::size_t i = base_; i < end_; ++i)
    advance_peak_[i + 1 - least_base_] = std::max(advance_peak_[i - least_base_], step_peak(i));
}

void Parts::note_alive(std::size_t birth) {
  for (std::size_t i = birth + 1; i <= end_; ++i) alive_[i - least_base_] = profile_->reach[i][birth];
}

// What tapes and a state hold of one birth overlaps by at least what they hold together beyond all there is, and by what one of
// them at least has in common with the state.
void Parts::add_birth(std::size_t birth, std::size_t first) {
  const std::vector<Shared>& shared = shared_[birth - least_base_];
  auto next = std::ranges::lower_bound(shared, first, {}, &Shared::interval);
  if (next == shared.end()) return;
  const auto alive = [&](std::size_t boundary) { return alive_[boundary - least_base_]; };
  const auto beside = [](std::uint64_t all, std::uint64_t state, std::uint64_t tapes) {
    return std::min(all - std::min(all, state), tapes);
  };
  const std::uint64_t aside = born_aside(*profile_, birth);
  std::uint64_t bytes = 0, common = 0; // of those that were put aside; with the state at the end of the last one
  std::size_t i = next->interval;
  for (Sums* sums = &row(first).sums[i - first]; i < end_; ++i) {
    const bool made_here = i == birth;
    const std::uint64_t at_end = alive(i + 1), at_start = made_here ? at_end : alive(i);
    if (!made_here) common -= std::min(common, at_start - at_end); // what died has gone from the state
    ++sums;
    const auto beside_end = [&](std::uint64_t all, std::uint64_t of_tapes, std::uint64_t in_common) {
      const std::uint64_t tapes = std::min(all, of_tapes);
      return beside(all, at_end, tapes - std::min(tapes, in_common));
    };
    if (next == shared.end() && at_start == 0) { // nothing changes any more
      const std::uint64_t alone = std::min(aside, bytes), at_its_end = alone - std::min(alone, common);
      if (alone == 0) return;
      for (Sums* const end = sums + (end_ - i); sums != end; ++sums) {
        sums->beside_both += alone;
        sums->beside_end += at_its_end;
        sums->alone += alone;
        sums->aside += alone;
        sums->aside_beside_end += at_its_end;
      }
      return;
    }
    if (next == shared.end() || next->interval != i) {
      const std::uint64_t at_its_end = beside_end(aside, bytes, common), alone = std::min(aside, bytes);
      sums->beside_both += beside(aside, at_start, bytes);
      sums->beside_end += at_its_end;
      sums->aside_beside_end += at_its_end;
      sums->alone += alone;
      sums->aside += alone;
      continue;
    }
    const TapeShare& share = *next++->share;
    const std::size_t form = profile_->intervals[i].form;
    const auto fresh = [&](std::size_t of_form) {
      return share.forms[of_form].bytes - (i > first ? before_of(*profile_, i, share, of_form) : 0);
    };
    // Until the last one is lean.
    const std::uint64_t all = made_here ? profile_->born[i] : aside, now = bytes + fresh(0),
                        common_now = std::max(common, share.forms[0].after);
    bytes += fresh(form);
    common = std::max(common, share.forms[form].after);
    sums->beside_both += beside(all, at_start, now);
    sums->beside_end += beside_end(all, now, common_now);
    sums->alone += std::min(all, now);
    sums->aside += std::min(aside, bytes);
    sums->aside_beside_end += beside_end(aside, bytes, common);
  }
}

void Parts::weigh_tapes(std::size_t first) {
  row(first).tapes.front().keep = newer(first);
  std::uint64_t tape_peak = 0, sweep_peak = 0; // the latter if all of them have been put aside before
  const Sums* sums = row(first).sums.data();
  Tapes* tapes = row(first).tapes.data();
  for (std::size_t i = first; i < end_; ++i) {
    const Taken& taken = taken_[i - least_base_];
    ++sums;
    tape_peak = std::max(tape_peak, running(*sums, i).least());
    sweep_peak = std::max(sweep_peak, sums->aside + taken.sweep);
    // The last one is not lean if it was not put aside.
    const std::uint64_t not_lean = taken.lean ? sums->alone + taken.sweep_not_lean : 0;
    *++tapes = {tape_peak, std::max(sweep_peak, not_lean), sums->aside_beside_end + newer(i + 1)};
  }
}

} // namespace cairn::schedule
