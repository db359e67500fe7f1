// Schedules that never run the program only to measure it: the states kept along the first run are where the reversal starts.
// `auto` tapes the first stretch of it, so that a short run costs what a plain tape costs.
#include "vm/schedule/binomials.h"
#include "vm/schedule/generators.h"
#include "vm/schedule/placement.h"
#include "vm/schedule/reversal.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::schedule {
namespace {

// The constants of `auto`. A step records at most about one operation; the base case is chosen so that its tape stays in a
// second-level cache, yet spans enough steps that lifting a state and restoring it cost little beside it.
constexpr std::uint64_t kRecordBytes = 32;
constexpr std::uint64_t kFirstPiece = std::uint64_t{1} << 18;
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
constexpr std::uint64_t kSnapshotBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kMostSnapshots = 16384;
// Of a budget, each of two tapes (in work and aside) may take an eighth, and so may the snapshots.
constexpr std::uint64_t kShare = 8;

std::uint64_t budget_of(const Resources& resources) {
  return resources.budget_bytes > 0 ? static_cast<std::uint64_t>(resources.budget_bytes) : 0;
}

// More than a record a step: that is what tensors weigh.
bool is_heavy(std::uint64_t steps, std::uint64_t records) { return records > steps; }

std::uint64_t base_for(std::uint64_t tape_bytes, std::uint64_t steps, std::uint64_t records) {
  if (is_heavy(steps, records)) // half of what a tape may hold, since steps differ
    return std::clamp(tape_bytes / (2 * kRecordBytes) * steps / records, kLeastBase, kMostGoodBase);
  const std::uint64_t good = kGoodTapeBytes * steps / (kRecordBytes * std::max<std::uint64_t>(1, records));
  const std::uint64_t safe = std::max(kLeastBase, tape_bytes / kRecordBytes);
  return std::min(std::clamp(good, kLeastGoodBase, kMostGoodBase), safe);
}

Allowance allowance_of(const Spec& spec, const Resources& resources) {
  if (spec.kind == Spec::Kind::sqrt) return {Allowance::Kind::strided};
  if (spec.kind == Spec::Kind::online && spec.snapshots != 0) return {Allowance::Kind::fixed, std::min(spec.snapshots, kNoLimit)};
  if (spec.kind == Spec::Kind::online) return {Allowance::Kind::logarithmic};
  const std::uint64_t budget = budget_of(resources);
  if (budget == 0) return {Allowance::Kind::bytes, kMostSnapshots, kSnapshotBytes, UINT64_MAX};
  return {Allowance::Kind::bytes, kMostSnapshots, std::min(kSnapshotBytes, budget / kShare), budget / 2};
}

class FirstRun final : public Schedule {
public:
  FirstRun() = default;
  FirstRun(const Spec& spec, const Resources& resources);
  Action next() override;
  void ended(std::uint64_t total) override;
  bool weighs_stack() const override { return kind_ == Spec::Kind::automatic && stage_ == Stage::prefix; }
  void stack(std::uint64_t bytes) override;
  void stopped(std::uint64_t steps_left) override;
  void taped(std::uint64_t records) override;
  void kept(std::uint64_t bytes) override;
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
    archive(self.placement_);
    archive(self.reversal_);
  }

private:
  enum class Stage : std::uint8_t { begin, prefix, running, reversing, last_reverse, done };

  std::uint64_t more_to_tape() const;

  Spec::Kind kind_ = Spec::Kind::automatic;
  Stage stage_ = Stage::begin;
  std::uint64_t prefix_ = 0;       // steps taped before the first snapshot
  std::uint64_t total_ = kToEnd;   // known once the end was seen
  std::uint64_t tape_bytes_ = 0;   // how large a tape may grow
  std::uint64_t sparse_bytes_ = 0; // how large the first may grow while it has few records for its steps
  std::uint64_t records_ = 0;      // on the first tape
  std::uint64_t share_bytes_ = 0;  // of the budget, for each of tape and snapshots
  std::uint64_t stack_bytes_ = 0;  // the most seen while the first tape grew
  Placement placement_;
  Reversal reversal_;
};

FirstRun::FirstRun(const Spec& spec, const Resources& resources)
    : kind_(spec.kind), placement_(allowance_of(spec, resources), spec.base, 0) {
  if (kind_ != Spec::Kind::automatic) return;
  const std::uint64_t budget = budget_of(resources);
  share_bytes_ = budget == 0 ? UINT64_MAX : budget / kShare;
  tape_bytes_ = std::min(kMostTapeBytes, share_bytes_);
  sparse_bytes_ = std::min(kMostSparseBytes, share_bytes_);
}

// How many more steps go onto the first tape: as many as fit even if each of them makes a record. Up to tape_bytes_ the tape
// costs less than running its steps again; beyond, only where records are few, since fresh memory is dear.
std::uint64_t FirstRun::more_to_tape() const {
  const std::uint64_t usual = records_ < prefix_ / kSparse ? sparse_bytes_ : tape_bytes_;
  std::uint64_t limit = std::max(usual, std::min(share_bytes_, kTapeForStack * stack_bytes_));
  if (is_heavy(prefix_, records_)) limit = share_bytes_; // to compute tensors again costs more than their memory
  const std::uint64_t used = records_ * kRecordBytes;
  const std::uint64_t spare = limit > used ? limit - used : 0;
  if (prefix_ > 0 && spare < limit / kWorthTaping) return 0;
  return std::max(kLeastBase, spare / kRecordBytes);
}

Action FirstRun::next() {
  switch (stage_) {
  case Stage::begin:
    if (kind_ == Spec::Kind::automatic) {
      stage_ = Stage::prefix;
      prefix_ = std::min(kFirstPiece, more_to_tape());
      return {Action::Kind::tape, prefix_, 0, share_bytes_ / kRecordBytes};
    }
    stage_ = Stage::running;
    return placement_.next();
  case Stage::prefix:
    if (const std::uint64_t more = more_to_tape(); more > 0) {
      prefix_ += more;
      return {Action::Kind::tape, more, 0, share_bytes_ / kRecordBytes};
    }
    stage_ = Stage::running;
    placement_.rebase(base_for(is_heavy(prefix_, records_) ? share_bytes_ : tape_bytes_, prefix_, records_), prefix_);
    placement_.allow(std::min(share_bytes_, kSnapshotsForStack * stack_bytes_));
    return {Action::Kind::put_aside, 0, 0};
  case Stage::running:
    return placement_.next();
  case Stage::reversing:
    if (const auto action = reversal_.next()) return *action;
    if (prefix_ == 0) break;
    stage_ = Stage::last_reverse;
    return {Action::Kind::take_back, 0, 0};
  case Stage::last_reverse:
    stage_ = Stage::done;
    return {Action::Kind::reverse, 0, 0};
  case Stage::done:
    break;
  }
  stage_ = Stage::done;
  return {};
}

void FirstRun::ended(std::uint64_t total) {
  total_ = total;
  if (stage_ == Stage::prefix) stage_ = Stage::last_reverse;
  if (stage_ != Stage::running) return;
  reversal_ = placement_.reversal(total);
  stage_ = Stage::reversing;
}

void FirstRun::stack(std::uint64_t bytes) { stack_bytes_ = std::max(stack_bytes_, bytes); }

void FirstRun::stopped(std::uint64_t steps_left) {
  if (stage_ == Stage::prefix) prefix_ -= std::min(steps_left, prefix_);
}

void FirstRun::taped(std::uint64_t records) {
  if (stage_ == Stage::prefix) records_ = records;
}

void FirstRun::kept(std::uint64_t bytes) {
  if (stage_ == Stage::running) placement_.kept(bytes);
}

std::string FirstRun::explanation() const {
  const std::string_view name = name_of(kind_);
  if (total_ == kToEnd) return fmt::format("{}: the end of the run is not reached yet", name);
  if (kind_ == Spec::Kind::automatic && placement_.held() == 0)
    return fmt::format("auto: {} steps ended within the first tape, so no snapshots", total_);
  const std::string prefix = prefix_ == 0 ? "" : fmt::format("first {} steps taped, then ", prefix_);
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
  return generator_of(kind_) == Generator::first_run && stage_ <= Stage::done && placement_.sound() &&
         (stage_ != Stage::reversing || reversal_.sound());
}

} // namespace

std::unique_ptr<Schedule> make_first_run(const Spec& spec, const Resources& resources) {
  return std::make_unique<FirstRun>(spec, resources);
}
std::unique_ptr<Schedule> restore_first_run(WordReader& reader) { return restored<FirstRun>(reader); }

} // namespace cairn::schedule
