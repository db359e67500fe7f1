// Schedules that never run the program only to measure it: the states kept along the first run are where the reversal starts.
// `auto` tapes the first stretch of it, so that a short run costs what a plain tape costs.
#include "vm/schedule/binomials.h"
#include "vm/schedule/budgeted.h"
#include "vm/schedule/generators.h"
#include "vm/schedule/placement.h"
#include "vm/schedule/reversal.h"

#include <fmt/format.h>

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
constexpr std::uint64_t kSparse = 8; // a tape is sparse with fewer records than an eighth of its steps
// With fewer than that part, a record takes less time, fresh memory and all, than the steps that it spares (cost_table.h).
constexpr std::uint64_t kVerySparse = 16;
constexpr std::uint64_t kWorthTaping = 5; // space for less than a fifth of the limit is left alone
constexpr std::uint64_t kGoodTapeBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastGoodBase = std::uint64_t{1} << 14;
constexpr std::uint64_t kMostGoodBase = std::uint64_t{1} << 16;
constexpr std::uint64_t kLongestBase = std::uint64_t{1} << 20; // where there is no room for more states
constexpr std::uint64_t kSnapshotBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kMostSnapshots = 1 << 18;
// Under a budget, the first tape is looked at once it has so many bytes, or such a part of the budget: if it is heavy, the run is
// planned (budgeted.h).
constexpr std::uint64_t kLook = 128;
constexpr std::uint64_t kLookAtMost = 16;
constexpr std::uint64_t kLeastTapeBytes = std::uint64_t{1} << 15;
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 47;
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

// What the machine has, or less if the spec says so.
std::uint64_t budget_of(const Spec& spec, const Resources& resources) {
  const std::uint64_t budget = budget_of(resources);
  return spec.memory != 0 && (budget == 0 || spec.memory < budget) ? spec.memory : budget;
}

// What the schedule `budget` plans with; inside of another derivative operator it is a share, unless the spec says how much.
std::uint64_t planned_budget(const Spec& spec, const Resources& resources) {
  const std::uint64_t budget = budget_of(spec, resources);
  if (budget == 0) return kUnlimited;
  return resources.alone || spec.memory != 0 ? budget : std::max<std::uint64_t>(1, budget / kShare);
}

// More than a record a step: that is what tensors weigh.
bool is_heavy(std::uint64_t steps, std::uint64_t records) { return records > steps; }

// Records after which the first intervals of a planned run end. However short a tape is, it takes a block of records: shorter
// intervals are for small budgets alone.
std::uint64_t first_piece(Spec::Kind kind, std::uint64_t budget) {
  const std::uint64_t least = std::clamp(budget / kLookAtMost, kLeastBase * kRecordBytes, kLeastTapeBytes);
  return std::max(budget / kLook, kind == Spec::Kind::budget ? least : kLeastLookBytes) / kRecordBytes;
}

// How many steps have so many records.
std::uint64_t steps_with(std::uint64_t some, std::uint64_t steps, std::uint64_t records) {
  return static_cast<std::uint64_t>(std::min<Wide>(Wide{some} * steps / std::max<std::uint64_t>(1, records), kUnlimited));
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

class FirstRun final : public Schedule {
public:
  FirstRun() = default;
  FirstRun(const Spec& spec, const Resources& resources);
  Action next() override;
  void ended(std::uint64_t total) override;
  bool weighs_stack() const override { return kind_ == Spec::Kind::automatic && stage_ == Stage::prefix; }
  bool weighs_tapes() const override {
    return (stage_ == Stage::prefix && start_kept_) || (stage_ == Stage::budgeted && budgeted_.weighs_tapes());
  }
  void stack(std::uint64_t bytes) override;
  void stopped(std::uint64_t steps_left) override;
  void taped(std::uint64_t records) override;
  void kept(std::uint64_t bytes) override;
  bool walks_next() const override {
    return stage_ == Stage::budgeted || stage_ == Stage::rest ? budgeted_.walks_next() : looks_next();
  }
  void weighed(const Weights& weights) override;
  std::optional<Foreseen> foreseen() const override { return relieved_ != 0 ? std::nullopt : budgeted_.foreseen(total_); }
  std::optional<Prospect> prospect(std::uint64_t budget) const override {
    // A survey is of what `auto` would do.
    return budgeted_.prospect(budget, first_piece(survey_ ? Spec::Kind::automatic : kind_, budget));
  }
  std::optional<std::uint64_t> foreseen_steps() const override {
    return relieved_ != 0 || all_steps_ == 0 ? std::nullopt : std::optional(all_steps_);
  }
  void note_updates(const std::vector<UpdatedLeaf>& leaves) override { budgeted_.note_updates(leaves); }
  bool fits(std::uint64_t budget) const override { return budgeted_.fits(budget); }
  std::vector<KnownInterval> intervals() const override { return budgeted_.intervals(); }
  bool surveyed() const override;
  std::unique_ptr<Schedule> planned(std::uint64_t budget) const override;
  std::uint64_t least_of_any() const override { return budgeted_.least_of_any(); }
  std::optional<Relief> relieve(bool sweeping) override;
  std::uint64_t relieved() const override { return relieved_; }
  std::unique_ptr<Schedule> again() const override;
  bool misled() const override { return budgeted_.misled(); }
  std::uint64_t closer_look() const override;
  std::string explanation() const override;
  std::unique_ptr<Schedule> clone() const override { return std::make_unique<FirstRun>(*this); }
  void save(std::vector<std::uint64_t>& words) const override;
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.kind_);
    archive(self.stage_);
    archive(self.prefix_);
    archive(self.total_);
    archive(self.tape_bytes_);
    archive(self.sparse_bytes_);
    archive(self.records_);
    archive(self.share_bytes_);
    archive(self.stack_bytes_);
    archive(self.budget_);
    archive(self.frugal_);
    archive(self.spill_bytes_);
    archive(self.spill_ticks_);
    archive(self.survey_);
    archive(self.survey_piece_);
    archive(self.counted_);
    archive(self.start_kept_);
    archive(self.relieved_);
    archive(self.resumes_);
    archive(self.all_steps_);
    archive(self.budgeted_);
    archive(self.placement_);
    archive(self.reversal_);
  }

private:
  enum class Stage : std::uint8_t {
    begin,
    start,
    unplanned,
    prefix,
    budgeted,
    running,
    reversing,
    last_reverse,
    rest,
    counting,
    done
  };

  std::uint64_t more_to_tape() const;
  std::uint64_t look() const; // records
  // Whether the first tape is about to be found heavy.
  bool looks_next() const {
    return stage_ == Stage::prefix && start_kept_ && (kind_ == Spec::Kind::budget || is_heavy(prefix_, records_));
  }
  void take_over();
  std::string chosen() const; // the schedule, for people
  Action discard_start();
  std::unique_ptr<Schedule> as_known(const std::optional<Budgeted>& known) const;

  Spec::Kind kind_ = Spec::Kind::automatic;
  Stage stage_ = Stage::begin;
  std::uint64_t prefix_ = 0;                        // steps taped before the first snapshot
  std::uint64_t total_ = kToEnd;                    // known once the end was seen
  std::uint64_t tape_bytes_ = 0;                    // how large a tape may grow
  std::uint64_t sparse_bytes_ = 0;                  // how large the first may grow while it has few records for its steps
  std::uint64_t records_ = 0;                       // on the first tape
  std::uint64_t share_bytes_ = 0;                   // of the budget, for the tape in work, and for the one put aside
  std::uint64_t stack_bytes_ = 0;                   // the most seen while the first tape grew
  std::uint64_t budget_ = 0;                        // where it is for this run alone, else 0
  bool frugal_ = false;                             // nobody said how much memory there is
  std::uint64_t spill_bytes_ = 0, spill_ticks_ = 0; // of a file, where the run may use one
  bool survey_ = false;                             // nothing is reversed
  std::uint64_t survey_piece_ = 0;                  // records of an interval, where somebody knows
  std::uint64_t counted_ = 0;                       // actions of a survey of what is not planned
  bool start_kept_ = false;                         // in slot 0, while it may still turn out that the run is to be planned
  std::uint64_t relieved_ = 0;                      // how often memory ran out on the way
  bool resumes_ = false;                            // from the latest state that was left then
  std::uint64_t all_steps_ = 0;                     // that are executed, where planning had ended; 0: nobody knows
  Budgeted budgeted_;
  Placement placement_;
  Reversal reversal_;
};

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
    : kind_(spec.kind), survey_(resources.survey), survey_piece_(resources.piece),
      placement_(allowance_of(spec, resources), spec.base, 0) {
  if (kind_ != Spec::Kind::automatic && kind_ != Spec::Kind::budget) return;
  const std::uint64_t budget = kind_ == Spec::Kind::budget ? planned_budget(spec, resources) : budget_of(spec, resources);
  share_bytes_ = budget == 0 ? UINT64_MAX : budget / kShare;
  tape_bytes_ = std::min(kMostTapeBytes, share_bytes_);
  sparse_bytes_ = std::min(kMostSparseBytes, share_bytes_);
  if (resources.alone || kind_ == Spec::Kind::budget) budget_ = budget;
  frugal_ = kind_ == Spec::Kind::automatic && resources.alone && !resources.asked && spec.memory == 0;
  if (frugal_ && budget == 0) budget_ = kUnlimited;
  if (resources.alone && resources.spill_bytes > 0) {
    spill_bytes_ = static_cast<std::uint64_t>(resources.spill_bytes);
    spill_ticks_ = resources.spill_ticks;
  }
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
// costs less than running its steps again; beyond, only where records are few, since fresh memory is dear.
std::uint64_t FirstRun::more_to_tape() const {
  const std::uint64_t usual = records_ < prefix_ / kSparse ? sparse_bytes_ : tape_bytes_;
  std::uint64_t limit = std::max(usual, std::min(share_bytes_, kTapeForStack * stack_bytes_));
  // To compute tensors again costs more than their memory; so do steps that record little, where somebody offered the memory.
  const bool offered = budget_ != 0 && !frugal_;
  if (is_heavy(prefix_, records_) || (offered && records_ < prefix_ / kVerySparse)) limit = share_bytes_;
  const std::uint64_t used = records_ * kRecordBytes;
  const std::uint64_t spare = limit > used ? limit - used : 0;
  if (prefix_ > 0 && spare < limit / kWorthTaping) return 0;
  return std::max(kLeastBase, spare / kRecordBytes);
}

Action FirstRun::next() {
  switch (stage_) {
  case Stage::begin:
    if (kind_ != Spec::Kind::automatic && kind_ != Spec::Kind::budget) {
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
  next->survey_ = false;
  next->relieved_ = next->all_steps_ = 0;
  return next;
}

std::unique_ptr<Schedule> FirstRun::again() const { return as_known(stage_ == Stage::done ? budgeted_.again() : std::nullopt); }

std::unique_ptr<Schedule> FirstRun::planned(std::uint64_t budget) const {
  return as_known(surveyed() ? budgeted_.surveyed_within(budget) : std::nullopt);
}

bool FirstRun::surveyed() const { return survey_ && stage_ == Stage::done; }

std::uint64_t FirstRun::closer_look() const {
  const std::uint64_t piece = surveyed() && survey_piece_ == 0 ? budgeted_.good_piece() : 0;
  return piece > 2 * look() ? piece : 0;
}

std::optional<Schedule::Relief> FirstRun::relieve(bool sweeping) {
  if (survey_) return std::nullopt;
  Relief relief;
  switch (stage_) {
  case Stage::running:
    if (sweeping) return std::nullopt;
    relief.slots = placement_.relieve();
    if (relief.slots.empty()) return std::nullopt;
    resumes_ = true;
    break;
  case Stage::reversing: {
    std::optional<std::vector<std::uint32_t>> slots = reversal_.relieve(sweeping);
    if (!slots) return std::nullopt;
    relief.slots = std::move(*slots);
    break;
  }
  case Stage::budgeted:
  case Stage::rest:
    if (!budgeted_.relieve(sweeping)) return std::nullopt;
    relief.all = true;
    break;
  default:
    return std::nullopt;
  }
  ++relieved_;
  return relief;
}

void FirstRun::ended(std::uint64_t total) {
  total_ = total;
  if (stage_ == Stage::prefix) stage_ = survey_ ? Stage::done : Stage::last_reverse;
  if (stage_ == Stage::budgeted) budgeted_.ended(total);
  if (stage_ != Stage::running) return;
  reversal_ = placement_.reversal(total);
  stage_ = Stage::reversing;
  if (!budgeted_.handed_over()) return;
  all_steps_ = total;
  Reversal reversal = reversal_;
  while (const std::optional<Action> action = reversal.next())
    if (action->kind == Action::Kind::advance || action->kind == Action::Kind::tape) all_steps_ += action->steps;
  Budgeted front = budgeted_;
  front.rest_is_reversed();
  all_steps_ += front.steps_again();
}

void FirstRun::stack(std::uint64_t bytes) { stack_bytes_ = std::max(stack_bytes_, bytes); }

void FirstRun::stopped(std::uint64_t steps_left) {
  if (stage_ == Stage::prefix) prefix_ -= std::min(steps_left, prefix_);
  if (stage_ == Stage::budgeted) budgeted_.stopped(steps_left);
}

void FirstRun::taped(std::uint64_t records) {
  if (stage_ == Stage::prefix) records_ = records;
  if (stage_ == Stage::budgeted) budgeted_.taped(records);
}

void FirstRun::kept(std::uint64_t bytes) {
  if (stage_ == Stage::running) placement_.kept(bytes);
}

void FirstRun::weighed(const Weights& weights) {
  if (stage_ != Stage::budgeted) return;
  if (kind_ == Spec::Kind::automatic && weights.nested && budgeted_.position() == 0) { // nobody can plan this: the tape goes on
    budgeted_ = {};
    stage_ = Stage::unplanned;
    return;
  }
  budgeted_.weighed(weights);
}

std::string FirstRun::explanation() const {
  return relieved_ == 0 ? chosen()
                        : fmt::format("{}; memory had run out {}, and it went on with less to keep", chosen(),
                                      relieved_ == 1 ? "once" : fmt::format("{} times", relieved_));
}

std::string FirstRun::chosen() const {
  const std::string_view name = name_of(kind_);
  if (total_ == kToEnd) return fmt::format("{}: the end of the run is not reached yet", name);
  if (budgeted_.position() != 0 && !budgeted_.handed_over()) return fmt::format("{}: {}", name, budgeted_.explanation());
  if ((kind_ == Spec::Kind::automatic || kind_ == Spec::Kind::budget) && placement_.held() == 0)
    return fmt::format("{}: {} steps ended within the first tape; no snapshot but the start was kept", name, total_);
  const std::string prefix = budgeted_.handed_over() ? fmt::format("first {} steps planned, then ", budgeted_.position())
                             : prefix_ == 0          ? ""
                                                     : fmt::format("first {} steps taped, then ", prefix_);
  if (kind_ == Spec::Kind::sqrt)
    return fmt::format("sqrt, base {}: {} steps, {} snapshots of the first run every {} steps, each part taped whole",
                       placement_.base(), total_, placement_.held(), placement_.stride_steps());
  return fmt::format("{}: {}base {}, {} steps in all; {} snapshots of the first run were kept, at most {} at once", name, prefix,
                     placement_.base(), total_, placement_.held(), placement_.most());
}

void FirstRun::save(std::vector<std::uint64_t>& words) const {
  words.push_back(static_cast<std::uint64_t>(Generator::first_run));
  WordWriter writer(words);
  fields(*this, writer);
}

bool FirstRun::sound() const {
  constexpr std::uint64_t kMostSaved = std::uint64_t{1} << 48; // sums and products with them stay within 64 bits
  if (prefix_ > kMostSaved || records_ > kMostSaved || survey_piece_ > kMostSaved || budget_ > kMostSaved ||
      stack_bytes_ > kMostSaved || spill_bytes_ > kMostSaved * 4096 || spill_ticks_ > kMostSaved)
    return false;
  return generator_of(kind_) == Generator::first_run && stage_ <= Stage::done && placement_.sound() &&
         (stage_ != Stage::reversing || reversal_.sound()) &&
         ((stage_ != Stage::budgeted && stage_ != Stage::rest && !budgeted_.handed_over()) || budgeted_.sound());
}

} // namespace

std::unique_ptr<Schedule> make_first_run(const Spec& spec, const Resources& resources) {
  return std::make_unique<FirstRun>(spec, resources);
}
std::unique_ptr<Schedule> restore_first_run(WordReader& reader) { return restored<FirstRun>(reader); }

} // namespace cairn::schedule
