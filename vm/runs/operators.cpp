// The run_ instructions that the bodies of the run operators (bodies.cpp) are made of.
#include "vm/runs/operators.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/undo.h"
#include "vm/runs/bodies.h"
#include "vm/runs/states.h"
#include "vm/runs/streamed.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

namespace cairn::runs {

using bytecode::field_a;
using bytecode::field_b;
using bytecode::field_c;
using bytecode::Opcode;
using bytecode::operand;
using bytecode::RunOperator;
using bytecode::Word;
using machine::kNever;
using machine::ProgramError;
using machine::RunKind;
using value::Frame;
using value::Owned;

namespace {

std::uint64_t steps_argument(Engine& engine, Value n) {
  Value p = engine.primal(n);
  if (p.is_integer() && p.integer() >= 0) return static_cast<std::uint64_t>(p.integer());
  if (p.is_flonum() && p.flonum() >= 0 && std::isfinite(p.flonum()) && p.flonum() == std::trunc(p.flonum()))
    return p.flonum() >= 9e18 ? kNever : static_cast<std::uint64_t>(p.flonum());
  throw ProgramError("interrupt: expected a number of steps, an integer not below zero, got " + engine.describe(n));
}

// Of what the text says, among what was in force before.
template <class Spec> std::uint32_t number_in(Engine& engine, machine::Interned<Spec>& known, std::string_view who, Value text) {
  if (!value::is_string(text)) throw ProgramError(fmt::format("{}: expected a string, got {}", who, engine.describe(text)));
  Spec spec;
  std::string message;
  if (!parse(value::as_text(text)->view(), spec, message)) throw ProgramError(fmt::format("{}: {}", who, message));
  return known.number_of(spec);
}

// What an instruction moves out of a register. It is there again unless the instruction says that it has been completed.
class Moved {
public:
  Moved(Heap& heap, Value& slot) : heap_(heap), slot_(slot), v(std::exchange(slot, value::kUnspecified)) {}
  ~Moved() {
    if (completed_)
      heap_.release(v);
    else
      slot_ = v;
  }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;
  void completed() { completed_ = true; }

private:
  Heap& heap_;
  Value& slot_;
  bool completed_ = false;

public:
  Value v;
};

Run plain_run(RunKind kind, Engine& engine) {
  Run r;
  r.kind = kind;
  r.start = engine.clock;
  r.epoch = 0;
  return r;
}

bool perform(Engine& engine, const Word* instruction) {
  Heap& heap = engine.heap();
  Word w = *instruction;
  Frame* frame = engine.current().top;
  Value* slots = frame->slots();
  auto slot = [&](std::uint16_t field) -> Value& { return slots[field & bytecode::kRegister]; };
  auto go = [&](std::uint16_t offset) { frame->rest_at(instruction + static_cast<std::int16_t>(offset), frame->result()); };
  switch (bytecode::opcode_of(w)) {
  case Opcode::run_tag:
    engine.deliver(value::integer_unchecked(static_cast<std::int64_t>(engine.next_tag++)));
    return true;
  case Opcode::run_bundle: {
    Moved x(heap, slot(operand(instruction, 0))), t(heap, slot(operand(instruction, 1)));
    auto tag = static_cast<std::uint64_t>(slot(operand(instruction, 2)).integer());
    engine.deliver(field_b(w) == 2 ? bundle(engine, x.v, t.v, tag, true, "the forward rule: the tangent")
                                   : bundle(engine, x.v, t.v, tag, field_b(w) == 1));
    x.completed(), t.completed();
    return true;
  }
  case Opcode::run_forward: {
    Owned f(heap, slot(field_b(w))), x(heap, slot(field_c(w)));
    Run r = plain_run(RunKind::forward, engine);
    r.top = engine.make_call(f.v, &x.v, 1);
    engine.push_run(r);
    return true;
  }
  case Opcode::run_unbundle: {
    Moved v(heap, slot(field_b(w))), tag(heap, slot(field_c(w))); // a file may have put anything there
    engine.deliver(unbundle(engine, v.v, static_cast<std::uint64_t>(tag.v.integer())));
    v.completed(), tag.completed();
    return true;
  }
  case Opcode::run_rebundle: {
    Moved v(heap, slot(field_b(w))), tag(heap, slot(field_c(w))); // a file may have put anything there
    engine.deliver(rebundle(engine, v.v, static_cast<std::uint64_t>(tag.v.integer())));
    v.completed(), tag.completed();
    return true;
  }
  case Opcode::run_operate: {
    Owned f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1))),
        cotangent(heap, slot(operand(instruction, 2)));
    Frame* callee = heap.make_frame(&operator_code(
        has_schedule(static_cast<Derivative>(field_b(w))) ? RunOperator::checkpoint_reverse : RunOperator::reverse));
    callee->parent = frame;
    callee->slots()[0] = f.take();
    callee->slots()[1] = x.take();
    callee->slots()[2] = cotangent.take();
    engine.current().top = callee;
    return true;
  }
  case Opcode::run_within:
    engine.deliver(value::boolean(
        within_derivative(engine, slot(operand(instruction, 0)), slot(operand(instruction, 1)), slot(operand(instruction, 2)))));
    return true;
  case Opcode::run_update:
    start_update(engine, frame, *state_in<SweepState>(engine, slot(field_b(w))));
    return true;
  case Opcode::run_updated: {
    Owned result(heap, slot(field_a(w)));
    auto* s = state_in<SweepState>(engine, slot(field_b(w)));
    end_update(engine, *s, result.take());
    if (update_is_due(*s) || (s->sweeping && !end_sweep(engine, *s))) go(field_c(w));
    return true;
  }
  case Opcode::run_open: {
    const auto which = static_cast<Derivative>(field_b(w));
    Moved f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1))),
        cotangent(heap, slot(operand(instruction, 2)));
    std::optional<Moved> update;
    Opening of{has_schedule(which), is_in_place(which), f.v, x.v, cotangent.v};
    if (updates(which)) of.update = update.emplace(heap, slot(operand(instruction, 3))).v;
    if (updates(which) || !forward_over_reverse(engine, frame, of.checkpoint, of.f, of.x, of.cotangent))
      open_reverse(engine, frame, of);
    f.completed(), x.completed(), cotangent.completed();
    if (update) update->completed();
    return true;
  }
  case Opcode::run_seed: {
    Moved state(heap, slot(field_b(w)));
    seed_reverse(engine, state.v);
    engine.deliver(std::exchange(state.v, value::kUnspecified));
    state.completed();
    return true;
  }
  case Opcode::run_sweep:
    sweep(engine, frame, slot(field_b(w)));
    return true;
  case Opcode::run_swept: {
    Moved nested(heap, slot(field_a(w)));
    if (!swept(engine, nested.v, slot(field_b(w)))) go(field_c(w));
    nested.completed();
    return true;
  }
  case Opcode::run_act: {
    Moved kept(heap, slot(field_b(w)));
    Owned state(heap, std::exchange(kept.v, value::kUnspecified));
    try {
      act(engine, state);
    } catch (...) { // it may be done again, or begin again
      kept.v = state.take();
      throw;
    }
    kept.completed();
    return true;
  }
  case Opcode::run_acted:
    if (!state_in<CheckpointState>(engine, slot(field_a(w)))->sweeping) go(field_b(w));
    return true;
  case Opcode::run_more:
    if (!state_in<CheckpointState>(engine, slot(field_a(w)))->complete) go(field_b(w));
    return true;
  case Opcode::run_close: {
    Moved state(heap, slot(field_b(w)));
    state_in<SweepState>(engine, state.v);
    engine.deliver(close_reverse(engine, state.v));
    state.completed();
    return true;
  }
  case Opcode::run_count: {
    Owned f(heap, slot(field_b(w))), x(heap, slot(field_c(w)));
    engine.start_run(plain_run(RunKind::primops, engine), f.v, x.v);
    return true;
  }
  case Opcode::run_limited: {
    Owned f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1))), n(heap, slot(operand(instruction, 2)));
    Run r = plain_run(RunKind::interrupt, engine);
    std::uint64_t steps = steps_argument(engine, n.v);
    r.deadline = steps > kNever - engine.clock ? kNever : engine.clock + steps;
    engine.start_run(r, f.v, x.v);
    return true;
  }
  case Opcode::run_scheduled:
  case Opcode::run_lossy: {
    Owned text(heap, slot(field_b(w))), thunk(heap, slot(field_c(w)));
    Run r = plain_run(RunKind::scheduled, engine);
    if (bytecode::opcode_of(w) == Opcode::run_scheduled)
      r.own_schedule = number_in(engine, engine.schedules, "with-schedule", text.v);
    else
      r.own_lossy = number_in(engine, engine.lossy_policies, "with-lossy-tape", text.v);
    r.top = engine.make_call(thunk.v, nullptr, 0);
    engine.push_run(r);
    return true;
  }
  case Opcode::run_streamed: {
    const bool records = field_b(w) == 1;
    Owned f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1)));
    Owned plan(heap, records ? value::kUnspecified : slot(operand(instruction, 2)));
    start_streamed(engine, records, plan.v, f.v, x.v);
    return true;
  }
  case Opcode::run_guarded: {
    Owned thunk(heap, slot(field_b(w)));
    const Value handler = frame->slots()[0];
    if (!handler.is_procedure())
      throw ProgramError("call-with-error-handler: expected a procedure of a message and a list, got " +
                         engine.describe(handler));
    Run r = plain_run(RunKind::guarded, engine);
    r.top = engine.make_call(thunk.v, nullptr, 0);
    engine.push_run(r);
    return true;
  }
  case Opcode::run_strip: {
    Moved v(heap, slot(field_b(w)));
    engine.deliver(without_derivatives(engine, v.v));
    v.completed();
    return true;
  }
  case Opcode::run_outermost: {
    const std::uint64_t tag = outermost_tag(engine, slot(field_b(w)));
    engine.deliver(tag != 0 ? value::integer_unchecked(static_cast<std::int64_t>(tag)) : value::kFalse);
    return true;
  }
  case Opcode::run_duals: {
    Moved v(heap, slot(field_b(w)));
    const Value tag = slot(field_c(w)); // a file may have put anything there
    engine.deliver(duals(engine, v.v, static_cast<std::uint64_t>(tag.integer())));
    v.completed();
    return true;
  }
  case Opcode::run_ruled: {
    Frame* callee = heap.make_frame(&operator_code(RunOperator::ruled));
    callee->parent = frame;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint16_t from = operand(instruction, i);
      Value& v = slot(from);
      callee->slots()[i] = (from & bytecode::kLastUse) != 0 ? std::exchange(v, value::kUnspecified) : Heap::retain(v);
    }
    engine.current().top = callee;
    return true;
  }
  case Opcode::run_apply: {
    Owned f(heap, slot(operand(instruction, 0))), reverse(heap, slot(operand(instruction, 1))),
        x(heap, slot(operand(instruction, 2)));
    apply_ruled(engine, frame, f.v, reverse.v, x.v);
    return true;
  }
  case Opcode::run_applied: {
    Moved state(heap, slot(field_b(w)));
    engine.deliver(result_of_ruled(engine, state.v));
    state.completed();
    return true;
  }
  default: { // run_thaw
    if (!value::is_capsule(slot(field_a(w)))) {
      frame->rest_at(instruction); // there is none behind it, and the register still holds its value
      throw ProgramError("resume: expected a capsule, got " + engine.describe(slot(field_a(w))));
    }
    Owned z(heap, slot(field_a(w)));
    Frame* parent = frame->parent;
    heap.discard(frame);
    engine.current().top = nullptr;
    return engine.thaw(z.v, parent);
  }
  }
}

} // namespace

bool perform_instruction(Engine& engine, const Word* instruction) {
  const Opcode op = bytecode::opcode_of(*instruction);
  Frame* frame = engine.current().top;
  try {
    if (bytecode::has_trait(op, bytecode::kStoppable)) return stoppable(engine, [&] { return perform(engine, instruction); });
    engine.meter().poll();
  } catch (...) {
    frame->rest_at(instruction); // its registers hold what they held
    throw;
  }
  const ops::Meter::Uninterrupted whole(engine.meter());
  // Sums of cotangents may be refused: a file that no machine wrote holds some that are not like their tensors.
  return machine::tensors::translated("", [&] { return perform(engine, instruction); });
}

const machine::RunOperators kOperators{operator_code, perform_instruction, begin_again, handle_error, call_host};

} // namespace cairn::runs
