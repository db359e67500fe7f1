// The end of a survey: a gradient whose run is only got to know, for a table of what budgets of memory would buy (vmrun --plan).
#include "vm/machine/errors.h"
#include "vm/report/report.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/schedule/outlook.h"

#include <fmt/format.h>

#include <new>

namespace cairn::runs {

namespace {

constexpr std::size_t kRows = 10;

std::string bytes(std::uint64_t n) { return report::bytes_text(static_cast<std::int64_t>(n)); }

std::string table(const std::vector<schedule::Point>& curve) {
  std::string out = "  --memory=       time of one tape\n";
  for (std::size_t i = 0; i < curve.size(); ++i)
    out += fmt::format("  {:>12}      {:>6.2f}{}\n", report::size_text(curve[i].budget), curve[i].time,
                       i + 1 == curve.size() ? "   everything stays on tape"
                       : i == 0              ? "   the least that should do"
                                             : "");
  return out;
}

// A run of numbers: `auto` replays it by its length alone.
std::string light(const CheckpointState& s) {
  const schedule::Program program = program_seen(s);
  std::string out = "  it is a run of numbers, which the schedule auto replays by its length; as often as a step is run:\n"
                    "  --memory=       runs of a step\n";
  for (std::uint64_t budget = std::uint64_t{4} << 20; budget <= std::uint64_t{4} << 30; budget *= 4) {
    const auto checked = schedule::predict({}, program, {static_cast<std::int64_t>(budget), true});
    out += checked ? fmt::format("  {:>12}      {:>6.2f}\n", report::size_text(budget), checked->replay_factor)
                   : fmt::format("  {:>12}      not known, there are too many parts\n", report::size_text(budget));
    if (checked && checked->replay_factor <= 1) break;
  }
  return out;
}

std::string told(const Engine& engine, const CheckpointState& s) {
  const std::string place = place_of_call(engine);
  if (!s.total_known)
    return fmt::format("gradient at {}: no plan can be made: derivative operators run inside, or its parts do not fit\n", place);
  const auto between = [&] {
    if (engine.meter().cancelled()) throw ops::Cancelled();
  };
  std::string out = fmt::format("gradient at {}, a run of {} steps\n", place, report::grouped(s.total));
  if (const auto curve = schedule::outlook(*s.schedule, kRows, between); !curve.empty()) return out + table(curve);
  if (s.work != nullptr)
    return out + fmt::format("  all of it fits on a tape of {}\n", bytes(s.work->weight() * schedule::kRecordBytes));
  return out + light(s);
}

} // namespace

void end_survey(Engine& engine, const CheckpointState& s) {
  if (engine.options.explain) {
    try {
      engine.options.explain(told(engine, s));
    } catch (const std::bad_alloc&) {
      engine.options.explain("there is no memory for plans\n");
    }
  }
  throw ops::Cancelled();
}

} // namespace cairn::runs
