// Estimates of what it costs to do without a state or a tape.
#include "vm/schedule/keeping.h"

#include "vm/schedule/asking.h"
#include "vm/schedule/binomials.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace cairn::schedule {
namespace {

// What other values of these do to modelled times was tried over random runs (test/schedule/layered_machine.h), some 300 of them
// where no other number is told; "slower" and "faster" are such times.

// Where less than such a part of the room is held, the interval itself takes too much, which letting go of others hardly helps.
// Half and twice as much change no run that has a budget; of 18 that have none, twice as much makes 5 slower, one by 28 %.
constexpr std::uint64_t kLittle = 16;
// Places at which candidates are weighed, which is most of the work. One alone makes 37 runs slower and 63 faster, by 2 % at
// most; six make 2 faster, by 1 %.
constexpr std::size_t kMostTight = 3;
// Tapes of neighbours that are looked at together, as what they share is only free without all of them. One alone makes 18 runs
// slower and 14 faster, by 3 % at most, and beside a file one by 12 %; six change none.
constexpr std::size_t kMostTogether = 3;
// Of the room, for what stays of tapes in the file: nothing lets go of it once they are there. Half and twice as much change no
// first call of 60 beside a file, and the next call of one, which is slower.
constexpr std::uint64_t kMostStays = 4;
// Intervals. Weighing what may go with eight of them takes milliseconds at most, far less than somebody waits who ends it.
constexpr std::size_t kBetweenQuestions = 8;
// Such a part of its cost counts, whatever letting go of a tape saves elsewhere: an estimate, without which it might seem to cost
// nothing. Half of it makes 2 of 120 runs slower, twice of it 6 slower and 2 faster, all by less than 1 %.
constexpr double kLeastOfCost = 0.25;
// What a state between two tapes is worth, of running what comes behind it: an estimate, as its tape may stay. Half and twice as
// much change none of 120 runs: the fourth power in use_of_state decides.
constexpr double kUseOfState = 0.5;
// Of the time of the file, what it takes from the run beside it. (A gradient of 9.4 s that moved 1.6 GB at 1 GB/s took 9.8 s.)
constexpr std::uint64_t kTakenByFile = 4;

} // namespace

Keeping::Keeping(const Profile& profile, std::uint64_t room, std::uint64_t next, bool ended, std::vector<bool> states,
                 std::vector<bool> tapes, File file)
    : profile_(profile), room_(room), next_(next), ended_(ended), states_(std::move(states)), tapes_(std::move(tapes)),
      file_(std::move(file)) {
  for (const Interval& interval : profile_.intervals) {
    forward_ = bounded(forward_ + interval.taped);
    reversal_ = bounded(reversal_ + interval.sweep);
    tape_alone_.push_back(tape_bytes(profile_, tape_alone_.size(), tape_alone_.size() + 1));
  }
  for (const std::vector<std::uint64_t>& reach : profile_.reach)
    state_alone_.push_back(std::accumulate(reach.begin(), reach.end(), std::uint64_t{0}));
  note_before();
}

std::vector<bool> Keeping::tapes_here() const {
  std::vector<bool> tapes = tapes_;
  for (std::size_t i = 0; i < tapes.size(); ++i) tapes[i] = here(i);
  return tapes;
}

std::uint64_t waiting_for(const File& file, std::uint64_t moved, std::uint64_t forward, std::uint64_t reversal) {
  const auto one_way = static_cast<std::uint64_t>(std::min(Wide{moved} * file.ticks >> 21, Wide{kMostOfOne}));
  const std::uint64_t beside = std::min(one_way, forward) + std::min(one_way, reversal);
  return 2 * one_way - beside + beside / kTakenByFile;
}

std::uint64_t Keeping::cost_of_file(std::uint64_t bytes) const {
  return waiting_for(file_, bounded(file_.moved + bytes), forward_, reversal_) -
         waiting_for(file_, file_.moved, forward_, reversal_);
}

void Keeping::note_before() {
  const std::size_t n = profile_.size();
  HeldInOrder held(profile_);
  before_.clear();
  tape_.clear();
  stays_.assign(1, 0);
  for (std::size_t i = 0; i < n; ++i) stays_.push_back(stays_.back() + (file_.has(i) ? profile_.intervals[i].stays : 0));
  for (std::size_t i = 0; i <= n; ++i) {
    if (states_[i] && i < n && !tapes_[i]) held.add_state(i);
    const std::uint64_t in_file = stays_[i];
    before_.push_back(held.bytes() + in_file);
    if (i == n) break;
    if (here(i)) held.add_tape(i);
    const std::uint64_t with = here(i) ? held.bytes() + in_file : before_[i] + tape_bytes(profile_, i, i + 1);
    tape_.push_back(with - std::min(with, before_[i])); // more may be known of what is shared once there is one more
  }
}

std::uint64_t Keeping::alone(std::size_t interval) const {
  const Interval& its = profile_.intervals[interval];
  if (tapes_[interval]) return swept(interval);
  return tape_[interval] + profile_.cotangents[interval + 1] + std::max(its.sweeping(), taping_beside(its));
}

std::uint64_t Keeping::swept(std::size_t interval) const {
  const Interval& its = profile_.intervals[interval];
  return file_.has(interval) ? swept_bytes(its) : tape_[interval] + profile_.cotangents[interval + 1] + its.sweeping();
}

std::uint64_t Keeping::peak() const {
  const std::size_t n = profile_.size();
  std::uint64_t peak = at_end() + profile_.cotangents[n] + next_;
  for (std::size_t i = 0; i < n; ++i)
    if (tapes_[i]) peak = std::max(peak, peak_of_sweep(i));
  return peak;
}

// Where there is not enough room: at the end of the run so far, or at the sweep of an interval. At most the worst three.
std::vector<Keeping::Tight> Keeping::tight() const {
  const std::size_t n = profile_.size();
  const std::uint64_t little = room_ / kLittle;
  std::vector<TooMuch> places;
  auto look = [&](std::size_t at, std::uint64_t held, std::uint64_t more) {
    if (held > little && held + more > room_) places.push_back({at, held + more - room_, held});
  };
  for (std::size_t i = 0; i < n; ++i) look(i, before_[i], alone(i));
  look(n, at_end(), profile_.cotangents[n] + next_);
  std::stable_sort(places.begin(), places.end(), [](const TooMuch& a, const TooMuch& b) { return a.over > b.over; });
  if (places.size() > kMostTight) places.resize(kMostTight);
  std::vector<Tight> tight;
  for (const TooMuch& place : places) {
    std::vector<bool> states = states_, tapes = tapes_here();
    for (std::size_t i = 0; (place.at < n || ended_) && i <= n; ++i) {
      if (i > place.at || i == n || tapes_[i]) states[i] = false;
      if (i >= place.at && i < n) tapes[i] = false;
    }
    tight.emplace_back(place, profile_, std::move(states), std::move(tapes));
  }
  return tight;
}

std::size_t Keeping::gap_begin(std::size_t interval) const {
  while (interval > 0 && !tapes_[interval - 1]) --interval;
  return interval;
}

std::size_t Keeping::start_of_gap_with(std::size_t interval) const {
  while (interval > 0 && tapes_[interval - 1] && !states_[interval]) --interval;
  return interval;
}

std::size_t Keeping::gap_end(std::size_t interval) const {
  while (interval < profile_.size() && !tapes_[interval]) ++interval;
  return interval;
}

Keeping::Part Keeping::part(std::size_t from, std::size_t to) const {
  std::uint64_t forward = 0, sweeping = 0;
  for (std::size_t i = from; i < to; ++i) {
    forward += profile_.intervals[i].forward;
    sweeping = std::max({sweeping, profile_.intervals[i].sweeping(), taping_beside(profile_.intervals[i])});
  }
  const std::uint64_t used = before_[from] + profile_.cotangents[from] + sweeping;
  return {from, static_cast<double>(forward), static_cast<double>(tape_bytes(profile_, from, to)),
          static_cast<double>(room_ - std::min(room_, used))};
}

// It is put on tape, in parts where it does not fit, and then most of it runs once more to get there.
double Keeping::Part::cost(double more_room) const {
  const double there = room + more_room;
  return tape <= there ? once : once * (2 + (tape - there) / (there + 1));
}

double Keeping::cost_of_gap(std::size_t from, std::size_t to) const {
  double cost = 0;
  for (std::size_t begin = from; begin < to;) {
    std::size_t end = begin + 1;
    while (end < to && !states_[end]) ++end;
    cost += part(begin, end).cost();
    begin = end;
  }
  return cost;
}

double Keeping::cost() const {
  double cost = 0;
  for (std::size_t i = 0; i < profile_.size(); ++i) {
    if (tapes_[i]) continue;
    const std::size_t end = gap_end(i);
    cost += cost_of_gap(i, end);
    i = end;
  }
  return cost;
}

Keeping::Tight::Tight(const TooMuch& place, const Profile& profile, std::vector<bool> states_then, std::vector<bool> tapes_then)
    : TooMuch(place), states(std::move(states_then)), tapes(std::move(tapes_then)), nothing(profile), before(nothing),
      now(nothing) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i]) now.add_state(i);
    from_state.push_back(now.bytes());
    if (i < tapes.size() && tapes[i]) now.add_tape(i);
  }
  for (std::uint64_t& bytes : from_state) bytes = now.bytes() - bytes;
}

// Of what it holds now. What comes before the first flag that differs from candidate to candidate is added up once for all that
// begin there or later. What comes behind the first state after the last one that differs is what it was: that state has all that
// was alive there, so what is held behind it does not depend on what is held in front of it.
std::uint64_t Keeping::Tight::bytes_of_changed(std::size_t first, std::size_t last) {
  if (first < noted) before = nothing, noted = 0;
  before.add(states, tapes, noted, first);
  noted = first;
  now = before;
  for (std::size_t i = first; i < states.size(); ++i) {
    if (states[i]) now.add_state(i);
    if (states[i] && i > last) return now.bytes() + from_state[i];
    if (i < tapes.size() && tapes[i]) now.add_tape(i);
  }
  return now.bytes();
}

// No more than it would free if nothing else had any of it.
double Keeping::most_freed(const std::vector<Drop>& candidate, const std::vector<Tight>& tight) const {
  std::uint64_t bytes = 0;
  for (const Drop& drop : candidate) {
    if (drop.what != What::spill) bytes += state_alone_[drop.at];
    if (drop.what != What::state) bytes += tape_alone_[drop.at];
  }
  double most = 0;
  for (const Tight& t : tight) most += static_cast<double>(std::min(bytes, t.over));
  return most;
}

// With all of a candidate let go of: what of the bytes that are too many it frees. Many candidates are asked about, and few flags
// differ between them, so these are set and put back one by one.
double Keeping::freed(const std::vector<Drop>& candidate, std::vector<Tight>& tight) const {
  struct Change {
    std::vector<bool>& flags;
    std::size_t at;
  };
  std::vector<Change> changes;
  changes.reserve(2 * candidate.size());
  double freed = 0;
  for (Tight& t : tight) {
    std::size_t first = states_.size(), last = 0;
    const auto set = [&](std::vector<bool>& flags, std::size_t at, bool value) {
      first = std::min(first, at);
      last = std::max(last, at);
      if (flags[at] == value) return;
      flags[at] = value;
      changes.push_back({flags, at});
    };
    std::uint64_t now = stays_[t.at];
    for (const Drop& drop : candidate) {
      if (drop.what == What::state ? drop.at > t.at : drop.at >= t.at) continue;
      if (drop.what != What::state) set(t.tapes, drop.at, false);
      if (drop.what == What::tape && file_.has(drop.at)) now -= profile_.intervals[drop.at].stays;
      if (drop.what == What::spill) now += profile_.intervals[drop.at].stays;
      if (drop.what == What::tape) set(t.states, drop.at, states_[drop.at]); // at the start of a gap it is held
    }
    for (const Drop& drop : candidate)
      if (drop.what == What::state && drop.at <= t.at) set(t.states, drop.at, false);
    now += t.bytes_of_changed(first, last);
    if (now < t.held) freed += static_cast<double>(std::min(t.held - now, t.over));
    for (const Change& change : changes) change.flags[change.at].flip();
    changes.clear();
  }
  return freed;
}

// Of running the interval behind a state between two tapes without that state, should its tape go: where there are tapes in the
// file in front of it, from the start of these.
std::uint64_t Keeping::cost_without_state(std::size_t i) {
  const bool held = states_[i];
  states_[i] = false;
  std::uint64_t all = profile_.intervals[i].forward;
  bool in_file = false;
  for (std::size_t k = start_of_gap_with(i); k < i; ++k) {
    all = bounded(all + profile_.intervals[k].forward);
    in_file = in_file || file_.has(k);
  }
  states_[i] = held;
  return in_file ? all : profile_.intervals[i].forward;
}

// As a part of what it would be if the tape of that interval were the next one to let go of: less, and soon next to nothing, the
// more a byte of that tape costs beside one of the next. A lean tape that holds little stays, and nobody misses the state at its
// start. The fourth power: in stacks of transformers the sixth and the eighth gave the same and the second too little, and all or
// nothing let gradients through training loops cost up to 13 % more with more memory.
double Keeping::use_of_state(std::size_t interval, double going_rate) const {
  const double worth = going_rate * static_cast<double>(tape_[interval]);
  const double part = std::min(1.0, worth / (1 + static_cast<double>(profile_.intervals[interval].forward)));
  return part * part * part * part;
}

// What it costs to do without the tapes of [i, end) and the states between them.
double Keeping::cost_without(std::size_t i, std::size_t end) {
  const std::size_t from = gap_begin(i), to = gap_end(end);
  const double with = cost_of_gap(from, i) + cost_of_gap(end, to);
  const std::vector<bool> states = states_, tapes = tapes_;
  for (std::size_t k = i; k < end; ++k) {
    tapes_[k] = false;
    if (k > i) states_[k] = false;
  }
  const double cost = cost_of_gap(from, to) - with;
  states_ = states;
  tapes_ = tapes;
  return cost;
}

// Those of several intervals whose tape does not fit beside what is held in front of them.
std::vector<Keeping::Part> Keeping::parts_that_lack_room() const {
  std::vector<Part> lacking;
  for (std::size_t begin = 0; begin < profile_.size();) {
    std::size_t end = begin + 1;
    while (end < profile_.size() && !tapes_[begin] && !tapes_[end] && !states_[end]) ++end;
    if (!tapes_[begin] && end - begin > 1)
      if (const Part found = part(begin, end); found.tape > found.room) lacking.push_back(found);
    begin = end;
  }
  return lacking;
}

std::vector<Keeping::Drop> Keeping::drop() {
  const std::size_t n = profile_.size();
  std::vector<Tight> tight = this->tight();
  std::vector<Drop> best;
  double best_freed = 0, best_cost = 1;
  auto consider = [&](std::vector<Drop> candidate, double cost) {
    const double price = std::max(cost, 0.0) + 1;
    if (most_freed(candidate, tight) <= best_freed * price / best_cost) return;
    const double freed = this->freed(candidate, tight);
    if (freed <= best_freed * price / best_cost) return;
    best = std::move(candidate);
    best_freed = freed;
    best_cost = price;
  };
  if (tight.empty()) return best;
  const std::vector<Part> lacking = parts_that_lack_room();
  // What running these takes less with so many bytes more.
  const auto saved_behind = [&](std::size_t end, std::uint64_t bytes) {
    double saved = 0;
    for (const Part& part : lacking)
      if (part.from >= end) saved += part.cost() - part.cost(static_cast<double>(bytes));
    return saved;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kBetweenQuestions == 0) Asking::now();
    if (!here(i)) continue;
    // Where nothing can run from its start, what is in the file in front of it goes as well: by itself that would free nothing.
    const std::size_t from = start_of_gap_with(i);
    if (from < i && !file_.has(i - 1)) continue; // the tape in front of it first
    std::vector<Drop> candidate;
    for (std::size_t k = from; k < i; ++k) candidate.push_back({What::tape, k});
    std::uint64_t bytes = 0;
    for (std::size_t end = i + 1; end <= std::min(n, i + kMostTogether) && here(end - 1); ++end) {
      candidate.push_back({What::tape, end - 1});
      if (end - 1 > i && states_[end - 1]) candidate.push_back({What::state, end - 1});
      bytes += tape_[end - 1];
      const double cost = cost_without(from, end);
      consider(candidate, std::max(cost - saved_behind(end, bytes), cost * kLeastOfCost));
    }
  }
  const double going_rate = best.empty() ? std::numeric_limits<double>::max() : best_cost / best_freed;
  // Nothing will run from the start of a tape in the file, unless that is the start of all.
  std::vector<bool> in_use = file_.tapes;
  in_use.resize(n, false);
  for (std::size_t i = 0; i < n && file_.most > 0; ++i) {
    std::vector<Drop> candidate;
    std::vector<bool> then = in_use;
    std::uint64_t bytes = 0, stay = stays_[n];
    for (std::size_t end = i + 1; end <= std::min(n, i + kMostTogether) && here(end - 1); ++end) {
      bytes += in_file(profile_.intervals[end - 1]);
      stay += profile_.intervals[end - 1].stays;
      then[end - 1] = true;
      if (in_file(profile_, then) > file_.most || stay > room_ / kMostStays) break;
      candidate.push_back({What::spill, end - 1});
      if (end > 1 && states_[end - 1]) candidate.push_back({What::state, end - 1});
      if (bytes > 0)
        consider(candidate, static_cast<double>(cost_of_file(bytes))); // tensors that stay are no reason to move a tape
    }
  }
  for (std::size_t i = 1; i < n; ++i) {
    if (!states_[i] || (tapes_[i - 1] && !tapes_[i])) continue; // gaps need the state at their start
    double cost = static_cast<double>(cost_without_state(i)) * kUseOfState * use_of_state(i, going_rate);
    if (!tapes_[i - 1]) {
      const std::size_t from = gap_begin(i), to = gap_end(i);
      const double with = cost_of_gap(from, to);
      states_[i] = false;
      cost = cost_of_gap(from, to) - with;
      states_[i] = true;
    }
    consider({{What::state, i}}, cost);
  }
  for (const Drop& drop : best) {
    if (drop.what == What::spill) {
      file_.tapes.resize(n, false);
      file_.tapes[drop.at] = true;
      file_.moved = bounded(file_.moved + in_file(profile_.intervals[drop.at]));
    } else {
      if (drop.what == What::tape && file_.has(drop.at)) file_.tapes[drop.at] = false;
      (drop.what == What::tape ? tapes_ : states_)[drop.at] = false;
    }
  }
  if (!best.empty()) note_before();
  return best;
}

} // namespace cairn::schedule
