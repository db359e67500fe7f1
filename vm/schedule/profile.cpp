// Profiles of runs: whether one is sound, and what its states and tapes may share.
#include "vm/schedule/profile.h"

#include "vm/schedule/binomials.h"
#include "vm/schedule/plan_parts.h"

#include <algorithm>

namespace cairn::schedule {

namespace {

bool small(std::uint64_t value) { return value <= kMostOfOne; }

bool interval_sound(const Interval& interval, std::size_t index, const std::vector<std::uint64_t>& alive,
                    const std::vector<std::uint64_t>& then) {
  for (const std::uint64_t value :
       {interval.forward, interval.taped, interval.sweep, interval.tape, interval.again, interval.born_lean, interval.stays,
        interval.padding, interval.piece, interval.swept, interval.advancing, interval.taping, interval.advancing_alone,
        interval.taping_alone, interval.sweeping, interval.sweeping_otherwise, interval.more_if_parts,
        interval.more_if_parts_otherwise, interval.more_reads})
    if (!small(value)) return false;
  if (interval.shares.size() > index + 1 || (interval.lean && saved_by_thinning(interval) != 0)) return false;
  if (interval.whole.size() > index + 1 || (!interval.lean && !interval.whole.empty())) return false;
  const auto sound = [&](const TapeShare& share) {
    return share.birth <= index && small(share.bytes) && share.before <= share.bytes && share.after <= share.bytes &&
           share.lean <= share.bytes && share.lean_before <= std::min(share.lean, share.before) &&
           share.lean_after <= std::min(share.lean, share.after) && share.before_lean <= share.before &&
           (share.birth == index ? share.before == 0 && share.gone == 0
                                 : share.bytes <= alive[share.birth] && then[share.birth] <= alive[share.birth] &&
                                       share.gone <= alive[share.birth] - then[share.birth]);
  };
  return std::ranges::all_of(interval.shares, sound) && std::ranges::all_of(interval.whole, sound);
}

void swap_sweeping(Interval& interval) {
  std::swap(interval.sweeping, interval.sweeping_otherwise);
  std::swap(interval.more_if_parts, interval.more_if_parts_otherwise);
}

// What a lean tape still holds of its shares.
void make_lean(Interval& interval) {
  interval.whole = interval.shares;
  for (TapeShare& share : interval.shares) {
    share.bytes = share.lean;
    share.before = share.before_lean = share.lean_before;
    share.after = share.lean_after;
  }
  std::erase_if(interval.shares, [](const TapeShare& share) { return share.bytes == 0; });
  swap_sweeping(interval);
  interval.lean = true;
}

std::uint64_t sum_of(const std::vector<TapeShare>& shares, std::uint64_t TapeShare::*part) {
  std::uint64_t sum = 0;
  for (const TapeShare& share : shares) sum += share.*part;
  return sum;
}

} // namespace

bool Profile::sound() const {
  const std::size_t last = intervals.size();
  if (last > kMostIntervals || reach.size() != last + 1 || cotangents.size() != last + 1 || born.size() != last) return false;
  for (std::size_t i = 0; i <= last; ++i) {
    if (reach[i].size() != i || !std::all_of(reach[i].begin(), reach[i].end(), small) || !small(cotangents[i])) return false;
    for (std::size_t k = 0; k + 1 < i; ++k)
      if (reach[i][k] > reach[i - 1][k]) return false;
  }
  for (std::size_t i = 0; i < last; ++i)
    if (!interval_sound(intervals[i], i, reach[i], reach[i + 1])) return false;
  const std::vector<std::uint64_t> least = least_born(*this);
  for (std::size_t k = 0; k < last; ++k)
    if (born[k] < least[k] || !small(born[k])) return false;
  return true;
}

std::uint64_t whole_tape(const Interval& interval) {
  std::uint64_t bytes = interval.tape;
  for (const TapeShare& share : interval.shares) bytes += share.bytes;
  return bounded(bytes);
}

std::uint64_t in_file(const Profile& profile, const std::vector<bool>& tapes) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < tapes.size(); ++i)
    if (tapes[i]) bytes += in_file(profile.intervals[i]);
  return bounded(bytes);
}

std::uint64_t saved_by_thinning(const Interval& interval) {
  std::uint64_t saved = 0;
  for (const TapeShare& share : interval.shares) saved += share.bytes - share.lean;
  return saved;
}

bool pays_to_thin(const Profile& profile, std::size_t interval, std::uint64_t part) {
  const Interval& its = profile.intervals[interval];
  const std::uint64_t saved = saved_by_thinning(its);
  return !its.lean && saved != 0 &&
         Wide{its.again} * tape_bytes(profile, interval, interval + 1) * part < Wide{its.forward} * saved;
}

std::uint64_t stays_of_thinned(const Interval& interval, std::uint64_t saved) { return std::min(interval.stays, saved); }

void thin(Profile& profile, std::size_t index) {
  Interval& interval = profile.intervals[index];
  if (interval.lean) return;
  const std::uint64_t saved = saved_by_thinning(interval);
  make_lean(interval);
  if (interval.sweeping > interval.sweeping_otherwise)
    interval.swept = bounded(interval.swept + interval.sweeping - interval.sweeping_otherwise);
  interval.padding = bounded(interval.padding + stays_of_thinned(interval, saved));
}

Interval unthinned(const Interval& interval) {
  if (!interval.lean) return interval;
  Interval whole = interval;
  whole.shares = std::move(whole.whole);
  whole.whole.clear();
  whole.lean = false;
  swap_sweeping(whole);
  whole.padding -= std::min(whole.padding, stays_of_thinned(whole, saved_by_thinning(whole)));
  return whole;
}

std::uint64_t born_aside(const Profile& profile, std::size_t index) {
  const Interval& interval = profile.intervals[index];
  return interval.lean ? std::min(profile.born[index], interval.born_lean) : profile.born[index];
}

std::uint64_t taping_beside(const Interval& interval) {
  const auto beside_end = [](const std::vector<TapeShare>& shares) {
    return sum_of(shares, &TapeShare::bytes) - sum_of(shares, &TapeShare::after);
  };
  const std::uint64_t at_first = beside_end(shares_at_first(interval)), aside = beside_end(interval.shares);
  return bounded(interval.taping + at_first - std::min(at_first, aside));
}

std::uint64_t lost(const Profile& profile, std::size_t interval, std::size_t boundary, bool on_tape) {
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < std::min(interval, boundary); ++k)
    bytes += profile.reach[interval][k] - profile.reach[interval + 1][k];
  if (!on_tape) return bytes;
  for (const TapeShare& share : shares_at_first(profile.intervals[interval]))
    if (share.birth < std::min(interval, boundary)) bytes -= share.gone;
  return bytes;
}

std::vector<std::uint64_t> least_born(const Profile& profile) {
  std::vector<std::uint64_t> most(profile.size(), 0);
  for (std::size_t k = 0; k < profile.size(); ++k) most[k] = profile.reach[k + 1][k];
  for (const Interval& interval : profile.intervals)
    for (const TapeShare& share : shares_at_first(interval)) most[share.birth] = std::max(most[share.birth], share.bytes);
  return most;
}

std::uint64_t held_bytes(const Profile& profile, const std::set<std::size_t>& states, const std::set<std::size_t>& tapes,
                         std::size_t in_work) {
  std::vector<bool> of_states(profile.size() + 1, false), of_tapes(profile.size(), false);
  for (const std::size_t i : states) of_states[i] = true;
  for (const std::size_t i : tapes) of_tapes[i] = true;
  return held_bytes(profile, of_states, of_tapes, in_work);
}

std::uint64_t held_bytes(const Profile& profile, const std::vector<bool>& states, const std::vector<bool>& tapes,
                         std::size_t in_work) {
  HeldInOrder held(profile);
  for (std::size_t i = 0; i <= profile.size(); ++i) {
    if (states[i]) held.add_state(i);
    if (i < profile.size() && tapes[i]) held.add_tape(i, i == in_work);
  }
  return held.bytes();
}

std::uint64_t HeldInOrder::OfBirth::bytes() const { return std::min(most, tapes + in_state - std::min(in_state, twice)); }

HeldInOrder::HeldInOrder(const Profile& profile) : profile_(profile), births_(profile.size()) {
  for (std::size_t k = 0; k < births_.size(); ++k) births_[k].most = born_aside(profile, k);
}

// Of what is older than the state before it, it has no more than that one. What a tape has in common with the state at its own
// end it still has in common with a later one, but for what died in between.
void HeldInOrder::add_state(std::size_t boundary) {
  for (const std::size_t tape : tapes_)
    for (const TapeShare& share : shares_of(tape)) {
      if (share.birth < open_) continue;
      const std::uint64_t died = profile_.reach[tape + 1][share.birth] - profile_.reach[boundary][share.birth];
      std::uint64_t& twice = births_[share.birth].twice;
      twice = std::max(twice, share.after - std::min(share.after, died));
    }
  tapes_.clear();
  for (std::size_t k = open_; k < boundary; ++k) {
    OfBirth& birth = births_[k];
    shared_ -= birth.bytes();
    birth.in_state = profile_.reach[boundary][k];
    shared_ += birth.bytes();
  }
  open_ = boundary;
}

const std::vector<TapeShare>& HeldInOrder::shares_of(std::size_t tape) const {
  const Interval& interval = profile_.intervals[tape];
  return tape == in_work_ ? shares_at_first(interval) : interval.shares;
}

void HeldInOrder::add_tape(std::size_t interval, bool in_work) {
  own_ += profile_.intervals[interval].tape;
  if (in_work) {
    in_work_ = interval;
    births_[interval].most = profile_.born[interval];
  }
  const bool beside = tape_ != kNoInterval && tape_ + 1 == interval;
  tape_ = interval;
  tapes_.push_back(interval);
  for (const TapeShare& share : shares_of(interval)) {
    const std::size_t k = share.birth;
    if (k < open_) continue; // a state that lies in between has all that was alive
    OfBirth& birth = births_[k];
    shared_ -= birth.bytes();
    // This tape, those behind it and later states hold parts of what was alive at its start.
    if (k < interval) birth.most = std::min(birth.most, birth.tapes + profile_.reach[interval][k]);
    birth.tapes += share.bytes - (beside ? before_of(profile_, interval, share) : 0);
    shared_ += birth.bytes();
  }
}

std::uint64_t tape_bytes(const Profile& profile, std::size_t from, std::size_t to) {
  std::uint64_t bytes = 0;
  for (std::size_t i = from; i < to; ++i) {
    bytes += profile.intervals[i].tape;
    for (const TapeShare& share : profile.intervals[i].shares)
      if (share.birth >= from) bytes += share.bytes - (i > from ? before_of(profile, i, share) : 0);
  }
  return bytes;
}

Profile part_of(const Profile& profile, std::size_t from, std::size_t to) {
  const auto at = [](const auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  Profile part{{at(profile.intervals, from), at(profile.intervals, to)},
               {},
               {at(profile.born, from), at(profile.born, to)},
               {at(profile.cotangents, from), at(profile.cotangents, to + 1)}};
  for (Interval& interval : part.intervals) {
    for (std::vector<TapeShare>* const shares : {&interval.shares, &interval.whole}) {
      std::erase_if(*shares, [&](const TapeShare& share) { return share.birth < from; });
      for (TapeShare& share : *shares) share.birth -= static_cast<std::uint32_t>(from);
    }
  }
  for (std::size_t i = from; i <= to; ++i) part.reach.emplace_back(at(profile.reach[i], from), at(profile.reach[i], i));
  return part;
}

Profile coarsened(const Profile& profile, const std::vector<std::uint32_t>& boundaries, const std::vector<std::uint64_t>& reads) {
  Profile coarse;
  const std::size_t count = boundaries.size() - 1;
  // While its parts are taped as one, none of them is lean yet.
  Profile at_first = profile, all_lean = profile;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    at_first.intervals[i] = unthinned(profile.intervals[i]);
    thin(all_lean, i);
  }
  const auto with_parts = [](Profile of) {
    for (Interval& interval : of.intervals) interval.sweeping = bounded(interval.sweeping + interval.more_if_parts);
    return of;
  };
  const Profile at_first_parts = with_parts(at_first), all_lean_parts = with_parts(all_lean);
  const auto with_reads = [&](Profile of) {
    for (std::size_t c = 0; c < count; ++c) {
      std::uint64_t swept = 0; // what parts behind read
      for (std::size_t i = boundaries[c + 1]; i-- > boundaries[c];) {
        of.intervals[i].sweeping = bounded(of.intervals[i].sweeping + of.intervals[i].more_reads + swept);
        if (i < reads.size()) swept = bounded(swept + reads[i]);
      }
    }
    return of;
  };
  const Profile at_first_reads = with_reads(at_first), all_lean_reads = with_reads(all_lean);
  // Sums a line over the fine intervals of each coarse one.
  auto summed = [&](const std::vector<std::uint64_t>& line, std::size_t coarse_count) {
    std::vector<std::uint64_t> sums(coarse_count, 0);
    for (std::size_t c = 0; c < coarse_count; ++c)
      for (std::size_t k = boundaries[c]; k < boundaries[c + 1]; ++k) sums[c] += line[k];
    return sums;
  };
  for (std::size_t c = 0; c <= count; ++c) {
    coarse.reach.push_back(summed(profile.reach[boundaries[c]], c));
    coarse.cotangents.push_back(profile.cotangents[boundaries[c]]);
  }
  coarse.born = summed(profile.born, count);
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t from = boundaries[c], to = boundaries[c + 1];
    Interval whole;
    std::vector<std::uint64_t> shares(to, 0), lean(to, 0), before(to, 0), after(to, 0);
    std::vector<std::uint64_t> lean_before(to, 0), lean_after(to, 0), before_lean(to, 0), gone(to, 0);
    for (std::size_t i = from; i < to; ++i) {
      const Interval& part = profile.intervals[i];
      whole.forward = std::min(kMostOfOne, whole.forward + part.forward);
      whole.taped = std::min(kMostOfOne, whole.taped + part.taped);
      whole.sweep = std::min(kMostOfOne, whole.sweep + part.sweep);
      whole.tape = std::min(kMostOfOne, whole.tape + part.tape);
      whole.again = std::min(kMostOfOne, whole.again + part.again);
      // What two parts hold of what stays is in `shares` once.
      std::uint64_t both = 0;
      for (std::size_t k = 0; i > from && k < part.shares.size(); ++k) both += before_of(profile, i, part.shares[k]);
      both = i > from ? std::min({both, part.stays, profile.intervals[i - 1].stays}) : 0;
      whole.stays = std::min(kMostOfOne, whole.stays + part.stays);
      whole.padding = std::min(kMostOfOne, whole.padding + part.padding + both);
      whole.piece = std::max(whole.piece, part.piece);
      whole.swept = std::max(whole.swept, part.swept);
      for (const TapeShare& share : shares_at_first(part)) {
        const std::uint64_t fresh = share.bytes - (i > from ? share.before : 0);
        shares[share.birth] = std::min(shares[share.birth] + fresh,
                                       share.birth < from ? profile.reach[from][share.birth] : profile.born[share.birth]);
        const std::uint64_t fresh_lean = share.lean - (i > from ? share.lean_before : 0);
        lean[share.birth] = std::min(lean[share.birth] + fresh_lean, shares[share.birth]);
        if (share.birth < from) gone[share.birth] += share.gone; // what goes in one part is not there in a later one
        if (i == from) {
          before[share.birth] = share.before;
          lean_before[share.birth] = share.lean_before;
          before_lean[share.birth] = share.before_lean;
        }
        if (i + 1 == to) {
          after[share.birth] = share.after;
          lean_after[share.birth] = share.lean_after;
        }
      }
    }
    const std::vector<std::uint64_t> of_births = summed(shares, c + 1), of_before = summed(before, c + 1),
                                     of_after = summed(after, c + 1), of_lean = summed(lean, c + 1),
                                     of_lean_before = summed(lean_before, c + 1), of_lean_after = summed(lean_after, c + 1),
                                     of_before_lean = summed(before_lean, c + 1), of_gone = summed(gone, c + 1);
    for (std::size_t d = 0; d <= c; ++d) {
      if (of_births[d] == 0) continue;
      TapeShare share;
      share.birth = static_cast<std::uint32_t>(d);
      share.bytes = of_births[d];
      share.before = std::min(of_before[d], share.bytes);
      share.after = std::min(of_after[d], share.bytes);
      share.lean = std::min(of_lean[d], share.bytes);
      share.lean_before = std::min({of_lean_before[d], share.lean, share.before});
      share.lean_after = std::min({of_lean_after[d], share.lean, share.after});
      share.before_lean = std::min(of_before_lean[d], share.before);
      share.gone = std::min(of_gone[d], share.bytes);
      whole.shares.push_back(share);
    }
    const std::uint64_t end = coarse.reach[c + 1][c];
    // What the tape holds of this interval, and how much of that the state at its end has as well.
    const std::uint64_t shared = of_births[c];
    const std::uint64_t hidden = std::max(shared - std::min(shared, coarse.born[c] - end), std::min(shared, of_after[c]));
    // Of states in between, what neither a tape nor the state at the end holds is gone with them.
    coarse.born[c] = std::min(coarse.born[c], shared + end);
    // While its parts are done one by one, what is held beyond what is held while it is done as one.
    const Parts parts(at_first, from, to), lean_parts(all_lean, from, to);
    const Parts::Tapes& tapes = parts.tapes(from, to);
    auto beyond = [](std::uint64_t bytes, std::uint64_t counted) { return bytes - std::min(bytes, counted); };
    const std::uint64_t taped = end + whole.tape + shared - hidden;
    whole.advancing = beyond(parts.advance_peak(to), end);
    whole.taping = beyond(tapes.tape_peak, taped);
    // Where the state at its start is not held, as much of that is there in each part as is lost from there on.
    whole.advancing_alone = whole.taping_alone = 0;
    std::uint64_t lost_advancing = 0, lost_taping = 0;
    for (std::size_t i = to; i-- > from;) {
      const Parts::Running advancing = parts.advancing(i), taping = parts.taping(from, i);
      const std::uint64_t advancing_at_end = lost_advancing + advancing.beside_end,
                          taping_at_end = lost_taping + taping.beside_end;
      lost_advancing += lost(at_first, i, from, false);
      lost_taping += lost(at_first, i, from, true);
      const std::uint64_t most_advancing = std::min(advancing_at_end, lost_advancing + advancing.beside_both),
                          most_taping = std::min(taping_at_end, lost_taping + taping.beside_both);
      whole.advancing_alone = bounded(std::max(whole.advancing_alone, beyond(most_advancing, end)));
      whole.taping_alone = bounded(std::max(whole.taping_alone, beyond(most_taping, taped)));
    }
    whole.sweeping = beyond(tapes.sweep_peak_aside, whole.tape + shared + coarse.cotangents[c + 1]);
    const std::uint64_t left = of_births[c] == 0 ? 0 : whole.shares.back().lean; // of what the tape holds of this interval
    whole.sweeping_otherwise = beyond(lean_parts.tapes(from, to).sweep_peak_aside, whole.tape + left + coarse.cotangents[c + 1]);
    const auto more_than = [&](std::uint64_t sweeping, const Profile& of, std::uint64_t held) {
      const Parts with(of, from, to);
      return beyond(beyond(with.tapes(from, to).sweep_peak_aside, whole.tape + held + coarse.cotangents[c + 1]), sweeping);
    };
    whole.more_if_parts = bounded(more_than(whole.sweeping, at_first_parts, shared));
    whole.more_if_parts_otherwise = bounded(more_than(whole.sweeping_otherwise, all_lean_parts, left));
    whole.more_reads = bounded(
        std::max(more_than(whole.sweeping, at_first_reads, shared), more_than(whole.sweeping_otherwise, all_lean_reads, left)));
    // The states at the ends of its parts and their tapes have all of what it has.
    std::uint64_t of_parts = 0;
    for (std::size_t i = from; i < to; ++i) of_parts += born_aside(all_lean, i);
    const std::uint64_t left_beside_end = of_births[c] == 0 ? 0 : left - whole.shares.back().lean_after;
    whole.born_lean = std::min({coarse.born[c], of_parts, end + left_beside_end});
    if (profile.intervals[from].lean) make_lean(whole); // as all its parts are
    coarse.intervals.push_back(std::move(whole));
  }
  return coarse;
}

} // namespace cairn::schedule
