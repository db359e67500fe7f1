// The first run of a heavy program under a budget, and the reversal that the planner finds for it.
#include "vm/schedule/budgeted.h"

#include "vm/schedule/binomials.h"
#include "vm/schedule/plan_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cairn::schedule {

namespace {

// As many intervals as planning should cost little beside the run: tables grow with the third power of their number, so planning
// with n of them is taken to be worth n * n * n times this work (an estimate from the number of additions, not measured). Beyond
// that they become half as many, unless they were then too large to be taped.
constexpr std::uint64_t kWorkForOne = 30000;
constexpr std::size_t kFew = 24;
constexpr std::size_t kMany = 64;
constexpr std::size_t kMost = 96;
constexpr PlannerLimits kTables = {std::uint64_t{4} << 20, 128, Family::simple};
// Of the budget, what is not planned with: what a program's own data grow by, code, and what operators borrow while they run.
constexpr std::uint64_t kReserve = 16;
// However much the program holds already, plans are made for at least so much of the budget.
constexpr std::uint64_t kLeastRoom = 16;
// An interval should need no more than such a part of the room for its tape alone, and where there is no other way no more than
// the other.
constexpr std::uint64_t kGoodInterval = 6;
constexpr std::uint64_t kLargestInterval = 2;
constexpr std::size_t kMostReads = 4096;
// Modelled cost: a step counts as so much work (flops and bytes).
constexpr std::uint64_t kStepWork = 40;

std::uint64_t bounded(std::uint64_t value) { return std::min(value, kMostOfOne); }

} // namespace

Budgeted::Budgeted(std::uint64_t budget, std::uint64_t steps, std::uint64_t piece, std::uint64_t records)
    : budget_(budget), room_(budget / kLeastRoom), piece_(piece), most_steps_(kFirstSteps), steps_(steps), records_(records) {
  states_.push_back({0, slots_.take()});
}

std::optional<Action> Budgeted::next() {
  for (;;) {
    if (done_ < todo_.size()) return todo_[done_++];
    todo_.clear();
    done_ = 0;
    switch (stage_) {
    case Stage::weighing:
      stage_ = Stage::going;
      return Action{Action::Kind::weigh};
    case Stage::going:
      if (handed_over_) return std::nullopt;
      stage_ = Stage::running;
      steps_ = most_steps_;
      return Action{Action::Kind::tape, steps_, 0, piece_};
    case Stage::running:
      stage_ = Stage::weighing;
      break;
    case Stage::ending:
    case Stage::reversing:
      return std::nullopt;
    }
  }
}

void Budgeted::stopped(std::uint64_t steps_left) { steps_ -= std::min(steps_left, steps_); }

void Budgeted::weighed(const Weights& weights) {
  if (stage_ == Stage::ending) return weighed_last(weights);
  if (stage_ != Stage::going || handed_over_) return;
  if (profile_.size() == 0) {
    older_ = bounded(weights.older);
    const std::uint64_t fixed = budget_ / kReserve + older_;
    room_ = std::max(budget_ / kLeastRoom, budget_ - std::min(budget_, fixed));
  }
  push(Action::Kind::put_aside);
  tapes_.push_back(positions_.back());
  add_interval(weights);
  if (weights.nested) return hand_over();
  states_.push_back({static_cast<std::uint32_t>(profile_.size()), slots_.take()});
  push(Action::Kind::snapshot, 0, states_.back().slot);
  if (profile_.size() >= good_number()) {
    const std::vector<std::uint32_t> coarser = coarser_cut();
    const std::uint64_t largest = largest_gap(coarser);
    const bool too_many = profile_.size() >= kMost;
    if (too_many && largest > room_for_one() / kLargestInterval) return hand_over();
    if (too_many || largest <= room_for_one() / kGoodInterval) coarsen(coarser);
  }
  make_room();
}

// What the facts of one weighing can break of a profile is put on the safe side: what seems to have come back, or not to have
// been alive, counts as new.
void Budgeted::add_interval(const Weights& weights) {
  const std::size_t n = profile_.size();
  birth_of_.push_back(static_cast<std::uint32_t>(n));
  std::vector<std::uint64_t> state(n + 1, 0), tape(n + 1, 0);
  for (std::size_t k = 0; k < std::min(weights.state.size(), birth_of_.size()); ++k)
    state[birth_of_[k]] = bounded(state[birth_of_[k]] + weights.state[k]);
  for (std::size_t k = 0; k < std::min(weights.tape.size(), birth_of_.size()); ++k)
    tape[birth_of_[k]] = bounded(tape[birth_of_[k]] + weights.tape[k]);
  std::uint64_t born = weights.together;
  Interval interval;
  interval.tape = bounded(weights.own);
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint64_t alive = profile_.reach[n][k];
    const std::uint64_t came_back = state[k] - std::min(state[k], alive);
    state[k] -= came_back;
    state[n] = bounded(state[n] + came_back);
    born += came_back;
    interval.tape = bounded(interval.tape + tape[k] - std::min(tape[k], alive));
    if (const std::uint64_t shared = std::min(tape[k], alive); shared != 0)
      interval.shares.push_back({static_cast<std::uint32_t>(k), shared});
  }
  if (tape[n] != 0) interval.shares.push_back({static_cast<std::uint32_t>(n), tape[n]});
  const std::uint64_t cotangents = bounded(std::accumulate(state.begin(), state.end(), std::uint64_t{0}));
  largest_ = std::max(largest_, bounded(weights.largest));
  interval.forward = bounded(bounded(weights.work) + steps_ * kStepWork);
  interval.taped = interval.forward;
  interval.sweep = bounded(2 * interval.forward);
  interval.advancing = bounded(weights.advancing);
  interval.taping = bounded(weights.taping);
  interval.sweeping = bounded(weights.sweeping);
  profile_.intervals.push_back(std::move(interval));
  profile_.born.push_back(bounded(std::max({born, state[n], tape[n]})));
  profile_.reach.push_back(std::move(state));
  profile_.cotangents.push_back(cotangents);
  positions_.push_back(positions_.back() + std::max<std::uint64_t>(1, steps_));
  all_records_ = bounded(all_records_ + records_);
  note_reads(weights.read, n);
}

std::size_t Budgeted::good_number() const {
  std::uint64_t work = 0;
  for (const Interval& interval : profile_.intervals) work += interval.forward;
  std::size_t n = kFew;
  while (n < kMany && (n + 1) * (n + 1) * (n + 1) <= work / kWorkForOne) ++n;
  return n;
}

std::uint64_t Budgeted::largest_gap(const std::vector<std::uint32_t>& boundaries) const {
  std::uint64_t largest = 0;
  for (std::size_t i = 1; i < boundaries.size(); ++i) largest = std::max(largest, gap(boundaries[i - 1], boundaries[i]));
  return largest;
}

// Cotangents of what is older than the run come to all of it in the end.
std::uint64_t Budgeted::room_for_one() const {
  const std::uint64_t taken = read_from().front() + 2 * largest_;
  return room_ - std::min(room_, taken);
}

// Of the boundaries near every other one those stay whose states are light.
std::vector<std::uint32_t> Budgeted::coarser_cut() const {
  const auto last = static_cast<std::uint32_t>(profile_.size());
  auto weight = [&](std::uint32_t i) {
    return std::accumulate(profile_.reach[i].begin(), profile_.reach[i].end(), std::uint64_t{0});
  };
  std::vector<std::uint32_t> kept = {0};
  for (std::uint32_t i = 2; i < last; i += 2) {
    std::uint32_t lightest = i;
    for (const std::uint32_t near : {i - 1, i + 1})
      if (near > kept.back() && near < last && weight(near) < weight(lightest)) lightest = near;
    if (lightest > kept.back()) kept.push_back(lightest);
  }
  kept.push_back(last);
  return kept;
}

// What lies between two of these boundaries becomes one interval, and from now on an interval is twice as large.
void Budgeted::coarsen(const std::vector<std::uint32_t>& kept) {
  std::vector<std::uint32_t> coarse(profile_.size(), 0); // of each interval
  for (std::uint32_t c = 0; c + 1 < kept.size(); ++c) std::fill(coarse.begin() + kept[c], coarse.begin() + kept[c + 1], c);
  profile_ = coarsened(profile_, kept);
  std::vector<std::uint64_t> positions;
  for (const std::uint32_t i : kept) positions.push_back(positions_[i]);
  positions_ = std::move(positions);
  for (std::uint32_t& birth : birth_of_) birth = coarse[birth];
  for (Read& read : reads_) read.last = coarse[read.last];
  for (std::size_t i = states_.size(); i-- > 0;) {
    const auto at = std::lower_bound(kept.begin(), kept.end(), states_[i].boundary);
    if (at == kept.end() || *at != states_[i].boundary)
      drop_state(i);
    else
      states_[i].boundary = static_cast<std::uint32_t>(at - kept.begin());
  }
  // Only whole intervals are on tapes.
  while (!tapes_.empty() && !std::binary_search(positions_.begin(), positions_.end(), tapes_.front())) {
    push(Action::Kind::abandon, 0, 0);
    tapes_.erase(tapes_.begin());
  }
  piece_ = std::min(2 * piece_, kMostOfOne / kRecordBytes);
  most_steps_ = std::min(2 * most_steps_, kMostOfOne);
}

std::size_t Budgeted::first_taped() const {
  if (tapes_.empty()) return profile_.size();
  return static_cast<std::size_t>(std::lower_bound(positions_.begin(), positions_.end(), tapes_.front()) - positions_.begin());
}

std::set<std::size_t> Budgeted::kept_states() const {
  std::set<std::size_t> states;
  for (const State& state : states_) states.insert(state.boundary);
  return states;
}

std::uint64_t Budgeted::held() const {
  std::set<std::size_t> tapes;
  for (std::size_t i = first_taped(); i < profile_.size(); ++i) tapes.insert(i);
  return held_bytes(profile_, kept_states(), tapes);
}

void Budgeted::note_reads(const std::vector<OldTensor>& read, std::size_t interval) {
  const auto now = static_cast<std::uint32_t>(interval);
  std::vector<Read> merged;
  auto old = reads_.begin();
  for (const OldTensor& tensor : read) {
    while (old != reads_.end() && old->serial < tensor.serial) merged.push_back(*old++);
    if (old != reads_.end() && old->serial == tensor.serial)
      ++old;
    else if (merged.size() + static_cast<std::size_t>(reads_.end() - old) >= kMostReads) {
      more_reads_ = std::min(bounded(more_reads_ + tensor.bytes), older_); // told again by each interval that reads it
      continue;
    }
    merged.push_back({tensor.serial, bounded(tensor.bytes), now});
  }
  merged.insert(merged.end(), old, reads_.end());
  reads_ = std::move(merged);
}

std::vector<std::uint64_t> Budgeted::read_from() const {
  std::vector<std::uint64_t> bytes(profile_.size() + 1, 0);
  for (const Read& read : reads_) bytes[read.last] += read.bytes;
  for (std::size_t i = profile_.size(); i-- > 0;) bytes[i] += bytes[i + 1];
  for (std::uint64_t& sum : bytes) sum = bounded(sum + more_reads_);
  return bytes;
}

// What the sweep of an interval holds includes the cotangents that it makes, those of older tensors too. Where an interval was
// made of several, each counts only its own.
std::uint64_t Budgeted::more_reads_within(std::size_t interval, const std::vector<std::uint64_t>& reads) const {
  const bool single = std::count(birth_of_.begin(), birth_of_.end(), interval) == 1;
  return single ? 0 : reads[interval] - reads[interval + 1];
}

std::uint64_t Budgeted::foreseen_peak() const {
  const std::vector<std::uint64_t> reads = read_from();
  const std::size_t from = first_taped();
  std::uint64_t peak = held() + profile_.cotangents.back() + piece_ * kRecordBytes + largest_;
  if (peak > room_ || peak + reads[from] <= room_) return peak;
  // As tapes are swept, cotangents of what is older take their place. Sums of cotangents and what operators borrow come on top of
  // what the sweeps of a profile hold: as much as the largest operation.
  std::set<std::size_t> states = kept_states(), tapes;
  states.erase(states.lower_bound(from), states.end());
  for (std::size_t i = from; i < profile_.size(); ++i) tapes.insert(i);
  for (std::size_t i = profile_.size(); i-- > from; tapes.erase(i))
    peak = std::max(peak, held_bytes(profile_, states, tapes) + profile_.cotangents[i + 1] + profile_.intervals[i].sweeping +
                              more_reads_within(i, reads) + reads[i + 1] + largest_);
  return peak;
}

std::uint64_t Budgeted::gap(std::size_t from, std::size_t to) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = from; i < to; ++i) {
    bytes += profile_.intervals[i].tape;
    for (const TapeShare& share : profile_.intervals[i].shares)
      if (share.birth >= from) bytes += share.bytes;
  }
  return bytes;
}

// A state between two gaps that can be taped at once is of little use. Where they cannot, it saves running what lies before them
// once more, while the oldest of the tapes at the end saves running its own interval.
void Budgeted::make_room() {
  while (foreseen_peak() > room_) {
    const std::uint64_t of_states = held_bytes(profile_, kept_states(), {});
    if (!drop_a_state((room_ - std::min(room_, of_states)) / 2) && !drop_a_tape() && !drop_a_state(UINT64_MAX)) break;
  }
  peak_ = std::max(peak_, foreseen_peak());
}

// The one that frees the most bytes for a byte of the tapes that its neighbours then have between them.
bool Budgeted::drop_a_state(std::uint64_t most_of_gap) {
  std::set<std::size_t> states = kept_states();
  const std::uint64_t all = held_bytes(profile_, states, {});
  std::size_t best = 0;
  Wide best_freed = 0, best_gap = 1;
  for (std::size_t i = 1; i + 1 < states_.size(); ++i) {
    const std::uint64_t between = gap(states_[i - 1].boundary, states_[i + 1].boundary);
    if (between > most_of_gap) continue;
    states.erase(states_[i].boundary);
    const Wide freed = all - held_bytes(profile_, states, {}) + 1;
    states.insert(states_[i].boundary);
    if (best != 0 && freed * best_gap < best_freed * (between + 1)) continue;
    best = i;
    best_freed = freed;
    best_gap = between + 1;
  }
  if (best == 0) return false;
  drop_state(best);
  return true;
}

void Budgeted::drop_state(std::size_t index) {
  push(Action::Kind::discard, 0, states_[index].slot);
  slots_.give(states_[index].slot);
  states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(index));
}

bool Budgeted::drop_a_tape() {
  if (tapes_.empty()) return false;
  const std::uint64_t end = positions_[first_taped() + 1];
  do {
    push(Action::Kind::abandon, 0, 0);
    tapes_.erase(tapes_.begin());
  } while (!tapes_.empty() && tapes_.front() < end);
  return true;
}

void Budgeted::hand_over() {
  handed_over_ = true;
  while (drop_a_tape()) {
  }
  // What comes behind has states and tapes of its own.
  while (held() > room_for_one() / 8 && drop_a_state(UINT64_MAX)) {
  }
}

// What the last tape reads of what is older is among the cotangents from its sweep on, so it is weighed as well.
void Budgeted::ended() {
  if (stage_ == Stage::ending || stage_ == Stage::reversing) return;
  stage_ = Stage::ending;
  todo_.clear();
  done_ = 0;
  push(Action::Kind::weigh);
}

void Budgeted::weighed_last(const Weights& weights) {
  stage_ = Stage::reversing;
  const std::uint64_t reads_before = read_from()[profile_.size()];
  note_reads(weights.read, profile_.size());
  largest_ = std::max(largest_, bounded(weights.largest));
  all_records_ = bounded(all_records_ + records_);
  const std::uint64_t tape = bounded(bounded(weights.own) + (weights.tape.empty() ? 0 : bounded(weights.tape.back())));
  peak_ = std::max(peak_, bounded(held() + tape + std::max(bounded(weights.taping), reads_before + bounded(weights.sweeping))));
  make_room();
  const std::size_t to = first_taped();
  while (states_.size() > 1 && states_.back().boundary >= to) drop_state(states_.size() - 1);
  push(Action::Kind::reverse);
  for (; !tapes_.empty(); tapes_.pop_back()) {
    push(Action::Kind::take_back);
    push(Action::Kind::reverse);
  }
  plan(to);
}

void Budgeted::rest_is_reversed() {
  if (stage_ == Stage::reversing) return;
  stage_ = Stage::reversing;
  if (states_.size() > 1 && states_.back().boundary == profile_.size()) drop_state(states_.size() - 1);
  plan(profile_.size());
}

// Reverses everything in front of that boundary, from the states that are held.
void Budgeted::plan(std::size_t to) {
  if (to == 0) {
    drop_state(0);
    return;
  }
  Profile front{{profile_.intervals.begin(), profile_.intervals.begin() + static_cast<std::ptrdiff_t>(to)},
                {profile_.reach.begin(), profile_.reach.begin() + static_cast<std::ptrdiff_t>(to) + 1},
                {profile_.born.begin(), profile_.born.begin() + static_cast<std::ptrdiff_t>(to)},
                {profile_.cotangents.begin(), profile_.cotangents.begin() + static_cast<std::ptrdiff_t>(to) + 1}};
  const std::vector<std::uint64_t> reads = read_from();
  for (std::size_t i = 0; i <= to; ++i) {
    front.cotangents[i] = bounded(front.cotangents[i] + reads[i]);
    if (i < to) front.intervals[i].sweeping = bounded(front.intervals[i].sweeping + more_reads_within(i, reads));
  }
  std::vector<std::uint32_t> states;
  for (const State& state : states_) states.push_back(state.boundary);
  auto perform_judged = [&](const std::vector<Move>& planned) {
    const PlanReport report = check(front, planned, states, to);
    if (!report.fault.empty()) return false;
    peak_ = std::max(peak_, bounded(report.peak));
    for (std::size_t i = 0; i < report.runs.size(); ++i) again_ += report.runs[i] * (positions_[i + 1] - positions_[i]);
    perform(planned);
    return true;
  };
  const std::uint64_t room = room_ - std::min(room_, largest_);
  if (const std::optional<Plan> plan = Planner(front, room, kTables).plan(room, states, to))
    if (perform_judged(plan->moves)) return;
  // Nothing fits: what takes the least. If that is too much, the machine says so.
  const Planner unlimited(front, kMostOfOne, kTables);
  if (const std::vector<Planner::Point> curve = unlimited.curve(); !curve.empty())
    if (const std::optional<Plan> plan = unlimited.plan(curve.front().budget, states, to))
      if (perform_judged(plan->moves)) return;
  std::vector<Move> moves;
  for (std::size_t i = 1; i < states.size(); ++i) moves.push_back({Move::Kind::drop, states[i]});
  for (auto i = static_cast<std::uint32_t>(to); i-- > 0;) {
    moves.push_back({Move::Kind::restore, 0});
    if (i == 0) moves.push_back({Move::Kind::drop, 0});
    for (std::uint32_t k = 0; k < i; ++k) moves.push_back({Move::Kind::advance, k});
    moves.push_back({Move::Kind::tape, i});
    moves.push_back({Move::Kind::sweep, i});
  }
  perform_judged(moves);
}

// Moves are of intervals and boundaries, actions of steps and slots.
void Budgeted::perform(const std::vector<Move>& moves) {
  std::map<std::uint32_t, std::uint32_t> slots;
  for (const State& state : states_) slots[state.boundary] = state.slot;
  states_.clear();
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t work = kNone; // the interval of the tape in work
  auto put_aside = [&] {
    if (std::exchange(work, kNone) != kNone) push(Action::Kind::put_aside);
  };
  for (const Move& move : moves) {
    const std::uint32_t at = move.at;
    auto steps = [&] { return positions_[at + 1] - positions_[at]; };
    switch (move.kind) {
    case Move::Kind::advance:
      put_aside();
      if (!todo_.empty() && todo_.back().kind == Action::Kind::advance)
        todo_.back().steps += steps();
      else
        push(Action::Kind::advance, steps());
      break;
    case Move::Kind::tape:
      put_aside();
      push(Action::Kind::tape, steps());
      work = at;
      break;
    case Move::Kind::keep:
      put_aside();
      slots[at] = slots_.take();
      push(Action::Kind::snapshot, 0, slots[at]);
      break;
    case Move::Kind::drop:
      push(Action::Kind::discard, 0, slots.at(at));
      slots_.give(slots.at(at));
      slots.erase(at);
      break;
    case Move::Kind::restore:
      put_aside();
      push(Action::Kind::restore, 0, slots.at(at));
      break;
    case Move::Kind::sweep:
      if (work != at) push(Action::Kind::take_back);
      push(Action::Kind::reverse);
      work = kNone;
      break;
    }
  }
}

std::string Budgeted::explanation() const {
  return fmt::format("{} intervals of the first run taped and weighed, then planned within {} bytes beside {} that are older",
                     profile_.size(), room_, older_);
}

std::optional<Schedule::Foreseen> Budgeted::foreseen(std::uint64_t total) const {
  if (stage_ != Stage::reversing || handed_over_) return std::nullopt;
  return Schedule::Foreseen{total + again_, older_ + peak_};
}

bool Budgeted::sound() const {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 60;
  const std::size_t n = profile_.size();
  if (!profile_.sound() || n > kMost || positions_.size() != n + 1 || stage_ > Stage::reversing) return false;
  if (positions_.front() != 0 || positions_.back() > kFar || !std::is_sorted(positions_.begin(), positions_.end())) return false;
  if (older_ > kMostOfOne || peak_ > kFar || again_ > kFar || budget_ > kFar || room_ > kFar || piece_ > kMostOfOne ||
      steps_ > kFar || records_ > kFar || all_records_ > kMostOfOne || largest_ > kMostOfOne || done_ > todo_.size())
    return false;
  if (most_steps_ > kMostOfOne || reads_.size() > kMostReads || more_reads_ > kMostOfOne) return false;
  const std::size_t readers = n + (stage_ == Stage::reversing ? 1 : 0);
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (reads_[i].last >= readers || reads_[i].bytes > kMostOfOne || (i > 0 && reads_[i].serial <= reads_[i - 1].serial)) return false;
  if (std::any_of(birth_of_.begin(), birth_of_.end(), [&](std::uint32_t birth) { return birth >= n; })) return false;
  if (!std::is_sorted(tapes_.begin(), tapes_.end())) return false;
  if (!tapes_.empty() &&
      (tapes_.back() >= positions_.back() || !std::binary_search(positions_.begin(), positions_.end(), tapes_.front())))
    return false;
  std::vector<std::uint32_t> held;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].boundary > n || (i == 0 ? states_[i].boundary != 0 : states_[i].boundary <= states_[i - 1].boundary))
      return false;
    held.push_back(states_[i].slot);
  }
  return (stage_ == Stage::reversing) == states_.empty() && slots_.sound(std::move(held));
}

} // namespace cairn::schedule
