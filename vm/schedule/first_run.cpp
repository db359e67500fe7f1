// What a first run does next: see first_run.h.
#include "vm/schedule/first_run.h"

#include "vm/schedule/binomials.h"
#include "vm/schedule/generators.h"

#include <algorithm>
#include <utility>

namespace cairn::schedule {
namespace {

// The constants of `auto`. A step records at most about one operation; the base case is chosen so that its tape stays in a
// second-level cache, yet spans enough steps that lifting a state and restoring it cost little beside it.
constexpr std::uint64_t kMostTapeBytes = std::uint64_t{24} << 20;
constexpr std::uint64_t kMostSparseBytes = std::uint64_t{48} << 20;
// A program that is deep in recursion holds its stack in any case; a tape of a few times that size changes little, and lifting
// and keeping deep states over and over costs much.
constexpr std::uint64_t kTapeForStack = 4;
constexpr std::uint64_t kSnapshotsForStack = 2;
constexpr std::uint64_t kSparse = 8;      // a tape is sparse with fewer records than an eighth of its steps
constexpr std::uint64_t kWorthTaping = 5; // space for less than a fifth of the limit is left alone
constexpr std::uint64_t kGoodTapeBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastGoodBase = std::uint64_t{1} << 14;
constexpr std::uint64_t kMostGoodBase = std::uint64_t{1} << 16;
constexpr std::uint64_t kLongestBase = std::uint64_t{1} << 20; // where there is no room for more states
constexpr std::uint64_t kSnapshotBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kMostSnapshots = 1 << 18;
// Under a budget, the first tape is looked at once it has so many bytes, or kIntervalOfBudget of the budget: if it is heavy, the
// run is planned (budgeted.h).
constexpr std::uint64_t kLookAtMost = 16;
constexpr std::uint64_t kLeastTapeBytes = std::uint64_t{1} << 15;
// Of a budget, each of two tapes (in work and aside) may take an eighth, and the snapshots a third.
constexpr std::uint64_t kShare = 8;
constexpr std::uint64_t kLeastLookBytes = kLeastPlanned / kShare;
constexpr std::uint64_t kSnapshotShare = 3;
// Where planning has ended, of what is left: for a tape, of which a base case is to take half, and for snapshots.
constexpr std::uint64_t kTapeOfRest = 3;
constexpr std::uint64_t kStatesOfRest = 2;

std::uint64_t budget_of(const Resources& resources) {
  return resources.budget_bytes > 0 ? static_cast<std::uint64_t>(resources.budget_bytes) : 0;
}

std::uint64_t budget_of(const Spec& spec, const Resources& resources) { return spec.within(budget_of(resources)); }

// What the schedule `budget` plans with; inside of another derivative operator it is a share, unless the spec says how much.
std::uint64_t planned_budget(const Spec& spec, const Resources& resources) {
  const std::uint64_t budget = budget_of(spec, resources);
  if (budget == 0) return kUnlimitedBudget;
  return resources.alone || spec.memory != 0 ? budget : std::max<std::uint64_t>(1, budget / kShare);
}

// More than a record a step: that is what tensors weigh.
bool is_heavy(std::uint64_t steps, std::uint64_t records) { return records > steps; }

// Records after which the first intervals of a planned run end. However short a tape is, it takes a block of records: shorter
// intervals are for small budgets alone.
std::uint64_t first_piece(Spec::Kind kind, std::uint64_t budget) {
  const std::uint64_t least = std::clamp(budget / kLookAtMost, kLeastBase * kRecordBytes, kLeastTapeBytes);
  return std::max(budget / kIntervalOfBudget, kind == Spec::Kind::budget ? least : kLeastLookBytes) / kRecordBytes;
}

// How many steps have so many records.
std::uint64_t steps_with(std::uint64_t some, std::uint64_t steps, std::uint64_t records) {
  return static_cast<std::uint64_t>(std::min<Wide>(Wide{some} * steps / std::max<std::uint64_t>(1, records), kUnlimitedBudget));
}

std::uint64_t base_for(std::uint64_t tape_bytes, std::uint64_t steps, std::uint64_t records) {
  auto with = [&](std::uint64_t some) { return std::min(steps_with(some, steps, records), kMostGoodBase); };
  if (is_heavy(steps, records)) // half of what a tape may hold, since steps differ
    return std::max(with(tape_bytes / (2 * kRecordBytes)), kLeastBase);
  const std::uint64_t good = with(kGoodTapeBytes / kRecordBytes);
  const std::uint64_t safe = std::max(kLeastBase, tape_bytes / kRecordBytes);
  return std::min(std::clamp(good, kLeastGoodBase, kMostGoodBase), safe);
}

Allowance allowance_of(const Spec& spec, const Resources& resources) {
  if (spec.kind == Spec::Kind::sqrt) return {Allowance::Kind::strided};
  if (spec.kind == Spec::Kind::online && spec.snapshots != 0) return {Allowance::Kind::fixed, std::min(spec.snapshots, kNoLimit)};
  if (spec.kind == Spec::Kind::online) return {Allowance::Kind::logarithmic};
  const std::uint64_t budget = spec.kind == Spec::Kind::budget ? planned_budget(spec, resources) : budget_of(spec, resources);
  if (budget == 0) return {Allowance::Kind::bytes, kMostSnapshots, kSnapshotBytes, UINT64_MAX};
  return {Allowance::Kind::bytes, kMostSnapshots, std::min(kSnapshotBytes, budget / kSnapshotShare), budget / 2};
}

} // namespace

// What the planned part has found out about the rest of the run: what is older than it, and what its steps weigh.
void FirstRun::take_over() {
  const std::uint64_t rest = budgeted_.room_for_rest();
  std::uint64_t tape = rest / kTapeOfRest, states = rest / kStatesOfRest;
  if (budgeted_.nested()) { // what runs inside takes memory that nobody can tell
    tape = std::min(tape, share_bytes_);
    states = std::min({states, kSnapshotBytes, budget_ / kSnapshotShare});
  }
  placement_.rebase(base_for(tape, budgeted_.position(), budgeted_.records()), budgeted_.position(), budgeted_.first_free());
  placement_.allow_only(states);
}

FirstRun::FirstRun(const Spec& spec, const Resources& resources)
    : kind_(spec.kind), steps_of_record_(resources.steps_of_record), survey_(resources.survey), survey_piece_(resources.piece),
      placement_(allowance_of(spec, resources), spec.base, 0) {
  if (!plans()) return;
  const std::uint64_t budget = kind_ == Spec::Kind::budget ? planned_budget(spec, resources) : budget_of(spec, resources);
  share_bytes_ = budget == 0 ? UINT64_MAX : budget / kShare;
  tape_bytes_ = std::min(kMostTapeBytes, share_bytes_);
  sparse_bytes_ = std::min(kMostSparseBytes, share_bytes_);
  if (resources.alone || kind_ == Spec::Kind::budget) budget_ = budget;
  frugal_ = kind_ == Spec::Kind::automatic && resources.alone && !resources.asked && spec.memory == 0;
  if (frugal_ && budget == 0) budget_ = kUnlimitedBudget;
  if (resources.alone && resources.spill_bytes > 0) {
    spill_bytes_ = static_cast<std::uint64_t>(resources.spill_bytes);
    spill_ticks_ = resources.spill_ticks;
  }
}

bool FirstRun::looks_next() const {
  return stage_ == Stage::prefix && start_kept_ && (kind_ == Spec::Kind::budget || is_heavy(prefix_, records_));
}

std::uint64_t FirstRun::look() const {
  if (survey_) return survey_piece_ != 0 ? survey_piece_ : kLeastLookBytes / kRecordBytes;
  return first_piece(kind_, frugal_ ? std::min(budget_, kFrugalBytes) : budget_);
}

Action FirstRun::discard_start() {
  start_kept_ = false;
  return {Action::Kind::discard, 0, 0};
}

// How many more steps go onto the first tape: as many as fit even if each of them makes a record. Up to tape_bytes_ the tape
// costs less than running its steps again; beyond, only where records are so few that one takes less time, fresh memory and all,
// than the steps that it spares.
std::uint64_t FirstRun::more_to_tape() const {
  const std::uint64_t usual = records_ < prefix_ / kSparse ? sparse_bytes_ : tape_bytes_;
  std::uint64_t limit = std::max(usual, std::min(share_bytes_, kTapeForStack * stack_bytes_));
  // To compute tensors again costs more than their memory; so do steps that record little, where somebody offered the memory.
  const bool offered = budget_ != 0 && !frugal_;
  if (is_heavy(prefix_, records_) || (offered && records_ < prefix_ / steps_of_record_)) limit = share_bytes_;
  const std::uint64_t used = records_ * kRecordBytes;
  const std::uint64_t spare = limit > used ? limit - used : 0;
  if (prefix_ > 0 && spare < limit / kWorthTaping) return 0;
  return std::max(kLeastBase, spare / kRecordBytes);
}

Action FirstRun::next() {
  switch (stage_) {
  case Stage::begin:
    if (!plans()) {
      stage_ = Stage::running;
      return placement_.next();
    }
    stage_ = Stage::start;
    if (kind_ == Spec::Kind::budget || (budget_ != 0 && share_bytes_ >= kLeastLookBytes)) {
      start_kept_ = true;
      return {Action::Kind::snapshot, 0, 0};
    }
    [[fallthrough]];
  case Stage::start:
    stage_ = Stage::prefix;
    prefix_ = kind_ == Spec::Kind::budget ? kFirstSteps : std::min(kFirstSteps, more_to_tape());
    return {Action::Kind::tape, prefix_, 0, start_kept_ ? look() : share_bytes_ / kRecordBytes};
  case Stage::unplanned:
    stage_ = Stage::prefix;
    return discard_start();
  case Stage::prefix:
    if (looks_next()) {
      start_kept_ = false;
      if (survey_ && !is_heavy(prefix_, records_)) {
        stage_ = Stage::counting;
        return next();
      }
      stage_ = Stage::budgeted;
      budgeted_ = Budgeted(budget_, prefix_, look(), records_);
      if (frugal_) budgeted_.be_frugal(budget_);
      budgeted_.may_spill(spill_bytes_, spill_ticks_);
      if (survey_) budgeted_.only_survey();
      return *budgeted_.next();
    }
    if (const std::uint64_t more = more_to_tape(); more > 0) {
      prefix_ += more;
      return {Action::Kind::tape, more, 0, share_bytes_ / kRecordBytes};
    }
    if (start_kept_) return discard_start();
    stage_ = Stage::running;
    placement_.rebase(base_for(is_heavy(prefix_, records_) ? share_bytes_ : tape_bytes_, prefix_, records_), prefix_);
    if (!is_heavy(prefix_, records_))
      placement_.lengthen_to(
          std::min(kLongestBase, steps_with(std::min(kMostTapeBytes, 2 * tape_bytes_) / kRecordBytes, prefix_, records_)));
    placement_.allow(std::min(share_bytes_, kSnapshotsForStack * stack_bytes_));
    return {Action::Kind::put_aside, 0, 0};
  case Stage::budgeted:
    if (const auto action = budgeted_.next()) return *action;
    if (!budgeted_.handed_over() || survey_) break;
    stage_ = Stage::running;
    take_over();
    [[fallthrough]];
  case Stage::running:
    if (std::exchange(resumes_, false)) return {Action::Kind::restore, 0, placement_.resume_at()};
    return placement_.next();
  case Stage::reversing:
    if (const auto action = reversal_.next()) return *action;
    if (few_states_) break;
    if (budgeted_.handed_over()) {
      stage_ = Stage::rest;
      budgeted_.rest_is_reversed();
      return next();
    }
    if (prefix_ == 0) break;
    stage_ = Stage::last_reverse;
    return {Action::Kind::take_back, 0, 0};
  case Stage::last_reverse:
    if (start_kept_) return discard_start();
    stage_ = Stage::done;
    return {Action::Kind::reverse, 0, 0};
  case Stage::rest:
    if (const auto action = budgeted_.next()) return *action;
    break;
  case Stage::counting:
    switch (counted_++) {
    case 0:
      return {Action::Kind::put_aside, 0, 0};
    case 1:
      return {Action::Kind::abandon, 0, 0};
    case 2:
      return {Action::Kind::advance, kToEnd, 0};
    default:
      break;
    }
    break;
  case Stage::done:
    break;
  }
  stage_ = Stage::done;
  return {};
}

std::unique_ptr<Schedule> FirstRun::as_known(const std::optional<Budgeted>& known) const {
  if (!known) return nullptr;
  auto next = std::make_unique<FirstRun>(*this);
  next->stage_ = Stage::budgeted;
  next->total_ = kToEnd;
  next->budgeted_ = *known;
  next->survey_ = next->few_states_ = false;
  next->relieved_ = next->ahead_ = next->all_steps_ = 0;
  return next;
}

std::unique_ptr<Schedule> FirstRun::again(std::uint64_t failures) const {
  return as_known(stage_ == Stage::done ? budgeted_.again(failures) : std::nullopt);
}

std::unique_ptr<Schedule> FirstRun::planned(std::uint64_t budget) const {
  return as_known(surveyed() ? budgeted_.surveyed_within(budget) : std::nullopt);
}

bool FirstRun::surveyed() const { return survey_ && stage_ == Stage::done; }

std::uint64_t FirstRun::closer_look() const {
  const std::uint64_t piece = surveyed() && survey_piece_ == 0 ? budgeted_.good_piece() : 0;
  return piece > 2 * look() ? piece : 0;
}

// What no plan is known for may do with hardly any states, and with the shortest tapes.
void FirstRun::reverse_with_few_states(std::uint64_t left) {
  Slots slots;
  const std::uint32_t start = slots.take();
  reversal_ = Reversal(Reversal::Cut::revolve, kLeastBase, kFewestStates, {{0, start}}, slots, left);
  few_states_ = true;
  stage_ = Stage::reversing;
}

std::optional<Schedule::Relief> FirstRun::relieve(During during, bool at_last) {
  const bool sweeping = during == During::sweep, weighing = during == During::weighing;
  if (survey_ || (weighing && stage_ != Stage::budgeted)) return std::nullopt;
  Relief relief;
  switch (stage_) {
  case Stage::running:
    if (sweeping) return std::nullopt;
    relief.slots = placement_.relieve();
    if (relief.slots.empty()) return std::nullopt;
    relief.goes_on_from = placement_.resume_from();
    resumes_ = true;
    break;
  case Stage::reversing: {
    std::optional<Relief> of_reversal = reversal_.relieve(sweeping, at_last);
    if (of_reversal) {
      relief = std::move(*of_reversal);
      few_states_ = few_states_ || relief.all;
      break;
    }
    if (!at_last || few_states_ || reversal_.left() == 0) return std::nullopt;
    reverse_with_few_states(reversal_.left()); // what was put aside before it goes as well
    relief.all = true;
    break;
  }
  case Stage::budgeted:
  case Stage::rest:
    if (!sweeping && budgeted_.relieve_first_run(weighing)) {
      relief.goes_on_from = budgeted_.position();
      break;
    }
    if (weighing) return std::nullopt;
    if (const std::uint64_t left = budgeted_.left_to_reverse(sweeping); !budgeted_.relieve(sweeping)) {
      if (left == 0 || !at_last) return std::nullopt;
      reverse_with_few_states(left);
    }
    relief.all = true;
    break;
  case Stage::last_reverse:
    if (during != During::ahead || prefix_ == 0) return std::nullopt;
    reverse_with_few_states(std::min(prefix_, total_)); // it was asked for more steps where the run ended on it
    relief.all = true;
    break;
  default:
    return std::nullopt;
  }
  ++relieved_;
  if (during == During::ahead) ++ahead_;
  if (!relief.goes_on_from) all_steps_ = 0;
  return relief;
}

// With the plan for what is left that takes the least, if that is known to fit; else with hardly any states, and with tapes
// shorter than any interval.
std::optional<Schedule::Relief> FirstRun::relieve_ahead() {
  if (stage_ != Stage::budgeted && stage_ != Stage::rest) return std::nullopt;
  const std::uint64_t left = budgeted_.left_that_is_too_much();
  if (left == 0) return std::nullopt;
  if (Budgeted less = budgeted_; less.relieve_ahead())
    budgeted_ = std::move(less);
  else
    reverse_with_few_states(left);
  ++relieved_;
  ++ahead_;
  all_steps_ = 0;
  Relief relief;
  relief.all = true;
  return relief;
}

Schedule::Sweep FirstRun::next_sweep() const {
  switch (stage_) {
  case Stage::budgeted:
  case Stage::rest:
    return budgeted_.sweeps_next() ? Sweep::foreseen : Sweep::none;
  case Stage::reversing:
    return reversal_.may_relieve_ahead() ? Sweep::unforeseen : Sweep::none;
  case Stage::last_reverse:
    return start_kept_ ? Sweep::none : Sweep::unforeseen;
  default:
    return Sweep::none;
  }
}

// A survey is of what `auto` would do.
std::optional<Schedule::Prospect> FirstRun::prospect(std::uint64_t budget) const {
  return budgeted_.prospect(budget, first_piece(survey_ ? Spec::Kind::automatic : kind_, budget));
}

std::unique_ptr<Schedule> make_first_run(const Spec& spec, const Resources& resources) {
  return std::make_unique<FirstRun>(spec, resources);
}

} // namespace cairn::schedule
