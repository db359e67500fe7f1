// The first run of a heavy program under a budget, and the reversal that the planner finds for it.
#include "vm/schedule/budgeted.h"

#include "vm/schedule/binomials.h"
#include "vm/schedule/keeping.h"
#include "vm/schedule/plan_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cairn::schedule {

namespace {

// As many intervals as planning should cost little beside the run: tables grow with the third power of their number, so planning
// with n of them is taken to be worth n * n * n times this work (an estimate from the number of additions, not measured). When
// there are as many, a quarter of their boundaries goes, unless intervals were then too large to be taped.
constexpr std::uint64_t kWorkForOne = 30000;
constexpr std::size_t kFew = 24;
constexpr std::size_t kMany = 64;
constexpr PlannerLimits kTables = {std::uint64_t{4} << 20, 128, Family::simple};
// Of the budget, what is not planned with: what a program's own data grow by, code, and what operators borrow while they run.
constexpr std::uint64_t kReserve = 16;
// However much the program holds already, plans are made for at least so much of the budget.
constexpr std::uint64_t kLeastRoom = 16;
// An interval should need no more than such a part of the room for its tape alone, and where there is no other way no more than
// the other.
constexpr std::uint64_t kGoodInterval = 6;
constexpr std::uint64_t kLargestInterval = 2;
// Where the rest of a run is for somebody else, such a part of that room stays with the states that are kept of it.
constexpr std::uint64_t kShareOfFront = 8;
constexpr std::size_t kMostReads = 4096;

// Computing again what a lean tape lets go of is cheaper, a byte, than running an interval again, or it is not done.
bool pays_to_thin(const Profile& profile, std::size_t interval) {
  const Interval& its = profile.intervals[interval];
  const std::uint64_t saved = saved_by_thinning(its);
  return !its.lean && saved != 0 && Wide{its.again} * tape_bytes(profile, interval, interval + 1) < Wide{its.forward} * saved;
}

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
    set_room();
  }
  const std::size_t n = profile_.size();
  const bool beside = n > 0 && (survey_ || kept_tapes()[n - 1]); // the one before it is there
  push(Action::Kind::put_aside);
  if (survey_) { // two tapes at most, so that what they share is known
    if (n > 0) push(Action::Kind::abandon);
    add_interval(weights, beside);
    nested_ = weights.nested;
    if (nested_) return hand_over();
    return survey_interval();
  }
  tapes_.push_back(positions_.back());
  add_interval(weights, beside);
  nested_ = weights.nested;
  if (nested_) return hand_over();
  states_.push_back({static_cast<std::uint32_t>(profile_.size()), slots_.take()});
  push(Action::Kind::snapshot, 0, states_.back().slot);
  peak_ = std::max(peak_, bounded(held() + bounded(weights.taping)));
  if (profile_.size() >= kMost) {
    coarsen(kPlanned, largest_tape());
    if (profile_.size() >= kMost) return hand_over();
  } else if (const std::size_t good = good_number(); profile_.size() >= good) {
    coarsen(good - good / 4, room_for_one() / kGoodInterval);
  }
  const std::uint64_t piece = bounded(piece_ * kRecordBytes);
  make_room(bounded(std::clamp(most_tape_, piece, kStretch * piece) + std::max(largest_, most_taping_)));
}

std::uint64_t Budgeted::left_alone() const { return budget_ / kReserve; }

// Of what is left alone a gap may use a part.
std::uint64_t Budgeted::most_of_plan() const { return room_ + left_alone() / 4; }

void Budgeted::set_room() {
  const std::uint64_t fixed = left_alone() + older_;
  room_ = std::max(budget_ / kLeastRoom, budget_ - std::min(budget_, fixed));
}

// As many intervals as plans can be made of, so that small budgets can be told from each other.
void Budgeted::survey_interval() {
  if (profile_.size() < kMost) return;
  coarsen(kPlanned, largest_tape());
  if (profile_.size() >= kMost) hand_over();
}

// What the facts of one weighing can break of a profile is put on the safe side: what seems to have come back, or not to have
// been alive, counts as new.
void Budgeted::add_interval(const Weights& weights, bool beside) {
  const std::size_t n = profile_.size();
  birth_of_.push_back(static_cast<std::uint32_t>(n));
  auto by_birth = [&](const std::vector<std::uint64_t>& told) {
    std::vector<std::uint64_t> bytes(n + 1, 0);
    for (std::size_t k = 0; k < std::min(told.size(), birth_of_.size()); ++k)
      bytes[birth_of_[k]] = bounded(bytes[birth_of_[k]] + told[k]);
    return bytes;
  };
  std::vector<std::uint64_t> state = by_birth(weights.state), tape = by_birth(weights.tape), after = by_birth(weights.after);
  const std::vector<std::uint64_t> before = beside ? by_birth(weights.before) : std::vector<std::uint64_t>(n + 1, 0);
  const std::vector<std::uint64_t> lean = weights.lean.empty() ? tape : by_birth(weights.lean);
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
      interval.shares.push_back({static_cast<std::uint32_t>(k), shared, std::min(before[k], shared), std::min(after[k], shared),
                                 std::min(lean[k], shared)});
  }
  if (tape[n] != 0)
    interval.shares.push_back(
        {static_cast<std::uint32_t>(n), tape[n], 0, std::min(after[n], tape[n]), std::min(lean[n], tape[n])});
  const std::uint64_t cotangents = bounded(std::accumulate(state.begin(), state.end(), std::uint64_t{0}));
  largest_ = std::max(largest_, bounded(weights.largest));
  most_taping_ = std::max(most_taping_, bounded(weights.taping));
  most_tape_ = std::max(most_tape_, bounded(bounded(weights.own) + tape[n])); // it may not end where it is heavy
  interval.forward = bounded(bounded(weights.work) + steps_ * kStepWork);
  interval.taped = interval.forward;
  interval.sweep = bounded(2 * interval.forward);
  interval.again = bounded(weights.again);
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

// Cotangents of what is older than the run come to all of it in the end.
std::uint64_t Budgeted::room_for_one() const {
  const std::uint64_t taken = read_from().front() + 2 * largest_;
  return room_ - std::min(room_, taken);
}

std::uint64_t Budgeted::largest_tape() const { return room_for_one() / kLargestInterval; }

// What one of these intervals holds for a while beside its tape.
std::uint64_t Budgeted::most_beside(std::size_t from, std::size_t to) const {
  std::uint64_t most = 0;
  for (std::size_t i = from; i < to; ++i) most = std::max({most, profile_.intervals[i].sweeping, profile_.intervals[i].taping});
  return most;
}

// Leaves about so many intervals, none of which has more bytes on its tape unless it has them already, and from now on intervals
// are larger. What goes first are boundaries with heavy states between short intervals, on tapes both or neither.
void Budgeted::coarsen(std::size_t wanted, std::uint64_t most) {
  const std::size_t n = profile_.size();
  const bool too_many = n >= kMost;
  const std::vector<bool> taped = kept_tapes(), states = kept_states();
  std::vector<bool> whole = taped; // on tape and not joined with what is not
  std::vector<std::uint32_t> kept(n + 1);
  std::iota(kept.begin(), kept.end(), 0);
  for (bool mixed = false; kept.size() > wanted + 1;) {
    std::size_t best = 0;
    Wide best_weight = 0, best_gap = 0;
    for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
      const std::uint64_t together = tape_bytes(profile_, kept[i - 1], kept[i + 1]);
      if (together + (too_many ? most_beside(kept[i - 1], kept[i + 1]) : 0) > most) continue;
      if (const bool front = whole[kept[i] - 1]; front != whole[kept[i]]) {
        // Both lose their tape, and the state at the start of what is then a gap has to be there.
        const std::uint32_t begin = kept[i - 1];
        if (!mixed || (front && begin > 0 && whole[begin - 1] && !states[begin])) continue;
      }
      const auto& state = profile_.reach[kept[i]];
      const Wide weight = std::accumulate(state.begin(), state.end(), std::uint64_t{1});
      if (best != 0 && best_weight * (together + 1) >= weight * best_gap) continue;
      best = i;
      best_weight = weight;
      best_gap = together + 1;
    }
    if (best == 0 && (mixed || !too_many)) break;
    if (best == 0) {
      mixed = true;
      continue;
    }
    if (whole[kept[best] - 1] != whole[kept[best]])
      std::fill(whole.begin() + kept[best - 1], whole.begin() + kept[best + 1], false);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(best));
  }
  const bool reached = kept.size() <= wanted + 1;
  if (!reached && !too_many) return;       // another time
  std::vector<std::uint32_t> coarse(n, 0); // of each interval
  for (std::uint32_t c = 0; c + 1 < kept.size(); ++c) {
    const auto is_lean = [&](std::uint32_t i) { return profile_.intervals[i].lean; };
    bool any_lean = false, all_lean = true;
    for (std::uint32_t i = kept[c]; i < kept[c + 1]; ++i) {
      coarse[i] = c;
      if (taped[i] && !whole[i]) drop_tape(i);
      any_lean = any_lean || is_lean(i);
      all_lean = all_lean && is_lean(i);
    }
    for (std::uint32_t i = kept[c]; any_lean && !all_lean && i < kept[c + 1]; ++i)
      if (!is_lean(i)) make_lean(i);
  }
  profile_ = coarsened(profile_, kept);
  std::vector<std::uint64_t> positions;
  for (const std::uint32_t i : kept) positions.push_back(positions_[i]);
  positions_ = std::move(positions);
  for (std::uint32_t& birth : birth_of_) birth = coarse[birth];
  for (Read& read : reads_) read.last = coarse[read.last];
  for (std::size_t i = states_.size(); i-- > 0;) {
    const auto at = std::lower_bound(kept.begin(), kept.end(), states_[i].boundary);
    if (at == kept.end() || *at != states_[i].boundary)
      drop_state(states_[i].boundary);
    else
      states_[i].boundary = static_cast<std::uint32_t>(at - kept.begin());
  }
  if (!reached) return;
  piece_ = std::max(piece_, std::min(piece_ + piece_ / 3, most / kRecordBytes));
  most_steps_ = std::min(2 * most_steps_, kMostOfOne);
}

std::vector<bool> Budgeted::kept_states() const {
  std::vector<bool> states(profile_.size() + 1, false);
  for (const State& state : states_) states[state.boundary] = true;
  return states;
}

std::vector<bool> Budgeted::kept_tapes() const {
  std::vector<bool> tapes(profile_.size(), false);
  for (const std::uint64_t begin : tapes_)
    tapes[static_cast<std::size_t>(std::upper_bound(positions_.begin(), positions_.end(), begin) - positions_.begin()) - 1] =
        true;
  return tapes;
}

std::uint64_t Budgeted::held() const { return held_bytes(profile_, kept_states(), kept_tapes()); }

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

void Budgeted::make_room(std::uint64_t next, std::uint64_t less) {
  const std::uint64_t room = room_ - std::min(room_, less);
  Profile profile = with_reads();
  const std::vector<Interval> as_they_are = profile.intervals;
  // As few tapes from the first on as do, or all.
  const auto fits = [&](std::size_t leans) {
    profile.intervals = as_they_are;
    for (std::size_t i = 0; i < leans; ++i)
      if (pays_to_thin(profile, i)) thin(profile, i);
    return Keeping(profile, room, next, stage_ == Stage::reversing, kept_states(), kept_tapes()).fits();
  };
  if (!fits(0)) {
    std::size_t few = 0, enough = profile_.size();
    while (enough - few > 1) {
      const std::size_t middle = few + (enough - few) / 2;
      (fits(middle) ? enough : few) = middle;
    }
    for (std::size_t i = 0; i < enough; ++i)
      if (pays_to_thin(profile_, i)) make_lean(i);
    profile = with_reads();
  }
  Keeping keeping(profile, room, next, stage_ == Stage::reversing, kept_states(), kept_tapes());
  for (std::vector<Keeping::Drop> drops = keeping.drop(); !drops.empty(); drops = keeping.drop())
    for (const Keeping::Drop& drop : drops) {
      if (drop.tape)
        drop_tape(drop.at);
      else
        drop_state(drop.at);
    }
  if (stage_ == Stage::reversing) peak_ = std::max(peak_, bounded(keeping.peak()));
}

void Budgeted::drop_state(std::size_t boundary) {
  const auto at = std::find_if(states_.begin(), states_.end(), [&](const State& state) { return state.boundary == boundary; });
  push(Action::Kind::discard, 0, at->slot);
  slots_.give(at->slot);
  states_.erase(at);
}

void Budgeted::make_lean(std::size_t interval) {
  thin(profile_, interval);
  const auto begin = std::lower_bound(tapes_.begin(), tapes_.end(), positions_[interval]);
  const auto end = std::lower_bound(begin, tapes_.end(), positions_[interval + 1]);
  for (auto tape = begin; tape != end; ++tape) push(Action::Kind::thin, 0, static_cast<std::uint32_t>(tape - tapes_.begin()));
}

void Budgeted::drop_tape(std::size_t interval) {
  const auto begin = std::lower_bound(tapes_.begin(), tapes_.end(), positions_[interval]);
  const auto end = std::lower_bound(begin, tapes_.end(), positions_[interval + 1]);
  for (auto tape = begin; tape != end; ++tape)
    push(Action::Kind::abandon, 0, static_cast<std::uint32_t>(begin - tapes_.begin())); // the next one moves up
  tapes_.erase(begin, end);
}

void Budgeted::hand_over() {
  handed_over_ = true;
  const std::vector<bool> tapes = kept_tapes();
  for (std::size_t i = 0; i < tapes.size(); ++i)
    if (tapes[i]) drop_tape(i);
  // What comes behind has states and tapes of its own, that state among them.
  if (states_.back().boundary == profile_.size()) drop_state(profile_.size());
  const Profile profile = with_reads();
  Keeping keeping(profile, room_for_one() / kShareOfFront, 0, false, kept_states(), kept_tapes());
  for (std::vector<Keeping::Drop> drops = keeping.drop(); !drops.empty(); drops = keeping.drop())
    for (const Keeping::Drop& drop : drops) drop_state(drop.at);
}

// What the last tape reads of what is older is among the cotangents from its sweep on, so it is weighed as well.
void Budgeted::ended(std::uint64_t total) {
  if (stage_ == Stage::ending || stage_ == Stage::reversing) return;
  steps_ = total - std::min(total, positions_.back()); // fewer than it was asked for
  stage_ = Stage::ending;
  todo_.clear();
  done_ = 0;
  push(Action::Kind::weigh);
}

void Budgeted::weighed_last(const Weights& weights) {
  stage_ = Stage::reversing;
  const std::size_t n = profile_.size();
  note_reads(weights.read, n);
  all_records_ = bounded(all_records_ + records_);
  last_.bytes = bounded(weights.own);
  if (!weights.tape.empty()) last_.bytes = bounded(last_.bytes + bounded(weights.tape.back()));
  last_.taping = bounded(weights.taping);
  last_.forward = bounded(bounded(weights.work) + steps_ * kStepWork);
  // What its sweep holds has the cotangents at its start in it.
  const std::uint64_t cotangents = bounded(profile_.cotangents[n] + read_from()[n]), sweeping = bounded(weights.sweeping);
  last_.next = bounded(last_.bytes + sweeping - std::min(sweeping, cotangents));
  if (survey_) { // the state at the start stays where it is, for a closer look
    slots_.give(states_.front().slot);
    return states_.clear();
  }
  peak_ = std::max(peak_, bounded(held() + last_.bytes + last_.taping));
  plan_rest();
}

// What is kept leaves room for what one interval takes, but a gap may take more than any of its intervals, or be run again fewer
// times with more room. Then more is let go of: until everything fits, and by some parts more, of which the best is taken.
void Budgeted::plan_rest() {
  constexpr int kTries = 4;
  constexpr std::uint64_t kParts[] = {10, 5, 3}; // of the room
  const std::uint64_t most = most_of_plan();
  auto tried = [&](std::uint64_t more) {
    Budgeted trial = *this;
    trial.peak_ = 0;
    trial.make_room(last_.next, more);
    trial.drop_idle_states();
    trial.push(Action::Kind::reverse);
    trial.reverse_rest();
    return trial;
  };
  std::uint64_t more = 0;
  Budgeted best = tried(0);
  for (int i = 1; i < kTries && best.peak_ > most; ++i) {
    more += best.peak_ - most;
    if (Budgeted other = tried(more); other.peak_ < best.peak_) best = std::move(other);
  }
  for (const std::uint64_t part : kParts) {
    if (best.peak_ > most || best.again_cost_ == again_cost_) break; // nothing fits, or nothing is run again
    if (Budgeted other = tried(more + room_ / part); other.peak_ <= most && other.time_of_one_tape() < best.time_of_one_tape())
      best = std::move(other);
  }
  const std::uint64_t before = peak_;
  *this = std::move(best);
  peak_ = std::max(peak_, before);
}

void Budgeted::rest_is_reversed() {
  if (stage_ == Stage::reversing) return;
  stage_ = Stage::reversing;
  drop_idle_states();
  reverse_rest();
}

// Once the run has ended, nothing runs from a state where a tape begins.
void Budgeted::drop_idle_states() {
  const std::vector<bool> tapes = kept_tapes();
  for (std::size_t i = states_.size(); i-- > 0;) {
    const std::uint32_t at = states_[i].boundary;
    if (at == tapes.size() || tapes[at]) drop_state(at);
  }
}

// Whatever is on tape is swept, and between that gaps are planned.
void Budgeted::reverse_rest() {
  const std::vector<bool> tapes = kept_tapes();
  const Profile whole = with_reads();
  for (std::size_t to = profile_.size(); to > 0;) {
    std::size_t from = to - 1;
    if (tapes[from]) {
      for (; !tapes_.empty() && tapes_.back() >= positions_[from]; tapes_.pop_back()) {
        push(Action::Kind::take_back);
        push(Action::Kind::reverse);
      }
    } else {
      while (from > 0 && !tapes[from - 1]) --from;
      plan_gap(whole, from, to);
    }
    to = from;
  }
}

// The profile, with cotangents of what is older than the run.
Profile Budgeted::with_reads() const {
  Profile profile = profile_;
  const std::vector<std::uint64_t> reads = read_from();
  for (std::size_t i = 0; i <= profile.size(); ++i) {
    profile.cotangents[i] = bounded(profile.cotangents[i] + reads[i]);
    if (i < profile.size()) {
      std::uint64_t& sweeping = profile.intervals[i].sweeping;
      sweeping = bounded(sweeping + more_reads_within(i, reads));
    }
  }
  return profile;
}

// Reverses intervals [from, to) from the states that are held of them.
void Budgeted::plan_gap(const Profile& whole, std::size_t from, std::size_t to) {
  const Profile gap = part_of(whole, from, to);
  std::vector<bool> states_before = kept_states(), tapes_before = kept_tapes();
  std::fill(states_before.begin() + static_cast<std::ptrdiff_t>(from) + 1, states_before.end(), false);
  std::fill(tapes_before.begin() + static_cast<std::ptrdiff_t>(from), tapes_before.end(), false);
  const std::uint64_t before = held_bytes(profile_, states_before, tapes_before);
  std::vector<std::uint32_t> states;
  for (const State& state : states_)
    if (state.boundary >= from) states.push_back(static_cast<std::uint32_t>(state.boundary - from));
  auto perform_judged = [&](const std::vector<Move>& planned) {
    const PlanReport report = check(gap, planned, states, to - from);
    if (!report.fault.empty()) return false;
    peak_ = std::max(peak_, bounded(before + report.peak));
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      again_ += report.runs[i] * (positions_[from + i + 1] - positions_[from + i]);
      again_cost_ = bounded(again_cost_ + report.runs[i] * gap.intervals[i].forward);
    }
    perform(planned, from);
    return true;
  };
  const std::uint64_t room = room_ - std::min(room_, before);
  const std::size_t all = to - from;
  if (const std::optional<Plan> plan = Planner(gap, room, kTables).plan(room, states, all))
    if (perform_judged(plan->moves)) return;
  // Nothing fits: what takes the least. If that is too much, the machine says so.
  const Planner unlimited(gap, kMostOfOne, kTables);
  if (const std::vector<Planner::Point> curve = unlimited.curve(); !curve.empty())
    if (const std::optional<Plan> plan = unlimited.plan(curve.front().budget, states, all))
      if (perform_judged(plan->moves)) return;
  std::vector<Move> moves;
  for (std::size_t i = 1; i < states.size(); ++i) moves.push_back({Move::Kind::drop, states[i]});
  for (auto i = static_cast<std::uint32_t>(all); i-- > 0;) {
    moves.push_back({Move::Kind::restore, 0});
    if (i == 0) moves.push_back({Move::Kind::drop, 0});
    for (std::uint32_t k = 0; k < i; ++k) moves.push_back({Move::Kind::advance, k});
    moves.push_back({Move::Kind::tape, i});
    moves.push_back({Move::Kind::sweep, i});
  }
  perform_judged(moves);
}

// Moves are of intervals and boundaries, actions of steps and slots.
void Budgeted::perform(const std::vector<Move>& moves, std::size_t from) {
  std::map<std::uint32_t, std::uint32_t> slots;
  for (; !states_.empty() && states_.back().boundary >= from; states_.pop_back())
    slots[states_.back().boundary] = states_.back().slot;
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t work = kNone; // the interval of the tape in work
  auto aside = static_cast<std::uint32_t>(tapes_.size());
  auto put_aside = [&] {
    if (work == kNone) return;
    push(Action::Kind::put_aside);
    if (profile_.intervals[std::exchange(work, kNone)].lean) push(Action::Kind::thin, 0, aside);
    ++aside;
  };
  for (const Move& move : moves) {
    const auto at = static_cast<std::uint32_t>(move.at + from);
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
      if (work != at) {
        push(Action::Kind::take_back);
        --aside;
      }
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

bool Budgeted::sound() const {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 60;
  const std::size_t n = profile_.size();
  if (!profile_.sound() || n > kMost || positions_.size() != n + 1 || stage_ > Stage::reversing) return false;
  if (positions_.front() != 0 || positions_.back() > kFar || !std::is_sorted(positions_.begin(), positions_.end())) return false;
  if (last_.bytes > kMostOfOne || last_.taping > kMostOfOne || last_.next > kMostOfOne || last_.forward > kMostOfOne)
    return false;
  if (older_ > kMostOfOne || peak_ > kFar || again_ > kFar || again_cost_ > kMostOfOne || budget_ > kFar || room_ > kFar ||
      piece_ > kMostOfOne || steps_ > kFar || records_ > kFar || all_records_ > kMostOfOne || largest_ > kMostOfOne ||
      most_taping_ > kMostOfOne || most_tape_ > kMostOfOne || done_ > todo_.size())
    return false;
  if (most_steps_ == 0 || most_steps_ > kMostOfOne || reads_.size() > kMostReads || more_reads_ > kMostOfOne) return false;
  const std::size_t readers = n + (stage_ == Stage::reversing ? 1 : 0);
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (reads_[i].last >= readers || reads_[i].bytes > kMostOfOne || (i > 0 && reads_[i].serial <= reads_[i - 1].serial))
      return false;
  if (std::any_of(birth_of_.begin(), birth_of_.end(), [&](std::uint32_t birth) { return birth >= n; })) return false;
  for (std::size_t i = 0; i < tapes_.size(); ++i) { // each begins where the one before it ended, or where an interval does
    if (tapes_[i] >= positions_.back() || (i > 0 && tapes_[i] <= tapes_[i - 1])) return false;
    const auto behind = std::upper_bound(positions_.begin(), positions_.end(), tapes_[i]);
    if (*(behind - 1) != tapes_[i] && (i == 0 || tapes_[i - 1] < *(behind - 1))) return false;
  }
  std::vector<std::uint32_t> held;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].boundary > n || (i == 0 ? states_[i].boundary != 0 : states_[i].boundary <= states_[i - 1].boundary))
      return false;
    held.push_back(states_[i].slot);
  }
  if (stage_ != Stage::reversing) { // gaps have the state at their start
    const std::vector<bool> states = kept_states(), tapes = kept_tapes();
    for (std::size_t i = 0; i < n; ++i)
      if (!tapes[i] && (i == 0 || tapes[i - 1]) && !states[i]) return false;
  }
  return (stage_ == Stage::reversing) == states_.empty() && slots_.sound(std::move(held));
}

} // namespace cairn::schedule
