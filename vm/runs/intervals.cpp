// An interval of checkpoint-*j: run from a state, told to the schedule, and seeded for its sweep. The cotangent of a state
// between two intervals is a sparse map from places (docs/design.md 5.2), so what an interval does not touch costs it nothing.
#include "vm/runs/intervals.h"

#include "vm/explain/recorder.h"
#include "vm/runs/met.h"
#include "vm/runs/recording.h"
#include "vm/runs/weighing.h"
#include "vm/schedule/schedule.h"
#include "vm/value/charged.h"
#include "vm/value/children.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::runs {

using machine::kNever;
using machine::rules::Owned;
using value::Frame;
using value::Object;

namespace {

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

// The slots with numbers in the state at the end of a tape for which `wanted` holds.
template <class F> TapeEnds chosen_ends(Engine& engine, const std::vector<Run>& runs, const Tape& tape, F&& wanted) {
  TapeEnds ends{{engine.heap(), engine.heap().tape}};
  walk_touched(engine, runs, tape, [&](Value v, std::uint64_t serial, std::uint32_t slot) {
    const bool on_tape = tape.has(v);
    if (!on_tape && !v.is_flonum() && !v.is_taped()) return;
    const tape::Place place{serial, slot};
    if (wanted(place)) ends.push_back({place, on_tape ? v.tape_node() : tape::kNone});
  });
  return ends;
}

std::span<const ConstantPlace> constants_at(const CheckpointState& s, std::uint64_t position) {
  const auto first = std::ranges::lower_bound(s.constants, position, {}, &ConstantPlace::position);
  return {first, std::ranges::upper_bound(s.constants, position, {}, &ConstantPlace::position)};
}

// Which numbers in the state at the end of the tape in work do not vary. In what the tape made or met a number that is not on it
// is such, as one that is on it and follows from such; of the rest that is known which was known where the tape began.
void note_constants(Engine& engine, CheckpointState& s) {
  const std::uint64_t position = s.current.position;
  if (s.constants.size() >= kMostConstantsInAll || (!s.constants.empty() && s.constants.back().position >= position)) return;
  const Tape& tape = *s.work;
  const std::span<const tape::Place> before = tape.constant_places();
  std::vector<tape::Place> known(before.begin(), before.end());
  known.reserve(2 * kMostConstants);
  walk_touched(engine, s.current.runs, tape, [&](Value v, std::uint64_t serial, std::uint32_t slot) {
    if (!v.is_flonum() && !v.is_taped()) return;
    const tape::Place place{serial, slot};
    const bool constant = v.is_flonum() || (tape.has(v) && tape.is_constant(v.tape_node()));
    const auto at = std::ranges::find(known, place);
    if (at != known.end() && !constant) known.erase(at);
    if (at == known.end() && constant && known.size() < 2 * kMostConstants) known.push_back(place);
  });
  if (known.size() > kMostConstants) known.erase(known.begin(), known.end() - kMostConstants); // frames of old may be gone
  std::ranges::sort(known);
  value::ChargedVector<ConstantPlace> here(engine.heap());
  for (const tape::Place& place : known) here.push_back({position, place});
  s.constants.insert(s.constants.end(), here.begin(), here.end());
}

} // namespace

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
    s.work->set_lean(!s.schedule->plans());
    std::vector<tape::Place> constant;
    for (const ConstantPlace& known : constants_at(s, s.current.position)) constant.push_back(known.place);
    s.work->set_constant_places(std::move(constant));
    s.work_ended = false;
  }
  s.work->most_weight = records;
  if (s.outermost && records != UINT64_MAX && s.work->tensors().empty())
    s.work->alive_at_start = s.work->most_alive = alive_bytes(engine, s.current.runs, s.begin).value_or(0);
  s.work_before = s.work->weight();
}

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
    s.until = s.current.start;
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

void tell_weights(Engine& engine, CheckpointState& s) {
  const explain::Stopwatch::Going planning(planning_watch(engine));
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
  WeighedElements elements({engine.heap(), engine.heap().tape});
  schedule::Weights weights = weigh(engine, s.current.runs, *s.work, s.weighed, births, s.update && s.update->in_place, elements);
  weights.older = older;
  if (s.work_ended && s.update) weights.updated = updated_leaves(engine, s);
  if (!s.work_ended) note_constants(engine, s); // stopped behind it, it finds that they are known
  s.schedule->weighed(weights);
  engine.meter().hold();
  births.push_back(std::max(births.back(), s.current.serial)); // an inner replay may have set it back
  s.births = std::move(births);
  s.weighed.swap(elements);
}

TapeEnds tape_ends(Engine& engine, const std::vector<Run>& runs, const Tape& tape) {
  return chosen_ends(engine, runs, tape, [](tape::Place) { return true; });
}

namespace {

// Cotangents are told where they belong by serials. So the run that this tape recorded must have made as many objects as the one
// behind it found made, or they would go to others.
void check_repeated(const CheckpointState& s) {
  if (s.until == s.swept_from) return;
  throw machine::Fault(fmt::format(
      "a replay did not repeat the run before it: {} objects had been made where it ended instead of {}, so cotangents "
      "would go to the wrong ones\n  this is a fault of Cairn's; (with-schedule \"tape\" ...) replays nothing",
      s.until, s.swept_from));
}

} // namespace

void seed_interval(Engine& engine, CheckpointState& s) {
  check_repeated(s);
  Tape& tape = *s.work;
  auto has_cotangent = [&](tape::Place place) { return s.through.find(place) != nullptr; };
  if (!s.ends) s.ends = chosen_ends(engine, s.current.runs, tape, has_cotangent);
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

void finish_interval(Engine& engine, CheckpointState& s) {
  Tape& tape = *s.work;
  Polls polls(engine.meter()); // what is set once may be set again
  tape.inputs.for_each([&](tape::Place place, tape::Input& input) {
    polls.one();
    if (tape.is_constant(input.node)) return;
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
