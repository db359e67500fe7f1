// What --explain and --stats say of a checkpoint-*j that has ended.
#include "vm/runs/states.h"
#include "vm/schedule/checker.h"

#include <fmt/format.h>

namespace cairn::runs {

namespace {

// Schedule and reason; replay and peak memory, measured, and predicted by the plan if there is one, else by the checker from the
// length of the run alone.
std::string explanation(const Engine& engine, const CheckpointState& s) {
  auto factor = [&](std::uint64_t steps) {
    return s.total == 0 ? 1.0 : static_cast<double>(steps) / static_cast<double>(s.total);
  };
  constexpr std::uint64_t kRecord = sizeof(tape::Record);
  if (const auto foreseen = s.schedule->foreseen())
    return fmt::format("checkpoint-*j: {}\n"
                       "  steps        {} forward, {} executed\n"
                       "  replay       {:.4f} predicted, {:.4f} measured\n"
                       "  memory       {} bytes at the peak predicted\n"
                       "  tape         {} bytes at the peak measured\n"
                       "  snapshots    {} at once measured; {} bytes measured\n",
                       s.schedule->explanation(), s.total, s.executed, factor(foreseen->executed), factor(s.executed),
                       foreseen->peak, s.peak_records * kRecord, s.peak_snapshots, s.peak_snapshot_bytes);
  schedule::Program program;
  program.total = s.total;
  if (s.taped_steps != 0) program.records_per_1024_steps = s.taped_sum * 1024 / s.taped_steps;
  if (s.snapshots_taken != 0) program.snapshot_bytes = static_cast<std::uint64_t>(s.snapshot_bytes_sum) / s.snapshots_taken;
  program.stack_bytes = s.stack_bytes;
  const std::optional<schedule::Report> predicted =
      schedule::predict(engine.schedules[s.spec], program, {engine.state_budget, is_alone(engine)});
  if (!predicted)
    return fmt::format("checkpoint-*j: {}\n"
                       "  steps        {} forward, {} executed: too many actions to predict\n"
                       "  replay       {:.4f} measured\n"
                       "  tape         {} bytes at the peak measured\n"
                       "  snapshots    {} at once measured; {} bytes measured\n",
                       s.schedule->explanation(), s.total, s.executed, factor(s.executed), s.peak_records * kRecord,
                       s.peak_snapshots, s.peak_snapshot_bytes);
  return fmt::format("checkpoint-*j: {}\n"
                     "  steps        {} forward, {} executed\n"
                     "  replay       {:.4f} predicted, {:.4f} measured\n"
                     "  tape         {} bytes at the peak predicted, {} measured\n"
                     "  snapshots    {} at once predicted, {} measured; {} bytes predicted, {} measured\n",
                     s.schedule->explanation(), s.total, s.executed, predicted->replay_factor, factor(s.executed),
                     predicted->peak_tape_records * kRecord, s.peak_records * kRecord, predicted->peak_snapshots,
                     s.peak_snapshots, predicted->peak_snapshot_bytes, s.peak_snapshot_bytes);
}

} // namespace

void report_checkpoint(Engine& engine, const CheckpointState& s) {
  if (!s.outermost) return;
  engine.gradient = {};
  engine.statistics.gradient_steps += s.total;
  engine.statistics.schedule = schedule::to_string(engine.schedules[s.spec]);
  if (engine.options.explain) engine.options.explain(explanation(engine, s));
}

} // namespace cairn::runs
