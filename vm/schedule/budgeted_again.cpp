// A run that is like one which was reversed before. Its profile is known from the first step on, so that nothing is taped which
// is not swept, nothing is weighed, and no state is kept which nobody restores.
#include "vm/schedule/binomials.h"
#include "vm/schedule/budgeted.h"
#include "vm/schedule/lean_forms.h"
#include "vm/schedule/plan_checker.h"

#include <algorithm>
#include <numeric>

namespace cairn::schedule {

namespace {

// What is older than the run may come to a little more or less from call to call; plans are made for it in such parts of the
// budget.
constexpr std::uint64_t kOlderParts = 64;

// A tape of merged intervals that is lean may keep more than tapes of its parts did, since chains of what is computed again have
// bounds; how much is known once it is there. So after each failure such a part of the room is left alone, up to so many.
constexpr std::uint64_t kShareOfFailure = 16, kMostShares = 8;

// Of plans of whole runs, which are made once for many calls.
constexpr PlannerLimits kWholeTables = {std::uint64_t{8} << 20, 250, Family::simple};

} // namespace

std::optional<Budgeted> Budgeted::again(std::uint64_t failures) const {
  if (stage_ != Stage::reversing || handed_over_ || nested_ || survey_ || misled_ || profile_.size() == 0) return std::nullopt;
  if (known_) {
    Budgeted same = *this;
    same.stage_ = Stage::asking;
    same.done_ = same.relieved_at_ = 0;
    same.end_seen_ = false;
    return same;
  }
  // What comes back from a file in pieces would be one tape, at its leanest.
  const std::uint64_t most = largest_tape();
  if (spill_bytes_ != 0 && std::ranges::any_of(profile_.intervals, [&](const Interval& interval) {
        const std::uint64_t whole = bounded(interval.tape + shared_bytes(interval, kTapeForms - 1));
        return interval.piece < whole && whole > most;
      }))
    return std::nullopt;
  Budgeted other = as_known(budget_, false); // the next call has the states that this one has made
  other.most_budget_ = most_budget_;
  other.spare_ = spare_;
  other.short_ = bounded(short_ + std::min(failures, kMostShares) * (room_ / kShareOfFailure));
  return other;
}

std::optional<Budgeted> Budgeted::surveyed_within(std::uint64_t budget) const {
  if (!survey_ || stage_ != Stage::reversing || handed_over_ || nested_ || profile_.size() == 0) return std::nullopt;
  return as_known(bounded(budget), true);
}

// The run itself has to hold its states, and in the end there are cotangents of all that it reads of what is older.
std::uint64_t Budgeted::least_of_any() const {
  std::uint64_t most = std::ranges::max(read_from());
  for (const std::vector<std::uint64_t>& state : profile_.reach)
    most = std::max(most, bounded(std::accumulate(state.begin(), state.end(), std::uint64_t{0})));
  return older_ + most;
}

// What is known of the run, from its first step on.
Budgeted Budgeted::as_known(std::uint64_t budget, bool made) const {
  const std::size_t n = profile_.size();
  Budgeted other(budget, 0, piece_, 0);
  other.may_spill(spill_bytes_, spill_ticks_);
  other.known_ = true;
  other.older_ = older_;
  other.stage_ = Stage::asking;
  other.states_.clear();
  other.slots_ = Slots();
  for (std::size_t i = 0; i < n; ++i) {
    other.steps_ = positions_[i + 1] - positions_[i];
    const Weights told = told_of(i);
    other.step_cost_ = told.step;
    other.add_interval(told);
  }
  other.birth_of_ = birth_of_;
  other.more_reads_ = more_reads_;
  other.note_reads(read_last_by(n), n);
  other.take_updates(*this, made);
  other.short_ = short_;
  other.last_ = last_;
  other.steps_ = steps_;
  other.all_records_ = all_records_;
  return other;
}

void Budgeted::plan_known(std::uint64_t older, bool in_earnest) {
  stage_ = Stage::reversing;
  done_ = 0;
  const std::uint64_t part = std::max<std::uint64_t>(1, budget_ / kOlderParts);
  const std::uint64_t about = bounded((bounded(older) / part + 1) * part);
  older_ = bounded(older);
  if (about == planned_beside_) return;
  planned_beside_ = about;
  constexpr int kChanges = 8; // of what is spared
  Whole of_whole = whole();
  Budgeted plan = planned_known(about, spare_, of_whole, in_earnest);
  const auto is_bad = [](const Budgeted& of) {
    return of.peak_ > of.most_of_plan() || of.takes_too_long(static_cast<double>(of.more_than_one_tape()));
  };
  for (int i = 0; i < kChanges && is_bad(plan) && plan.can_grow(); ++i)
    plan = planned_known(about, plan.spare_ + plan.spare_ / 2, of_whole, in_earnest);
  for (int i = 0; i < kChanges && most_budget_ != 0 && plan.spare_ > kFrugalBytes; ++i) {
    Budgeted less = planned_known(about, std::max(kFrugalBytes, plan.spare_ - plan.spare_ / 4), of_whole, in_earnest);
    if (is_bad(less)) break;
    plan = std::move(less);
  }
  budget_ = plan.budget_;
  spare_ = plan.spare_;
  room_ = plan.room_;
  peak_ = plan.peak_;
  again_ = plan.again_;
  again_cost_ = plan.again_cost_;
  moved_ = plan.moved_;
  most_in_file_ = plan.most_in_file_;
  for (const Interval& interval : plan.profile_.intervals) again_cost_ = bounded(again_cost_ + interval.again());
  forward_ = plan.forward_;
  todo_ = std::move(plan.todo_);
  sweeps_ = std::move(plan.sweeps_);
}

bool Budgeted::fits(std::uint64_t budget) const {
  if (!known_) return false;
  Budgeted plan = *this;
  plan.budget_ = bounded(budget);
  plan.most_budget_ = 0;
  plan.set_room();
  Whole of_whole = plan.whole();
  const std::optional<Budgeted> whole = plan.planned_whole(of_whole);
  return whole && whole->peak_ <= whole->most_of_plan();
}

// What memory costs the first time it is used, calls that come again share. Where no plan of the whole run fits, or a file may
// help, everything is kept in thought at first, and what does not fit is let go of: of a hundred random runs that have both
// plans, this one took less time in two, by .2 and .4 %, and it takes several times as long to make. So it does not where nothing
// has to be let go of; then it keeps no state either.
Budgeted Budgeted::planned_known(std::uint64_t older, std::uint64_t spare, Whole& of_whole, bool in_earnest) const {
  Budgeted plan = *this;
  plan.older_ = bounded(older);
  plan.spare_ = bounded(spare);
  plan.fresh_cost_ = 0;
  plan.set_room();
  for (std::size_t i = 0; i <= profile_.size(); ++i) plan.states_.push_back({static_cast<std::uint32_t>(i), plan.slots_.take()});
  plan.tapes_.assign(positions_.begin(), positions_.end() - 1);
  plan.peak_ = plan.again_ = plan.again_cost_ = plan.moved_ = plan.most_in_file_ = 0;
  std::optional<Budgeted> whole = plan.planned_whole(of_whole);
  const bool fits = whole && whole->peak_ <= whole->most_of_plan();
  if (fits && spill_bytes_ == 0 && whole->more_than_one_tape() > 0) return *std::move(whole);
  const Budgeted unplanned = plan;
  plan.plan_within();
  if (whole && (plan.peak_ > plan.most_of_plan() || whole->time_beside_one_tape() < plan.time_beside_one_tape()))
    plan = std::move(*whole);
  if (!in_earnest) return plan;
  // Where nothing fits, what is planned within less room is another plan, and it may be one that takes less.
  constexpr std::uint64_t kLess[] = {32, 8}; // such parts of the room
  for (const std::uint64_t part : kLess) {
    if (plan.peak_ <= unplanned.most_of_plan()) break;
    Budgeted less = unplanned;
    less.room_ -= less.room_ / part;
    less.plan_within();
    less.room_ = unplanned.room_;
    if (less.peak_ < plan.peak_) plan = std::move(less);
  }
  return plan;
}

// The tape that the end is on is of one more interval.
Budgeted::Whole Budgeted::whole() const {
  const std::size_t n = profile_.size();
  Whole whole{with_reads(), {}, {}, 0, nullptr};
  Interval& last = whole.last;
  last.forward = last.taped = last_.taped;
  last.sweep = last_.sweep;
  last.tape = last_.bytes;
  last.taping = last_.taping;
  last.sweeping_of[0] = bounded(last_.next - std::min(last_.next, last_.bytes) + whole.run.cotangents[n]);
  whole.run.intervals.push_back(last);
  whole.run.born.push_back(0);
  whole.run.reach.emplace_back(n + 1, 0);
  whole.run.cotangents.push_back(more_reads_);
  whole.forms = lean_forms(whole.run);
  return whole;
}

// Tables for much memory answer for less just as well, so they are filled for more than the first budget only where that was too
// little, and then for some growth at once.
std::optional<Plan> Budgeted::Whole::plan(std::uint64_t room) {
  constexpr std::uint64_t kGrowth = 4;
  if (planner == nullptr || room > most) {
    most = planner == nullptr ? room : bounded(kGrowth * room);
    planner = std::make_unique<Planner>(run, most, kWholeTables, forms);
  }
  return planner->plan(room);
}

// With what the planner thinks best for the whole run, any of its tapes lean.
std::optional<Budgeted> Budgeted::planned_whole(Whole& whole) const {
  const std::size_t n = profile_.size();
  Budgeted plan = *this;
  plan.todo_.clear();
  plan.sweeps_.clear();
  plan.tapes_.clear();
  plan.slots_ = Slots();
  plan.states_ = {{0, plan.slots_.take()}};
  const std::optional<Plan> best = whole.plan(room_);
  if (!best) return std::nullopt;
  Profile run = whole.run;
  for (const Move& move : best->moves) // each interval is on tape once
    if (move.kind == Move::Kind::tape && move.form != 0 && move.at < n) {
      const std::uint32_t form = whole.forms[move.form - 1].intervals[move.at].form;
      plan.profile_.intervals[move.at].form = run.intervals[move.at].form = form;
    }
  const PlanReport report = check(run, best->moves);
  if (!report.fault.empty()) return std::nullopt;
  plan.peak_ = report.peak;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t more = report.runs[i] - std::min<std::uint64_t>(1, report.runs[i]);
    plan.again_ += more * (positions_[i + 1] - positions_[i]);
    plan.again_cost_ = bounded(plan.again_cost_ + more * run.intervals[i].forward);
  }
  plan.positions_.push_back(length());
  plan.profile_.intervals.push_back(whole.last);
  plan.push(Action::Kind::snapshot, 0, plan.states_.front().slot);
  plan.perform(best->moves, 0);
  plan.profile_.intervals.pop_back();
  for (std::size_t i = 0; i < plan.sweeps_.size(); ++i) plan.sweeps_[i].peak = bounded(report.sweeps[i]);
  const auto reversal = std::ranges::find(plan.todo_, Action::Kind::reverse, &Action::kind);
  plan.forward_ = static_cast<std::uint64_t>(reversal - plan.todo_.begin());
  return plan;
}

std::uint32_t Budgeted::tapes_aside() const {
  if (joined_.empty()) return static_cast<std::uint32_t>(tapes_.size());
  const std::vector<bool> tapes = kept_tapes();
  std::uint32_t aside = 0;
  for (std::size_t i = 0; i < tapes.size(); ++i) aside += tapes[i] && !joined_[i] ? 1 : 0;
  return aside;
}

// The actions of a first run that comes to hold what is held now: tapes next to each other are one, unless they are to be lean.
void Budgeted::run_there() {
  const std::size_t n = profile_.size();
  const std::vector<bool> tapes = kept_tapes(), spilled = spilled_tapes();
  auto is_whole = [&](std::size_t i) { return i == n || (tapes[i] && !spilled[i] && profile_.intervals[i].form == 0); };
  joined_.assign(n + 1, false);
  for (std::size_t i = 1; i <= n; ++i) joined_[i] = is_whole(i - 1) && is_whole(i);
  todo_.clear();
  slots_ = Slots();
  HeldInOrder held(profile_);
  std::uint32_t aside = 0;
  std::uint64_t stays = 0; // of what is in the file
  auto state = states_.begin();
  for (std::size_t i = 0; i < n; ++i) {
    const Interval& interval = profile_.intervals[i];
    const std::uint64_t steps = positions_[i + 1] - positions_[i];
    const bool kept = state != states_.end() && state->boundary == i;
    if (kept) {
      held.add_state(i);
      state->slot = slots_.take();
      push(Action::Kind::snapshot, 0, (state++)->slot);
    }
    const HeldInOrder before = held;
    const Action::Kind kind = tapes[i] ? Action::Kind::tape : Action::Kind::advance;
    if (!todo_.empty() && todo_.back().kind == kind && (!tapes[i] || joined_[i]))
      todo_.back().steps += steps;
    else
      push(kind, steps);
    if (tapes[i] && !spilled[i]) held.add_tape(i);
    const auto then = [&](bool with_start) {
      HeldInOrder all = before;
      if (with_start && !kept) all.add_state(i);
      if (tapes[i]) all.add_tape(i, true);
      all.add_state(i + 1);
      return all.bytes() + stays;
    };
    peak_ = std::max(peak_, bounded(running_bytes(interval, tapes[i], then(true), then(false))));
    if (!tapes[i] || joined_[i + 1]) continue;
    push(Action::Kind::put_aside);
    if (interval.form != 0) push(Action::Kind::thin, interval.form, aside);
    if (spilled[i]) {
      push_moving(Action::Kind::spill, under_way(), aside);
      stays += interval.stays;
    }
    ++aside;
  }
  peak_ = std::max(peak_, bounded(held.bytes() + stays + last_.bytes + last_.taping));
  if (joined_[n])
    todo_.back().steps += steps_;
  else
    push(Action::Kind::tape, steps_);
  forward_ = todo_.size();
}

} // namespace cairn::schedule
