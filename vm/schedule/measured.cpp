// Schedules that know the length before they place anything: the run is measured once, or (tape) taped whole.
#include "vm/schedule/binomials.h"
#include "vm/schedule/generators.h"
#include "vm/schedule/reversal.h"

#include <fmt/format.h>

namespace cairn::schedule {
namespace {

class Measured final : public Schedule {
public:
  Measured() = default;
  explicit Measured(const Spec& spec);
  Action next() override;
  void ended(std::uint64_t total) override;
  std::optional<Relief> relieve(During during, bool at_last) override;
  Sweep next_sweep() const override {
    return stage_ == Stage::reversing && reversal_.may_relieve_ahead() ? Sweep::unforeseen : Sweep::none;
  }
  std::uint64_t relieved() const override { return relieved_; }
  std::string explanation() const override;
  std::unique_ptr<Schedule> clone() const override { return std::make_unique<Measured>(*this); }
  void save(std::vector<std::uint64_t>& words) const override;
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.kind_);
    archive(self.stage_);
    archive(self.base_);
    archive(self.snapshots_);
    archive(self.passes_);
    archive(self.total_);
    archive(self.relieved_);
    archive(self.reversal_);
  }

private:
  enum class Stage : std::uint8_t { begin, measure, known, reversing, tape_reverse, done };
  std::uint64_t slots() const;

  Spec::Kind kind_ = Spec::Kind::tape;
  Stage stage_ = Stage::begin;
  std::uint64_t base_ = kDefaultBase;
  std::uint64_t snapshots_ = 0;
  std::uint64_t passes_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t relieved_ = 0; // how often memory ran out on the way
  Reversal reversal_;
};

Measured::Measured(const Spec& spec) : kind_(spec.kind), base_(spec.base), snapshots_(spec.snapshots), passes_(spec.passes) {}

std::uint64_t Measured::slots() const {
  if (kind_ == Spec::Kind::bisection) return kNoLimit;
  if (snapshots_ != 0) return snapshots_;
  const std::uint64_t units = total_ == 0 ? 1 : (total_ - 1) / base_ + 1;
  return passes_ != 0 ? slots_for_passes(passes_, units) : balanced_slots(units);
}

// Otherwise the gradient begins again with fewer states.
std::optional<Schedule::Relief> Measured::relieve(During during, bool at_last) {
  if (!at_last || stage_ != Stage::reversing || during == During::weighing) return std::nullopt;
  std::optional<Relief> relief = reversal_.relieve(during == During::sweep, true);
  if (relief) ++relieved_;
  return relief;
}

Action Measured::next() {
  switch (stage_) {
  case Stage::begin:
    if (kind_ == Spec::Kind::tape) {
      stage_ = Stage::tape_reverse;
      return {Action::Kind::tape, kToEnd, 0};
    }
    stage_ = Stage::measure;
    return {Action::Kind::snapshot, 0, 0};
  case Stage::measure:
    return {Action::Kind::advance, kToEnd, 0};
  case Stage::tape_reverse:
    stage_ = Stage::done;
    return {Action::Kind::reverse, 0, 0};
  case Stage::known: {
    Slots slots;
    const std::uint32_t first = slots.take();
    const auto cut = kind_ == Spec::Kind::bisection ? Reversal::Cut::halves : Reversal::Cut::revolve;
    reversal_ = Reversal(cut, base_, this->slots(), {{0, first}}, slots, total_);
    stage_ = Stage::reversing;
    [[fallthrough]];
  }
  case Stage::reversing:
    if (const auto action = reversal_.next()) return *action;
    stage_ = Stage::done;
    break;
  case Stage::done:
    break;
  }
  return {};
}

void Measured::ended(std::uint64_t total) {
  total_ = total;
  if (stage_ == Stage::measure) stage_ = Stage::known;
}

std::string Measured::explanation() const {
  if (kind_ == Spec::Kind::tape) return "tape: the whole run on one tape, no snapshots";
  if (stage_ == Stage::begin || stage_ == Stage::measure)
    return fmt::format("{}, base {}: measuring the run", name_of(kind_), base_);
  if (kind_ == Spec::Kind::bisection)
    return fmt::format("bisection, base {}: {} steps measured, then halved until a part is one base case", base_, total_);
  const std::uint64_t units = total_ == 0 ? 1 : (total_ - 1) / base_ + 1;
  const std::uint64_t most = repetitions(slots(), units);
  return fmt::format("binomial, base {}, {} snapshots{}: {} steps measured, {} base cases, no step replayed more than {}", base_,
                     slots(),
                     snapshots_ != 0 ? ""
                     : passes_ != 0  ? " (the fewest for the passes)"
                                     : " (logarithmic)",
                     total_, units, most == 1 ? "once" : fmt::format("{} times", most));
}

void Measured::save(std::vector<std::uint64_t>& words) const {
  words.push_back(static_cast<std::uint64_t>(Generator::measured));
  WordWriter writer(words);
  fields(*this, writer);
}

bool Measured::sound() const {
  return generator_of(kind_) == Generator::measured && stage_ <= Stage::done && base_ >= 1 &&
         (stage_ != Stage::reversing || reversal_.sound());
}

} // namespace

std::unique_ptr<Schedule> make_measured(const Spec& spec, const Resources& /*resources*/) {
  return std::make_unique<Measured>(spec);
}
std::unique_ptr<Schedule> restore_measured(WordReader& reader) { return restored<Measured>(reader); }

} // namespace cairn::schedule
