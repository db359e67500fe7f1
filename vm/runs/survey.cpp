// The end of a survey: a gradient whose run is only got to know, for a table of what budgets of memory would buy (vmrun --plan).
#include "vm/explain/forms.h"
#include "vm/machine/errors.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/schedule/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace cairn::runs {

namespace {

constexpr std::size_t kRows = 10;

std::string bytes(std::uint64_t n) { return explain::bytes_text(static_cast<std::int64_t>(n)); }

// With a row of its own for the budget that the program has, unless that is less than the least: a plan may be known for it as
// the run was seen, but not with what is left for a run that comes to other intervals. Whatever fits into less memory fits into
// more, so more does not take longer, whatever the plan for just that much would be, and if there is none.
std::string table(std::vector<schedule::Point> curve, std::uint64_t budget, std::optional<double> time) {
  const std::uint64_t least = curve.front().budget, whole = curve.back().budget;
  const auto is_budget = [&](const schedule::Point& point) { return point.budget == budget; };
  if (budget < least)
    time.reset();
  else if (!time)
    time = curve.front().time;
  if (time && budget < whole && std::none_of(curve.begin(), curve.end(), is_budget)) curve.push_back({budget, *time});
  std::sort(curve.begin(), curve.end(), [](const schedule::Point& a, const schedule::Point& b) { return a.budget < b.budget; });
  for (std::size_t i = 1; i < curve.size(); ++i) curve[i].time = std::min(curve[i].time, curve[i - 1].time);
  // Where two of them would look alike, all are told more exactly.
  const auto alike = [](const schedule::Point& a, const schedule::Point& b) {
    return explain::size_text(a.budget) == explain::size_text(b.budget);
  };
  const bool exactly = std::adjacent_find(curve.begin(), curve.end(), alike) != curve.end();
  std::string out = "  --memory=       time / one tape's\n";
  for (const schedule::Point& point : curve)
    out += fmt::format("  {:>12}      {:>6.2f}{}\n",
                       exactly ? explain::size_in_kib(point.budget) : explain::size_text(point.budget), point.time,
                       is_budget(point)        ? "   the budget of this run"
                       : point.budget == whole ? "   every interval stays on tape"
                       : point.again           ? "   the least that a plan is known for; a first gradient begins again"
                       : point.budget == least ? "   the least that a plan is known for"
                                               : "");
  if (!time && budget != 0) out += fmt::format("  within the {} of this run no plan is known\n", explain::size_text(budget));
  return out;
}

// A run of numbers: `auto` replays it by its length alone.
std::string light(const Engine& engine, const CheckpointState& s) {
  const schedule::Program program = program_seen(s);
  std::string out = "  it is a run of numbers, which the schedule auto replays by its length; as often as a step is run:\n"
                    "  --memory=       runs of a step\n";
  for (std::uint64_t budget = std::uint64_t{4} << 20; budget <= std::uint64_t{4} << 30; budget *= 4) {
    schedule::Resources resources = engine.resources(true);
    resources.budget_bytes = static_cast<std::int64_t>(budget);
    resources.asked = true;
    const auto checked = schedule::predict({}, program, resources);
    out += checked ? fmt::format("  {:>12}      {:>6.2f}\n", explain::size_text(budget), checked->replay_factor)
                   : fmt::format("  {:>12}      not known, there are too many parts\n", explain::size_text(budget));
    if (checked && checked->replay_factor <= 1) break;
  }
  return out;
}

// Where there is a device that tensors stream to: what it will hold of so many bytes in all.
std::string of_device(const Engine& engine, std::uint64_t together) {
  explain::Tiers tiers = tiers_of(engine, static_cast<std::int64_t>(std::min<std::uint64_t>(together, INT64_MAX)));
  std::string out = tiers.all.empty() ? "" : "  the memories of --device, so far and within the budget of this run:\n";
  const std::int64_t at_once = std::exchange(tiers.at_once, 0);
  for (const explain::Row& row : explain::rows(tiers)) out += fmt::format("  {:<10} {}\n", row.name, row.words);
  if (at_once != 0)
    out += fmt::format("             forward {} had to be on the device at once; sweeping may take more\n",
                       explain::bytes_text(at_once));
  return out;
}

// What a call of `tiled` takes while it is swept is no state of the run, and no plan counts it.
std::string of_tiles(const Engine& engine) {
  return engine.recorder == nullptr || engine.recorder->tiled().empty()
             ? ""
             : "  beside this there are tiles, one at a time, and borders with their cotangents, as told of `tiled`\n";
}

std::string told(const Engine& engine, const CheckpointState& s) {
  const std::string place = place_of_call(engine);
  if (!s.total_known)
    return fmt::format(
        "gradient at {}: no plan can be made: derivative operators run inside, whose memory cannot be told beforehand\n", place);
  const auto between = [&] {
    if (engine.meter().cancelled()) throw ops::Cancelled();
  };
  std::string out = fmt::format("gradient at {}, a run of {} steps\n", place, explain::grouped(s.total));
  if (const auto curve = schedule::outlook(*s.schedule, kRows, between); !curve.empty()) {
    const auto budget = static_cast<std::uint64_t>(std::max<std::int64_t>(0, engine.state_budget));
    between();
    const auto prospect = s.schedule->prospect(budget);
    const std::uint64_t whole = curve.back().budget;
    return out + table(curve, budget, prospect && prospect->fits ? std::optional(prospect->time) : std::nullopt) +
           of_device(engine, budget == 0 ? whole : std::min(budget, whole)) + of_tiles(engine);
  }
  if (s.work != nullptr) {
    const std::uint64_t tape = s.work->weight() * schedule::kRecordBytes;
    return out + fmt::format("  all of it fits on a tape of {}\n", bytes(tape)) +
           of_device(engine, tape + static_cast<std::uint64_t>(engine.live_bytes())) + of_tiles(engine);
  }
  return out + light(engine, s) + of_tiles(engine);
}

} // namespace

bool survey_again(Engine& engine, CheckpointState& s) {
  const std::uint64_t piece = s.schedule->closer_look();
  if (piece == 0) return false;
  engine.meter().hold(); // the schedule that a stop would put back knows nothing of this
  schedule::Resources resources = engine.resources(true);
  resources.asked = false;
  resources.survey = true;
  resources.piece = piece;
  auto closer = schedule::make({schedule::Spec::Kind::budget}, resources);
  s.drop_tape(engine);
  for (TapeAside& tape : s.aside) s.drop(engine, tape);
  s.aside.clear();
  s.drop(engine, s.current);
  Snapshot& start = s.slots.front();
  s.uncount(engine, start);
  s.current = std::exchange(start, {});
  s.current.bytes = 0;
  s.held.clear();
  s.held_bytes = 0;
  s.births.clear();
  s.weighed.clear();
  s.ended = s.work_ended = s.total_known = false;
  s.schedule = std::move(closer);
  return true;
}

bool survey_updates(Engine& engine, CheckpointState& s) {
  if (!s.update || !s.update->stateful || !s.total_known || has_states(engine, s)) return false;
  s.complete = true;
  return true;
}

void end_survey(Engine& engine, const CheckpointState& s) {
  if (s.complete) s.schedule->note_updates(updated_leaves(engine, s));
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
