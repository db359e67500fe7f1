// The reverse pass of a derivative operator that ran on an outer tape (docs/design.md 5.5): to that tape it was one operation.
// For the cotangent (a . b) of its result (y . x`) evaluate checkpoint-*j of g = j* f x b at the cotangent (a . y`), for every
// place of the outer tape's world; the tangent of its value is the cotangent of y`.
#include "vm/machine/derivative_rules.h"
#include "vm/runs/operators.h"
#include "vm/runs/states.h"

#include <span>
#include <utility>

namespace cairn::runs {

using machine::RunKind;
using machine::rules::Owned;
using value::Object;

namespace {

// The cotangent of leaf `at` of a composite's result, if it has one; it is taken out.
bool take_leaf(SweepState& s, std::uint64_t serial, std::uint32_t at, double& out) {
  tape::Place place{serial, tape::kLeaf + at};
  if (tape::Input* input = s.work->inputs.find(place)) {
    out = s.work->cotangent(input->node);
    s.work->inputs.erase(place);
    s.through.erase(place);
    return !tape::is_absent(out);
  }
  if (Cotangent* c = s.through.find(place)) {
    out = c->value;
    s.through.erase(place);
    return true;
  }
  return false;
}

// The same of a leaf that is a tensor; empty: it has none.
ops::Tensor take_tensor_leaf(SweepState& s, std::uint64_t serial, std::uint32_t at) {
  tape::Place place{serial, tape::kLeaf + at};
  ops::Tensor out;
  if (tape::Input* input = s.work->inputs.find(place)) {
    if (auto found = s.work->tensor_cotangents.find(input->node); found != s.work->tensor_cotangents.end()) {
      out = std::move(found->second);
      s.work->tensor_cotangents.erase(found);
    }
    s.work->inputs.erase(place);
    s.tensors_through.erase({place.serial, place.slot});
    return out;
  }
  if (auto found = s.tensors_through.find({place.serial, place.slot}); found != s.tensors_through.end()) {
    out = std::move(found->second);
    s.tensors_through.erase(found);
  }
  return out;
}

// The result of the composite with that name; null if its operator has none yet. Composites are taken from the last one on, so
// theirs is as a rule the last result.
tape::Output* find_output(std::span<tape::Output> outputs, std::uint64_t serial) {
  for (std::size_t i = outputs.size(); i-- > 0;)
    if (outputs[i].serial == serial) return &outputs[i];
  return nullptr;
}
tape::Output* output_of(SweepState& s, std::uint64_t serial) {
  tape::Output* o = find_output(s.work->outputs, serial);
  return o != nullptr ? o : find_output(s.skeletons, serial);
}

} // namespace

bool begin_composite(Engine& engine, value::Frame* frame, Value state) {
  Heap& heap = engine.heap();
  SweepState& s = *as_sweep(state);
  const tape::Composite& c = s.work->composites.back();
  tape::Output* output = output_of(s, c.serial);
  if (output == nullptr) return false;
  want(c.is_ruled() || output->skeleton.is_pair());
  // A rule computes with zeros where there is no cotangent.
  const auto absent = [&](Value number) {
    if (!c.is_ruled() || (value::is_tensor(number) && value::is_kept(number))) return value::integer_unchecked(0);
    return value::is_tensor(number) ? machine::tensors::zeros_like(engine, number) : value::flonum(0.0);
  };
  bool any = false;
  std::uint32_t leaf = 0;
  Owned cotangents(heap, copy_value(engine, output->skeleton, Sharing::graph, [&](Value number, Object*, std::uint32_t) -> Value {
                     double d = 0;
                     if (value::is_tensor(number)) {
                       if (!ops::is_floating(value::tensor_of(number).dtype)) return value::integer_unchecked(0);
                       ops::Tensor t = take_tensor_leaf(s, c.serial, leaf++);
                       if (t.empty()) return absent(number);
                       any = true;
                       return heap.make_tensor(std::move(t));
                     }
                     if (number.is_integer()) return value::integer_unchecked(0);
                     if (!take_leaf(s, c.serial, leaf++, d)) return absent(number);
                     any = true;
                     return value::flonum(d);
                   }));
  if (!any) return false;
  if (c.is_ruled()) { // it has its value now, and gives up what it has done with
    begin_reverse_rule(engine, c, output->skeleton, cotangents.v);
    heap.release(std::exchange(output->skeleton, value::integer_unchecked(0)));
    return true;
  }

  auto made = heap.own<CheckpointState>(engine);
  CheckpointState* n = made.get();
  Owned nested(heap, value::of_other(engine.make_state(std::move(made))));
  Heap::retain(value::object_of(state));
  n->outer = static_cast<NativeObject*>(state.other());
  n->low = s.work->low();
  n->began = s.began;
  n->began_serial = s.began_serial;
  value::Pair* ab = cotangents.v.pair();
  n->cotangent = heap.cons(Heap::retain(ab->car), Heap::retain(c.cotangent));
  value::ClosureBlock* forward = heap.make_closure_block(1, 0);
  forward->procedure(0)->code = &operator_code(bytecode::RunOperator::forward);
  Owned procedure(heap, value::of_procedure(forward->procedure(0)));
  Value arguments[] = {c.f, c.x, ab->cdr};
  Run& run = n->current.runs.emplace_back();
  run.kind = RunKind::interval;
  run.top = engine.make_call(procedure.v, arguments, 3);
  n->current.serial = n->current.start = n->begin = n->highest = heap.next_serial;
  n->spec = engine.current().schedule;
  n->schedule = schedule::make(engine.schedules[n->spec], engine.resources(false));
  n->log.silent = true; // it repeats what has happened, input and random numbers included
  if (output->effects != nullptr) {
    n->log.inputs = output->effects->inputs;
    n->log.draws = output->effects->draws;
  }
  n->log.happened = n->log.inputs.size();
  n->log.account(heap);

  value::Frame* body = heap.make_frame(&helper_code(HelperCode::nested_checkpoint));
  body->slots()[0] = nested.take();
  body->parent = frame;
  engine.current().top = body;
  return true;
}

void drop_composite(Engine& engine, SweepState& s) {
  Tape& tape = *s.work;
  tape::Composite c = tape.composites.back();
  tape.composites.pop_back();
  for (Value v : {c.f, c.x, c.cotangent}) engine.heap().release(v);
  auto drop_from = [&](auto& outputs) {
    tape::Output* o = find_output(outputs, c.serial);
    if (o == nullptr) return false;
    engine.heap().release(o->skeleton);
    outputs.erase(outputs.begin() + (o - outputs.data()));
    return true;
  };
  if (!drop_from(tape.outputs)) drop_from(s.skeletons);
}

void let_go_of_outer(Engine& engine, Value& nested) {
  if (!as_sweep(nested)->checkpoint) return; // of a reverse rule
  auto* n = state_in<CheckpointState>(engine, nested);
  if (n->outer == nullptr) return;
  engine.heap().release(n->outer);
  n->outer = nullptr;
}

void end_composite(Engine& engine, SweepState& s, Value value) {
  auto* n = as_checkpoint(*as_sweep(value));
  if (s.work == nullptr || s.work->composites.empty() || (n == nullptr) != s.work->composites.back().is_ruled())
    throw machine::ProgramError("invalid bytecode: no composite to finish");
  Tape& tape = *s.work;
  const tape::Composite c = tape.composites.back();
  ops::FlushDenormals flush;
  auto add = [&](Value original, tape::Place place, double d) {
    if (tape.has(original)) {
      tape.accumulate(original.tape_node(), d);
      return;
    }
    if (!tape.is_old(place.serial)) return;
    if (tape::Input* input = tape.inputs.find(place)) {
      tape.accumulate(input->node, d);
      return;
    }
    bool fresh = false;
    Cotangent& through = s.through.at(place, fresh);
    through.original = original;
    through.value = fresh ? d + 0.0 : (through.value + d) + 0.0;
  };
  auto add_tensor = [&](std::uint64_t serial, std::uint32_t slot, const ops::Tensor& t) {
    std::uint32_t node = tape::kNone;
    if (slot == 0)
      node = tape.tensor_node(serial);
    else if (tape::Input* input = tape.inputs.find({serial, slot}))
      node = input->node;
    if (node != tape::kNone) {
      machine::tensors::accumulate(engine, tape, node, t);
    } else if (tape.is_old(serial)) {
      auto [at, fresh] = s.tensors_through.try_emplace({serial, slot}, t);
      if (!fresh) engine.tensors().runtime.accumulate(at->second, t);
    }
  };
  const auto add_part = [&](const PairedLeaf& leaf) {
    if (leaf.part.is_integer() || leaf.number.is_integer()) return;
    if (value::is_tensor(leaf.number)) {
      if (!ops::is_floating(value::tensor_of(leaf.number).dtype)) return;
      Owned part(engine.heap(), machine::tensors::fitted(engine, engine.primal(leaf.part), leaf.number, "a cotangent"));
      add_tensor(leaf.number.other()->serial, 0, value::tensor_of(part.v));
      return;
    }
    tape::Place place = leaf.owner != nullptr ? tape::Place{leaf.owner->serial, leaf.slot} : tape::Place{};
    const Value part = engine.primal(leaf.part);
    add(leaf.number, place,
        value::is_tensor(part) ? engine.tensors().runtime.read_number(value::tensor_of(part)) : engine.to_double(part));
  };
  if (n == nullptr) return end_reverse_rule(engine, c, as_sweep(value)->value, add_part);
  for (const auto& [place, t] : n->tensors_through) add_tensor(place.first, place.second, t);
  n->through.for_each([&](tape::Place place, const Cotangent& found) { add(found.original, place, found.value); });
  // The cotangent of y` is the tangent of the nested value.
  if (!n->value.is_pair()) throw machine::ProgramError("invalid bytecode: a composite without a value");
  walk_pair(engine, c.cotangent, n->value.pair()->cdr, nullptr, false, add_part);
}

} // namespace cairn::runs
