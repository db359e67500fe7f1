// Weighs the building blocks of plans.
#include "vm/schedule/plan_parts.h"

namespace cairn::schedule {

Parts::Parts(const Profile& profile, std::size_t base, std::size_t end)
    : base_(base), count_(end + 1 - base), newer_(count_, 0), advance_peak_(count_, 0), advancing_(count_),
      advance_cost_(count_, 0), tapes_(count_ * count_) {
  for (std::size_t i = base; i <= end; ++i)
    for (std::size_t k = base; k < i; ++k) newer_[i - base] += profile.reach[i][k];
  for (std::size_t i = base; i < end; ++i) {
    const Interval& interval = profile.intervals[i];
    advance_cost_[i + 1 - base] = advance_cost_[i - base] + static_cast<double>(interval.forward);
    // Of what is older than the interval the state at its start has all.
    advancing_[i - base] = {newer_[i - base] + profile.reach[i + 1][i] + interval.advancing,
                            newer_[i + 1 - base] + interval.advancing_alone};
    advance_peak_[i + 1 - base] = std::max(advance_peak_[i - base], step_peak(i));
  }
  for (std::size_t k = base; k < end; ++k) born_.push_back(born_aside(profile, k));
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
  // What tapes share, by birth, and births of that which are not older than the base.
  struct Shared {
    std::vector<std::uint64_t> bytes;
    std::vector<std::uint32_t> births;
  };
  Shared of_tapes{std::vector<std::uint64_t>(end, 0), {}};
  std::vector<std::uint64_t> at_its_end(end); // what of it one of them at least has in common with the state at their end
  std::uint64_t own = 0;                      // what they do not share
  for (std::size_t i = first; i < end; ++i) {
    const Interval& interval = profile.intervals[i];
    own += interval.tape;
    const auto add = [&](Shared& shared, std::size_t form) {
      for (const TapeShare& share : interval.shares) {
        if (share.birth < base_) continue; // the base holds it
        const std::uint64_t bytes = share.forms[form].bytes;
        if (shared.bytes[share.birth] == 0 && bytes != 0) shared.births.push_back(share.birth);
        shared.bytes[share.birth] += bytes - (i > first ? before_of(profile, i, share, form) : 0);
      }
    };
    const auto born = [&](std::size_t k, bool in_work) { return in_work && k == i ? profile.born[i] : born_[k - base_]; };
    // What tapes and a state hold of one birth overlaps by at least what they hold together beyond all there is.
    const auto held = [&](const Shared& shared, bool in_work) {
      std::uint64_t bytes = own;
      for (const std::uint32_t k : shared.births) bytes += std::min(born(k, in_work), shared.bytes[k]);
      return bytes;
    };
    const auto held_beside_both = [&](const Shared& shared, bool in_work) {
      std::uint64_t bytes = own + newer(i) + profile.reach[i + 1][i];
      for (const std::uint32_t k : shared.births) {
        const std::uint64_t all = born(k, in_work), state = profile.reach[k == i ? i + 1 : i][k];
        bytes += std::min(all - std::min(all, state), shared.bytes[k]);
      }
      return bytes;
    };
    for (const std::uint32_t k : of_tapes.births) // what died has gone from the state
      if (k < i) at_its_end[k] -= std::min(at_its_end[k], profile.reach[i][k] - profile.reach[i + 1][k]);
    const auto note_after = [&](std::vector<std::uint64_t>& common, std::size_t form) {
      for (const TapeShare& share : interval.shares)
        if (share.birth >= base_) common[share.birth] = std::max(common[share.birth], share.forms[form].after);
    };
    const auto held_beside_end = [&](const Shared& shared, const std::vector<std::uint64_t>& common, bool in_work) {
      std::uint64_t bytes = own + newer(i + 1);
      for (const std::uint32_t k : shared.births) {
        const std::uint64_t all = born(k, in_work), at_end = profile.reach[i + 1][k], tapes = std::min(all, shared.bytes[k]);
        bytes += std::min(all - std::min(all, at_end), tapes - std::min(tapes, common[k]));
      }
      return bytes;
    };
    const auto running = [&](const Shared& shared, const std::vector<std::uint64_t>& common) {
      return Running{held_beside_both(shared, true) + interval.taping,
                     held_beside_end(shared, common, true) + interval.taping_alone};
    };
    Tapes& now = tapes_[index(first, i + 1)];
    Shared at_first; // until the last one is lean
    const bool lean = interval.form != 0;
    if (lean) {
      at_first = of_tapes;
      add(at_first, 0);
      std::vector<std::uint64_t> common = at_its_end;
      note_after(common, 0);
      now.taping = running(at_first, common);
    }
    add(of_tapes, interval.form);
    note_after(at_its_end, interval.form);
    if (!lean) now.taping = running(of_tapes, at_its_end);
    const Tapes& before = tapes_[index(first, i)];
    now.cost = before.cost + static_cast<double>(interval.taped) + static_cast<double>(interval.sweep);
    now.tape_peak = std::max(before.tape_peak, now.taping.least());
    now.beside_sweep = held(of_tapes, false) + profile.cotangents[i + 1];
    now.sweep_peak = now.sweep_peak_aside = std::max(before.sweep_peak_aside, now.beside_sweep + interval.sweeping());
    if (lean)
      now.sweep_peak = std::max(now.sweep_peak, held(at_first, true) + profile.cotangents[i + 1] + interval.sweeping_of[0]);
    now.keep = held_beside_end(of_tapes, at_its_end, false);
  }
}

} // namespace cairn::schedule
