// *j: one tape for the whole run; and what it shares with checkpoint-*j: opening, seeding, sweeping in stretches, the result at
// the border.
#include "ops/operators/lossy.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/undo.h"
#include "vm/runs/children.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/runs/weighing.h"
#include "vm/schedule/profile.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cairn::runs {

using machine::ProgramError;
using machine::RunKind;
using machine::rules::Owned;
using value::Object;

namespace {

constexpr std::uint32_t kSweptAtOnce = 4096; // records swept in one step

// A tensor of x: a place of its own. Only elements that are floating have derivatives.
Value tensor_leaf(Engine& engine, Tape& tape, Value tensor) {
  Value made = machine::tensors::alias(engine, tensor);
  const ops::Tensor& t = value::tensor_of(made);
  if (!ops::is_floating(t.dtype)) return made;
  Owned guard(engine.heap(), made);
  auto record = std::make_shared<tape::TensorRecord>(engine.heap());
  record->kind = tape::TensorRecord::Kind::leaf;
  record->serial = made.other()->serial;
  record->outputs = tape::KeptTensors({{ops::description(t)}});
  tape.add_tensor(std::move(record));
  return guard.take();
}

std::uint32_t node_of_tensor(Tape& tape, Value tensor) {
  bool floating = value::is_tensor(tensor) && ops::is_floating(value::tensor_of(tensor).dtype);
  return floating ? tape.lift_tensor(tensor.other()->serial) : tape::kNone;
}

} // namespace

void SweepState::activate(Engine& engine) const {
  if (work != nullptr) engine.tapes.activate(work);
}

void SweepState::release(Heap& heap) {
  drop_tape(*engine_);
  heap.release(x);
  heap.release(cotangent);
  heap.release(value);
  for (const tape::Output& o : skeletons) heap.release(o.skeleton);
  log.release(heap);
  if (update) update->release(heap);
}

void SweepState::drop_tape(Engine& engine) {
  if (work == nullptr) return;
  engine.tapes.retire(work);
  work->release(engine.heap());
  delete work;
  work = nullptr;
}

void SweepState::copy_into(SweepState& copy, Engine& engine) const {
  if (work != nullptr) {
    copy.work = work->clone(engine.heap()).release();
    engine.tapes.share(work->id());
  }
  copy.position = position;
  copy.sweeping = sweeping;
  copy.x = Heap::retain(x);
  copy.cotangent = Heap::retain(cotangent);
  copy.value = Heap::retain(value);
  copy.serial = serial;
  copy.began = began;
  copy.began_serial = began_serial;
  copy.through = through;
  copy.tensors_through = tensors_through;
  copy.skeletons = skeletons;
  for (const tape::Output& o : skeletons) Heap::retain(o.skeleton);
  copy.log = log.copy(engine.heap());
  if (update) copy.update = update->clone(engine.heap());
}

machine::OwnedState ReverseState::clone(Engine& engine) const {
  auto s = engine.heap().own<ReverseState>(engine);
  copy_into(*s, engine);
  s->cost = cost;
  s->largest = largest;
  s->largest_swept = largest_swept;
  s->account();
  return s;
}

void ReverseState::worked(std::uint64_t ticks, std::uint64_t bytes) {
  cost = schedule::bounded(cost + schedule::bounded(ticks));
  largest = largest_swept = std::max(largest, bytes);
}

void ReverseState::finished(Engine& engine, Value v, std::uint64_t) {
  engine.heap().release(value);
  value = v;
  if (work != nullptr)
    engine.statistics.tape_peak_records = std::max<std::uint64_t>(engine.statistics.tape_peak_records, work->size());
  if (work != nullptr) engine.note_work([&] { return std::pair(std::uint64_t{0}, work->weight() * sizeof(tape::Record)); });
}

bool is_alone(const Engine& engine) {
  return std::none_of(engine.runs.begin(), engine.runs.end(),
                      [](const Run& r) { return r.kind == RunKind::reverse || r.kind == RunKind::interval; });
}

bool within_derivative(Engine& engine, Value f, Value x, Value cotangent) {
  if (!is_alone(engine)) return true;
  if (engine.current().forward_depth == 0) return false;
  return contains(engine.heap(), f, value::is_bundle) || contains(engine.heap(), x, value::is_bundle) ||
         contains(engine.heap(), cotangent, value::is_bundle);
}

namespace {

// The leaves of x whose elements stream. An outermost gradient is a call that may be made again, so it is told to the device.
class StreamedLeaves {
public:
  explicit StreamedLeaves(Engine& engine) {
    const auto differentiates = [](const Run& r) { return r.kind == RunKind::interval || r.kind == RunKind::reverse; };
    if (engine.tensor_world != nullptr && std::none_of(engine.runs.begin(), engine.runs.end(), differentiates))
      device_ = engine.tensor_world->streaming();
  }
  void add(Value tensor) {
    if (device_ == nullptr) return;
    if (ops::Storage* const storage = value::tensor_of(tensor).storage.get(); storage != nullptr && storage->device == device_)
      leaves_.push_back(storage);
  }
  // Only how soon elements are there depends on it, so nothing ends where it cannot be done.
  void begin(const value::Frame* top) const noexcept {
    if (device_ == nullptr) return;
    try {
      device_->begin_call(top->code->index + 1, leaves_);
    } catch (...) { // no memory, or a disk that fails: whoever needs what did not come meets that again
    }
  }

private:
  ops::streaming::StreamingDevice* device_ = nullptr;
  std::vector<ops::Storage*> leaves_;
};

} // namespace

void want_unmeasured(Value tensor) {
  if (ops::mark_of(value::tensor_of(tensor)) < 0)
    throw ProgramError("error-variances: a parameter goes into a gradient within another one, into tiled, or into a procedure "
                       "with a reverse rule of its own, where errors are not followed; measure a function without that");
}

void open_reverse(Engine& engine, value::Frame* frame, const Opening& of) {
  Heap& heap = engine.heap();
  const Value f = of.f, x = of.x, cotangent = of.cotangent;
  if (const Value primal = engine.primal(x);
      !of.update.is_pair() && value::is_tensor(primal) && !ops::is_floating(value::tensor_of(primal).dtype))
    throw ProgramError(fmt::format("{}: {} has no derivatives, since its elements are integers; (cast x 'f64) has some",
                                   of.checkpoint ? "checkpoint-*j" : "*j", engine.describe(primal)));
  if (of.in_place) want_unshared(engine, x, of.checkpoint ? "checkpoint-*j-update!" : "*j-update!");
  StreamedLeaves streamed(engine);
  Tape* outer = engine.current().tape;
  if (outer != nullptr) outer->add_composite({outer->size(), frame->serial, f, x, cotangent});
  if (of.checkpoint) {
    auto made = heap.own<CheckpointState>(engine);
    CheckpointState* s = made.get();
    Owned guard(heap, value::of_other(engine.make_state(std::move(made))));
    s->serial = frame->serial;
    begin_inside_update(engine, *s, s->serial, outer);
    s->low = heap.next_serial;
    s->cotangent = Heap::retain(cotangent);
    s->x = copy_value(engine, x, Sharing::tree, [&](Value leaf, Object*, std::uint32_t) {
      Value primal = engine.primal(leaf);
      if (!value::is_tensor(primal)) return value::flonum(engine.to_double(primal));
      streamed.add(primal);
      if (!is_alone(engine)) want_unmeasured(primal);
      return machine::tensors::alias(engine, primal);
    });
    Run& run = s->current.runs.emplace_back();
    run.kind = RunKind::interval;
    run.top = engine.make_call(f, &s->x, 1);
    const value::Code* code = run.top->code;
    streamed.begin(run.top);
    if (value::is_tensor(s->x))
      s->x_place = {s->x.other()->serial, 0};
    else if (code->parameters >= 1)
      s->x_place = {run.top->serial, 0};
    else
      s->x_place = {run.top->slots()[0].pair()->serial, 0};
    if (of.update.is_pair()) begin_update(engine, *s, of.update, of.in_place);
    s->current.serial = s->current.start = s->begin = s->highest = heap.next_serial;
    s->spec = engine.current().schedule;
    s->outermost = std::none_of(engine.runs.begin(), engine.runs.end(), [](const Run& r) { return r.kind == RunKind::interval; });
    choose_schedule(engine, *s, of);
    if (s->outermost) engine.gradient = {true, s->spec};
    if (s->outermost && engine.recorder != nullptr) record_beginning(engine, *s);
    engine.deliver(guard.take());
    return;
  }
  auto made = heap.own<ReverseState>(engine);
  ReverseState* s = made.get();
  value::Held<NativeObject> state(heap, engine.make_state(std::move(made)));
  s->serial = frame->serial;
  begin_inside_update(engine, *s, s->serial, outer);
  s->cotangent = Heap::retain(cotangent);
  s->work = engine.tapes.make(heap.next_serial, heap.next_serial).release();
  engine.tapes.activate(s->work);
  s->x = copy_value(engine, x, Sharing::tree, [&](Value leaf, Object*, std::uint32_t) {
    Value primal = engine.primal(leaf);
    if (!value::is_tensor(primal)) return s->work->leaf(engine.to_double(primal));
    streamed.add(primal);
    if (!is_alone(engine)) want_unmeasured(primal);
    return tensor_leaf(engine, *s->work, primal);
  });
  if (of.update.is_pair()) begin_update(engine, *s, of.update, of.in_place);
  Run run;
  run.kind = RunKind::reverse;
  run.start = engine.clock;
  run.top = engine.make_call(f, &s->x, 1);
  run.state = state.take();
  streamed.begin(run.top);
  engine.push_run(run);
}

// Seeds the tape in work at the value of the run, path by path; the value is then kept without tape.
void seed_final(Engine& engine, SweepState& s, const char* name) {
  want(s.work != nullptr && !s.sweeping);
  want_apart(engine, s);
  Heap& heap = engine.heap();
  Tape& tape = *s.work;
  auto on_tape = [&](Value number) { return tape.has(number); };
  value::ChargedVector<std::pair<std::uint32_t, double>> seeds(heap);
  value::ChargedVector<std::pair<std::uint32_t, ops::Tensor>> tensor_seeds(heap);
  Value stripped = value::kUnspecified;
  stoppable(engine, &tape, [&] {
    std::string what = fmt::format("{}: the cotangent", name);
    walk_pair(engine, s.value, s.cotangent, what.c_str(), false, [&](const PairedLeaf& leaf) {
      if (is_exact_zero(leaf.part)) return;
      Value number = leaf.number;
      if (machine::tensors::is_tensor_like(number)) {
        Owned part(heap, machine::tensors::fitted(engine, engine.primal(leaf.part), number, what.c_str()));
        std::uint32_t node = node_of_tensor(tape, number);
        if (node != tape::kNone) tensor_seeds.emplace_back(node, value::tensor_of(part.v));
        return;
      }
      if (!on_tape(number) && !number.is_integer() && leaf.owner != nullptr && tape.is_old(leaf.owner->serial))
        number = tape.lift({leaf.owner->serial, leaf.slot}, number, engine.to_double(number));
      if (on_tape(number)) seeds.emplace_back(number.tape_node(), engine.to_double(leaf.part));
    });
    if (contains(heap, s.value, on_tape)) {
      stripped = copy_value(engine, s.value, Sharing::strip, [&](Value number, Object*, std::uint32_t) {
        return on_tape(number) ? value::flonum(tape.primal(number.tape_node())) : Heap::retain(number);
      });
    } else {
      stripped = Heap::retain(s.value);
    }
  });
  // From here on nothing is stopped.
  engine.meter().hold();
  heap.release(std::exchange(s.value, stripped));
  ops::FlushDenormals flush;
  for (auto [node, c] : seeds) tape.accumulate(node, c);
  for (auto& [node, c] : tensor_seeds) machine::tensors::accumulate(engine, tape, node, c);
  s.position = tape.size();
  s.sweeping = true;
}

void seed_reverse(Engine& engine, Value& state) {
  auto* s = state_in<SweepState>(engine, state);
  if (!s->checkpoint) weigh_inside(engine, *static_cast<ReverseState*>(s));
  seed_final(engine, *s, "*j");
}

void sweep(Engine& engine, value::Frame* frame, Value& slot) {
  auto* s = state_in<SweepState>(engine, slot);
  want(s->sweeping);
  if (update_is_due(*s)) return engine.deliver(value::kFalse);
  Tape& tape = *s->work;
  // Composites and tensors stand among the numbers; whichever comes last is next.
  std::uint32_t composite = tape.composites.empty() ? 0 : tape.composites.back().node;
  const tape::TensorRecord* tensor = tape.last_tensor();
  std::uint32_t stop = std::max(composite, tensor != nullptr ? tensor->end() : 0);
  if (s->position == composite && !tape.composites.empty()) {
    const ops::Meter::Uninterrupted whole(engine.meter());
    if (begin_composite(engine, frame, slot)) return;
    drop_composite(engine, *s);
  } else if (tensor != nullptr && s->position == tensor->end()) {
    ops::FlushDenormals flush;
    const std::uint32_t node = tensor->node;
    machine::tensors::sweep(engine, tape);
    s->position = node;
  } else {
    ops::FlushDenormals flush;
    std::uint32_t from = std::max(stop, s->position > kSweptAtOnce ? s->position - kSweptAtOnce : 0);
    tape.sweep(from, s->position);
    s->position = from;
  }
  engine.deliver(value::kFalse);
}

bool swept(Engine& engine, Value& nested, Value& slot) {
  bool has_nested = value::is_kind(nested, value::Kind::state);
  if (has_nested) {
    check_reverse_rule(engine, nested, slot); // this can be stopped
    engine.meter().hold();
    let_go_of_outer(engine, nested); // so that the state is not taken for shared
  }
  auto* s = state_in<SweepState>(engine, slot);
  want(s->sweeping);
  if (has_nested) {
    end_composite(engine, *s, nested);
    drop_composite(engine, *s);
  }
  return update_is_due(*s) || end_sweep(engine, *s);
}

bool end_sweep(Engine& engine, SweepState& s) {
  if (s.position != 0 || !s.work->composites.empty()) return false;
  if (auto* c = as_checkpoint(s)) finish_interval(engine, *c);
  return true;
}

namespace {

// The cotangent of x: from the tape for *j, from the map of places for checkpoint-*j. What has none is exact 0.
Value cotangent_of_x(Engine& engine, SweepState& s) {
  if (auto* c = as_checkpoint(s))
    return copy_value(engine, c->x, Sharing::graph, [&](Value leaf, Object* owner, std::uint32_t slot) {
      if (value::is_tensor(leaf)) {
        auto found = c->tensors_through.find({leaf.other()->serial, 0});
        return found != c->tensors_through.end() ? engine.heap().make_tensor(found->second) : value::integer_unchecked(0);
      }
      Cotangent* found = c->through.find(owner == nullptr ? c->x_place : tape::Place{owner->serial, slot});
      return found != nullptr ? value::flonum(found->value) : value::integer_unchecked(0);
    });
  want(s.work != nullptr && s.sweeping);
  return copy_value(engine, s.x, Sharing::graph, [&](Value number, Object*, std::uint32_t) {
    if (value::is_tensor(number)) {
      // Its record is the tape's, but behind what is still to be swept there is nothing any more: leaves come first.
      auto found = s.work->tensor_cotangents.find(s.work->tensor_node(number.other()->serial));
      return found != s.work->tensor_cotangents.end() ? engine.heap().make_tensor(found->second) : value::integer_unchecked(0);
    }
    if (!s.work->has(number)) return value::integer_unchecked(0);
    double c = s.work->cotangent(number.tape_node());
    return tape::is_absent(c) ? value::integer_unchecked(0) : value::flonum(c);
  });
}

} // namespace

// The result is rebuilt whether there is an outer tape or not, so that serials are the same. On an outer tape its leaves are the
// places (serial, leaf) of the composite.
Value composite_result(Engine& engine, const SweepState& s, Value plain, bool whole) {
  Heap& heap = engine.heap();
  Tape* outer = engine.current().tape;
  std::uint32_t leaf = 0;
  Owned result(heap, copy_value(engine, plain, Sharing::graph, [&](Value number, Object*, std::uint32_t) -> Value {
                 if (value::is_tensor(number)) {
                   Owned made(heap, machine::tensors::alias(engine, number));
                   if (outer != nullptr && ops::is_floating(value::tensor_of(made.v).dtype)) {
                     auto record = std::make_shared<tape::TensorRecord>(heap);
                     record->kind = tape::TensorRecord::Kind::identity;
                     record->serial = made.v.other()->serial;
                     record->operands = {outer->lift_tensor_at({s.serial, tape::kLeaf + leaf++})};
                     record->outputs = tape::KeptTensors({{ops::description(value::tensor_of(made.v))}});
                     outer->add_tensor(std::move(record));
                   }
                   return made.take();
                 }
                 if (outer == nullptr || number.is_integer()) return Heap::retain(number);
                 std::uint32_t at = leaf++;
                 double primal = engine.to_double(number);
                 return outer->identity(outer->lift({s.serial, tape::kLeaf + at}, value::flonum(primal), primal));
               }));
  if (outer != nullptr) {
    // It may outlive the tapes of the numbers in it.
    std::uint64_t next = heap.next_serial;
    Owned skeleton(heap, copy_value(engine, plain, Sharing::graph, [&](Value number, Object*, std::uint32_t) {
                     if (value::is_tensor(number))
                       return whole ? heap.make_tensor_like(number)
                                    : heap.make_tensor(ops::description(value::tensor_of(number)));
                     return number.is_integer() ? number : value::flonum(engine.to_double(number));
                   }));
    heap.next_serial = next;
    tape::Output output{s.serial, skeleton.v, tape::past_effects(heap, s.log.inputs, s.log.draws)};
    if (!s.checkpoint) {
      const auto& reverse = static_cast<const ReverseState&>(s);
      output.cost = reverse.cost;
      output.largest = reverse.largest;
      output.sweeping = reverse.largest_swept;
    }
    outer->add_output(std::move(output));
    skeleton.take();
  }
  return result.take();
}

namespace {

Value result_of_reverse(Engine& engine, SweepState& s) {
  if (s.update) return updated_result(engine, s);
  Owned x(engine.heap(), cotangent_of_x(engine, s));
  Value xv = x.take();
  const Owned plain(engine.heap(), engine.heap().cons(Heap::retain(s.value), xv));
  return composite_result(engine, s, plain.v, false);
}

} // namespace

Value close_reverse(Engine& engine, Value state) {
  SweepState& s = *as_sweep(state);
  auto* const checkpoint = as_checkpoint(s);
  if (is_surveyed(s)) end_survey(engine, *checkpoint);
  if (checkpoint != nullptr) engine.heap().next_serial = std::max(engine.heap().next_serial, checkpoint->highest);
  Owned result(engine.heap(), result_of_reverse(engine, s));
  if (checkpoint != nullptr) explain_checkpoint(engine, *checkpoint); // once: until here it can be stopped
  return result.take();
}

} // namespace cairn::runs
