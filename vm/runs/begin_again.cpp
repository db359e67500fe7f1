// Planned gradients that turned out not to fit: instead of the end of the program, a second beginning. The run is weighed from
// its start to its end without being kept, and then planned as one that is known beforehand. Where no such plan fits either, it
// is run from as few states as it can be; and where nothing can fit, that is said at once.
#include "ops/streaming/backing.h"
#include "vm/explain/forms.h"
#include "vm/runs/bodies.h"
#include "vm/runs/operators.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/runs/update.h"
#include "vm/runs/weighing.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

namespace cairn::runs {

using bytecode::Opcode;
using bytecode::RunOperator;
using bytecode::Word;
using machine::RunKind;
using machine::rules::Owned;
using value::Frame;

namespace {

constexpr std::uint64_t kBeginnings = 4;  // after the first one,
constexpr std::uint64_t kSurveys = 2;     // of which so many are surveys
constexpr std::uint64_t kFiner = 8;       // the second has intervals of such a part, as ends of longer ones may lie badly
constexpr std::size_t kStateRegister = 0; // of such a frame

// Whether it is the code of a checkpoint-*j, and not of what goes over a composite.
bool is_checkpoint(const value::Code* code) {
  return std::ranges::any_of(std::initializer_list<RunOperator>{RunOperator::checkpoint_reverse, RunOperator::checkpoint_update,
                                                                RunOperator::checkpoint_update_in_place},
                             [&](RunOperator op) { return code == &operator_code(op); });
}

// Where such code asks its schedule for an action.
const Word* action_of(const value::Code* code) {
  const Word* at = code->words();
  while (bytecode::opcode_of(*at) != Opcode::run_act) at += bytecode::words_of(*at);
  return at;
}

// The frame of the outermost checkpoint-*j, and its state, which the run above it has while its program runs; null: there is
// none.
struct Outermost {
  std::size_t run = 0;
  Frame* frame = nullptr;
  CheckpointState* state = nullptr;
};

Outermost outermost_checkpoint(const Engine& engine) {
  for (std::size_t i = 0; i < engine.runs.size(); ++i) {
    Outermost found{i, nullptr, nullptr};
    for (Frame* f = engine.runs[i].top; f != nullptr; f = f->parent)
      if (is_checkpoint(f->code)) found.frame = f;
    if (found.frame == nullptr) continue;
    const NativeObject* state = nullptr;
    if (const Value v = found.frame->slots()[kStateRegister]; value::is_kind(v, value::Kind::state))
      state = static_cast<const NativeObject*>(v.other());
    else if (i + 1 < engine.runs.size() && engine.runs[i + 1].kind == RunKind::interval)
      state = engine.runs[i + 1].state;
    if (state != nullptr) found.state = as_checkpoint(*static_cast<SweepState*>(state->native));
    return found;
  }
  return {};
}

Snapshot* kept_start(CheckpointState& s) {
  const auto at =
      std::find_if(s.slots.begin(), s.slots.end(), [](const Snapshot& slot) { return !slot.empty() && slot.position == 0; });
  return at == s.slots.end() ? nullptr : &*at;
}

// Whether the file for tensors that wait takes less than plans count on: there is none in this process, it is a smaller one, or
// the disk has refused. What plans put there fits into the size that they know, so a file of that size is no reason.
bool takes_less(const Engine& engine) {
  const ops::SpillFile* const file = engine.spill_file();
  return file == nullptr || file->broken() || (file->most_bytes() < engine.state_spill && !file->refusal().empty());
}

// Plans for calls that come again were made for more than there is.
void forget_calls(Engine& engine) {
  engine.repeats = {};
  engine.repeats_charged.set(0);
}

// From then on nobody counts on it, nor does whoever goes on with a saved state; so plans that did are forgotten.
void note_refusal(Engine& engine) {
  if (engine.state_spill == 0 || engine.spill_refused || !takes_less(engine)) return;
  engine.spill_refused = true;
  forget_calls(engine);
}

// What the machine held when a device had no room, and what that had left, is a budget as well: plans count all bytes alike,
// wherever they are. False: plans are not for much more as it is.
bool plan_with_what_there_was(Engine& engine) {
  // A part of it: plans leave up to as much alone, so one for so little less would hardly be another one.
  constexpr std::int64_t kLittle = 16;
  const value::Heap& heap = engine.heap();
  const machine::TensorWorld& world = engine.tensors();
  std::int64_t most = heap.heap_live() + heap.tape.live + heap.capsules.live + world.live_bytes();
  if (const ops::Backing* const backing = world.backing(); backing != nullptr && backing->device_budget() != 0)
    most += std::max<std::int64_t>(0, backing->device_budget() - backing->device_in_use());
  if (most + most / kLittle >= engine.state_budget) return false;
  engine.state_budget = most;
  forget_calls(engine);
  return true;
}

std::unique_ptr<schedule::Schedule> as_unknown(const Engine& engine, const CheckpointState& s) {
  return schedule::make(engine.schedules[s.spec], engine.resources(true));
}

// Bytes for plans of this run.
std::uint64_t planning_budget(const Engine& engine, const CheckpointState& s) {
  return engine.schedules[s.spec].within(static_cast<std::uint64_t>(engine.state_budget));
}

// Intervals as short as those of a first run, or shorter in small budgets, and much shorter the second time. Within less than
// anything is planned in: three quarters of it.
std::unique_ptr<schedule::Schedule> survey(const Engine& engine, const CheckpointState& s) {
  if (const std::uint64_t budget = planning_budget(engine, s); budget < schedule::kLeastPlanned) {
    schedule::Spec spec = engine.schedules[s.spec];
    spec.memory = budget - budget / 4;
    return schedule::make(spec, engine.resources(true));
  }
  schedule::Resources resources = engine.resources(true);
  resources.survey = true;
  resources.piece = std::max<std::uint64_t>(1, planning_budget(engine, s) / schedule::kIntervalOfBudget / schedule::kRecordBytes /
                                                   (s.begun_again == 0 ? 1 : kFiner));
  return schedule::make(engine.schedules[s.spec], resources);
}

// Bisection keeps as many states as the logarithm of the length says, which is too many where states are large. Steps of a short
// run may be operations on large tensors, so its tapes are shorter still.
std::unique_ptr<schedule::Schedule> with_few_states(const CheckpointState& s, std::uint64_t begun_again) {
  constexpr std::uint64_t kManyParts = 1 << 12;
  const std::uint64_t total = s.first.total, base = total == 0
                                                        ? schedule::kLeastBase
                                                        : std::clamp<std::uint64_t>(total / kManyParts, 1, schedule::kLeastBase);
  if (begun_again <= kSurveys) return schedule::make({.kind = schedule::Spec::Kind::bisection, .base = base}, {});
  return schedule::make({.kind = schedule::Spec::Kind::binomial, .base = base, .snapshots = schedule::kFewestStates}, {});
}

// For a run that begins once more.
std::unique_ptr<schedule::Schedule> with_less(const Engine& engine, const CheckpointState& s) {
  if (s.known) return as_unknown(engine, s);
  return s.begun_again < kSurveys ? survey(engine, s) : with_few_states(s, s.begun_again);
}

// As it was when it was opened, but for what was counted.
void reset(Engine& engine, CheckpointState& s, std::unique_ptr<schedule::Schedule> next) {
  Heap& heap = engine.heap();
  const std::uint64_t position = s.current.position;
  const bool known = s.total_known;
  const std::uint64_t total = s.total;
  if (Snapshot* const start = s.start.empty() ? kept_start(s) : nullptr) {
    s.uncount(engine, *start);
    s.start = std::exchange(*start, {});
    s.start.bytes = 0;
  }
  s.drop_all(engine);
  s.current = copy_of(heap, s.start);
  s.through = Cotangents({heap, heap.tape});
  s.tensors_through.clear();
  for (const tape::Output& o : s.skeletons) heap.release(o.skeleton);
  s.skeletons.clear();
  heap.release(std::exchange(s.value, value::kUnspecified));
  s.position = 0;
  s.sweeping = s.complete = s.ended = s.work_ended = s.total_known = false;
  s.total = 0;
  s.work_before = s.asked = s.until = s.swept_from = 0;
  if (s.first.schedule == nullptr && !s.known) s.first = {std::move(s.schedule), position, known, total, false, false};
  s.schedule = std::move(next);
}

// A frame of the operator that asks for an action, with a reference of its own. Memory may have run out to the last byte, so the
// one that is there serves where nothing else has it; a capsule that shares it needs it as it is.
Frame* frame_to_begin(Engine& engine, const machine::Run& run, Frame* frame) {
  Heap& heap = engine.heap();
  Value* const slots = frame->slots();
  const bool here = value::is_kind(slots[kStateRegister], value::Kind::state); // or with the run above
  if (run.top == frame && Heap::unique(frame)) {
    value::for_each_live(frame, [&](std::uint32_t slot) {
      if (slot != kStateRegister || !here) heap.release(std::exchange(slots[slot], value::kUnspecified));
    });
    if (!here) slots[kStateRegister] = value::kUnspecified;
    frame->rest_at(action_of(frame->code));
    Heap::retain(frame);
    return frame;
  }
  Frame* const fresh = heap.make_frame(frame->code);
  fresh->serial = frame->serial;
  fresh->set_lifted(frame->lifted());
  fresh->rest_at(action_of(fresh->code));
  fresh->slots()[kStateRegister] = here ? Heap::retain(slots[kStateRegister]) : value::kUnspecified;
  if (frame->parent != nullptr) Heap::retain(frame->parent);
  fresh->parent = frame->parent;
  return fresh;
}

// The operator's frame where it asks for the next action, with the state in its register; what ran above it is gone.
CheckpointState* cut_to(Engine& engine, const Outermost& found) {
  machine::Run& run = engine.runs[found.run];
  {
    value::Held<Frame> fresh(engine.heap(), frame_to_begin(engine, run, found.frame));
    machine::OwnedRuns above = engine.cut(found.run + 1);
    Value& state = fresh->slots()[kStateRegister];
    if (state == value::kUnspecified) state = value::of_other(std::exchange(above.list.front().state, nullptr));
    engine.heap().release(std::exchange(run.top, fresh.take()));
  }
  for (std::size_t i = 0; i < engine.runs.size(); ++i) engine.derive(i);
  engine.enter(run);
  return state_in<CheckpointState>(engine, run.top->slots()[kStateRegister]);
}

// Whether its sweep goes over a derivative operator inside, whose own state knows this one: and nobody else does, for whom it
// would have to stay as it is.
bool is_sweeping_inside(const Engine& engine, const Outermost& found) {
  const Value v = found.frame->slots()[kStateRegister];
  if (!value::is_kind(v, value::Kind::state) || v.other()->count != 2) return false;
  const auto knows = [&](const SweepState* s) {
    const CheckpointState* const nested = s != nullptr ? as_checkpoint(*s) : nullptr;
    return nested != nullptr && nested->outer == v.other();
  };
  for (Frame* f = engine.runs[found.run].top; f != found.frame && f != nullptr; f = f->parent)
    if (f->code == &helper_code(HelperCode::nested_checkpoint) && value::is_kind(f->slots()[0], value::Kind::state) &&
        knows(as_sweep(f->slots()[0])))
      return true;
  return std::any_of(engine.runs.begin() + static_cast<std::ptrdiff_t>(found.run) + 1, engine.runs.end(),
                     [&](const machine::Run& run) { return knows(derivative_of(run)); });
}

// Whether it is in the middle of a sweep or in the rule of an update that has come in between, in a step that may be done again.
bool is_sweeping(const Engine& engine, const Outermost& found) {
  if (!found.state->sweeping || !engine.refused_step_undone) return false;
  if (is_sweeping_inside(engine, found)) return true;
  if (found.run + 1 != engine.runs.size()) return false;
  if (found.state->update && found.state->update->pending != tape::kNone) return true;
  return engine.runs[found.run].top == found.frame && bytecode::opcode_of(*found.frame->next()) == Opcode::run_sweep;
}

bool is_running(const Engine& engine, const Outermost& found) {
  return !found.state->sweeping && found.run + 1 < engine.runs.size() && engine.runs[found.run + 1].kind == RunKind::interval;
}

// Whether the last action may have been to weigh a tape: of what others do a part may be done.
bool may_be_weighing(const Engine& engine, const Outermost& found) {
  return !found.state->sweeping && engine.refused_step_undone && found.run + 1 == engine.runs.size() &&
         engine.runs[found.run].top == found.frame && bytecode::opcode_of(*found.frame->next()) == Opcode::run_act;
}

void note_relief(Engine& engine, bool on_device) {
  if (!on_device) return;
  if (ops::streaming::StreamingDevice* const device = engine.tensors().streaming(); device != nullptr) device->note_relief();
}

void let_go(Engine& engine, CheckpointState& s, const schedule::Schedule::Relief& relief) {
  for (const std::uint32_t slot : relief.slots) discard(engine, s, slot);
  if (!relief.all) return;
  Snapshot start = std::exchange(s.start.empty() ? *kept_start(s) : s.start, {});
  if (start.counted) s.uncount(engine, start);
  for (TapeAside& tape : s.aside) s.drop(engine, tape);
  s.aside.clear();
  for (Snapshot& slot : s.slots) s.drop(engine, slot);
  s.slots.resize(std::max<std::size_t>(1, s.slots.size()));
  s.slots.front() = std::exchange(start, {});
  s.slots.front().bytes = 0;
  s.held = {0};
  s.held_bytes = 0;
  engine.rest_spill_file(); // no plan for what is left puts anything there
  count_snapshot(engine, s.slots.front());
}

// The one that is going on, with its tape.
void give_up_run(Engine& engine, CheckpointState& s) {
  s.drop_tape(engine);
  s.drop(engine, s.current);
  s.ends.reset();
  s.ended = s.work_ended = false;
}

// What has been reversed stays so, and what is being swept is swept.
bool go_on_with_less(Engine& engine, const Outermost& found) {
  using During = schedule::Schedule::During;
  const bool sweeping = is_sweeping(engine, found), weighing = may_be_weighing(engine, found);
  if (!sweeping && !weighing && !is_running(engine, found)) return false;
  if (found.state->start.empty() && kept_start(*found.state) == nullptr) return false;
  std::unique_ptr<schedule::Schedule> next = found.state->schedule->clone();
  const During during = sweeping ? During::sweep : weighing ? During::weighing : During::run;
  // Of an update the rules may have run; a gradient alone loses nothing if it ends, and may be told a budget with which it is
  // quick.
  const bool at_last = found.state->update != nullptr && !can_begin_again(engine, *found.state);
  const std::optional<schedule::Schedule::Relief> relief = next->relieve(during, at_last);
  if (!relief) return false;
  if (sweeping) {
    --engine.clock;
    CheckpointState* const s =
        is_sweeping_inside(engine, found) ? found.state : state_in<CheckpointState>(engine, found.frame->slots()[kStateRegister]);
    s->schedule = std::move(next);
    record_relief(engine, *s, *relief);
    let_go(engine, *s, *relief);
    return true;
  }
  CheckpointState* const s = cut_to(engine, found);
  give_up_run(engine, *s);
  s->schedule = std::move(next);
  record_relief(engine, *s, *relief);
  let_go(engine, *s, *relief);
  return true;
}

// Of the machine itself. Plans may be for less, where a device had no room; what that would have for other plans is not known.
std::int64_t most_bytes(const Engine& engine) { return std::max(engine.state_budget, engine.accounts().budget()); }

// Where nothing can help: leaves of an update, whose cotangents go as they come, may take less.
void refuse_hopeless(const Engine& engine, CheckpointState& s, std::uint64_t least) {
  if (s.update || least <= static_cast<std::uint64_t>(most_bytes(engine))) return;
  s.begun_again = kBeginnings;
  throw value::BudgetExceeded(fmt::format("memory budget of {} exceeded: whatever is run again, the gradient takes {} at least",
                                          explain::bytes_text(most_bytes(engine)),
                                          explain::bytes_text(static_cast<std::int64_t>(least))));
}

bool foresees_too_much(const Engine& engine, const CheckpointState& s) {
  const std::optional<schedule::Schedule::Foreseen> plan = s.schedule->foreseen();
  return plan && plan->peak + plan->of_rule > static_cast<std::uint64_t>(most_bytes(engine));
}

// Whether to sweep the tape in work, with what rules hold meanwhile, takes more than there is beside all that is held now. As
// with memory that has run out, nothing that is the same in every replay depends on this. What is held beside a file depends on
// how far that has come, so plans are believed there.
bool takes_too_much(Engine& engine, CheckpointState& s, bool foreseen) {
  // Where less is in use, nothing is looked at: a tape can hardly take three times the rest, and a plan leaves a part alone that
  // is more than it is wrong by.
  constexpr std::int64_t kParts = 16, kPartsUnforeseen = 4, kPartsForeseen = 15;
  const std::int64_t most = most_bytes(engine), live = engine.live_bytes() - engine.tensors().can_make_way();
  if (foreseen && (engine.may_spill() || engine.spill_used)) return false;
  if (live < most / kParts * (foreseen ? kPartsForeseen : kPartsUnforeseen)) return false;
  std::vector<std::uint64_t> births = {s.begin};
  if (s.work->start() > s.begin) births.push_back(s.work->start());
  try {
    const WeighedElements before({engine.heap(), engine.heap().tape});
    WeighedElements elements({engine.heap(), engine.heap().tape});
    const schedule::Weights weights = weigh(engine, s.current.runs, *s.work, before, births, s.update->in_place, elements);
    // Numbers and what the sweep notes of them are not weighed; a plan leaves room for that.
    const std::uint64_t beside = foreseen ? 0 : static_cast<std::uint64_t>(most / kParts);
    const std::uint64_t takes = weights.forms.front().sweeping + held_by_rule(*s.update) + beside;
    return live + static_cast<std::int64_t>(std::min<std::uint64_t>(takes, INT64_MAX / 2)) > most;
  } catch (const value::BudgetExceeded&) {
    return true;
  }
}

void begin_with_less(Engine& engine, CheckpointState& s, std::unique_ptr<schedule::Schedule> next) {
  reset(engine, s, std::move(next));
  if (std::exchange(s.known, false))
    engine.repeats.misled(s.call);
  else
    ++s.begun_again;
  if (engine.recorder != nullptr) record_beginning(engine, s);
}

void begin_survey(Engine& engine, CheckpointState& s) {
  engine.meter().hold(); // the schedule that a stop would put back knows nothing of this
  std::unique_ptr<schedule::Schedule> next = survey(engine, s);
  if (s.start.empty()) s.start = copy_of(engine.heap(), s.current);
  reset(engine, s, std::move(next));
  engine.repeats.misled(s.call);
  s.known = false;
  ++s.begun_again;
  if (engine.recorder != nullptr) record_beginning(engine, s);
}

} // namespace

bool is_surveying(const Engine& engine) {
  if (!engine.options.survey) return false;
  const CheckpointState* const outermost = outermost_checkpoint(engine).state;
  return outermost == nullptr || !outermost->complete;
}

bool can_begin_again(const Engine& engine, const CheckpointState& s) {
  return can_go_on(engine, s) && s.begun_again < kBeginnings && !(s.update && s.update->begun);
}

bool can_go_on(const Engine& engine, const CheckpointState& s) {
  return s.outermost && engine.state_budget != 0 && !engine.options.survey && schedule::plans(engine.schedules[s.spec].kind);
}

bool begin_again(Engine& engine, bool on_device) {
  const Outermost found = outermost_checkpoint(engine);
  if (found.state == nullptr || !can_go_on(engine, *found.state)) return false;
  const explain::Stopwatch::Going planning(planning_watch(engine));
  const bool from_start = can_begin_again(engine, *found.state);
  if (found.state->start.empty() && kept_start(*found.state) == nullptr) return false;
  const ops::Meter::Uninterrupted whole(engine.meter());
  note_refusal(engine);
  const bool planned_with_more = on_device && plan_with_what_there_was(engine);
  if ((!planned_with_more || !from_start) && go_on_with_less(engine, found)) {
    note_relief(engine, on_device);
    return true;
  }
  if (!from_start) return false;
  std::unique_ptr<schedule::Schedule> next = with_less(engine, *found.state);
  begin_with_less(engine, *cut_to(engine, found), std::move(next));
  note_relief(engine, on_device);
  return true;
}

// A plan of a known run may be tried although it is not for so little memory: where it fails, the run begins again. An update
// has to know before: its run is weighed once more, by shorter intervals. So is a tape of which no plan knows anything: a sweep
// that has begun is never given up.
void make_way_ahead(Engine& engine, CheckpointState& s) {
  if (s.sweeping || !can_go_on(engine, s)) return;
  const explain::Stopwatch::Going planning(planning_watch(engine));
  using Sweep = schedule::Schedule::Sweep;
  const Sweep next = s.update && s.work != nullptr ? s.schedule->next_sweep() : Sweep::none;
  if (next != Sweep::none && (!s.start.empty() || kept_start(s) != nullptr) &&
      takes_too_much(engine, s, next == Sweep::foreseen)) {
    const ops::Meter::Uninterrupted whole(engine.meter());
    if (const std::optional<schedule::Schedule::Relief> relief = s.schedule->relieve(schedule::Schedule::During::ahead, true)) {
      record_relief(engine, s, *relief);
      give_up_run(engine, s);
      let_go(engine, s, *relief);
    } else if (can_begin_again(engine, s)) {
      begin_with_less(engine, s, with_less(engine, s));
    }
    return;
  }
  if (can_begin_again(engine, s)) {
    if (s.known && s.update && s.executed == 0 && foresees_too_much(engine, s)) begin_survey(engine, s);
    return;
  }
  if (s.start.empty() && kept_start(s) == nullptr) return;
  const ops::Meter::Uninterrupted whole(engine.meter());
  if (const std::optional<schedule::Schedule::Relief> relief = s.schedule->relieve_ahead()) {
    record_relief(engine, s, *relief);
    let_go(engine, s, *relief);
  }
}

void end_own_survey(Engine& engine, CheckpointState& s) {
  const explain::Stopwatch::Going planning(planning_watch(engine));
  const std::uint64_t budget = planning_budget(engine, s), total = s.total, least = s.schedule->least_of_any();
  std::unique_ptr<schedule::Schedule> planned = s.total_known ? s.schedule->planned(budget) : nullptr;
  const std::optional<schedule::Schedule::Prospect> prospect = planned ? planned->prospect(budget) : std::nullopt;
  engine.meter().hold(); // the schedule that a stop would put back knows nothing of what follows
  if (prospect) s.first = {planned->clone(), s.current.position, true, total, true, false}; // knows more than the one before it
  const bool fits = prospect && prospect->peak <= budget;
  if (!fits && engine.may_spill()) { // its buffer may be what is missing
    engine.spill_refused = true;
    engine.rest_spill_file();
    forget_calls(engine);
    want(!s.start.empty() || kept_start(s) != nullptr);
    reset(engine, s, survey(engine, s));
    return;
  }
  if (!fits && s.total_known) refuse_hopeless(engine, s, least);
  if (fits) {
    s.first.tried = true;
  } else if (s.begun_again < kSurveys) {
    planned = survey(engine, s);
    ++s.begun_again;
  } else {
    planned = with_few_states(s, s.begun_again++);
  }
  want(!s.start.empty() || kept_start(s) != nullptr);
  reset(engine, s, std::move(planned));
  if (engine.recorder != nullptr) record_beginning(engine, s);
}

void refuse_known(Engine& engine, CheckpointState& s) {
  if (!s.known) return;
  const std::uint64_t least = s.schedule->least_of_any();
  if (!s.update && least > static_cast<std::uint64_t>(most_bytes(engine)))
    s.first = {s.schedule->clone(), 0, true, 0, true, false};
  refuse_hopeless(engine, s, least);
}

void begin_unknown(Engine& engine, CheckpointState& s) {
  engine.meter().hold(); // the schedule that a stop would put back knows nothing of this
  std::unique_ptr<schedule::Schedule> next = as_unknown(engine, s);
  want(!s.start.empty() || kept_start(s) != nullptr);
  reset(engine, s, std::move(next));
  engine.repeats.misled(s.call);
  s.known = false;
  if (engine.recorder != nullptr) record_beginning(engine, s);
}

} // namespace cairn::runs
