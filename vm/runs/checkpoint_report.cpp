// What --stats and --explain say of a checkpoint-*j that has ended.
#include "vm/runs/recording.h"

namespace cairn::runs {

void report_checkpoint(Engine& engine, const CheckpointState& s) {
  if (!s.outermost) return;
  engine.gradient = {};
  engine.statistics.gradient_steps += s.total;
  engine.statistics.schedule = schedule::to_string(engine.schedules[s.spec]);
  if (engine.recorder != nullptr) record_end(engine, s);
}

} // namespace cairn::runs
