// The bodies of the run operators, as bytecode of the machine's own, and the run_ instructions they are made of. Since a body is
// ordinary code in an ordinary frame, a run operator is counted, interrupted, captured and saved like everything else.
#include "vm/machine/code.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/undo.h"
#include "vm/runs/operators.h"
#include "vm/runs/states.h"

#include <array>
#include <cmath>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

namespace cairn::runs {

using bytecode::encode;
using bytecode::field_a;
using bytecode::field_b;
using bytecode::field_c;
using bytecode::kLastUse;
using bytecode::Opcode;
using bytecode::operand;
using bytecode::RunOperator;
using bytecode::Word;
using machine::kNever;
using machine::ProgramError;
using machine::RunKind;
using value::Owned;
using value::Code;
using value::Frame;

namespace {

constexpr std::uint16_t last(unsigned r) { return static_cast<std::uint16_t>(r | kLastUse); }
constexpr std::uint16_t jump(int words) { return static_cast<std::uint16_t>(words); }
constexpr Word three(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  return Word{a} | Word{b} << 16 | Word{c} << 32 | Word{0xFFFF} << 48;
}

constexpr Word four(std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint16_t d) {
  return Word{a} | Word{b} << 16 | Word{c} << 32 | Word{d} << 48;
}

// Registers 0.. hold the parameters.
std::vector<Word> checkpoint_loop() {
  return {encode(Opcode::run_act, 0, last(0)), encode(Opcode::run_acted, 0, jump(3)), encode(Opcode::run_sweep, 1, 0),
          encode(Opcode::run_swept, last(1), 0, jump(-1)), encode(Opcode::run_more, 0, jump(-4))};
}

std::vector<Word> then(std::vector<Word> code, std::initializer_list<Word> more) {
  code.insert(code.end(), more);
  return code;
}

// The rules of the leaves that are due, until none is and the sweep in work, if any, is complete; else on with the instruction `again` words
// from the second.
std::vector<Word> updates(int again) { return {encode(Opcode::run_update, 1, 0), encode(Opcode::run_updated, last(1), 0, jump(again))}; }

// 0: f, 1: x, 2: cotangent, 3: rule, 4: state, 5: the procedure that does the same for an outer derivative.
std::vector<Word> update_opening(unsigned kind) {
  return {encode(Opcode::run_within, 6, 0, 3), three(0, 1, 2),
          encode(Opcode::jump_false, last(6), jump(4)),
          encode(Opcode::tail_call_value, 0, last(5), 5), four(last(0), last(1), last(2), last(3)), four(last(4), 0xFFFF, 0xFFFF, 0xFFFF),
          encode(Opcode::drop, 5, 0x7FFF, 0x7FFF),
          encode(Opcode::cons, 3, last(3), last(4)),
          encode(Opcode::run_open, 0, static_cast<std::uint16_t>(kind), 4), four(last(0), last(1), last(2), last(3))};
}

std::vector<Word> together(std::initializer_list<std::vector<Word>> parts) {
  std::vector<Word> all;
  for (const std::vector<Word>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Word kReturn0 = encode(Opcode::ret, last(0));

bytecode::Function body_of(RunOperator op) {
  bytecode::Function f;
  f.parameters = static_cast<std::uint16_t>(bytecode::kRunOperators[static_cast<std::size_t>(op)].parameters);
  f.slots = 5;
  switch (op) {
  case RunOperator::forward:
    f.code = {encode(Opcode::run_tag, 3),
              encode(Opcode::run_bundle, 1, 0, 3),
              three(last(1), last(2), 3),
              encode(Opcode::run_forward, 1, last(0), last(1)),
              encode(Opcode::run_unbundle, 1, last(1), last(3)),
              encode(Opcode::ret, last(1))};
    break;
  case RunOperator::reverse:
    f.code = {encode(Opcode::run_open, 0, 0, 3),
              three(last(0), last(1), last(2)),
              encode(Opcode::run_seed, 0, last(0)),
              encode(Opcode::run_sweep, 1, 0),
              encode(Opcode::run_swept, last(1), 0, jump(-1)),
              encode(Opcode::run_close, 0, last(0)),
              kReturn0};
    break;
  case RunOperator::checkpoint_reverse:
    f.code = {encode(Opcode::run_open, 0, 1, 3), three(last(0), last(1), last(2))};
    for (Word w : checkpoint_loop()) f.code.push_back(w);
    f.code = then(f.code, {encode(Opcode::run_close, 0, last(0)), kReturn0});
    break;
  case RunOperator::reverse_update:
  case RunOperator::reverse_update_in_place:
    f.slots = 7;
    f.code = together({update_opening(op == RunOperator::reverse_update ? 2 : 4),
                       {encode(Opcode::run_seed, 0, last(0)), encode(Opcode::run_sweep, 1, 0), encode(Opcode::run_swept, last(1), 0, jump(-1))},
                       updates(-3),
                       {encode(Opcode::run_close, 0, last(0)), kReturn0}});
    break;
  case RunOperator::checkpoint_update:
  case RunOperator::checkpoint_update_in_place:
    f.slots = 7;
    f.code = together({update_opening(op == RunOperator::checkpoint_update ? 3 : 5),
                       {encode(Opcode::run_act, 0, last(0)), encode(Opcode::run_acted, 0, jump(5)), encode(Opcode::run_sweep, 1, 0),
                        encode(Opcode::run_swept, last(1), 0, jump(-1))},
                       updates(-3),
                       {encode(Opcode::run_more, 0, jump(-6))},
                       updates(-1),
                       {encode(Opcode::run_close, 0, last(0)), kReturn0}});
    break;
  case RunOperator::primops:
    f.code = {encode(Opcode::run_count, 0, last(0), last(1)), kReturn0};
    break;
  case RunOperator::interrupt:
    f.code = {encode(Opcode::run_limited, 0, 0, 3), three(last(0), last(1), last(2)), kReturn0};
    break;
  case RunOperator::resume:
    f.code = {encode(Opcode::run_thaw, last(0))};
    break;
  case RunOperator::with_schedule:
    f.code = {encode(Opcode::run_scheduled, 0, last(0), last(1)), kReturn0};
    break;
  case RunOperator::count:
    break;
  }
  return f;
}

bytecode::Function body_of(OwnCode code) {
  bytecode::Function f;
  f.slots = 8;
  switch (code) {
  case OwnCode::nested_checkpoint: // 0: the state; returns it
    f.parameters = 1;
    f.code = then(checkpoint_loop(), {kReturn0});
    break;
  case OwnCode::dual_apply: // 0: (x . x'), 1: itself, which captures f and f'; the pair of (f x) and its tangent
    f.parameters = 1;
    f.needs_closure = true;
    f.code = {encode(Opcode::capture, 2, 1, 0),
              encode(Opcode::capture, 3, last(1), 1),
              encode(Opcode::uncons, 4, 5, last(0)),
              encode(Opcode::cons, 2, last(2), last(4)),
              encode(Opcode::cons, 3, last(3), last(5)),
              encode(Opcode::run_tag, 6),
              encode(Opcode::run_bundle, 2, 1, 3),
              three(last(2), last(3), 6),
              encode(Opcode::uncons, 0, 2, last(2)),
              encode(Opcode::run_forward, 0, last(0), last(2)),
              encode(Opcode::run_unbundle, 0, last(0), last(6)),
              kReturn0};
    break;
  case OwnCode::dual_reverse: // 0: f, 1: x, 2: cotangent, 3: tag
  case OwnCode::dual_checkpoint:
    f.parameters = 4;
    f.code = {encode(Opcode::run_operate, 0, code == OwnCode::dual_reverse ? 0 : 1, 3), three(last(0), last(1), last(2)),
              encode(Opcode::run_rebundle, 0, last(0), last(3)), kReturn0};
    break;
  case OwnCode::count:
    break;
  }
  return f;
}

// Functions with their facts, made once for the process.
struct Bodies {
  std::deque<bytecode::Function> functions;
  std::deque<bytecode::FunctionFacts> facts;
  std::vector<value::OwnedCode> codes;
  void add(bytecode::Function function, std::uint32_t index) {
    functions.push_back(std::move(function));
    const bytecode::Function& f = functions.back();
    facts.push_back(bytecode::verify_own(f));
    codes.push_back(machine::code_of(f, facts.back(), index, nullptr));
  }
  Bodies() {
    for (unsigned i = 0; i < static_cast<unsigned>(RunOperator::count); ++i) add(body_of(static_cast<RunOperator>(i)), i);
    for (unsigned i = 0; i < static_cast<unsigned>(OwnCode::count); ++i)
      add(body_of(static_cast<OwnCode>(i)),
          static_cast<unsigned>(i == 0 || i == 3 ? RunOperator::checkpoint_reverse : RunOperator::reverse));
  }
};

const Bodies& bodies() {
  static const Bodies all;
  return all;
}

} // namespace

const Code& own_code(OwnCode code) {
  return *bodies().codes[static_cast<std::size_t>(RunOperator::count) + static_cast<std::size_t>(code)];
}

namespace {

std::uint64_t steps_argument(Engine& engine, Value n) {
  Value p = engine.primal(n);
  if (p.is_integer() && p.integer() >= 0) return static_cast<std::uint64_t>(p.integer());
  if (p.is_flonum() && p.flonum() >= 0 && std::isfinite(p.flonum()) && p.flonum() == std::trunc(p.flonum()))
    return p.flonum() >= 9e18 ? kNever : static_cast<std::uint64_t>(p.flonum());
  throw ProgramError("interrupt: expected a number of steps, an integer not below zero, got " + engine.describe(n));
}

// What an instruction moves out of a register. If the instruction cannot be completed, it is there again.
class Moved {
public:
  Moved(Heap& heap, Value& slot)
      : heap_(heap), slot_(slot), v(std::exchange(slot, value::kUnspecified)), exceptions_(std::uncaught_exceptions()) {}
  ~Moved() {
    if (std::uncaught_exceptions() > exceptions_)
      slot_ = v;
    else
      heap_.release(v);
  }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

private:
  Heap& heap_;
  Value& slot_;

public:
  Value v;

private:
  int exceptions_;
};

Run plain_run(RunKind kind, Engine& engine) {
  Run r;
  r.kind = kind;
  r.start = engine.clock;
  r.epoch = 0;
  return r;
}

} // namespace

MachineCode machine_code(std::size_t number) {
  const Bodies& all = bodies();
  if (number >= all.codes.size()) return {};
  constexpr auto kOperators = static_cast<std::size_t>(bytecode::RunOperator::count);
  MachineCode m{all.codes[number].get(), &all.facts[number]};
  if (number < kOperators)
    m.captures = 0;
  else if (number - kOperators == static_cast<std::size_t>(OwnCode::dual_apply))
    m.captures = 2; // f and f'
  return m;
}

const Code& operator_code(RunOperator op) { return *bodies().codes[static_cast<std::size_t>(op)]; }

namespace {

bool perform(Engine& engine, const Word* instruction) {
  Heap& heap = engine.heap();
  Word w = *instruction;
  Frame* frame = engine.current().top;
  Value* slots = frame->slots();
  auto slot = [&](std::uint16_t field) -> Value& { return slots[field & 0x7FFF]; };
  auto go = [&](std::uint16_t offset) { frame->rest_at(instruction + static_cast<std::int16_t>(offset), frame->result()); };
  switch (bytecode::opcode_of(w)) {
  case Opcode::run_tag:
    engine.deliver(value::integer_unchecked(static_cast<std::int64_t>(engine.next_tag++)));
    return true;
  case Opcode::run_bundle: {
    Moved x(heap, slot(operand(instruction, 0))), t(heap, slot(operand(instruction, 1)));
    auto tag = static_cast<std::uint64_t>(slot(operand(instruction, 2)).integer());
    engine.deliver(bundle(engine, x.v, t.v, tag, field_b(w) == 1));
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
    Moved v(heap, slot(field_b(w))), tag(heap, slot(field_c(w)));  // a file may have put anything there
    engine.deliver(unbundle(engine, v.v, static_cast<std::uint64_t>(tag.v.integer())));
    return true;
  }
  case Opcode::run_rebundle: {
    Moved v(heap, slot(field_b(w))), tag(heap, slot(field_c(w)));  // a file may have put anything there
    engine.deliver(rebundle(engine, v.v, static_cast<std::uint64_t>(tag.v.integer())));
    return true;
  }
  case Opcode::run_operate: {
    Owned f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1))),
        cotangent(heap, slot(operand(instruction, 2)));
    Frame* callee = heap.make_frame(
        &operator_code(field_b(w) == 1 ? bytecode::RunOperator::checkpoint_reverse : bytecode::RunOperator::reverse));
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
    std::uint16_t kind = field_b(w);
    Moved f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1))),
        cotangent(heap, slot(operand(instruction, 2)));
    std::optional<Moved> update;
    Opening of{kind % 2 == 1, kind >= 4, f.v, x.v, cotangent.v};
    if (kind >= 2) of.update = update.emplace(heap, slot(operand(instruction, 3))).v;
    if (kind >= 2 || !forward_over_reverse(engine, frame, of.checkpoint, of.f, of.x, of.cotangent)) open_reverse(engine, frame, of);
    return true;
  }
  case Opcode::run_seed: {
    Moved state(heap, slot(field_b(w)));
    seed_reverse(engine, state.v);
    engine.deliver(std::exchange(state.v, value::kUnspecified));
    return true;
  }
  case Opcode::run_sweep:
    sweep(engine, frame, slot(field_b(w)));
    return true;
  case Opcode::run_swept: {
    Owned nested(heap, slot(field_a(w)));
    if (!swept(engine, nested.v, slot(field_b(w)))) go(field_c(w));
    return true;
  }
  case Opcode::run_act: {
    Moved kept(heap, slot(field_b(w)));
    Owned state(heap, std::exchange(kept.v, value::kUnspecified));
    try {
      act(engine, state);
    } catch (const ops::Stopped&) {
      kept.v = state.take();
      throw;
    }
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
    return true;
  }
  case Opcode::run_count: {
    Owned f(heap, slot(field_b(w))), x(heap, slot(field_c(w)));
    engine.start_run(plain_run(RunKind::primops, engine), f.v, x.v);
    return true;
  }
  case Opcode::run_limited: {
    Owned f(heap, slot(operand(instruction, 0))), x(heap, slot(operand(instruction, 1))),
        n(heap, slot(operand(instruction, 2)));
    Run r = plain_run(RunKind::interrupt, engine);
    std::uint64_t steps = steps_argument(engine, n.v);
    r.deadline = steps > kNever - engine.clock ? kNever : engine.clock + steps;
    engine.start_run(r, f.v, x.v);
    return true;
  }
  case Opcode::run_scheduled: {
    Owned text(heap, slot(field_b(w))), thunk(heap, slot(field_c(w)));
    if (!value::is_string(text.v)) throw ProgramError("with-schedule: expected a string, got " + engine.describe(text.v));
    schedule::Spec spec;
    std::string message;
    if (!schedule::parse(value::as_text(text.v)->view(), spec, message)) throw ProgramError("with-schedule: " + message);
    Run r = plain_run(RunKind::scheduled, engine);
    r.own_schedule = engine.intern_schedule(spec);
    r.top = engine.make_call(thunk.v, nullptr, 0);
    engine.push_run(r);
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
  return perform(engine, instruction);
}

const machine::RunOperators kOperators{operator_code, perform_instruction, call_host};

} // namespace cairn::runs
