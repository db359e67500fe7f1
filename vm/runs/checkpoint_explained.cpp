// What is said of a checkpoint-*j that has ended, and of one that has no memory to go on.
#include "vm/explain/forms.h"
#include "vm/runs/recording.h"
#include "vm/schedule/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cairn::runs {

namespace {

// Rules that have run tell what the others will make.
void note_updates(const Engine& engine, const CheckpointState& s, schedule::Schedule& known) {
  if (!s.update || !s.update->begun) return;
  try {
    known.note_updates(updated_leaves(const_cast<Engine&>(engine), s));
  } catch (const value::BudgetExceeded&) { // there is no memory to walk with: the estimate is as good as it was
    return;
  }
}

// That were executed of the interval that the run is in.
std::uint64_t steps_of_interval(const Engine& engine, const CheckpointState& s) {
  for (const machine::Run& run : engine.runs)
    if (run.state != nullptr && run.run_state() == &s) return engine.clock - run.start;
  return 0;
}

} // namespace

void explain_checkpoint(Engine& engine, const CheckpointState& s) {
  if (!s.outermost) return;
  engine.gradient = {};
  engine.statistics.gradient_steps += s.total;
  engine.statistics.schedule = schedule::to_string(engine.schedules[s.spec]);
  if (engine.recorder != nullptr) record_end(engine, s);
}

// An estimate is no promise: where it says that the budget at hand would do, somewhat more is asked for.
std::string CheckpointState::memory_hint(const Engine& engine) const {
  if (!outermost) return "";
  const auto budget = static_cast<std::uint64_t>(std::max<std::int64_t>(0, engine.accounts().budget()));
  if (engine.options.survey)
    return fmt::format(
        "\n  a survey of a long run takes more memory than its gradient may, as it tapes a large part at once: give it more, "
        "--memory={} with --plan, say, or run the gradient within this budget",
        explain::size_in_kib(4 * budget));
  const schedule::Spec& asked = engine.schedules[spec];
  const bool plans = schedule::plans(asked.kind);
  if (!plans && total_known)
    return fmt::format(
        "\n  the schedule {} needs so much for this run of {} steps; auto, the default, plans what fits the budget",
        schedule::to_string(asked), total);
  if (!plans)
    return fmt::format("\n  the run of checkpoint-*j had come {} steps far under the schedule {}; auto, the default, plans what "
                       "fits the budget",
                       current.position + steps_of_interval(engine, *this), schedule::to_string(asked));
  const bool again = first.schedule != nullptr;
  std::optional<std::uint64_t> enough;
  try {
    const std::unique_ptr<schedule::Schedule> known = (again ? first.schedule : schedule)->clone();
    note_updates(engine, *this, *known);
    enough = first.surveyed ? schedule::least_budget(*known, first.tried ? budget + budget / 16 : budget)
                            : schedule::enough_budget(*known, budget + budget / 8);
  } catch (const ops::Cancelled&) { // the program ends in any case, and does so at once
    return "\n  it was cancelled while a budget that does was looked for";
  }
  if (!enough && engine.tiled_needs > static_cast<std::int64_t>(budget))
    return fmt::format("\n  what the gradient needs cannot be told beforehand; what is tiled should do with --memory={}",
                       explain::size_in_kib(static_cast<std::uint64_t>(engine.tiled_needs)));
  if (!enough)
    return fmt::format(
        "\n  what the gradient needs cannot be told beforehand; try --memory={}, and twice as much again if that does not do",
        explain::size_in_kib(2 * budget));
  const std::string size = explain::size_in_kib(*enough);
  if (again && first.surveyed && first.total == 0)
    return fmt::format("\n  it is known from an earlier call, and should do with --memory={}", size);
  if (again ? first.total_known : total_known)
    return fmt::format("\n  the gradient of its {} steps should do with --memory={}", again ? first.total : total, size);
  return fmt::format("\n  the run of checkpoint-*j had come {} steps far; a gradient of these alone should do with --memory={}",
                     again ? first.position : current.position, size);
}

} // namespace cairn::runs
