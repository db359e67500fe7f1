// Schedules that know the length before they place anything: the run is measured once, or (tape) taped whole.
#include "vm/schedule/binomials.h"
#include "vm/schedule/generators.h"

#include <fmt/format.h>

namespace cairn::schedule {

Measured::Measured(const Spec& spec) : kind_(spec.kind), base_(spec.base), snapshots_(spec.snapshots), passes_(spec.passes) {}

std::uint64_t Measured::slots() const {
  if (kind_ == Spec::Kind::bisection) return kNoLimit;
  if (snapshots_ != 0) return snapshots_;
  const std::uint64_t units = total_ == 0 ? 1 : (total_ - 1) / base_ + 1;
  return passes_ != 0 ? slots_for_passes(passes_, units) : balanced_slots(units);
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
  const std::string_view name = kind_ == Spec::Kind::bisection ? "bisection" : "binomial";
  if (stage_ == Stage::begin || stage_ == Stage::measure) return fmt::format("{}, base {}: measuring the run", name, base_);
  if (kind_ == Spec::Kind::bisection)
    return fmt::format("bisection, base {}: {} steps measured, then halved until a part is one base case", base_, total_);
  const std::uint64_t units = total_ == 0 ? 1 : (total_ - 1) / base_ + 1;
  return fmt::format("binomial, base {}, {} snapshots{}: {} steps measured, {} base cases, no step replayed more than {} times",
                     base_, slots(),
                     snapshots_ != 0 ? ""
                     : passes_ != 0  ? " (the fewest for the passes)"
                                     : " (logarithmic)",
                     total_, units, repetitions(slots(), units));
}

void Measured::save(std::vector<std::uint64_t>& words) const {
  words.push_back(static_cast<std::uint64_t>(Saved::measured));
  WordWriter writer(words);
  fields(*this, writer);
}

bool Measured::sound() const {
  return (kind_ == Spec::Kind::tape || kind_ == Spec::Kind::bisection || kind_ == Spec::Kind::binomial) &&
         stage_ <= Stage::done && base_ >= kLeastBase && (stage_ != Stage::reversing || reversal_.sound());
}

} // namespace cairn::schedule
