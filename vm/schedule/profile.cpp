// Profiles of runs: whether one is sound, and what its states and tapes may share.
#include "vm/schedule/profile.h"

#include "vm/schedule/binomials.h"
#include "vm/schedule/plan_parts.h"

#include <algorithm>
#include <utility>

namespace cairn::schedule {

namespace {

bool small(std::uint64_t value) { return value <= kMostOfOne; }

bool interval_sound(const Interval& interval, std::size_t index, const std::vector<std::uint64_t>& alive) {
  for (const std::uint64_t value :
       {interval.forward, interval.taped, interval.sweep, interval.tape, interval.thinned, interval.stays, interval.padding,
        interval.piece, interval.swept, interval.advancing, interval.taping, interval.sweeping})
    if (!small(value)) return false;
  if (interval.form >= kTapeForms || interval.shares.size() > index + 1 ||
      !std::all_of(interval.sweeping_of.begin(), interval.sweeping_of.end(), small) ||
      !std::all_of(interval.again_of.begin(), interval.again_of.end(), small))
    return false;
  const auto form_sound = [&](const TapeShare& share, const TapeShare::Form& form) {
    return form.bytes <= share.forms[0].bytes && form.after <= form.bytes &&
           std::all_of(form.before.begin(), form.before.end(),
                       [&](std::uint64_t before) { return before <= form.bytes && (share.birth != index || before == 0); });
  };
  return std::all_of(interval.shares.begin(), interval.shares.end(), [&](const TapeShare& share) {
    if (share.birth > index || !small(share.forms[0].bytes) ||
        (share.birth != index && share.forms[0].bytes > alive[share.birth]))
      return false;
    const TapeShare::Form& now = share.forms[interval.form];
    return std::ranges::all_of(share.forms, [&](const TapeShare::Form& form) { return form_sound(share, form); }) &&
           share.bytes == now.bytes && share.after == now.after &&
           std::ranges::find(now.before, share.before) != now.before.end();
  });
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
    if (!interval_sound(intervals[i], i, reach[i])) return false;
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

std::uint64_t saved_by_thinning(const Interval& interval, std::size_t form) {
  std::uint64_t now = 0, then = 0;
  for (const TapeShare& share : interval.shares) {
    now += share.bytes;
    then += share.forms[form].bytes;
  }
  return now - std::min(now, then);
}

bool PriceOfByte::operator<(const PriceOfByte& other) const { return Wide{cost} * other.bytes < Wide{other.cost} * bytes; }

PriceOfByte price_of(const Interval& interval, std::size_t form) {
  return {interval.again_of[form] - std::min(interval.again_of[form], interval.again()), saved_by_thinning(interval, form)};
}

std::size_t next_form(const Profile& profile, std::size_t interval, std::size_t most, std::uint64_t part) {
  const Interval& its = profile.intervals[interval];
  std::size_t best = 0;
  PriceOfByte least{its.forward / part, std::max<std::uint64_t>(1, tape_bytes(profile, interval, interval + 1))};
  for (std::size_t form = its.form + 1; form <= most; ++form) {
    const PriceOfByte price = price_of(its, form);
    if (price.bytes == 0 || !(price < least)) continue;
    best = form;
    least = price;
  }
  return best;
}

std::uint64_t stays_of_thinned(const Interval& interval, std::uint64_t saved) { return std::min(interval.stays, saved); }

void thin(Profile& profile, std::size_t index, std::size_t form) {
  Interval& interval = profile.intervals[index];
  if (interval.form >= form) return;
  const std::uint64_t saved = saved_by_thinning(interval, form);
  const std::size_t in_front = index > 0 ? profile.intervals[index - 1].form : 0;
  interval.form = static_cast<std::uint32_t>(form);
  for (TapeShare& share : interval.shares) {
    share.bytes = share.forms[form].bytes;
    share.before = share.forms[form].before[in_front];
    share.after = share.forms[form].after;
  }
  if (index + 1 < profile.size()) {
    Interval& next = profile.intervals[index + 1];
    for (TapeShare& share : next.shares) share.before = share.forms[next.form].before[form];
  }
  interval.taping = bounded(interval.taping + saved);
  const std::uint64_t sweeping = std::exchange(interval.sweeping, interval.sweeping_of[form]);
  if (interval.sweeping > sweeping) interval.swept = bounded(interval.swept + interval.sweeping - sweeping);
  interval.padding = bounded(interval.padding + stays_of_thinned(interval, saved));
  interval.thinned = bounded(interval.thinned + saved);
}

std::vector<std::uint64_t> least_born(const Profile& profile) {
  std::vector<std::uint64_t> most(profile.size(), 0);
  for (std::size_t k = 0; k < profile.size(); ++k) most[k] = profile.reach[k + 1][k];
  for (const Interval& interval : profile.intervals)
    for (const TapeShare& share : interval.shares) most[share.birth] = std::max(most[share.birth], share.bytes);
  return most;
}

std::uint64_t held_bytes(const Profile& profile, const std::set<std::size_t>& states, const std::set<std::size_t>& tapes) {
  std::vector<bool> of_states(profile.size() + 1, false), of_tapes(profile.size(), false);
  for (const std::size_t i : states) of_states[i] = true;
  for (const std::size_t i : tapes) of_tapes[i] = true;
  return held_bytes(profile, of_states, of_tapes);
}

std::uint64_t held_bytes(const Profile& profile, const std::vector<bool>& states, const std::vector<bool>& tapes) {
  HeldInOrder held(profile);
  for (std::size_t i = 0; i <= profile.size(); ++i) {
    if (states[i]) held.add_state(i);
    if (i < profile.size() && tapes[i]) held.add_tape(i);
  }
  return held.bytes();
}

std::uint64_t HeldInOrder::OfBirth::bytes() const { return std::min(most, tapes + in_state - std::min(in_state, twice)); }

HeldInOrder::HeldInOrder(const Profile& profile) : profile_(profile), births_(profile.size()) {
  for (std::size_t k = 0; k < births_.size(); ++k) births_[k].most = profile.born[k];
}

// Of what is older than the state before it, it has no more than that one. What a tape has in common with the state at its own
// end it still has in common with a later one, but for what died in between.
void HeldInOrder::add_state(std::size_t boundary) {
  for (const std::size_t tape : tapes_)
    for (const TapeShare& share : profile_.intervals[tape].shares) {
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

void HeldInOrder::add_tape(std::size_t interval) {
  own_ += profile_.intervals[interval].tape;
  const bool beside = tape_ != kNone && tape_ + 1 == interval;
  tape_ = interval;
  tapes_.push_back(interval);
  for (const TapeShare& share : profile_.intervals[interval].shares) {
    const std::size_t k = share.birth;
    if (k < open_) continue; // a state that lies in between has all that was alive
    OfBirth& birth = births_[k];
    shared_ -= birth.bytes();
    // This tape, those behind it and later states hold parts of what was alive at its start.
    if (k < interval) birth.most = std::min(birth.most, birth.tapes + profile_.reach[interval][k]);
    birth.tapes += share.bytes - (beside ? share.before : 0);
    shared_ += birth.bytes();
  }
}

std::uint64_t tape_bytes(const Profile& profile, std::size_t from, std::size_t to) {
  std::uint64_t bytes = 0;
  for (std::size_t i = from; i < to; ++i) {
    bytes += profile.intervals[i].tape;
    for (const TapeShare& share : profile.intervals[i].shares)
      if (share.birth >= from) bytes += share.bytes - (i > from ? share.before : 0);
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

// Of these intervals as one whose tape has that form, beyond that tape and the cotangents at its end.
std::uint64_t sweeping_in(const Profile& profile, std::size_t from, std::size_t to, std::size_t form, const Interval& whole,
                          std::uint64_t cotangents) {
  Profile lean = profile;
  for (std::size_t i = from; i < to; ++i) thin(lean, i, form);
  std::uint64_t counted = whole.tape + cotangents;
  for (const TapeShare& share : whole.shares) counted += share.forms[form].bytes;
  const Parts parts(lean, from, to);
  const std::uint64_t peak = parts.tapes(from, to).sweep_peak;
  return peak - std::min(peak, counted);
}

// What parts of a whole share with others, in one form: by birth, as the whole run has it.
struct Shared {
  explicit Shared(std::size_t births) : bytes(births, 0), after(births, 0) { before.fill(bytes); }
  std::vector<std::uint64_t> bytes, after;
  std::array<std::vector<std::uint64_t>, kTapeForms> before;
};

} // namespace

Profile coarsened(const Profile& profile, const std::vector<std::uint32_t>& boundaries) {
  Profile coarse;
  const std::size_t count = boundaries.size() - 1;
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
    std::array<Shared, kTapeForms> forms = {Shared(to), Shared(to), Shared(to), Shared(to)};
    whole.form = profile.intervals[from].form; // as all its parts are
    for (std::size_t i = from; i < to; ++i) {
      const Interval& part = profile.intervals[i];
      whole.forward = std::min(kMostOfOne, whole.forward + part.forward);
      whole.taped = std::min(kMostOfOne, whole.taped + part.taped);
      whole.sweep = std::min(kMostOfOne, whole.sweep + part.sweep);
      whole.tape = std::min(kMostOfOne, whole.tape + part.tape);
      for (std::size_t f = 0; f < kTapeForms; ++f) whole.again_of[f] = bounded(whole.again_of[f] + part.again_of[f]);
      // What two parts hold of what stays is in `shares` once.
      std::uint64_t both = 0;
      for (std::size_t k = 0; i > from && k < part.shares.size(); ++k) both += part.shares[k].before;
      both = i > from ? std::min({both, part.stays, profile.intervals[i - 1].stays}) : 0;
      whole.stays = std::min(kMostOfOne, whole.stays + part.stays);
      whole.padding = std::min(kMostOfOne, whole.padding + part.padding + both);
      whole.piece = std::max(whole.piece, part.piece);
      whole.swept = std::max(whole.swept, part.swept);
      for (const TapeShare& share : part.shares) {
        const std::uint64_t alive = share.birth < from ? profile.reach[from][share.birth] : profile.born[share.birth];
        for (std::size_t f = 0; f < kTapeForms; ++f) {
          const TapeShare::Form& form = share.forms[f];
          const std::uint64_t fresh = form.bytes - (i > from ? form.before[f] : 0);
          std::uint64_t& bytes = forms[f].bytes[share.birth];
          bytes = std::min({bytes + fresh, alive, f == 0 ? alive : forms[0].bytes[share.birth]});
          for (std::size_t b = 0; i == from && b < kTapeForms; ++b) forms[f].before[b][share.birth] = form.before[b];
          if (i + 1 == to) forms[f].after[share.birth] = form.after;
        }
      }
    }
    std::array<Shared, kTapeForms> sums = {Shared(0), Shared(0), Shared(0), Shared(0)};
    for (std::size_t f = 0; f < kTapeForms; ++f) {
      sums[f].bytes = summed(forms[f].bytes, c + 1);
      sums[f].after = summed(forms[f].after, c + 1);
      for (std::size_t b = 0; b < kTapeForms; ++b) sums[f].before[b] = summed(forms[f].before[b], c + 1);
    }
    const std::size_t in_front = from > 0 ? profile.intervals[from - 1].form : 0;
    for (std::size_t d = 0; d <= c; ++d) {
      if (sums[0].bytes[d] == 0) continue;
      TapeShare share;
      share.birth = static_cast<std::uint32_t>(d);
      for (std::size_t f = 0; f < kTapeForms; ++f) {
        TapeShare::Form& form = share.forms[f];
        form.bytes = std::min(sums[f].bytes[d], sums[0].bytes[d]);
        form.after = std::min(sums[f].after[d], form.bytes);
        for (std::size_t b = 0; b < kTapeForms; ++b) form.before[b] = std::min(sums[f].before[b][d], form.bytes);
      }
      share.bytes = share.forms[whole.form].bytes;
      share.after = share.forms[whole.form].after;
      share.before = share.forms[whole.form].before[in_front];
      whole.shares.push_back(share);
    }
    std::uint64_t most_thinned = 0; // of a part; taped as one, all parts are thinned at the end
    for (std::size_t i = from; i < to; ++i) {
      whole.thinned = std::min(kMostOfOne, whole.thinned + profile.intervals[i].thinned);
      most_thinned = std::max(most_thinned, profile.intervals[i].thinned);
    }
    const std::uint64_t end = coarse.reach[c + 1][c];
    // What the tape holds of this interval, and how much of that the state at its end has as well.
    const std::uint64_t shared = std::min(sums[whole.form].bytes[c], sums[0].bytes[c]);
    const std::uint64_t hidden =
        std::max(shared - std::min(shared, coarse.born[c] - end), std::min(shared, sums[whole.form].after[c]));
    // Of states in between, what neither a tape nor the state at the end holds is gone with them.
    coarse.born[c] = std::min(coarse.born[c], sums[0].bytes[c] + end);
    // While its parts are done one by one, what is held beyond what is held while it is done as one.
    const Parts parts(profile, from, to);
    const Parts::Tapes& tapes = parts.tapes(from, to);
    auto beyond = [](std::uint64_t bytes, std::uint64_t counted) { return bytes - std::min(bytes, counted); };
    whole.advancing = beyond(parts.advance_peak(to), end);
    whole.taping =
        std::min(kMostOfOne, beyond(tapes.tape_peak, end + whole.tape + shared - hidden) + whole.thinned - most_thinned);
    whole.sweeping = beyond(tapes.sweep_peak, whole.tape + shared + coarse.cotangents[c + 1]);
    for (std::size_t f = 0; f < kTapeForms; ++f)
      whole.sweeping_of[f] = f == whole.form  ? whole.sweeping
                             : f > whole.form ? sweeping_in(profile, from, to, f, whole, coarse.cotangents[c + 1])
                                              : whole.sweeping + whole.thinned;
    coarse.intervals.push_back(std::move(whole));
  }
  return coarse;
}

} // namespace cairn::schedule
