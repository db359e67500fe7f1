// checkpoint-*j: the executor of schedules. It performs one action a step; the cotangent of a state between two intervals is a
// sparse map from places (docs/design.md 5.2), so what an interval does not touch costs it nothing.
#include "vm/machine/derivative_rules.h"
#include "vm/runs/met.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/runs/thinning.h"
#include "vm/runs/weighing.h"
#include "vm/schedule/schedule.h"
#include "vm/value/charged.h"
#include "vm/value/children.h"

#include <algorithm>

namespace cairn::runs {

using machine::kNever;
using machine::ProgramError;
using machine::RunKind;
using machine::rules::Owned;
using schedule::Action;
using value::Frame;
using value::Object;

namespace {

static_assert(Tape::kStretch == schedule::kStretch); // the one does what the other counts on

// A walk over more objects than that takes milliseconds.
constexpr std::uint64_t kFar = 1 << 16;

// Calls visit(slot, serial, index) for every value slot of what the tape made or lifted and can be reached from the runs of its
// own level; what is older and untouched is not entered.
template <class F> void walk_touched(Engine& engine, const std::vector<Run>& runs, const Tape& tape, F&& visit) {
  Heap& heap = engine.heap();
  Polls polls(engine.meter());
  value::ChargedStack<Object*> pending(heap);
  Met seen(heap);
  auto push = [&](Object* o) {
    bool touched = o->serial >= tape.start() || (o->kind == value::Kind::frame && static_cast<Frame*>(o)->lifted());
    if (touched && (met_once(o) || seen.insert(o))) pending.push_back(o);
  };
  auto push_value = [&](Value v) {
    if (v.is_object() && !value::is_string(v) && !value::is_symbol(v)) push(value::object_of(v));
  };
  auto push_runs = [&](const std::vector<Run>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0 && list[i].state != nullptr) break; // an inner reverse operator: opaque to this tape
      if (list[i].top != nullptr) push(list[i].top);
    }
  };
  push_runs(runs);
  while (!pending.empty()) {
    Object* o = pending.back();
    pending.pop_back();
    value::for_each_child(o, [&](Value v, std::uint32_t index) {
      polls.one();
      visit(v, o->serial, index);
      push_value(v);
    });
    if (o->kind == value::Kind::frame) {
      if (auto* f = static_cast<Frame*>(o); f->parent != nullptr) push(f->parent);
    } else if (o->kind == value::Kind::capsule) {
      auto* c = static_cast<machine::Capsule*>(static_cast<NativeObject*>(o)->native);
      if (c->finished) {
        visit(c->value, o->serial, 0);
        push_value(c->value);
      }
      push_runs(c->runs);
    }
  }
}

// Runs `steps` steps from the current state, on the tape in work if there is one.
void begin_interval(Engine& engine, CheckpointState& s, Owned& state, std::uint64_t steps) {
  want(!s.current.empty() && !s.sweeping);
  s.asked = steps == schedule::kToEnd ? 0 : steps;
  machine::OwnedRuns moved(engine.heap(), std::exchange(s.current.runs, {})); // what is not pushed yet
  std::vector<Run>& runs = moved.list;
  s.highest = std::max(s.highest, engine.heap().next_serial);
  engine.heap().next_serial = s.current.serial;
  s.log.drawn = s.current.draws;
  s.log.position = s.current.effects;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run r = runs[i];
    if (i == 0) {
      r.state = static_cast<NativeObject*>(state.take().other());
      r.deadline = steps >= kNever - engine.clock ? kNever : engine.clock + steps;
      r.start = engine.clock;
    } else {
      if (r.state != nullptr) r.state = runs[i].state = engine.unique_state(r.state);
      if (r.deadline != kNever) r.deadline += engine.clock;
      r.start = engine.clock - r.start;
    }
    runs[i] = {};
    engine.push_run(r);
  }
  engine.enter(engine.current());
}

void begin_tape(Engine& engine, CheckpointState& s, std::uint64_t records) {
  if (s.work == nullptr) { // else the tape in work goes on where it ended
    s.work = engine.tapes.make(s.low, s.current.start).release();
    s.work_ended = false;
  }
  s.work->most_weight = records;
  s.work_before = s.work->weight();
}

// After an interval, whether its budget or the program ended.
void after_interval(Engine& engine, CheckpointState& s, std::uint64_t steps, bool ended) {
  s.executed += steps;
  if (s.outermost) {
    engine.statistics.gradient_steps_executed += steps;
    engine.gradient.active = true; // or else it was told of an earlier machine, whose capsule this is
    engine.gradient.spec = s.spec;
    engine.gradient.executed = s.executed;
  }
  s.current.position += steps;
  s.highest = std::max(s.highest, engine.heap().next_serial);
  engine.heap().next_serial = s.highest;
  if (s.work != nullptr) {
    std::uint64_t records = s.work->weight();
    if (!ended && steps < s.asked) s.schedule->stopped(s.asked - steps);
    s.taped_steps += steps;
    s.taped_sum += records - std::min(records, s.work_before);
    std::uint64_t held = records;
    for (const TapeAside& tape : s.aside) held += tape.tape->weight();
    s.peak_records = std::max(s.peak_records, held);
    engine.note_work([&] { return std::pair(std::uint64_t{0}, held * sizeof(tape::Record)); });
    engine.statistics.tape_peak_records = std::max<std::uint64_t>(engine.statistics.tape_peak_records, s.work->size());
    s.work_ended = ended;
    if (s.schedule->weighs_stack()) {
      std::uint64_t bytes = stack_bytes(s.current.runs, s.low);
      s.stack_bytes = std::max(s.stack_bytes, bytes);
      s.schedule->stack(bytes);
    }
    s.schedule->taped(records);
  }
  s.ended = ended;
  if (ended && !s.total_known) {
    s.total_known = true;
    s.total = s.current.position;
    s.schedule->ended(s.total);
  }
  if (s.outermost) engine.gradient.total = s.total;
}

// Tells the schedule what the tape in work and the state at its end hold.
void tell_weights(Engine& engine, CheckpointState& s) {
  const bool begun = s.work != nullptr;
  want((begun ? s.work_ended || !s.current.empty() : s.births.empty()) && !s.sweeping);
  std::uint64_t older = 0;
  std::vector<std::uint64_t> births = s.births;
  if (births.empty()) {
    value::ChargedVector<Value> values(engine.globals.begin(), engine.globals.end(), engine.heap());
    values.push_back(s.x);
    if (s.update) s.update->each_held([&](Value v) { values.push_back(v); });
    older = reachable_bytes(engine, engine.runs, values) + static_cast<std::uint64_t>(engine.repeats_charged.bytes());
    if (engine.may_spill() || engine.spill_used) older += static_cast<std::uint64_t>(ops::SpillFile::kBuffer);
    births.push_back(s.begin);
  }
  if (!begun) {
    schedule::Weights weights;
    weights.older = older;
    weights.step = engine.costs.ticks_of_step();
    weights.fresh = engine.costs.ticks_of_fresh();
    s.schedule->weighed(weights); // which plans; stopped in it, it is put back
    engine.meter().hold();
    return refuse_known(engine, s);
  }
  const Tape* before = s.aside.empty() ? nullptr : s.aside.back().tape;
  schedule::Weights weights = weigh(engine, s.current.runs, *s.work, before, births, s.update && s.update->in_place);
  weights.older = older;
  if (s.work_ended && s.update) weights.updated = updated_leaves(engine, s);
  s.schedule->weighed(weights);
  engine.meter().hold();
  births.push_back(std::max(births.back(), s.current.serial)); // an inner replay may have set it back
  s.births = std::move(births);
}

// The slots with numbers in the state at the end of a tape for which `wanted` holds.
template <class F> TapeEnds tape_ends(Engine& engine, const std::vector<Run>& runs, const Tape& tape, F&& wanted) {
  TapeEnds ends{{engine.heap(), engine.heap().tape}};
  walk_touched(engine, runs, tape, [&](Value v, std::uint64_t serial, std::uint32_t slot) {
    const bool on_tape = tape.has(v);
    if (!on_tape && !v.is_flonum() && !v.is_taped()) return;
    const tape::Place place{serial, slot};
    if (wanted(place)) ends.push_back({place, on_tape ? v.tape_node() : tape::kNone});
  });
  return ends;
}

// Seeds the tape in work at the state it ended in.
void seed_interval(Engine& engine, CheckpointState& s) {
  Tape& tape = *s.work;
  auto has_cotangent = [&](tape::Place place) { return s.through.find(place) != nullptr; };
  if (!s.ends) s.ends = tape_ends(engine, s.current.runs, tape, has_cotangent);
  engine.meter().hold(); // from here on nothing is stopped
  for (const TapeEnd& end : *s.ends) {
    const Cotangent* c = s.through.find(end.place);
    if (c == nullptr) continue;
    if (end.node != tape::kNone) tape.seed(end.node, c->value);
    s.through.erase(end.place); // a slot that holds an untaped number ends its place
  }
  s.ends.reset();
  tape.inputs.for_each([&](tape::Place place, tape::Input& input) {
    if (Cotangent* c = s.through.find(place)) {
      tape.seed(input.node, c->value);
      s.through.erase(place);
    }
  });
  // A tensor is one place: what this tape made or met is found by its serial. What it made without derivatives ends here.
  for (auto it = s.tensors_through.begin(); it != s.tensors_through.end();) {
    tape::Place place{it->first.first, it->first.second};
    std::uint32_t node = tape::kNone;
    if (place.slot == 0)
      node = tape.tensor_node(place.serial);
    else if (tape::Input* input = tape.inputs.find(place))
      node = input->node;
    if (node != tape::kNone) tape.tensor_cotangents.insert_or_assign(node, std::move(it->second));
    if (node != tape::kNone || (place.slot == 0 && place.serial >= tape.start()))
      it = s.tensors_through.erase(it);
    else
      ++it;
  }
  s.position = tape.size();
  s.sweeping = true;
}

} // namespace

Snapshot copy_of(Heap& heap, const Snapshot& s) {
  Snapshot copy = s;
  copy.runs = machine::OwnedRuns::of(heap, s.runs).take();
  copy.counted = false;
  return copy;
}

void count_snapshot(Engine& engine, Snapshot& snapshot) {
  Heap& heap = engine.heap();
  heap.charge(heap.capsules, own_bytes(snapshot.runs));
  snapshot.counted = true;
  heap.capsule_count += 1;
  heap.capsule_count_peak = std::max(heap.capsule_count_peak, heap.capsule_count);
  engine.snapshot_bytes += snapshot.bytes;
  engine.snapshot_bytes_peak = std::max(engine.snapshot_bytes_peak, engine.snapshot_bytes);
}

machine::OwnedState CheckpointState::clone(Engine& engine) const {
  Heap& heap = engine.heap();
  auto s = heap.own<CheckpointState>(engine);
  copy_into(*s, engine);
  s->schedule = schedule->clone();
  s->spec = spec;
  s->current = copy_of(heap, current);
  s->start = copy_of(heap, start);
  s->slots.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    s->slots[i] = copy_of(heap, slots[i]);
    if (slots[i].counted) count_snapshot(engine, s->slots[i]);
  }
  s->held = held;
  s->held_bytes = held_bytes;
  s->aside.reserve(aside.size());
  for (const TapeAside& from : aside) {
    s->aside.push_back({nullptr, from.ends, from.ended, from.spilled});
    s->aside.back().tape = from.tape->clone(heap).release();
    engine.tapes.share(from.tape->id());
  }
  s->ends = ends;
  s->births = births;
  fields([](auto& to, const auto& from) { to = from; }, *s, *this);
  s->outer = outer;
  if (outer != nullptr) Heap::retain(outer);
  return s;
}

void CheckpointState::uncount(Engine& engine, Snapshot& snapshot) {
  if (!std::exchange(snapshot.counted, false)) return;
  engine.heap().charge(engine.heap().capsules, -own_bytes(snapshot.runs));
  engine.heap().capsule_count -= 1;
  engine.snapshot_bytes -= snapshot.bytes;
}

void CheckpointState::drop(Engine& engine, Snapshot& snapshot) {
  uncount(engine, snapshot);
  engine.release_runs(snapshot.runs);
  snapshot.bytes = 0;
}

void CheckpointState::spill(TapeAside& tape) {
  tape.spilled = true;
  if (std::exchange(tape.idle, true)) return;
  tape.tape->shorten();
  tape.tape->each_storage([](ops::Storage& s) { s.device->set_idle(s); });
}

void CheckpointState::end_spill(TapeAside& tape) {
  tape.spilled = false;
  if (!std::exchange(tape.idle, false)) return;
  tape.tape->each_storage([](ops::Storage& s) { s.device->end_idle(s); });
}

void CheckpointState::drop(Engine& engine, TapeAside& tape) {
  if (tape.tape != nullptr) end_spill(tape);
  if (Tape* t = std::exchange(tape.tape, nullptr); t != nullptr) {
    engine.tapes.retire(t);
    t->release(engine.heap());
    delete t;
  }
}

std::size_t CheckpointState::held_until(std::uint64_t position) const {
  auto behind = std::upper_bound(held.begin(), held.end(), position,
                                 [&](std::uint64_t p, std::uint32_t slot) { return p < slots[slot].position; });
  return static_cast<std::size_t>(behind - held.begin());
}

void CheckpointState::find_held() {
  held.clear();
  held_bytes = 0;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].empty()) continue;
    held.push_back(i);
    held_bytes += slots[i].bytes;
  }
  std::stable_sort(held.begin(), held.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return slots[a].position < slots[b].position; });
}

void CheckpointState::drop_all(Engine& engine) {
  drop_tape(engine);
  for (TapeAside& tape : aside) drop(engine, tape);
  aside.clear();
  ends.reset();
  drop(engine, current);
  for (Snapshot& slot : slots) drop(engine, slot);
  held.clear();
  held_bytes = 0;
  births.clear();
}

void CheckpointState::release(Heap& heap) {
  drop_all(*engine_);
  drop(*engine_, start);
  if (outer != nullptr) heap.release(outer);
  SweepState::release(heap);
}

void CheckpointState::finished(Engine& engine, Value v, std::uint64_t steps) {
  engine.heap().release(value);
  value = v;
  after_interval(engine, *this, steps, true);
}

void CheckpointState::expired(Engine& engine, machine::OwnedRuns segment) {
  drop(engine, current);
  std::uint64_t steps = segment.list[0].start; // turned into steps done
  current.serial = current.start = engine.cut_serial;
  for (const Run& r : segment.list)
    if (r.state != nullptr) current.start = std::max(current.start, r.run_state()->serial_floor());
  current.draws = log.drawn;
  current.effects = log.position;
  current.runs = segment.take();
  after_interval(engine, *this, steps, false);
}

// A composite's pass meets numbers of the tape that has the composite, and of those around it.
void CheckpointState::activate(Engine& engine) const {
  SweepState::activate(engine);
  for (const NativeObject* o = outer; o != nullptr;) {
    const auto* s = static_cast<const SweepState*>(o->native);
    s->SweepState::activate(engine);
    const auto* c = as_checkpoint(*s);
    o = c != nullptr ? c->outer : nullptr;
  }
}

void CheckpointState::resumed(Engine& engine) { highest = std::max(highest, engine.heap().next_serial); }

namespace {

void perform(Engine& engine, CheckpointState* s, Action a, Owned& state);

// Serial from which on objects belong to the current state and to no snapshot that is held before it.
std::uint64_t first_own_serial(const CheckpointState& s) {
  const std::size_t before = s.held_until(s.current.position);
  return before == 0 ? s.low : std::max(s.low, s.slots[s.held[before - 1]].serial);
}

// Whether the next action may walk over many objects: those that a snapshot has and the one before it has not, those that a tape
// met, or the value of the program.
bool may_walk_far(const CheckpointState& s) {
  if (s.work != nullptr && (s.work_ended || s.work->size() > kFar)) return true;
  const std::uint64_t since = s.work != nullptr ? std::min(first_own_serial(s), s.work->start()) : first_own_serial(s);
  return s.current.serial > since && s.current.serial - since > kFar;
}

} // namespace

// What walks far may be stopped, and the schedule is then where it was; all else is short.
void act(Engine& engine, Owned& state) {
  auto* s = state_in<CheckpointState>(engine, state.v);
  const bool reports = engine.recorder != nullptr && s->outermost;
  if (reports) record_arrival(engine, *s);
  std::unique_ptr<schedule::Schedule> before;
  if (may_walk_far(*s) || s->schedule->walks_next())
    before = s->schedule->clone();
  else
    engine.meter().hold();
  try {
    Action action = s->schedule->next();
    if (s->schedule->surveyed()) {
      if (!is_surveying(engine)) {
        end_own_survey(engine, *s);
      } else if (!survey_again(engine, *s)) {
        engine.meter().hold(); // a stop in what comes next finds it as it is
        if (survey_updates(engine, *s)) return engine.deliver(state.take());
        end_survey(engine, *s);
      }
      action = s->schedule->next();
    }
    if (s->schedule->misled()) {
      begin_unknown(engine, *s);
      action = s->schedule->next();
    }
    perform(engine, s, action, state);
    if (reports) record_action(engine, *s, action);
  } catch (const ops::Stopped&) {
    if (before != nullptr) s->schedule = std::move(before);
    throw;
  }
}

namespace {

std::int64_t signed_bytes(std::uint64_t bytes) { return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)); }

// Records are made anew, so what is idle of them is told again.
void thin_aside(Engine& engine, CheckpointState& s, TapeAside& tape) {
  const bool idle = tape.idle, spilled = tape.spilled;
  s.end_spill(tape);
  tape.spilled = spilled;
  try {
    thin(engine, *tape.tape);
  } catch (...) {
    if (idle) s.spill(tape);
    throw;
  }
  if (idle) s.spill(tape);
}

// In the order in which sweeps will ask for them.
void fetch_ahead(Engine& engine, CheckpointState& s, std::int64_t most) {
  if (engine.tensor_world == nullptr) return;
  ops::Device& device = engine.tensors().cpu();
  for (std::size_t i = s.aside.size(); i-- > 0 && s.aside[i].spilled && device.fetched_ahead() < most;)
    if (!s.aside[i].tape->each_storage_backwards([&](ops::Storage& storage) {
          return storage.device != &device || (device.fetched_ahead() < most && device.fetch_ahead(storage));
        }))
      return;
}

void perform(Engine& engine, CheckpointState* s, Action a, Owned& state) {
  auto slot_at = [&](std::uint32_t index) -> Snapshot& {
    want(index <= s->slots.size()); // slots are taken in order
    if (index >= s->slots.size()) s->slots.resize(index + 1);
    return s->slots[index];
  };
  // These walk, and hold once they change something.
  if (a.kind != Action::Kind::snapshot && a.kind != Action::Kind::reverse && a.kind != Action::Kind::put_aside &&
      a.kind != Action::Kind::thin && a.kind != Action::Kind::weigh && a.kind != Action::Kind::spill)
    engine.meter().hold();
  switch (a.kind) {
  case Action::Kind::tape:
  case Action::Kind::advance:
    if (s->current.position == 0 && s->held.empty() && s->start.empty() && can_begin_again(engine, *s))
      s->start = copy_of(engine.heap(), s->current);
    if (a.kind == Action::Kind::tape) begin_tape(engine, *s, a.records);
    begin_interval(engine, *s, state, a.steps);
    return;
  case Action::Kind::snapshot: {
    Snapshot& to = slot_at(a.slot);
    want(to.empty() && !s->current.empty());
    Snapshot kept = copy_of(engine.heap(), s->current);
    try {
      kept.bytes = logical_bytes(engine, kept.runs, first_own_serial(*s));
      count_snapshot(engine, kept);
    } catch (...) {
      engine.release_runs(kept.runs);
      throw;
    }
    engine.meter().hold();
    const std::size_t before = s->held_until(s->current.position);
    to = std::move(kept);
    ++engine.statistics.capsules_taken;
    ++s->snapshots_taken;
    s->snapshot_bytes_sum += to.bytes;
    s->held.insert(s->held.begin() + static_cast<std::ptrdiff_t>(before), a.slot);
    s->held_bytes += to.bytes;
    s->peak_snapshots = std::max(s->peak_snapshots, std::uint64_t{s->held.size()});
    s->peak_snapshot_bytes = std::max(s->peak_snapshot_bytes, s->held_bytes);
    s->schedule->kept(static_cast<std::uint64_t>(to.bytes));
    break;
  }
  case Action::Kind::restore: {
    Snapshot kept = copy_of(engine.heap(), slot_at(a.slot));
    s->drop(engine, s->current);
    s->current = std::move(kept);
    s->current.bytes = 0;
    s->ended = false;
    break;
  }
  case Action::Kind::discard: {
    Snapshot& from = slot_at(a.slot);
    want(!from.empty());
    s->held_bytes -= from.bytes;
    // Of several at one position it is one of the last.
    for (std::size_t i = s->held_until(from.position); i-- > 0;)
      if (s->held[i] == a.slot) {
        s->held.erase(s->held.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    if (from.position == 0 && s->start.empty() && can_begin_again(engine, *s)) {
      s->uncount(engine, from);
      s->start = std::exchange(from, {});
      s->start.bytes = 0;
    }
    s->drop(engine, from);
    break;
  }
  case Action::Kind::reverse:
    want(s->work != nullptr && !s->sweeping && (s->work_ended || s->ends || !s->current.empty()));
    if (s->work_ended)
      seed_final(engine, *s, "checkpoint-*j");
    else
      seed_interval(engine, *s);
    s->drop(engine, s->current);
    break;
  case Action::Kind::put_aside: {
    want(s->work != nullptr && !s->sweeping && !s->current.empty());
    TapeEnds ends{{engine.heap(), engine.heap().tape}};
    machine::OwnedRuns stripped(engine.heap(), {});
    if (!s->work_ended) {
      ends = tape_ends(engine, s->current.runs, *s->work, [](tape::Place) { return true; });
      stripped.list = without_tape(engine, s->current.runs, *s->work);
    }
    engine.meter().hold();
    s->aside.push_back({nullptr, std::move(ends), s->work_ended});
    s->aside.back().tape = std::exchange(s->work, nullptr);
    engine.release_runs(s->current.runs);
    s->current.runs = stripped.take();
    break;
  }
  case Action::Kind::take_back: {
    want(s->work == nullptr && !s->aside.empty());
    s->aside.back().tape->lengthen();
    s->drop(engine, s->current);
    TapeAside& back = s->aside.back();
    s->end_spill(back);
    s->work = back.tape;
    s->ends = std::move(back.ends);
    s->work_ended = back.ended;
    s->aside.pop_back();
    break;
  }
  case Action::Kind::abandon:
    want(a.slot < s->aside.size());
    s->drop(engine, s->aside[a.slot]);
    s->aside.erase(s->aside.begin() + a.slot);
    break;
  case Action::Kind::thin:
    want(a.slot < s->aside.size());
    thin_aside(engine, *s, s->aside[a.slot]);
    engine.meter().hold();
    break;
  case Action::Kind::spill: {
    want(a.slot < s->aside.size());
    engine.use_spill_file();
    s->aside[a.slot].spilled = true;
    for (TapeAside& tape : s->aside) // those of a copy whose original has gone, too
      if (tape.spilled && !tape.tape->shares_records()) s->spill(tape);
    if (engine.tensor_world != nullptr) engine.tensors().cpu().wait_for_spilled(signed_bytes(a.records));
    engine.meter().hold();
    break;
  }
  case Action::Kind::fetch:
    engine.meter().hold();
    fetch_ahead(engine, *s, signed_bytes(a.records));
    break;
  case Action::Kind::weigh:
    tell_weights(engine, *s);
    break;
  case Action::Kind::done:
    remember(engine, *s);
    s->complete = true;
    s->drop(engine, s->start);
    break;
  }
  engine.deliver(state.take());
}

} // namespace

void finish_interval(Engine& engine, CheckpointState& s) {
  Tape& tape = *s.work;
  Polls polls(engine.meter()); // what is set once may be set again
  tape.inputs.for_each([&](tape::Place place, tape::Input& input) {
    polls.one();
    double c = tape.cotangent(input.node);
    if (!tape::is_absent(c)) s.through.set(place, {c, input.original});
    if (auto found = tape.tensor_cotangents.find(input.node); found != tape.tensor_cotangents.end())
      s.tensors_through.insert_or_assign({place.serial, place.slot}, found->second);
  });
  engine.meter().hold();
  // What is left is of operators that began before this tape: their composites are still to come.
  s.skeletons.reserve(s.skeletons.size() + tape.outputs.size()); // each has one owner at a time
  for (tape::Output& o : tape.outputs) s.skeletons.push_back(std::move(o));
  tape.outputs.clear();
  s.drop_tape(engine);
  s.sweeping = false;
}

} // namespace cairn::runs
