// See the header. Nothing here decides anything: the state is only looked at, and what a recorder takes is bounded and not
// charged, so that a program counts the same steps and fits into the same budget whether it is watched or not.
#include "vm/runs/recording.h"

#include "ops/operators/lossy.h"
#include "vm/explain/forms.h"
#include "vm/machine/errors.h"
#include "vm/machine/places.h"
#include "vm/runs/marks.h"
#include "vm/runs/operation_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <new>

namespace cairn::runs {

namespace {

explain::Recorder::Moment moment(const Engine& engine) {
  const Heap& heap = engine.accounts();
  const ops::Cost& spent = engine.meter().spent();
  explain::Recorder::Moment now;
  now.clock = engine.clock;
  now.time = engine.clock * engine.costs.ticks_of_step() +
             engine.modelled_ticks(static_cast<double>(engine.meter().operations()), spent);
  now.operations = engine.meter().operations();
  now.encoding = engine.costs.ticks_of_lossy(spent.lossy, spent.lossy_small);
  now.level = heap.live_bytes();
  now.peak = heap.highest();
  return now;
}

explain::Recorder::Moment moment(const Engine& engine, const CheckpointState& s) {
  explain::Recorder::Moment now = moment(engine);
  std::uint64_t records = s.work != nullptr ? s.work->weight() : 0;
  for (const TapeAside& tape : s.aside) records += tape.tape->weight();
  now.tapes = records * schedule::kRecordBytes;
  now.states = static_cast<std::uint64_t>(s.held_bytes);
  if (const ops::SpillFile* const file = engine.spill_file()) {
    now.in_file = static_cast<std::uint64_t>(file->peak_bytes());
    now.spilled = static_cast<std::uint64_t>(file->written_bytes());
    now.fetched = static_cast<std::uint64_t>(file->read_bytes());
    now.stored = static_cast<std::uint64_t>(file->stored_bytes());
  }
  return now;
}

// A program is not worse off for being watched: where the host has no memory for an explanation, that is lost; and what it takes
// to make one is no time of the gradient.
template <class F> void without_harm(Engine& engine, F&& f) {
  const explain::Stopwatch::Halted halted(engine.recorder->watch);
  try {
    f();
  } catch (const std::bad_alloc&) {
    engine.recorder->lose();
  }
}

void note_holders(Engine& engine, std::int64_t level) {
  const Heap& heap = engine.heap();
  explain::Holders h{level, 0, heap.tape.live, heap.capsules.live, heap.tensors.live, heap.scratch.live, {}};
  h.objects = level - h.tapes - h.capsules - h.tensors - h.scratch;
  if (engine.tensor_world != nullptr)
    for (const machine::TensorWorld::Maker& m : engine.tensor_world->makers(engine))
      h.makers.push_back({m.device->name(), m.text, m.bytes, m.storages});
  engine.recorder->holders(std::move(h));
}

constexpr const char* kWithError = " with an error"; // keeps these parts apart from others of the operator

void note_encoding(const tape::TensorRecord& record, explain::KeptBy& part) {
  const ops::Tensor encoding = record.smaller.all()[0], first = record.inputs.all()[0];
  const double bound = encoding.number; // as it was made: a report reads no elements
  part.least_bound = part.encoded == 0 ? bound : std::min(part.least_bound, bound);
  part.largest_bound = std::max(part.largest_bound, bound);
  part.encoded += first.bytes();
}

// Of the tape that is about to be swept, if none before it held more.
void note_kept(Engine& engine, const CheckpointState& s) {
  const Tape& tape = *s.work;
  explain::KeptOnTape kept;
  kept.records = kept.bytes = static_cast<std::int64_t>(tape.own_bytes());
  Marks met(engine.heap());
  std::map<std::pair<std::string, std::string>, explain::KeptBy> parts;
  for (const auto& record : tape.tensors()) {
    std::string name = record->op != nullptr ? std::string(ops::shown_name(*record->op)) : "what the host and pairs keep";
    const bool lossy = record->is_lossy();
    for (const tape::KeptTensors* list : record->kept())
      list->each_storage([&](const ops::Storage& storage) {
        if ((storage.birth != 0 && storage.birth < s.low) || !met.insert(&storage)) return;
        const std::string place = machine::place_of(engine, {storage.maker_code, storage.maker_pc});
        const bool encoding = lossy && list == &record->smaller && &storage == record->smaller.all()[0].storage.get();
        const std::string shown = encoding ? name + kWithError : name;
        explain::KeptBy& part = parts[{shown, place}];
        if (encoding) note_encoding(*record, part);
        part.name = shown;
        part.maker = place.empty() ? "reverse sweeps and the host" : place;
        part.bytes += storage.bytes;
        ++part.tensors;
        kept.bytes += storage.bytes;
      });
  }
  explain::KeptOnTape& most = engine.recorder->gradient().kept;
  if (kept.bytes <= most.bytes) return;
  for (auto& [key, part] : parts) kept.parts.push_back(std::move(part));
  std::ranges::stable_sort(kept.parts, std::greater{}, &explain::KeptBy::bytes);
  most = std::move(kept);
}

double replay_of(const CheckpointState& s, std::uint64_t executed) {
  return s.total == 0 ? 1.0 : static_cast<double>(executed) / static_cast<double>(s.total);
}

explain::Outcome foreseen(const CheckpointState& s, const schedule::Schedule::Foreseen& f, const explain::Spent& spent) {
  explain::Outcome out;
  out.replay = replay_of(s, spent.executed + f.executed);
  out.peak = std::max(static_cast<std::int64_t>(f.peak), spent.peak);
  out.in_file = f.in_file;
  return out;
}

// Whether the run began anew on the way: memory ran out, or it was another one than a plan was for.
bool has_spent(const CheckpointState& s, const explain::Gradient& g) { return s.begun_again != 0 || g.spent.executed != 0; }

// By the plan if there is one, else by the checker from the length of the run alone. Where memory ran out on the way, beside what
// had been done by then; which is not known of a gradient that was seen from its middle.
std::optional<explain::Outcome> predicted(const Engine& engine, const CheckpointState& s, const explain::Gradient& g) {
  const bool ran_out = has_spent(s, g) || s.schedule->relieved() != 0;
  if (ran_out && !g.whole) return std::nullopt;
  if (const auto f = s.schedule->foreseen()) return foreseen(s, *f, g.spent);
  auto steps = g.spent.rest != nullptr ? g.spent.rest->steps_to_come() : s.schedule->foreseen_steps();
  if (steps) *steps += g.spent.rest != nullptr ? g.spent.before_rest : g.spent.executed;
  explain::Outcome out;
  if (s.schedule->intervals().empty() && !ran_out) { // else its start was planned, which depends on more than the length
    schedule::Program program = program_seen(s);
    program.sizes = g.snapshot_sizes;
    const auto checked = schedule::predict(engine.schedules[s.spec], program, engine.resources(is_alone(engine)));
    if (!checked && !steps) return std::nullopt; // too many actions
    if (checked) {
      out.replay = checked->replay_factor;
      out.tapes = checked->peak_tape_records * schedule::kRecordBytes;
      out.states = checked->peak_snapshots;
      out.state_bytes = checked->peak_snapshot_bytes;
    }
  } else if (!steps) {
    return std::nullopt;
  }
  if (steps) out.replay = replay_of(s, *steps);
  return out;
}

// Of a run, as far as a part of it was weighed: costs of running and of sweeping it, and bytes of what was made in it and is kept
// on one tape.
struct WeighedPart {
  double steps = 0, run = 0, swept = 0, made = 0;
};
// Where it began again without a plan, by what was weighed before.
WeighedPart weighed_part(const CheckpointState& s) {
  WeighedPart part;
  std::vector<schedule::KnownInterval> intervals = s.schedule->intervals();
  if (intervals.empty() && s.first.schedule != nullptr) intervals = s.first.schedule->intervals();
  for (const schedule::KnownInterval& interval : intervals) {
    part.steps += static_cast<double>(interval.steps);
    part.run += static_cast<double>(interval.forward);
    part.swept += static_cast<double>(interval.sweep);
    part.made += static_cast<double>(interval.made);
  }
  return part;
}

// As plans model it: from what is known of the intervals, or else from what the first run has counted. What nobody has weighed is
// taken to be swept as what has been, or in twice the time in which it ran, beside what encodings took, each of which was made
// and read once. That memory is used for the first time comes beside: what a schedule lets go of it uses again, so it has as much
// as its peak.
void foresee_time(const Engine& engine, const CheckpointState& s, explain::Gradient& g) {
  const double fresh = engine.costs.fresh * 1e-9;
  if (const auto plan = s.schedule->foreseen()) {
    const auto peak = std::max(plan->peak, static_cast<std::uint64_t>(g.spent.peak));
    g.time_beside_one_tape =
        plan->time + static_cast<double>(g.spent.time) / static_cast<double>(std::max<std::uint64_t>(1, plan->one_tape));
    g.seconds_of_one_tape = schedule::CostTable::seconds(plan->one_tape);
    g.fresh_seconds = fresh * static_cast<double>(peak - plan->older);
    g.fresh_seconds_of_one_tape = fresh * static_cast<double>(plan->on_tape);
  } else if (g.predicted && g.whole && g.first_run) {
    const auto forward = static_cast<double>(*g.first_run - g.spent.time_of_first_run - g.encoding_of_first_run),
               steps = static_cast<double>(s.total), of_steps = steps * static_cast<double>(engine.costs.ticks_of_step());
    const double in_all = steps * static_cast<double>(program_seen(s).records_per_1024_steps) / 1024,
                 numbers = std::min(in_all, steps); // a step makes one at most; the rest are bytes of tensors
    const double unknown = 2 * std::max(0.0, forward - of_steps) + numbers * static_cast<double>(engine.costs.ticks_of_record()) +
                           static_cast<double>(g.operations_of_first_run) * static_cast<double>(engine.costs.ticks_of_taped()) +
                           static_cast<double>(g.encoding);
    const WeighedPart part = weighed_part(s);
    const double sweep = part.run != 0 ? part.swept / part.run * forward : unknown;
    g.time_beside_one_tape = (g.predicted->replay * forward + sweep) / (forward + sweep);
    g.seconds_of_one_tape = schedule::CostTable::seconds(static_cast<std::uint64_t>(forward + sweep));
    const double whole = part.run != 0 ? part.made / part.steps * steps : in_all * schedule::kRecordBytes;
    // Where nothing is predicted of tapes, the start of the run is planned, which fills the budget.
    const double at_once =
        static_cast<double>(g.predicted->tapes != 0 ? g.predicted->tapes : static_cast<std::uint64_t>(g.budget));
    g.fresh_seconds = fresh * std::min(at_once, whole);
    g.fresh_seconds_of_one_tape = fresh * whole;
  }
  if (g.predicted && g.time_beside_one_tape) g.predicted->seconds = *g.time_beside_one_tape * g.seconds_of_one_tape;
}

// A quarter less and a quarter more. That is planned anew, which may take longer than a gradient does; so where the one before
// from this place had the same plan, what was found then is told again.
void look_at_other_budgets(explain::Recorder& recorder, const CheckpointState& s) {
  const auto plan = s.schedule->foreseen();
  if (!plan) return;
  explain::Gradient& g = recorder.gradient();
  if (recorder.take_others_of_same(*plan, s.known)) return;
  try {
    for (const std::uint64_t budget : {plan->budget - plan->budget / 4, plan->budget + plan->budget / 4})
      if (const auto prospect = s.schedule->prospect(budget)) g.others.push_back({budget, prospect->time, prospect->fits});
    recorder.note_others(*plan, s.known);
  } catch (const ops::Cancelled&) {
    g.others.clear(); // the machine stops behind this gradient
  }
}

ops::streaming::StreamingDevice* streaming_of(const Engine& engine) {
  return engine.tensor_world == nullptr ? nullptr : engine.tensor_world->streaming();
}

std::int64_t budget_of(Engine& engine, const CheckpointState& s) {
  return static_cast<std::int64_t>(engine.schedules[s.spec].within(static_cast<std::uint64_t>(engine.heap().budget())));
}

void begin(Engine& engine, const CheckpointState& s, bool whole) {
  if (auto* const device = streaming_of(engine)) device->begin_peaks();
  explain::Recorder& recorder = *engine.recorder;
  engine.heap().begin_highest();
  if (ops::SpillFile* const file = engine.spill_file()) file->begin_peak();
  explain::Recorder::Opening opening;
  opening.serial = s.serial;
  opening.executed = s.executed;
  opening.steps = s.total;
  opening.whole = whole;
  opening.taping = s.work != nullptr;
  opening.aside = s.aside.size();
  opening.place = place_of_call(engine);
  opening.schedule = schedule::to_string(engine.schedules[s.spec]);
  opening.budget = budget_of(engine, s);
  recorder.begin(std::move(opening), moment(engine, s));
  engine.heap().grows = nullptr;
  if (!recorder.detailed()) return;
  note_holders(engine, engine.live_bytes());
  engine.heap().grows = [&engine](std::int64_t level) {
    if (engine.recorder->wants_holders(level)) without_harm(engine, [&] { note_holders(engine, level); });
  };
}

std::string begun_again_text(std::uint64_t times) {
  return fmt::format("; memory had run out, and it began again {}",
                     times == 1 ? "with less to keep" : fmt::format("{} times, each with less to keep", times));
}

} // namespace

std::string place_of_call(const Engine& engine) {
  const machine::Error at = machine::located(engine, "");
  if (!at.located) return "an unknown place";
  return machine::location_text(*at.source, at.span);
}

// Whatever finds room on the device stays there; what does not is on the host, where what left the device keeps its copy; and
// what has no room there either is on the disk.
explain::Tiers tiers_of(const Engine& engine, std::optional<std::int64_t> together) {
  explain::Tiers tiers;
  const auto* const device = streaming_of(engine);
  if (device == nullptr) return tiers;
  const ops::streaming::Memories memories = device->memories();
  std::optional<std::int64_t> come = together; // to that memory
  const auto add = [&](const char* name, const ops::streaming::Memories::One& memory, bool overflows) {
    explain::Tier& tier = tiers.all.emplace_back(explain::Tier{name, memory.budget, memory.in_use, memory.peak.recent, {}});
    if (!together) return;
    const bool fits = memory.budget == 0 || *come <= memory.budget;
    tier.predicted = std::max(fits ? *come : memory.budget, memory.in_use);
    if (fits && overflows) come = 0;
  };
  add("device", memories.device, true);
  const bool streams = memories.host.peak.ever != 0 || memories.has_disk;
  if (streams) add("host", memories.host, true);
  if (memories.has_disk) add("disk", memories.disk, false);
  tiers.at_once = memories.at_once.recent;
  return tiers;
}

schedule::Program program_seen(const CheckpointState& s) {
  schedule::Program program;
  program.total = s.total;
  if (s.taped_steps != 0) program.records_per_1024_steps = s.taped_sum * 1024 / s.taped_steps;
  if (s.snapshots_taken != 0) program.snapshot_bytes = static_cast<std::uint64_t>(s.snapshot_bytes_sum) / s.snapshots_taken;
  program.stack_bytes = s.stack_bytes;
  return program;
}

void record_beginning(Engine& engine, const CheckpointState& s) {
  without_harm(engine, [&] { begin(engine, s, true); });
}

void record_relief(Engine& engine, const CheckpointState& s, const schedule::Schedule::Relief& relief) {
  if (engine.recorder == nullptr || !engine.recorder->follows(s.serial, s.executed)) return;
  without_harm(engine, [&] { engine.recorder->ran_out(moment(engine, s), s.executed, *s.schedule, relief); });
}

void record_arrival(Engine& engine, const CheckpointState& s) {
  without_harm(engine, [&] {
    if (!engine.recorder->follows(s.serial, s.executed)) begin(engine, s, false);
    const bool ends = s.total_known && engine.recorder->gradient().steps == 0;
    engine.recorder->arrive(moment(engine, s), s.current.position, s.executed, s.total_known ? s.total : 0);
    if (ends && has_spent(s, engine.recorder->gradient())) engine.recorder->rest_is(s.executed, *s.schedule);
    explain::Outcome& measured = engine.recorder->gradient().measured;
    measured.tapes = s.peak_records * schedule::kRecordBytes;
    measured.states = s.peak_snapshots;
    measured.state_bytes = static_cast<std::uint64_t>(s.peak_snapshot_bytes);
    engine.heap().begin_highest();
  });
}

namespace {

std::uint64_t snapshot_bytes(const CheckpointState& s, std::uint32_t slot) {
  return static_cast<std::uint64_t>(s.slots[slot].bytes);
}

// How many steps lie between a snapshot and the one before it.
std::uint64_t steps_before(const CheckpointState& s, std::uint32_t slot) {
  const std::uint64_t position = s.slots[slot].position;
  const auto at = std::ranges::find(s.held, slot);
  return at == s.held.begin() ? schedule::SnapshotSizes::kFirst : position - s.slots[*std::prev(at)].position;
}

} // namespace

void record_action(Engine& engine, const CheckpointState& s, const schedule::Action& action) {
  const bool snapshot = action.kind == schedule::Action::Kind::snapshot;
  without_harm(engine, [&] {
    const bool sweeps = action.kind == schedule::Action::Kind::reverse && s.work != nullptr;
    engine.recorder->act(action, s.current.position, sweeps ? ticks_of_records(engine.costs, *s.work) : 0,
                         snapshot ? snapshot_bytes(s, action.slot) : 0);
    if (snapshot) engine.recorder->gradient().snapshot_sizes.add(steps_before(s, action.slot), snapshot_bytes(s, action.slot));
    if (sweeps && engine.recorder->detailed()) note_kept(engine, s);
  });
}

void record_end(Engine& engine, const CheckpointState& s) {
  record_arrival(engine, s);
  engine.heap().grows = nullptr;
  std::string text;
  without_harm(engine, [&] {
    explain::Recorder& recorder = *engine.recorder;
    if (!recorder.open()) return; // lost
    explain::Gradient& g = recorder.gradient();
    g.explanation = s.schedule->explanation();
    if (s.begun_again != 0)
      g.explanation += begun_again_text(s.begun_again);
    else if (g.executed_before != 0)
      g.explanation += "; its run was another than that of the call before it, and it began again as a first one";
    if (recorder.detailed()) g.predicted = predicted(engine, s, g);
    g.spent.rest.reset();
    if (recorder.detailed()) g.tiers = tiers_of(engine, g.predicted ? g.predicted->peak : std::nullopt);
    if (recorder.detailed()) foresee_time(engine, s, g);
    if (recorder.detailed()) look_at_other_budgets(recorder, s);
    if (recorder.detailed()) g.profile = s.schedule->intervals();
    const explain::Gradient& ended = recorder.finish();
    if (!engine.options.explain) return;
    if (recorder.wishes.every)
      text = explain::json(ended);
    else if (recorder.due_in_full())
      text = explain::in_full(ended) + (recorder.wishes.profile ? explain::profile_text(ended) + explain::kept_text(ended) : "");
    else if (const auto line = recorder.due_line())
      text = explain::in_a_line(*line);
  });
  if (!text.empty()) engine.options.explain(text);
}

void record_rest(Engine& engine) {
  if (!engine.options.explain || engine.recorder->wishes.every) return;
  without_harm(engine, [&] {
    for (const explain::Calls& calls : engine.recorder->rest()) engine.options.explain(explain::in_a_line(calls));
  });
}

void record_break(Engine& engine) {
  engine.heap().grows = nullptr;
  without_harm(engine, [&] { engine.recorder->break_off(moment(engine)); });
}

std::optional<explain::Gradient> unfinished_gradient(const Engine& engine) {
  if (engine.recorder == nullptr) return std::nullopt;
  return engine.recorder->unfinished(moment(engine));
}

} // namespace cairn::runs
