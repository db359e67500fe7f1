// The end of a planned run: what is kept goes into one plan, whose moves become actions.
#include "vm/schedule/budgeted.h"
#include "vm/schedule/plan_checker.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cairn::schedule {

// What the last tape reads of what is older is among the cotangents from its sweep on, so it is weighed as well.
void Budgeted::ended(std::uint64_t total) {
  if (known_) {
    end_seen_ = stage_ == Stage::reversing && done_ == forward_ && total == length();
    misled_ = !end_seen_;
    return;
  }
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
  const std::uint64_t sums = note_reads(weights.read, n);
  note_joined(weights.joined, n);
  all_records_ = bounded(all_records_ + records_);
  last_.bytes = bounded(weights.own);
  if (const std::vector<std::uint64_t>& tape = weights.forms[0].tape; !tape.empty())
    last_.bytes = bounded(last_.bytes + bounded(tape.back()));
  last_.taping = bounded(weights.taping);
  last_.taped = bounded(bounded(weights.cost) + cost_of_steps(steps_) + bounded(weights.encoding));
  last_.sweep = bounded(bounded(weights.sweep) + sums);
  // What its sweep holds has the cotangents at its start in it.
  note_updates(weights.updated);
  if (for_rule_ != 0) set_room();
  const std::uint64_t cotangents = bounded(profile_.cotangents[n] + read_from()[n]),
                      sweeping = bounded(bounded(weights.forms[0].sweeping) + more_reads_within()[n]);
  last_.next = bounded(last_.bytes + sweeping - std::min(sweeping, cotangents));
  if (survey_) { // the state at the start stays where it is, for a closer look
    slots_.give(states_.front().slot);
    return states_.clear();
  }
  peak_ = std::max(peak_, bounded(held() + last_.bytes + last_.taping));
  plan_rest();
}

void Budgeted::plan_rest() {
  // By a quarter each, to nearly four times as much, beside what was grown while the run went on. Three and twelve change none of
  // seven random runs without a budget.
  constexpr int kGrowths = 6;
  for (int i = 0; i < kGrowths && can_grow(); ++i) {
    Budgeted trial = *this;
    trial.plan_within();
    if (trial.peak_ <= trial.most_of_plan() && !takes_too_long(static_cast<double>(trial.more_than_one_tape()))) {
      *this = std::move(trial);
      return;
    }
    grow();
  }
  plan_within();
}

// What is kept leaves room for what one interval takes, but a gap may take more than any of its intervals, or be run again fewer
// times with more room. Then more is let go of: until everything fits, and by some parts more, of which the best is taken.
void Budgeted::plan_within() {
  // Each takes a plan, and soon helps no more: of 180 random first runs two or eight change none.
  constexpr int kTries = 4;
  // Of the room: a tenth, a fifth and a third, as a gap needs little more or much. Of 60 random first runs beside a file one is
  // 1 % slower without them, of 120 others none; halves of these parts make one 1 % faster.
  constexpr std::uint64_t kParts[] = {10, 5, 3};
  const std::uint64_t most = most_of_plan();
  PlannedGaps gaps(room_);
  auto tried = [&](std::uint64_t more, bool with_file = true) {
    Budgeted trial = *this;
    trial.peak_ = 0;
    if (!with_file) trial.give_up_file();
    trial.make_room(last_.next, more);
    trial.drop_idle_states();
    if (known_) trial.run_there();
    trial.sweeps_.clear();
    trial.push_sweep(trial.positions_[trial.begin_of_last()], trial.peak_);
    trial.reverse_rest(gaps);
    trial.spill_bytes_ = spill_bytes_;
    return trial;
  };
  const auto fitting = [&](bool with_file) {
    std::uint64_t more = 0;
    Budgeted found = tried(0, with_file);
    for (int i = 1; i < kTries && found.peak_ > most; ++i) {
      more += found.peak_ - most;
      if (Budgeted other = tried(more, with_file); other.peak_ < found.peak_) found = std::move(other);
    }
    return std::pair(std::move(found), more);
  };
  auto [best, more] = fitting(true);
  // What is in a small file saves little time, and the state behind it takes room for as long as anything is run again from
  // there. Too much is what takes half of what is left alone, twice what a plan may: an estimate. Of 60 random runs a quarter
  // makes one 10 % slower, and all of it one a third faster.
  const bool too_much = best.peak_ > room_ + left_alone() / 2;
  if (best.most_in_file_ != 0 && (too_much || best.again_cost_ != again_cost_)) {
    auto [without, less] = fitting(false);
    if (without.peak_ <= most && (too_much || without.time_beside_one_tape() < best.time_beside_one_tape()))
      best = std::move(without), more = less;
  }
  // Tries that follow what was too much may miss what fits, so these parts are tried there too: not while intervals can be joined
  // instead, nor where what is left alone will do for most of what is missing: two thirds of it, as some is for what operators
  // borrow. (A third and all of it change none of 180 random runs.)
  const std::uint64_t nearly = room_ + left_alone() / 3 * 2;
  for (const std::uint64_t part : kParts) {
    const bool fits = best.peak_ <= most;
    const bool enough = fits ? best.again_cost_ == again_cost_ : can_grow() || best.peak_ <= nearly;
    if (enough) break;
    Budgeted other = tried(more + room_ / part);
    const bool less =
        fits ? other.peak_ <= most && other.time_beside_one_tape() < best.time_beside_one_tape() : other.peak_ < best.peak_;
    if (less) best = std::move(other);
  }
  const std::uint64_t before = peak_;
  *this = std::move(best);
  peak_ = std::max(peak_, before);
}

void Budgeted::rest_is_reversed() {
  if (stage_ == Stage::reversing) return;
  stage_ = Stage::reversing;
  drop_idle_states();
  PlannedGaps gaps(room_);
  reverse_rest(gaps);
}

// Once the run has ended, nothing runs from a state where a tape begins.
void Budgeted::drop_idle_states() {
  const std::vector<bool> tapes = kept_tapes();
  for (std::size_t i = states_.size(); i-- > 0;) {
    const std::uint32_t at = states_[i].boundary;
    if (at == tapes.size() || tapes[at]) drop_state(at);
  }
}

// Where the tape that the end is on begins.
std::size_t Budgeted::begin_of_last() const {
  std::size_t at = profile_.size();
  while (is_joined(at)) --at;
  return at;
}

// Whatever is on tape is swept, and between that gaps are planned.
void Budgeted::reverse_rest(PlannedGaps& gaps) {
  const std::vector<bool> tapes = kept_tapes();
  const Profile whole = with_reads();
  const std::vector<bool> spilled = spilled_tapes();
  const std::size_t swept_first = begin_of_last();
  const Keeping kept(whole, room_, last_.next, true, kept_states(), tapes, file());
  std::uint64_t most = 0; // of a sweep, the tape of which goes on in front of this interval
  for (std::size_t to = profile_.size(); to > 0;) {
    std::size_t from = to - 1;
    if (tapes[from]) {
      if (from < swept_first) most = std::max(most, kept.peak_of_sweep(from));
      const std::uint64_t peak = is_joined(from) ? most : std::exchange(most, 0);
      for (; !tapes_.empty() && tapes_.back() >= positions_[from]; tapes_.pop_back()) {
        if (is_joined(from) || from >= swept_first) continue; // with the tape where it begins
        if (spilled[from]) push_moving(Action::Kind::fetch, fetched_beside(from), 0);
        push(Action::Kind::take_back);
        push_sweep(tapes_.back(), peak);
      }
    } else {
      while (from > 0 && !tapes[from - 1]) --from;
      plan_gap(gaps, whole, from, to);
    }
    to = from;
  }
  spilled_.clear();
}

// Reverses intervals [from, to) from the states that are held of them.
void Budgeted::plan_gap(PlannedGaps& gaps, const Profile& whole, std::size_t from, std::size_t to) {
  PlannedGaps::Gap& gap = gaps.of(whole, from, to);
  std::vector<bool> states_before = kept_states(), tapes_before = kept_tapes();
  std::fill(states_before.begin() + static_cast<std::ptrdiff_t>(from) + 1, states_before.end(), false);
  std::fill(tapes_before.begin() + static_cast<std::ptrdiff_t>(from), tapes_before.end(), false);
  const std::vector<bool> spilled = spilled_tapes();
  std::uint64_t stays = 0; // of what is in the file
  for (std::size_t i = 0; i < from; ++i) {
    if (!spilled[i]) continue;
    tapes_before[i] = false;
    stays += profile_.intervals[i].stays;
  }
  const std::uint64_t before = stays + held_bytes(profile_, states_before, tapes_before);
  std::vector<std::uint32_t> states;
  PartHeld held{from, to, {}, {}};
  for (const State& state : states_) {
    if (state.boundary >= from) states.push_back(static_cast<std::uint32_t>(state.boundary - from));
    held.states.insert(state.boundary);
  }
  for (std::size_t i = 0; i < from; ++i)
    if (tapes_before[i]) held.tapes.insert(i);
  auto perform_judged = [&](const std::vector<Move>& planned) {
    Profile run = whole;
    for (const Move& move : planned) {
      if (move.kind != Move::Kind::tape) continue;
      const Profile& chosen = move.form == 0 ? gap.profile : gap.forms[move.form - 1];
      run.intervals[from + move.at].form = chosen.intervals[move.at].form;
    }
    const PlanReport report = check_part(run, planned, held);
    if (!report.fault.empty()) return false;
    for (std::size_t i = from; i < to; ++i) profile_.intervals[i].form = run.intervals[i].form;
    peak_ = std::max(peak_, bounded(stays + report.peak));
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      again_ += report.runs[i] * (positions_[from + i + 1] - positions_[from + i]);
      const Interval& interval = run.intervals[from + i];
      again_cost_ = bounded(again_cost_ + report.runs[i] * interval.forward);
      // The last of these is on a tape, as a first run was that weighed it.
      if ((!known_ || relieved_at_ != 0) && report.runs[i] != 0)
        again_cost_ = bounded(again_cost_ + interval.taped - interval.forward);
    }
    const std::size_t before_these = sweeps_.size();
    perform(planned, from);
    for (std::size_t i = 0; i < report.sweeps.size(); ++i) sweeps_[before_these + i].peak = bounded(stays + report.sweeps[i]);
    return true;
  };
  const std::uint64_t room = room_ - std::min(room_, before);
  const std::size_t all = to - from;
  if (const std::optional<Plan> plan = gap.planner.plan(room, states, all))
    if (perform_judged(plan->moves)) return;
  // Nothing fits: what takes the least. If that is too much, the machine says so.
  if (const std::vector<Planner::Point> curve = gap.unlimited().curve(); !curve.empty())
    if (const std::optional<Plan> plan = gap.unlimited().plan(curve.front().budget, states, all))
      if (perform_judged(plan->moves)) return;
  const auto leanest = static_cast<std::uint32_t>(gap.forms.size());
  std::vector<Move> moves;
  for (std::size_t i = 1; i < states.size(); ++i) moves.push_back({Move::Kind::drop, states[i], 0});
  for (auto i = static_cast<std::uint32_t>(all); i-- > 0;) {
    moves.push_back({Move::Kind::restore, 0, 0});
    if (i == 0) moves.push_back({Move::Kind::drop, 0, 0});
    for (std::uint32_t k = 0; k < i; ++k) moves.push_back({Move::Kind::advance, k, 0});
    moves.push_back({Move::Kind::tape, i, leanest});
    moves.push_back({Move::Kind::sweep, i, leanest});
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
  std::uint32_t aside = tapes_aside();
  auto put_aside = [&] {
    if (work == kNone) return;
    push(Action::Kind::put_aside);
    if (const std::uint32_t form = profile_.intervals[std::exchange(work, kNone)].form; form != 0)
      push(Action::Kind::thin, form, aside);
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
      push_sweep(positions_[at], 0); // whoever judges these moves knows it
      work = kNone;
      break;
    }
  }
}

} // namespace cairn::schedule
