// Weighs the building blocks of plans.
#include "vm/schedule/plan_parts.h"

namespace cairn::schedule {

Parts::Parts(const Profile& profile, std::size_t base, std::size_t end)
    : base_(base), count_(end + 1 - base), newer_(count_, 0), step_peak_(count_, 0), advance_peak_(count_, 0),
      advance_cost_(count_, 0), tapes_(count_ * count_) {
  for (std::size_t i = base; i <= end; ++i)
    for (std::size_t k = base; k < i; ++k) newer_[i - base] += profile.reach[i][k];
  for (std::size_t i = base; i < end; ++i) {
    const Interval& interval = profile.intervals[i];
    advance_cost_[i + 1 - base] = advance_cost_[i - base] + static_cast<double>(interval.forward);
    // Both ends are there: of what is older than the interval the state at its start has all.
    step_peak_[i - base] = newer_[i - base] + profile.reach[i + 1][i] + interval.advancing;
    advance_peak_[i + 1 - base] = std::max(advance_peak_[i - base], step_peak_[i - base]);
  }
  for (std::size_t first = base; first <= end; ++first) weigh(profile, first);
}

std::vector<Parts> parts_of(const Profile& profile, const std::vector<Profile>& forms, std::size_t base, std::size_t end) {
  std::vector<Parts> parts;
  parts.reserve(forms.size() + 1);
  parts.emplace_back(profile, base, end);
  for (const Profile& form : forms) parts.emplace_back(form, base, end);
  return parts;
}

void Parts::weigh(const Profile& profile, std::size_t first) {
  const std::size_t end = base_ + count_ - 1;
  tapes_[index(first, first)].keep = newer(first);
  std::vector<std::uint64_t> of_tapes(end, 0); // what the tapes share, by birth,
  std::vector<std::uint64_t> at_its_end(end);  // and what of it one of them at least has in common with the state at their end
  std::vector<std::uint32_t> births;           // those of them that are not older than the base
  std::uint64_t own = 0;                       // what they do not share
  std::uint64_t held = 0;                      // what they hold
  for (std::size_t i = first; i < end; ++i) {
    const Interval& interval = profile.intervals[i];
    own += interval.tape;
    for (const std::uint32_t k : births) // what died has gone from the state
      if (k < i) at_its_end[k] -= std::min(at_its_end[k], profile.reach[i][k] - profile.reach[i + 1][k]);
    for (const TapeShare& share : interval.shares) {
      if (share.birth < base_) continue; // the base holds it
      if (of_tapes[share.birth] == 0 && share.bytes != 0) births.push_back(share.birth);
      of_tapes[share.birth] += share.bytes - (i > first ? share.before : 0);
      at_its_end[share.birth] = std::max(at_its_end[share.birth], share.after);
    }
    // What tapes and a state hold of one birth overlaps by at least what they hold together beyond all there is.
    held = own;
    std::uint64_t beside_end = own + newer(i + 1), beside_both = own + newer(i) + profile.reach[i + 1][i];
    for (const std::uint32_t k : births) {
      const std::uint64_t all = profile.born[k], tapes = std::min(all, of_tapes[k]);
      held += tapes;
      const std::uint64_t at_end = profile.reach[i + 1][k];
      const std::uint64_t at_both = k == i ? at_end : profile.reach[i][k];
      beside_end += std::min(all - std::min(all, at_end), tapes - std::min(tapes, at_its_end[k]));
      beside_both += std::min(all - std::min(all, at_both), tapes);
    }
    const Tapes& before = tapes_[index(first, i)];
    Tapes& now = tapes_[index(first, i + 1)];
    now.cost = before.cost + static_cast<double>(interval.taped) + static_cast<double>(interval.sweep);
    now.tape_peak = std::max(before.tape_peak, beside_both + interval.taping);
    now.sweep_peak = std::max(before.sweep_peak, held + profile.cotangents[i + 1] + interval.sweeping);
    now.keep = beside_end;
  }
}

} // namespace cairn::schedule
