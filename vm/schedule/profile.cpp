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
  for (const std::uint64_t value : {interval.forward, interval.taped, interval.sweep, interval.tape, interval.stays,
                                    interval.padding, interval.piece, interval.swept, interval.advancing, interval.taping,
                                    interval.advancing_alone, interval.taping_alone, interval.more_reads})
    if (!small(value)) return false;
  for (const auto* const by_form : {&interval.sweeping_of, &interval.again_of, &interval.born_of, &interval.more_if_parts_of})
    if (!std::ranges::all_of(*by_form, small)) return false;
  if (interval.form >= kTapeForms || interval.shares.size() > index + 1) return false;
  return std::ranges::all_of(interval.shares, [&](const TapeShare& share) {
    const std::uint64_t most = share.forms[0].bytes;
    if (share.birth > index || !small(most)) return false;
    if (share.birth == index) {
      if (share.gone != 0) return false;
    } else {
      const std::uint64_t had = alive[share.birth], has = then[share.birth];
      if (most > had || has > had || share.gone > std::min(most, had - has)) return false;
    }
    return std::ranges::all_of(share.forms, [&](const TapeShare::Form& form) {
      const std::uint64_t before = std::ranges::max(form.before);
      return form.bytes <= most && form.after <= form.bytes && before <= (share.birth == index ? 0 : form.bytes);
    });
  });
}

std::uint64_t added_bytes(const Interval& interval) { // of lean tapes: what their sweep holds more than that of a whole one
  return interval.sweeping() - std::min(interval.sweeping(), interval.sweeping_of[0]);
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

std::uint64_t shared_bytes(const Interval& interval, std::size_t form) {
  std::uint64_t bytes = 0;
  for (const TapeShare& share : interval.shares) bytes += share.forms[form].bytes;
  return bytes;
}

std::uint64_t whole_tape(const Interval& interval) { return bounded(interval.tape + shared_bytes(interval, interval.form)); }

// Of what stays in memory, at most what is gone when it is lean takes as much in the file.
std::uint64_t in_file(const Interval& interval) {
  const std::uint64_t whole = whole_tape(interval), saved = bounded(interval.tape + shared_bytes(interval, 0)) - whole;
  return bounded(whole - std::min(interval.stays, whole) + interval.padding + std::min(interval.stays, saved));
}

std::uint64_t swept_bytes(const Interval& interval) { return bounded(interval.swept + added_bytes(interval)); }

std::uint64_t in_file(const Profile& profile, const std::vector<bool>& tapes) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < tapes.size(); ++i)
    if (tapes[i]) bytes += in_file(profile.intervals[i]);
  return bounded(bytes);
}

bool PriceOfByte::operator<(const PriceOfByte& other) const { return Wide{cost} * other.bytes < Wide{other.cost} * bytes; }

PriceOfByte price_of(const Interval& interval, std::size_t form) {
  const std::uint64_t now = shared_bytes(interval, interval.form), then = shared_bytes(interval, form);
  return {interval.again_of[form] - std::min(interval.again_of[form], interval.again()), now - std::min(now, then)};
}

std::uint32_t next_form(const Profile& profile, std::size_t interval, std::size_t most, std::uint64_t part) {
  const Interval& its = profile.intervals[interval];
  std::uint32_t best = 0;
  PriceOfByte least{its.forward / part, std::max<std::uint64_t>(1, tape_bytes(profile, interval, interval + 1))};
  for (std::uint32_t form = its.form + 1; form <= most; ++form) {
    const PriceOfByte price = price_of(its, form);
    if (price.bytes == 0 || !(price < least)) continue;
    best = form;
    least = price;
  }
  return best;
}

std::uint64_t born_aside(const Profile& profile, std::size_t index) {
  const Interval& interval = profile.intervals[index];
  return std::min(profile.born[index], interval.form == 0 ? kMostOfOne : interval.born_of[interval.form]);
}

std::uint64_t taping_beside(const Interval& interval) {
  const auto beside_end = [&](std::size_t form) {
    std::uint64_t bytes = 0;
    for (const TapeShare& share : interval.shares) bytes += share.forms[form].bytes - share.forms[form].after;
    return bytes;
  };
  const std::uint64_t at_first = beside_end(0), aside = beside_end(interval.form);
  return bounded(interval.taping + at_first - std::min(at_first, aside));
}

std::uint64_t lost(const Profile& profile, std::size_t interval, std::size_t boundary, bool on_tape) {
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < std::min(interval, boundary); ++k)
    bytes += profile.reach[interval][k] - profile.reach[interval + 1][k];
  if (!on_tape) return bytes;
  for (const TapeShare& share : profile.intervals[interval].shares)
    if (share.birth < std::min(interval, boundary)) bytes -= share.gone;
  return bytes;
}

std::vector<std::uint64_t> least_born(const Profile& profile) {
  std::vector<std::uint64_t> most(profile.size(), 0);
  for (std::size_t k = 0; k < profile.size(); ++k) most[k] = profile.reach[k + 1][k];
  for (const Interval& interval : profile.intervals)
    for (const TapeShare& share : interval.shares) most[share.birth] = std::max(most[share.birth], share.forms[0].bytes);
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
  held.add(states, tapes, 0, profile.size() + 1, in_work);
  return held.bytes();
}

std::uint64_t HeldInOrder::OfBirth::bytes() const { return std::min(most, tapes + in_state - std::min(in_state, twice)); }

HeldInOrder::HeldInOrder(const Profile& profile) : profile_(&profile), births_(profile.size()) {
  for (std::size_t k = 0; k < births_.size(); ++k) births_[k].most = born_aside(profile, k);
}

// Of what is older than the state before it, it has no more than that one. What a tape has in common with the state at its own
// end it still has in common with a later one, but for what died in between.
void HeldInOrder::add_state(std::size_t boundary) {
  for (const std::size_t tape : tapes_)
    for (const TapeShare& share : profile_->intervals[tape].shares) {
      if (share.birth < open_) continue;
      const std::uint64_t died = profile_->reach[tape + 1][share.birth] - profile_->reach[boundary][share.birth];
      const std::uint64_t after = share.forms[form_of(tape)].after;
      std::uint64_t& twice = births_[share.birth].twice;
      twice = std::max(twice, after - std::min(after, died));
    }
  tapes_.clear();
  for (std::size_t k = open_; k < boundary; ++k) {
    OfBirth& birth = births_[k];
    shared_ -= birth.bytes();
    birth.in_state = profile_->reach[boundary][k];
    shared_ += birth.bytes();
  }
  open_ = boundary;
}

void HeldInOrder::add_tape(std::size_t interval, bool in_work) {
  own_ += profile_->intervals[interval].tape;
  if (in_work) {
    in_work_ = interval;
    births_[interval].most = profile_->born[interval];
  }
  const bool beside = tape_ != kNoInterval && tape_ + 1 == interval;
  tape_ = interval;
  tapes_.push_back(interval);
  const std::size_t form = form_of(interval);
  for (const TapeShare& share : profile_->intervals[interval].shares) {
    const std::size_t k = share.birth;
    if (k < open_) continue; // a state that lies in between has all that was alive
    OfBirth& birth = births_[k];
    shared_ -= birth.bytes();
    // This tape, those behind it and later states hold parts of what was alive at its start.
    if (k < interval) birth.most = std::min(birth.most, birth.tapes + profile_->reach[interval][k]);
    birth.tapes += share.forms[form].bytes - (beside ? before_of(*profile_, interval, share, form) : 0);
    shared_ += birth.bytes();
  }
}

void HeldInOrder::add(const std::vector<bool>& states, const std::vector<bool>& tapes, std::size_t from, std::size_t to,
                      std::size_t in_work) {
  for (std::size_t i = from; i < to; ++i) {
    if (states[i]) add_state(i);
    if (i < tapes.size() && tapes[i]) add_tape(i, i == in_work);
  }
}

std::uint64_t bytes_of_one_tape(const Profile& profile) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    bytes += profile.intervals[i].tape;
    for (const TapeShare& share : profile.intervals[i].shares)
      bytes += share.forms[0].bytes - (i > 0 ? share.forms[0].before[0] : 0);
  }
  return bytes;
}

std::uint64_t tape_bytes(const Profile& profile, std::size_t from, std::size_t to) {
  std::uint64_t bytes = 0;
  for (std::size_t i = from; i < to; ++i) {
    const Interval& interval = profile.intervals[i];
    bytes += interval.tape;
    for (const TapeShare& share : interval.shares)
      if (share.birth >= from)
        bytes += share.forms[interval.form].bytes - (i > from ? before_of(profile, i, share, interval.form) : 0);
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
    std::erase_if(interval.shares, [&](const TapeShare& share) { return share.birth < from; });
    for (TapeShare& share : interval.shares) share.birth -= static_cast<std::uint32_t>(from);
  }
  for (std::size_t i = from; i <= to; ++i) part.reach.emplace_back(at(profile.reach[i], from), at(profile.reach[i], i));
  return part;
}

namespace {

// Sums a line over the fine intervals of each coarse one, of so many.
template <class F> std::vector<std::uint64_t> summed(const std::vector<std::uint32_t>& boundaries, std::size_t count, F&& line) {
  std::vector<std::uint64_t> sums(count, 0);
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t k = boundaries[c]; k < boundaries[c + 1]; ++k) sums[c] += line(k);
  return sums;
}

// What the tapes of [from, to) share as one, by birth, in intervals between these boundaries, `count` of them until there.
std::vector<TapeShare> shares_as_one(const Profile& profile, const std::vector<std::uint32_t>& boundaries, std::size_t count) {
  const std::size_t from = boundaries[count - 1], to = boundaries[count];
  std::vector<TapeShare> fine(to), coarse;
  for (std::size_t i = from; i < to; ++i)
    for (const TapeShare& share : profile.intervals[i].shares) {
      TapeShare& of_birth = fine[share.birth];
      const std::uint64_t alive = share.birth < from ? profile.reach[from][share.birth] : profile.born[share.birth];
      if (share.birth < from) of_birth.gone += share.gone; // what goes in one part is not there in a later one
      for (std::size_t f = 0; f < kTapeForms; ++f) {
        const TapeShare::Form& part = share.forms[f];
        TapeShare::Form& whole = of_birth.forms[f];
        const std::uint64_t fresh = part.bytes - (i > from ? part.before[f] : 0);
        whole.bytes = std::min(whole.bytes + fresh, f == 0 ? alive : of_birth.forms[0].bytes);
        if (i == from) whole.before = part.before;
        if (i + 1 == to) whole.after = part.after;
      }
    }
  for (std::size_t d = 0; d < count; ++d) {
    TapeShare share;
    share.birth = static_cast<std::uint32_t>(d);
    for (std::size_t k = boundaries[d]; k < boundaries[d + 1]; ++k) {
      share.gone += fine[k].gone;
      for (std::size_t f = 0; f < kTapeForms; ++f) {
        TapeShare::Form& form = share.forms[f];
        const TapeShare::Form& of_part = fine[k].forms[f];
        form.bytes += of_part.bytes;
        form.after += of_part.after;
        for (std::size_t b = 0; b < kTapeForms; ++b) form.before[b] += of_part.before[b];
      }
    }
    if (share.forms[0].bytes == 0) continue;
    share.gone = std::min(share.gone, share.forms[0].bytes);
    for (TapeShare::Form& form : share.forms) {
      form.bytes = std::min(form.bytes, share.forms[0].bytes);
      form.after = std::min(form.after, form.bytes);
      for (std::uint64_t& before : form.before) before = d + 1 == count ? 0 : std::min(before, form.bytes);
    }
    coarse.push_back(share);
  }
  return coarse;
}

std::uint64_t beyond(std::uint64_t bytes, std::uint64_t counted) { return bytes - std::min(bytes, counted); }

// While the parts of an interval are done one by one, in its first form, what is held beyond what is held while it is done as
// one: beside the state at its end, `end`, and beside that and its whole tape, which comes to `taped`.
void set_running(Interval& whole, const Profile& profile, const Parts& parts, std::size_t from, std::size_t to, std::uint64_t end,
                 std::uint64_t taped) {
  whole.advancing = beyond(parts.advance_peak(to), end);
  whole.taping = beyond(parts.tapes(from, to).tape_peak, taped);
  // Where the state at its start is not held, as much of that is there in each part as is lost from there on.
  whole.advancing_alone = whole.taping_alone = 0;
  std::uint64_t lost_advancing = 0, lost_taping = 0;
  for (std::size_t i = to; i-- > from;) {
    const Parts::Running advancing = parts.advancing(i), taping = parts.taping(from, i);
    const std::uint64_t advancing_at_end = lost_advancing + advancing.beside_end, taping_at_end = lost_taping + taping.beside_end;
    lost_advancing += lost(profile, i, from, false);
    lost_taping += lost(profile, i, from, true);
    const std::uint64_t most_advancing = std::min(advancing_at_end, lost_advancing + advancing.beside_both),
                        most_taping = std::min(taping_at_end, lost_taping + taping.beside_both);
    whole.advancing_alone = bounded(std::max(whole.advancing_alone, beyond(most_advancing, end)));
    whole.taping_alone = bounded(std::max(whole.taping_alone, beyond(most_taping, taped)));
  }
}

// The same while its parts are swept in the form that they have, beside all that `counted` has. `reads`: as coarsened() has it.
void set_sweeping(Interval& whole, const Profile& profile, const Parts& parts, std::size_t from, std::size_t to,
                  std::uint64_t counted, const std::vector<std::uint64_t>& reads) {
  std::uint64_t most = 0, if_parts = 0, with_reads = 0;
  std::uint64_t swept = 0; // what parts behind read
  for (std::size_t i = to; i-- > from;) {
    const Interval& part = profile.intervals[i];
    const std::uint64_t beside = parts.beside_sweep(from, i);
    most = std::max(most, beside + part.sweeping());
    if_parts = std::max(if_parts, beside + bounded(part.sweeping() + part.more_if_parts_of[part.form]));
    with_reads = std::max(with_reads, beside + bounded(part.sweeping() + part.more_reads + swept));
    if (i < reads.size()) swept = bounded(swept + reads[i]);
  }
  const std::size_t form = profile.intervals[from].form;
  whole.sweeping_of[form] = beyond(most, counted);
  whole.more_if_parts_of[form] = bounded(beyond(beyond(if_parts, counted), whole.sweeping_of[form]));
  whole.more_reads = bounded(std::max(whole.more_reads, beyond(beyond(with_reads, counted), whole.sweeping_of[form])));
}

} // namespace

Profile coarsened(const Profile& profile, const std::vector<std::uint32_t>& boundaries, const std::vector<std::uint64_t>& reads) {
  Profile coarse;
  const std::size_t count = boundaries.size() - 1;
  Profile formed = profile; // with tapes in one form after the other
  for (std::size_t c = 0; c <= count; ++c) {
    coarse.reach.push_back(summed(boundaries, c, [&](std::size_t k) { return profile.reach[boundaries[c]][k]; }));
    coarse.cotangents.push_back(profile.cotangents[boundaries[c]]);
  }
  coarse.born = summed(boundaries, count, [&](std::size_t k) { return profile.born[k]; });
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t from = boundaries[c], to = boundaries[c + 1];
    Interval whole;
    whole.form = profile.intervals[from].form; // as all its parts have
    for (std::size_t i = from; i < to; ++i) {
      const Interval& part = profile.intervals[i];
      whole.forward = bounded(whole.forward + part.forward);
      whole.taped = bounded(whole.taped + part.taped);
      whole.sweep = bounded(whole.sweep + part.sweep);
      whole.tape = bounded(whole.tape + part.tape);
      for (std::size_t f = 0; f < kTapeForms; ++f) whole.again_of[f] = bounded(whole.again_of[f] + part.again_of[f]);
      // What two parts hold of what stays is in `shares` once.
      std::uint64_t both = 0;
      for (std::size_t k = 0; i > from && k < part.shares.size(); ++k) both += part.shares[k].forms[0].before[0];
      both = i > from ? std::min({both, part.stays, profile.intervals[i - 1].stays}) : 0;
      whole.stays = bounded(whole.stays + part.stays);
      whole.padding = bounded(whole.padding + part.padding + both);
      whole.piece = std::max(whole.piece, part.piece);
      whole.swept = std::max(whole.swept, part.swept);
    }
    whole.shares = shares_as_one(profile, boundaries, c + 1);
    const std::uint64_t end = coarse.reach[c + 1][c];
    // What the tape holds of this interval in each form, and how much of that the state at its end has as well.
    const bool shares_own = !whole.shares.empty() && whole.shares.back().birth == c;
    const TapeShare of_own = shares_own ? whole.shares.back() : TapeShare{};
    const std::uint64_t shared = of_own.forms[0].bytes;
    const std::uint64_t hidden = std::max(shared - std::min(shared, coarse.born[c] - end), of_own.forms[0].after);
    // Of states in between, what neither a tape nor the state at the end holds is gone with them.
    coarse.born[c] = std::min(coarse.born[c], shared + end);
    for (std::size_t f = 0; f < kTapeForms; ++f) {
      for (std::size_t i = from; i < to; ++i) formed.intervals[i].form = static_cast<std::uint32_t>(f);
      Parts parts(formed, from, to);
      parts.weigh(from);
      const TapeShare::Form& form = of_own.forms[f];
      set_sweeping(whole, formed, parts, from, to, whole.tape + form.bytes + coarse.cotangents[c + 1], reads);
      if (f == 0) { // while its parts are taped as one, none of them is lean yet
        set_running(whole, formed, parts, from, to, end, end + whole.tape + shared - hidden);
        continue;
      }
      // The states at the ends of its parts and their tapes have all of what it has.
      std::uint64_t of_parts = 0;
      for (std::size_t i = from; i < to; ++i) of_parts += born_aside(formed, i);
      whole.born_of[f] = std::min({coarse.born[c], of_parts, end + form.bytes - form.after});
    }
    coarse.intervals.push_back(std::move(whole));
  }
  return coarse;
}

} // namespace cairn::schedule
