// The dispatch loop: direct-threaded, one step for each instruction, the budget left a local that is decremented and tested before
// each. It exists twice: for runs that record on a tape and for those that do not. Slow paths stand in other files.
//
// Registers of the loop: `frame` is the frame on top, `pc` the word of the current instruction. They are written back
// (save) before anything that looks at the runs or may throw past the handler at the end, which writes them back too.
#include "vm/machine/derivative_rules.h"
#include "vm/machine/engine.h"
#include "vm/machine/run_operator.h"
#include "vm/print/primitives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#pragma GCC diagnostic ignored "-Wpedantic"  // labels as values

namespace cairn::machine {

namespace {

using bytecode::field_a;
using bytecode::field_b;
using bytecode::field_c;
using bytecode::kLastUse;
using bytecode::operand;
using bytecode::words_of;
using value::flonum_unchecked;

constexpr std::uint16_t kRegister = 0x7FFF;

// A number as the tape sees it: its primal, and its node if it is on this tape. False for anything unusual.
inline bool on_tape(const Tape& tape, Value v, double& primal, std::uint32_t& node) {
  if (v.is_taped()) {
    if (v.tape_id() != tape.id()) return false;
    node = v.tape_node();
    primal = tape.primal(node);
    return true;
  }
  node = tape::kNone;
  if (v.is_flonum()) {
    primal = v.flonum();
    return true;
  }
  if (!v.is_integer()) return false;
  primal = static_cast<double>(v.integer());
  return true;
}

// Records x op y; at least one is on the tape. False: leave it to Engine::binary.
template <Opcode Op> inline bool taped_binary(Tape& tape, Value x, Value y, Value& out) {
  double px = 0, py = 0;
  std::uint32_t nx = 0, ny = 0;
  if (!on_tape(tape, x, px, nx) || !on_tape(tape, y, py, ny)) return false;
  double v = 0, dx = 1, dy = 1;
  if constexpr (Op == Opcode::add) v = px + py;
  if constexpr (Op == Opcode::sub) v = px - py, dy = -1;
  if constexpr (Op == Opcode::mul) v = px * py, dx = py, dy = px;
  if constexpr (Op == Opcode::div) v = px / py, dx = 1 / py, dy = -v / py;
  if (nx == tape::kNone) {
    if (ny == tape::kNone) return false;
    out = tape.append(v, ny, dy, tape::kNone, 0);
  } else {
    out = tape.append(v, nx, dx, ny, dy);
  }
  return true;
}

template <Opcode Op> inline bool integers(Value x, Value y, Value& out) {
  if (!x.is_integer() || !y.is_integer()) return false;
  auto a = static_cast<std::int64_t>(x.bits << 16), b = static_cast<std::int64_t>(y.bits << 16);
  std::int64_t s = 0;
  bool overflow = false;
  if constexpr (Op == Opcode::add) overflow = __builtin_add_overflow(a, b, &s);
  else if constexpr (Op == Opcode::sub) overflow = __builtin_sub_overflow(a, b, &s);
  else if constexpr (Op == Opcode::mul) overflow = __builtin_mul_overflow(a, b >> 16, &s);
  else return false;
  if (overflow) return false;
  out.bits = static_cast<std::uint64_t>(s) >> 16 | value::kIntegerTag << value::kTagShift;
  return true;
}

// What follows has locals with destructors, which a computed goto out of their scope would not run: functions of their own.

// A call with a rest list, or with the wrong number of arguments. The operands are used up as their last-use bits say.
template <bool Taped>
Frame* call_in_general(Engine& e, [[maybe_unused]] Tape* tape, Frame* frame, const Word* pc, unsigned n, Value callee) {
  std::vector<Value> arguments(n);
  for (unsigned i = 0; i < n; ++i) arguments[i] = frame->slots()[operand(pc, i) & kRegister];
  Frame* f = e.make_call(callee, arguments.data(), n);
  // make_call added references; a value that stays in its register becomes a second place, one that moves gives up its own.
  const Code* code = f->code;
  if constexpr (Taped) {
    Value list = code->rest ? f->slots()[code->parameters] : value::kNull;
    for (unsigned i = 0; i < n; ++i) {
      Value& slot = i < code->parameters ? f->slots()[i] : list.pair()->car;
      if ((operand(pc, i) & kLastUse) == 0 && slot.is_taped()) slot = e.duplicate(tape, slot);
      if (i >= code->parameters) list = list.pair()->cdr;
    }
  }
  for (unsigned i = 0; i < n; ++i)
    if ((operand(pc, i) & kLastUse) != 0) e.heap().release(arguments[i]);
  return f;
}

// The frame of (apply callee list); both borrowed.
template <bool Taped> Frame* apply_to_list(Engine& e, [[maybe_unused]] Tape* tape, Value callee, Value list) {
  std::vector<Value> arguments;
  Value at = list;
  for (; at.is_pair(); at = at.pair()->cdr) arguments.push_back(at.pair()->car);
  if (at != value::kNull) throw ProgramError("apply: expected a list of arguments, got " + e.describe(list));
  Frame* f = e.make_call(callee, arguments.data(), arguments.size());
  if constexpr (Taped) {
    const Code* code = f->code;
    Value rest = code->rest ? f->slots()[code->parameters] : value::kNull;
    at = list;
    for (unsigned i = 0; at.is_pair(); ++i, at = at.pair()->cdr) {
      Value& slot = i < code->parameters ? f->slots()[i] : rest.pair()->car;
      if (slot.is_taped() || slot.is_flonum()) slot = e.read_field_taped(*tape, at.pair(), 0, slot);
      if (i >= code->parameters) rest = rest.pair()->cdr;
    }
  }
  return f;
}

// The message of (error message irritant ...).
std::string user_message(const Engine& e, Value list) {
  std::string out;
  for (bool first = true; list.is_pair(); list = list.pair()->cdr, first = false) {
    Value v = list.pair()->car;
    if (!first) out += ' ';
    out += first && value::is_string(v) ? std::string(value::as_text(v)->view()) : e.describe(v);
    if (out.size() > 2000) break;
  }
  return out;
}

} // namespace

// The locals of the loop must stay in registers: nothing that captures them may become a function of its own.
#define CAIRN_INLINE __attribute__((always_inline))
#define A field_a(w)
#define B field_b(w)
#define C field_c(w)
#define SOURCE(f) frame->slots()[(f) & kRegister]
#define NEXT(words)                                                                                                              \
  do {                                                                                                                           \
    pc += (words);                                                                                                               \
    CAIRN_COUNT_STEP                                                                                                             \
    w = *pc;                                                                                                                     \
    goto* labels[w & 0xFFFF];                                                                                                    \
  } while (0)
#ifdef CAIRN_UNCOUNTED  // for the benchmark of what counting costs; such a build cannot be interrupted
#define CAIRN_COUNT_STEP
#else
#define CAIRN_COUNT_STEP                                                                                                         \
  if (--left < 0) [[unlikely]]                                                                                                   \
    goto out_of_budget;
#endif
#define GO(offset) NEXT(static_cast<std::int16_t>(offset))

template <bool Taped> Engine::Exit Engine::dispatch() {
  static const void* const labels[] = {
#define X(name, roles, text) &&op_##name,
#include "vm/bytecode/opcodes.def"
#undef X
  };
  Run& run = runs.back();
  Heap& heap = heap_;
  Tape* const tape = Taped ? run.tape : nullptr;
  const Value* const constants = loaded.constants.data();
  const Code* const codes = loaded.codes.data();
  std::uint64_t epoch = run.epoch;
  const auto allowance =
      static_cast<std::int64_t>(std::min<std::uint64_t>(run.least_deadline - clock, std::uint64_t{1} << 62));
  const std::uint64_t end = clock + static_cast<std::uint64_t>(allowance);
  std::int64_t left = allowance;
  Frame* frame = run.top;
  const Word* pc = frame->code->words + frame->pc;
  Word w = 0;
  bool written_back = false;  // the runs are ahead of the locals

  auto save = [&]() CAIRN_INLINE {
    frame->pc = static_cast<std::uint32_t>(pc - frame->code->words);
    run.top = frame;
    clock = end - static_cast<std::uint64_t>(left);
  };
  // A source read without moving it out is a second place for what it holds.
  auto copy = [&](Value v) CAIRN_INLINE -> Value {
    if constexpr (Taped) return duplicate(tape, v);
    else return Heap::retain(v);
  };
  auto take = [&](std::uint16_t field) CAIRN_INLINE -> Value {
    Value v = SOURCE(field);
    return (field & kLastUse) != 0 ? v : copy(v);
  };
  auto done_with = [&](std::uint16_t field, Value v) CAIRN_INLINE {
    if ((field & kLastUse) != 0) heap.release(v);
  };
  auto get_field = [&](Object* o, std::uint32_t slot, Value v) CAIRN_INLINE -> Value {
    if constexpr (Taped) return read_field_taped(*tape, o, slot, v);
    else return Heap::retain(v);
  };
  // A frame that this tape has not put on itself yet.
  auto unseen = [&](const Frame* f) CAIRN_INLINE {
    if constexpr (Taped)
      if (tape->is_old(f->serial) && f->lifted == 0) return true;
    return f == nullptr;
  };
  auto expected = [this](const char* who, const char* what, Value got) {
    throw ProgramError(fmt::format("{}: expected {}, got {}", who, what, describe(got)));
  };
  auto record = [&]([[maybe_unused]] auto op, [[maybe_unused]] Value x, [[maybe_unused]] Value y, [[maybe_unused]] Value& out) CAIRN_INLINE {
    if constexpr (Taped) return taped_binary<op()>(*tape, x, y, out);
    else return false;
  };
  // A frame for a callee whose parameters are filled in by the caller.
  auto push_frame = [&heap](const Code* code) CAIRN_INLINE -> Frame* {
    Frame* f = heap.make_frame(code);
    f->pc = 0;
    f->result = bytecode::kNoRegister;
    f->lifted = 0;
    return f;
  };
  auto switch_to = [&](Frame* f) CAIRN_INLINE {
    frame = f;
    pc = f->code->words;
  };
  auto element = [this, &expected](Value v, Value index, const char* who) -> std::uint64_t {
    if (!value::is_vector(v)) expected(who, "a vector", v);
    std::int64_t i = index.is_integer() ? index.integer() : to_index(index, "vector-ref: expected an index");
    std::uint64_t length = value::as_vector(v)->length;
    if (i < 0 || static_cast<std::uint64_t>(i) >= length)
      throw ProgramError(length == 0 ? fmt::format("{}: index {} into an empty vector", who, i)
                                     : fmt::format("{}: index {} is outside 0..{}", who, i, length - 1));
    return static_cast<std::uint64_t>(i);
  };

  try {
    NEXT(0);

  op_constant:
    frame->slots()[A] = constants[bytecode::wide_index(w)];  // immortal: no count
    NEXT(1);
  op_integer:
    frame->slots()[A] = value::integer_unchecked(static_cast<std::int16_t>(B));
    NEXT(1);
  op_move:
    frame->slots()[A] = take(B);
    NEXT(1);
  op_drop:
    for (std::uint16_t f : {A, B, C})
      if ((f & kRegister) != bytecode::kNoRegister) heap.release(SOURCE(f));
    NEXT(1);
  op_global: {
    Value v = globals[B];
    if (v == value::kUndefined) throw ProgramError(loaded.module.globals[B] + " is used before its definition has run");
    frame->slots()[A] = copy(v);
    NEXT(1);
  }
  op_set_global: {
    Value v = take(A);
    heap.release(globals[B]);
    globals[B] = v;
    NEXT(1);
  }
  op_check_global:
    if (globals[A] == value::kUndefined) throw ProgramError(loaded.module.globals[A] + " is used before its definition has run");
    NEXT(1);

    // --- pairs and vectors
  op_cons: {
    auto* p = static_cast<value::Pair*>(heap.allocate(sizeof(value::Pair), Kind::pair));
    p->car = take(B);
    p->cdr = take(C);
    frame->slots()[A] = value::of_pair(p);
    NEXT(1);
  }
  op_car: {
    std::uint16_t b = B;
    Value v = SOURCE(b);
    if (!v.is_pair()) [[unlikely]]
      expected("car", "a pair", v);
    value::Pair* p = v.pair();
    Value x = get_field(p, 0, p->car);
    if ((b & kLastUse) != 0) heap.release(p);
    frame->slots()[A] = x;
    NEXT(1);
  }
  op_cdr: {
    std::uint16_t b = B;
    Value v = SOURCE(b);
    if (!v.is_pair()) [[unlikely]]
      expected("cdr", "a pair", v);
    value::Pair* p = v.pair();
    Value x = get_field(p, 1, p->cdr);
    if ((b & kLastUse) != 0) heap.release(p);
    frame->slots()[A] = x;
    NEXT(1);
  }
  op_uncons: {
    std::uint16_t c = C;
    Value v = SOURCE(c);
    if (!v.is_pair()) [[unlikely]]
      expected("car", "a pair", v);
    value::Pair* p = v.pair();
    if (!Taped && (c & kLastUse) != 0 && p->count == 1) {
      frame->slots()[A] = p->car;
      frame->slots()[B] = p->cdr;
      heap.discard(p);
    } else {
      Value x = get_field(p, 0, p->car), y = get_field(p, 1, p->cdr);
      if ((c & kLastUse) != 0) heap.release(p);
      frame->slots()[A] = x;
      frame->slots()[B] = y;
    }
    NEXT(1);
  }
  op_vector: {
    unsigned n = C;
    value::Vector* v = heap.make_vector(n);
    for (unsigned i = 0; i < n; ++i) v->items()[i] = take(operand(pc, i));
    frame->slots()[A] = value::of_other(v);
    NEXT(words_of(w));
  }
  op_vector_ref: {
    std::uint16_t b = B, c = C;
    Value v = SOURCE(b), index = SOURCE(c);
    std::uint64_t i = element(v, index, "vector-ref");
    Value x = get_field(v.other(), static_cast<std::uint32_t>(i), value::as_vector(v)->items()[i]);
    done_with(b, v);
    done_with(c, index);
    frame->slots()[A] = x;
    NEXT(1);
  }
  op_vector_length: {
    std::uint16_t b = B;
    Value v = SOURCE(b);
    if (!value::is_vector(v)) expected("vector-length", "a vector", v);
    Value n = value::integer(static_cast<std::int64_t>(value::as_vector(v)->length));
    done_with(b, v);
    frame->slots()[A] = n;
    NEXT(1);
  }
  op_vector_update: {
    std::uint16_t fv = operand(pc, 0), fi = operand(pc, 1), fx = operand(pc, 2);
    Value v = SOURCE(fv), index = SOURCE(fi);
    std::uint64_t i = element(v, index, "vector-update");
    value::Vector* old = value::as_vector(v);
    if (!Taped && (fv & kLastUse) != 0 && old->count == 1) {  // nobody else sees it: in place, under a new name
      old->serial = heap.next_serial++;
      Value x = take(fx);
      heap.release(old->items()[i]);
      old->items()[i] = x;
      done_with(fi, index);
      frame->slots()[A] = v;
    } else {
      value::Vector* made = heap.make_vector(old->length);
      for (std::uint64_t k = 0; k < old->length; ++k)
        made->items()[k] = k == i ? value::kUnspecified : get_field(old, static_cast<std::uint32_t>(k), old->items()[k]);
      made->items()[i] = take(fx);
      done_with(fi, index);
      done_with(fv, v);
      frame->slots()[A] = value::of_other(made);
    }
    NEXT(words_of(w));
  }
  op_make_vector: {
    std::uint16_t b = B, c = C;
    Value size = SOURCE(b), x = SOURCE(c);
    std::int64_t n = to_index(size, "make-vector: expected a length");
    if (n < 0) throw ProgramError(fmt::format("make-vector: the length {} is negative", n));
    value::Vector* v = heap.make_vector(static_cast<std::uint64_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v->items()[i] = copy(x);
    done_with(b, size);
    done_with(c, x);
    frame->slots()[A] = value::of_other(v);
    NEXT(1);
  }
  op_list_vector: {
    std::uint16_t b = B;
    Value list = SOURCE(b);
    std::uint64_t n = 0;
    Value at = list;
    for (; at.is_pair(); at = at.pair()->cdr) ++n;
    if (at != value::kNull) expected("list->vector", "a list", list);
    value::Vector* v = heap.make_vector(n);
    at = list;
    for (std::uint64_t i = 0; i < n; ++i, at = at.pair()->cdr) v->items()[i] = get_field(at.pair(), 0, at.pair()->car);
    done_with(b, list);
    frame->slots()[A] = value::of_other(v);
    NEXT(1);
  }

    // --- procedures
  op_group: {
    const bytecode::Group& g = loaded.module.groups[B];
    unsigned n = C;
    Block* block = heap.make_block(static_cast<std::uint32_t>(g.functions.size()), n);
    for (std::size_t i = 0; i < g.functions.size(); ++i)
      block->procedure(static_cast<std::uint32_t>(i))->code = &codes[g.functions[i]];
    for (unsigned i = 0; i < n; ++i) block->captured()[i] = take(operand(pc, i));
    frame->slots()[A] = value::of_procedure(block->procedure(0));
    NEXT(words_of(w));
  }
  op_sibling: {
    std::uint16_t b = B;
    Value f = SOURCE(b);
    if (!f.is_procedure()) expected("sibling", "a procedure", f);
    Block* block = value::block_of(f.procedure());
    if (C >= block->procedures) throw ProgramError("invalid bytecode: no such procedure in its group");
    if ((b & kLastUse) == 0) Heap::retain(block);
    frame->slots()[A] = value::of_procedure(block->procedure(C));
    NEXT(1);
  }
  op_capture: {
    std::uint16_t b = B;
    Value f = SOURCE(b);
    if (!f.is_procedure()) [[unlikely]]
      expected("capture", "a procedure", f);
    Block* block = value::block_of(f.procedure());
    if (C >= block->captures) [[unlikely]]
      throw ProgramError("invalid bytecode: no such captured value");
    Value x = get_field(block, C, block->captured()[C]);
    if ((b & kLastUse) != 0) heap.release(block);
    frame->slots()[A] = x;
    NEXT(1);
  }
  op_call: {
    const Code* code = &codes[B];
    unsigned n = C;
    Frame* f = push_frame(code);
    Value* slots = f->slots();
    for (unsigned i = 0; i < n; ++i) slots[i] = take(operand(pc, i));
    f->parent = frame;
    frame->pc = static_cast<std::uint32_t>(pc - frame->code->words) + 1 + (n + 3) / 4;
    frame->result = A;
    switch_to(f);
    NEXT(0);
  }
  op_tail_call: {
    const Code* code = &codes[B];
    unsigned n = C;
    Frame* f = push_frame(code);
    Value* slots = f->slots();
    for (unsigned i = 0; i < n; ++i) slots[i] = take(operand(pc, i));
    f->parent = frame->parent;
    heap.discard(frame);
    switch_to(f);
    NEXT(0);
  }
  op_call_value:
  op_tail_call_value: {
    bool tail = (w & 0xFFFF) == static_cast<std::uint64_t>(Opcode::tail_call_value);
    std::uint16_t b = B;
    unsigned n = C;
    Value callee = SOURCE(b);
    Frame* f = nullptr;
    if (callee.is_procedure() && callee.procedure()->code->parameters == n && !callee.procedure()->code->rest) [[likely]] {
      const Code* code = callee.procedure()->code;
      f = push_frame(code);
      Value* slots = f->slots();
      for (unsigned i = 0; i < n; ++i) slots[i] = take(operand(pc, i));
      if (code->needs_closure) slots[n] = (b & kLastUse) != 0 ? callee : Heap::retain(callee);
      else done_with(b, callee);
    } else {
      f = call_in_general<Taped>(*this, tape, frame, pc, n, callee);
      done_with(b, callee);
    }
    if (tail) {
      f->parent = frame->parent;
      heap.discard(frame);
    } else {
      f->parent = frame;
      frame->pc = static_cast<std::uint32_t>(pc - frame->code->words) + 1 + (n + 3) / 4;
      frame->result = A;
    }
    switch_to(f);
    NEXT(0);
  }
  op_apply:
  op_tail_apply: {
    bool tail = (w & 0xFFFF) == static_cast<std::uint64_t>(Opcode::tail_apply);
    std::uint16_t b = B, c = C;
    Value callee = SOURCE(b), list = SOURCE(c);
    Frame* f = apply_to_list<Taped>(*this, tape, callee, list);
    done_with(b, callee);
    done_with(c, list);
    if (tail) {
      f->parent = frame->parent;
      heap.discard(frame);
    } else {
      f->parent = frame;
      frame->pc = static_cast<std::uint32_t>(pc - frame->code->words) + 1;
      frame->result = A;
    }
    switch_to(f);
    NEXT(0);
  }
  op_ret_drop: {
    std::uint16_t keep = A & kRegister;
    frame->pc = static_cast<std::uint32_t>(pc - frame->code->words);
    frame->result = bytecode::kNoRegister;
    value::for_each_live(frame, [&heap, keep, slots = frame->slots()](std::uint32_t slot) {
      if (slot != keep) heap.release(slots[slot]);
    });
  }
    goto op_ret;
  op_ret: {
    Value v = SOURCE(A);
    Frame* parent = frame->parent;
    heap.discard(frame);
    if (parent == nullptr) [[unlikely]] {
      run.top = nullptr;
      clock = end - static_cast<std::uint64_t>(left);
      written_back = true;
      return finish_run(v) ? Exit::switched : Exit::done;
    }
    if (parent->count != 1 || parent->serial < epoch || unseen(parent)) [[unlikely]] {
      frame = parent;  // so that an error finds a frame
      pc = frame->code->words + frame->pc;
      run.top = parent;
      parent = enter(run, parent);
    }
    frame = parent;
    pc = frame->code->words + frame->pc;
    frame->slots()[frame->result] = v;
    frame->result = bytecode::kNoRegister;
    NEXT(0);
  }

    // --- control
  op_jump: NEXT(bytecode::long_jump(w));
  op_jump_false: {
    std::uint16_t a = A;
    Value v = SOURCE(a);
    done_with(a, v);
    if (v == value::kFalse) GO(B);
    NEXT(1);
  }
  op_jump_not_null: {
    std::uint16_t a = A;
    Value v = SOURCE(a);
    done_with(a, v);
    if (v != value::kNull) GO(B);
    NEXT(1);
  }
  op_jump_not_pair: {
    std::uint16_t a = A;
    Value v = SOURCE(a);
    done_with(a, v);
    if (!v.is_pair()) GO(B);
    NEXT(1);
  }
#define COMPARE_JUMP(x, fx, y, fy, op, slow)                                                                                     \
  {                                                                                                                              \
    bool holds;                                                                                                                  \
    if (x.is_integer() && y.is_integer()) {                                                                                      \
      holds = static_cast<std::int64_t>(x.bits << 16) op static_cast<std::int64_t>(y.bits << 16);                                \
    } else if (x.is_flonum() && y.is_flonum()) {                                                                                 \
      holds = x.flonum() op y.flonum();                                                                                          \
    } else {                                                                                                                     \
      holds = slow;                                                                                                              \
      done_with(fx, x);                                                                                                          \
      done_with(fy, y);                                                                                                          \
    }                                                                                                                            \
    if (!holds) GO(C);                                                                                                           \
    NEXT(1);                                                                                                                     \
  }
  op_jump_not_lt: {
    std::uint16_t a = A, b = B;
    Value x = SOURCE(a), y = SOURCE(b);
    COMPARE_JUMP(x, a, y, b, <, less(x, y))
  }
  op_jump_not_le: {
    std::uint16_t a = A, b = B;
    Value x = SOURCE(a), y = SOURCE(b);
    COMPARE_JUMP(x, a, y, b, <=, less_equal(x, y))
  }
  op_jump_not_eq: {
    std::uint16_t a = A, b = B;
    Value x = SOURCE(a), y = SOURCE(b);
    COMPARE_JUMP(x, a, y, b, ==, number_equal(x, y))
  }
  op_jump_not_lt_k: {
    std::uint16_t a = A;
    Value x = SOURCE(a), y = constants[B];
    COMPARE_JUMP(x, a, y, 0, <, less(x, y))
  }
  op_jump_not_le_k: {
    std::uint16_t a = A;
    Value x = SOURCE(a), y = constants[B];
    COMPARE_JUMP(x, a, y, 0, <=, less_equal(x, y))
  }
  op_jump_not_gt_k: {
    std::uint16_t a = A;
    Value x = SOURCE(a), y = constants[B];
    COMPARE_JUMP(x, a, y, 0, >, less(y, x))
  }
  op_jump_not_ge_k: {
    std::uint16_t a = A;
    Value x = SOURCE(a), y = constants[B];
    COMPARE_JUMP(x, a, y, 0, >=, less_equal(y, x))
  }
  op_jump_not_eq_k: {
    std::uint16_t a = A;
    Value x = SOURCE(a), y = constants[B];
    COMPARE_JUMP(x, a, y, 0, ==, number_equal(x, y))
  }
  op_jump_not_eqv_k: {
    std::uint16_t a = A;
    Value x = SOURCE(a);
    bool same = eqv(x, constants[B]);
    done_with(a, x);
    if (!same) GO(C);
    NEXT(1);
  }

    // --- arithmetic
#define SLOW_BINARY(Op, x, fx, y, fy)                                                                                            \
  {                                                                                                                              \
    Value v = binary(Opcode::Op, x, y);                                                                                          \
    done_with(fx, x);                                                                                                            \
    done_with(fy, y);                                                                                                            \
    frame->slots()[A] = v;                                                                                                                    \
  }
#define ARITHMETIC(Op, x, fx, y, fy, expression)                                                                                 \
  {                                                                                                                              \
    Value out;                                                                                                                   \
    if (x.is_flonum() && y.is_flonum()) frame->slots()[A] = flonum_unchecked(expression);                                                     \
    else if (integers<Opcode::Op>(x, y, out)) frame->slots()[A] = out;                                                                        \
    else if (record(std::integral_constant<Opcode, Opcode::Op>{}, x, y, out)) frame->slots()[A] = out;                                                                        \
    else SLOW_BINARY(Op, x, fx, y, fy)                                                                                           \
    NEXT(1);                                                                                                                     \
  }
#define ARITHMETIC_RR(Op, symbol)                                                                                                \
  op_##Op : {                                                                                                                    \
    std::uint16_t b = B, c = C;                                                                                                  \
    Value x = SOURCE(b), y = SOURCE(c);                                                                                          \
    ARITHMETIC(Op, x, b, y, c, x.flonum() symbol y.flonum())                                                                     \
  }
#define ARITHMETIC_RK(name, Op, symbol)                                                                                          \
  op_##name : {                                                                                                                  \
    std::uint16_t b = B;                                                                                                         \
    Value x = SOURCE(b), y = constants[C];                                                                                       \
    ARITHMETIC(Op, x, b, y, 0, x.flonum() symbol y.flonum())                                                                     \
  }
#define ARITHMETIC_KR(name, Op, symbol)                                                                                          \
  op_##name : {                                                                                                                  \
    std::uint16_t b = B;                                                                                                         \
    Value y = SOURCE(b), x = constants[C];                                                                                       \
    ARITHMETIC(Op, x, 0, y, b, x.flonum() symbol y.flonum())                                                                     \
  }
    ARITHMETIC_RR(add, +)
    ARITHMETIC_RR(sub, -)
    ARITHMETIC_RR(mul, *)
    ARITHMETIC_RR(div, /)
  op_add_i: {
    std::uint16_t b = B;
    Value x = SOURCE(b), y = value::integer_unchecked(static_cast<std::int16_t>(C));
    Value out;
    if (integers<Opcode::add>(x, y, out)) frame->slots()[A] = out;
    else if (x.is_flonum()) frame->slots()[A] = flonum_unchecked(x.flonum() + static_cast<double>(static_cast<std::int16_t>(C)));
    else if (record(std::integral_constant<Opcode, Opcode::add>{}, x, y, out)) frame->slots()[A] = out;
    else SLOW_BINARY(add, x, b, y, 0)
    NEXT(1);
  }
    ARITHMETIC_RK(add_k, add, +)
    ARITHMETIC_RK(sub_k, sub, -)
    ARITHMETIC_RK(mul_k, mul, *)
    ARITHMETIC_RK(div_k, div, /)
    ARITHMETIC_KR(rsub_k, sub, -)
    ARITHMETIC_KR(rdiv_k, div, /)
#define DIVISION(name, Op, operand_y, fy, symbol)                                                                                \
  op_##name : {                                                                                                                  \
    std::uint16_t b = B;                                                                                                         \
    Value x = SOURCE(b), y = operand_y;                                                                                          \
    if (x.is_integer() && y.is_integer() && y.integer() != 0 && y.integer() != -1)                                               \
      frame->slots()[A] = value::integer_unchecked(x.integer() symbol y.integer());                                                           \
    else SLOW_BINARY(Op, x, b, y, fy)                                                                                            \
    NEXT(1);                                                                                                                     \
  }
    DIVISION(quotient, quotient, SOURCE(C), C, /)
    DIVISION(remainder, remainder, SOURCE(C), C, %)
    DIVISION(quotient_k, quotient, constants[C], 0, /)
    DIVISION(remainder_k, remainder, constants[C], 0, %)
#define SLOW_RR(Op)                                                                                                              \
  op_##Op : {                                                                                                                    \
    std::uint16_t b = B, c = C;                                                                                                  \
    Value x = SOURCE(b), y = SOURCE(c);                                                                                          \
    SLOW_BINARY(Op, x, b, y, c)                                                                                                  \
    NEXT(1);                                                                                                                     \
  }
    SLOW_RR(modulo)
    SLOW_RR(max)
    SLOW_RR(min)
    SLOW_RR(expt)
    SLOW_RR(atan2)
#define COMPARE_RR(name, function)                                                                                               \
  op_##name : {                                                                                                                  \
    std::uint16_t b = B, c = C;                                                                                                  \
    Value x = SOURCE(b), y = SOURCE(c);                                                                                          \
    bool holds = function(x, y);                                                                                                 \
    done_with(b, x);                                                                                                             \
    done_with(c, y);                                                                                                             \
    frame->slots()[A] = value::boolean(holds);                                                                                                \
    NEXT(1);                                                                                                                     \
  }
    COMPARE_RR(lt, less)
    COMPARE_RR(le, less_equal)
    COMPARE_RR(num_eq, number_equal)
    COMPARE_RR(eqv, eqv)
#define UNARY(Op, expression)                                                                                                    \
  op_##Op : {                                                                                                                    \
    std::uint16_t b = B;                                                                                                         \
    Value x = SOURCE(b);                                                                                                         \
    if (x.is_flonum()) {                                                                                                         \
      [[maybe_unused]] double d = x.flonum();                                                                                    \
      frame->slots()[A] = flonum_unchecked(expression);                                                                                       \
    } else {                                                                                                                     \
      Value v = unary(Opcode::Op, x);                                                                                            \
      done_with(b, x);                                                                                                           \
      frame->slots()[A] = v;                                                                                                                  \
    }                                                                                                                            \
    NEXT(1);                                                                                                                     \
  }
    UNARY(neg, -d)
    UNARY(abs, std::fabs(d))
    UNARY(sqrt, std::sqrt(d))
    UNARY(exp, std::exp(d))
    UNARY(log, std::log(d))
    UNARY(sin, std::sin(d))
    UNARY(cos, std::cos(d))
    UNARY(tan, std::tan(d))
    UNARY(asin, std::asin(d))
    UNARY(acos, std::acos(d))
    UNARY(atan, std::atan(d))
    UNARY(inexact, d)

    // --- predicates
#define PREDICATE(name, expression)                                                                                              \
  op_##name : {                                                                                                                  \
    std::uint16_t b = B;                                                                                                         \
    Value v = SOURCE(b);                                                                                                         \
    bool holds = expression;                                                                                                     \
    done_with(b, v);                                                                                                             \
    frame->slots()[A] = value::boolean(holds);                                                                                                \
    NEXT(1);                                                                                                                     \
  }
    PREDICATE(is_null, v == value::kNull)
    PREDICATE(is_pair, v.is_pair())
    PREDICATE(is_vector, value::is_vector(v))
    PREDICATE(is_procedure, v.is_procedure())
    PREDICATE(is_number, is_number(v))
    PREDICATE(is_boolean, value::is_boolean(v))
    PREDICATE(is_symbol, value::is_symbol(v))
    PREDICATE(is_string, value::is_string(v))
    PREDICATE(is_char, value::is_character(v))
    PREDICATE(logical_not, v == value::kFalse)
  op_is_integer: {
    std::uint16_t b = B;
    Value v = SOURCE(b);
    Value p = primal(v);
    bool holds = p.is_integer() || (p.is_flonum() && std::isfinite(p.flonum()) && p.flonum() == std::trunc(p.flonum()));
    done_with(b, v);
    frame->slots()[A] = value::boolean(holds);
    NEXT(1);
  }
  op_is_exact: {
    std::uint16_t b = B;
    Value v = SOURCE(b);
    if (!is_number(v)) expected("exact?", "a number", v);
    bool holds = v.is_integer();
    done_with(b, v);
    frame->slots()[A] = value::boolean(holds);
    NEXT(1);
  }

  op_primitive: {
    unsigned n = C;
    Value arguments[8];
    for (unsigned i = 0; i < n; ++i) arguments[i] = SOURCE(operand(pc, i));
    Value v = print::run_primitive(static_cast<bytecode::Primitive>(B), arguments, n, *this);
    if constexpr (Taped)
      if (v.is_taped() && v.tape_id() == tape->id()) v = tape->identity(v);
    for (unsigned i = 0; i < n; ++i) done_with(operand(pc, i), arguments[i]);
    frame->slots()[A] = v;
    NEXT(words_of(w));
  }
  op_fail: {
    Value v = C > 0 ? SOURCE(operand(pc, 0)) : value::kNull;
    throw ProgramError(A == 0 ? user_message(*this, v) : "no pattern matches " + describe(v));
  }

    // --- run operators: they look at the runs, so everything is written back and the loop starts anew
#define RUN_OPERATOR(name) op_##name:
    RUN_OPERATOR(run_open) RUN_OPERATOR(run_tag) RUN_OPERATOR(run_bundle) RUN_OPERATOR(run_forward) RUN_OPERATOR(run_unbundle)
    RUN_OPERATOR(run_rebundle) RUN_OPERATOR(run_operate)
    RUN_OPERATOR(run_seed) RUN_OPERATOR(run_sweep) RUN_OPERATOR(run_swept) RUN_OPERATOR(run_act) RUN_OPERATOR(run_acted)
    RUN_OPERATOR(run_more) RUN_OPERATOR(run_close) RUN_OPERATOR(run_count) RUN_OPERATOR(run_limited) RUN_OPERATOR(run_thaw)
    RUN_OPERATOR(run_scheduled) {
      const Word* instruction = pc;
      bool has_result = bytecode::kOpcodes[w & 0xFFFF].roles[0] == 'D';
      pc += words_of(w);
      save();
      frame->result = has_result ? A : bytecode::kNoRegister;
      written_back = true;
      return perform_run_instruction(*this, instruction) ? Exit::switched : Exit::done;
    }

  out_of_budget:
    left = 0;
    save();
    return Exit::expired;
  } catch (...) {
    if (!written_back) save();
    throw;
  }
}

template Engine::Exit Engine::dispatch<false>();
template Engine::Exit Engine::dispatch<true>();

} // namespace cairn::machine
