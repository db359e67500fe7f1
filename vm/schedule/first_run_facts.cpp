// What a first run is told and tells, and how it is saved: see first_run.h.
#include "vm/schedule/first_run.h"

#include "vm/schedule/generators.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::schedule {

void FirstRun::ended(std::uint64_t total) {
  total_ = total;
  if (stage_ == Stage::prefix) stage_ = survey_ ? Stage::done : Stage::last_reverse;
  if (stage_ == Stage::budgeted) budgeted_.ended(total);
  if (stage_ != Stage::running) return;
  reversal_ = placement_.reversal(total);
  stage_ = Stage::reversing;
  const std::optional<std::uint64_t> again = steps_to_come();
  all_steps_ = again ? total + *again : 0;
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
  const auto times = [](std::uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); };
  std::string text = chosen();
  if (ahead_ != 0) text += fmt::format("; memory would have run out {}, and it went on with less to keep", times(ahead_));
  if (relieved_ != ahead_)
    text += fmt::format("; memory had run out {}, and it went on with less to keep", times(relieved_ - ahead_));
  return text;
}

std::string FirstRun::chosen() const {
  const std::string_view name = name_of(kind_);
  if (total_ == kToEnd) return fmt::format("{}: the end of the run is not reached yet", name);
  if (budgeted_.position() != 0 && !budgeted_.handed_over()) return fmt::format("{}: {}", name, budgeted_.explanation());
  if (plans() && placement_.held() == 0)
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
      stack_bytes_ > kMostSaved || spill_bytes_ > kMostSaved * 4096 || spill_ticks_ > kMostSaved || steps_of_record_ == 0)
    return false;
  return generator_of(kind_) == Generator::first_run && stage_ <= Stage::done && placement_.sound() &&
         (stage_ != Stage::reversing || reversal_.sound()) &&
         ((stage_ != Stage::budgeted && stage_ != Stage::rest && !budgeted_.handed_over()) || budgeted_.sound());
}

std::unique_ptr<Schedule> restore_first_run(WordReader& reader) { return restored<FirstRun>(reader); }

} // namespace cairn::schedule
