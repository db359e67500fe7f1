// The machine's loop without a loop: every instruction has a handler, a function that ends in a jump to the next one. What other
// interpreters keep in locals are the arguments that all handlers have in common, so they stay in registers, whatever a handler's
// rare cases need; those stand in functions of their own, reached by a jump as well.
//
// The handlers are compiled twice: CAIRN_TAPED says whether the run records on a tape. Only the build says that calls become
// jumps (CAIRN_JUMPS, where test/tools/tail_calls.py watches); elsewhere handlers return to a loop after each instruction.
#pragma once

#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/print/primitives.h"
#include "vm/value/tensor_object.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace cairn::machine {
namespace {

using bytecode::kLastUse;
using value::flonum_unchecked;
using Exit = Engine::Exit;

constexpr bool kTaped = CAIRN_TAPED;
using bytecode::kRegister;

#ifndef CAIRN_JUMPS
#define CAIRN_JUMPS 0
#endif

// The arguments that every handler has: the machine, the frame on top, the current instruction, the steps that are left after it,
// the handlers by opcode.
#define CAIRN_REGISTERS                                                                                                          \
  [[maybe_unused]] Engine *const e, [[maybe_unused]] Frame *frame, [[maybe_unused]] const Word *pc,                              \
      [[maybe_unused]] std::int64_t left, [[maybe_unused]] const void *const handlers
#define CAIRN_PASS e, frame, pc, left, handlers
using Handler = Engine::Handler;

#define HANDLER(name) Exit op_##name(CAIRN_REGISTERS)
// The parts of a handler that are needed less often, and rarely: functions of their own, reached by CONTINUE.
#define OUTLINE(name) [[gnu::noinline]] Exit name(CAIRN_REGISTERS)
#define RARE(name) [[gnu::noinline, gnu::cold]] Exit name(CAIRN_REGISTERS)
#define CONTINUE(name) return name(CAIRN_PASS)

// Field i of the instruction: 1 is a, 2 is b, 3 is c, 4 and up are the operands in the words that follow.
static_assert(std::endian::native == std::endian::little, "instruction words are read in halves");
inline std::uint16_t field(const Word* pc, unsigned i) {
  std::uint16_t f;
  std::memcpy(&f, reinterpret_cast<const char*>(pc) + 2 * i, sizeof f);
  return f;
}
#define A field(pc, 1)
#define B field(pc, 2)
#define C field(pc, 3)
#define OPERAND(i) field(pc, 4 + (i))
inline std::span<const std::uint16_t> fields(const Word* pc, unsigned first, unsigned n) {
  return {reinterpret_cast<const std::uint16_t*>(pc) + first, n};
}
inline std::span<const std::uint16_t> operands(const Word* pc, unsigned n) { return fields(pc, 4, n); }
#define IMMEDIATE(f) static_cast<std::int64_t>(static_cast<std::int16_t>(f))
#define SLOT(f) frame->slots()[f]
#define SOURCE(f) frame->slots()[(f)&kRegister]

// Written back before anything that looks at the runs or may throw.
inline void save(Engine* e, Frame* frame, const Word* pc, std::int64_t left) {
  frame->rest_at(pc);
  e->loop.run->top = frame;
  e->clock = e->loop.end - static_cast<std::uint64_t>(left);
}
#define SAVE() save(e, frame, pc, left)

[[maybe_unused]] RARE(out_of_budget) {
  left = 0;
  SAVE();
  return Exit::expired;
}

#ifdef CAIRN_UNCOUNTED // for the benchmark of what counting costs; such a build cannot be interrupted
#define CAIRN_COUNT_STEP
#else
#define CAIRN_COUNT_STEP                                                                                                         \
  if (--left < 0) [[unlikely]]                                                                                                   \
    return out_of_budget(CAIRN_PASS);
#endif
#if CAIRN_JUMPS
#define NEXT(words)                                                                                                              \
  do {                                                                                                                           \
    pc += (words);                                                                                                               \
    CAIRN_COUNT_STEP                                                                                                             \
    return static_cast<const Handler*>(handlers)[field(pc, 0)](CAIRN_PASS);                                                      \
  } while (0)
#else
#define NEXT(words)                                                                                                              \
  do {                                                                                                                           \
    pc += (words);                                                                                                               \
    CAIRN_COUNT_STEP                                                                                                             \
    e->loop.frame = frame;                                                                                                       \
    e->loop.pc = pc;                                                                                                             \
    e->loop.left = left;                                                                                                         \
    return Exit::next;                                                                                                           \
  } while (0)
#endif
#define GO(offset) NEXT(static_cast<std::int16_t>(offset))

// The end of an instruction that may have put tensors on the tape.
#define NEXT_ON_TAPE(words)                                                                                                      \
  do {                                                                                                                           \
    if constexpr (kTaped) {                                                                                                      \
      if (e->loop.tape->may_end()) [[unlikely]] {                                                                                \
        pc += (words);                                                                                                           \
        SAVE();                                                                                                                  \
        return interval_ends(CAIRN_PASS);                                                                                        \
      }                                                                                                                          \
    }                                                                                                                            \
    NEXT(words);                                                                                                                 \
  } while (0)
[[maybe_unused]] RARE(interval_ends) {
  e->end_interval();
  return Exit::switched;
}

// --- values. A source read without moving it out is a second place for what it holds (docs/design.md 5.1).

// May throw on a tape: everything is written back then. Apart, and with bits instead of a Value: whatever GCC believes to be on
// the stack keeps it from making a jump of the last call.
[[maybe_unused, gnu::noinline]] std::uint64_t copy_on_tape(CAIRN_REGISTERS, std::uint64_t bits) {
  SAVE();
  return e->loop.tape->identity({bits}).bits;
}
inline Value copy(CAIRN_REGISTERS, Value v) {
  if constexpr (kTaped) {
    if (e->loop.tape->has(v)) return {copy_on_tape(CAIRN_PASS, v.bits)};
  }
  return Heap::retain(v);
}
#define COPY(v) copy(CAIRN_PASS, v)
// For handlers that move operands into a new object: makes sure that the tape has space for a record for each of them, so that
// nothing can throw when some have been moved. Otherwise the slow way does it, which can be stopped half-way.
#define WANT_SPACE(copies, slowly)                                                                                               \
  if constexpr (kTaped) {                                                                                                        \
    if (!e->loop.tape->has_space(static_cast<std::ptrdiff_t>(copies))) [[unlikely]]                                              \
      CONTINUE(slowly);                                                                                                          \
  }
inline Value take(CAIRN_REGISTERS, std::uint16_t f) {
  Value v = SOURCE(f);
  return (f & kLastUse) != 0 ? v : COPY(v);
}
#define TAKE(f) take(CAIRN_PASS, f)

// Field `slot` of an object; everything must be written back on a tape.
inline Value get_field(Engine* e, Object* o, std::uint32_t slot, Value v) {
  if constexpr (kTaped)
    return e->read_field_taped(*e->loop.tape, o, slot, v);
  else
    return Heap::retain(v);
}
// True if a field with this value is read by copying it: it is no number, for which a tape needs a node.
inline bool plain_field(Value v) { return !kTaped || (!v.is_flonum() && !v.is_taped()); }

// Releases a source that has been read, if that was its last use.
inline void done_with(Engine* e, std::uint16_t f, Value v) {
  if ((f & kLastUse) != 0) e->heap().release(v);
}
// Gives up a reference that is not the last one; false: it is.
inline bool give_up_shared(Object* o) {
  if (o->count == 1) return false;
  if (static_cast<std::int32_t>(o->count) > 0) --o->count; // else immortal
  return true;
}
// True if nothing has to be released when source `f`, which holds v, has been read.
inline bool idle(std::uint16_t f, Value v) { return (f & kLastUse) == 0 || !v.is_object(); }

[[noreturn]] void expected(const Engine& e, const char* who, const char* what, Value got) {
  throw ProgramError(fmt::format("{}: expected {}, got {}{}", who, what, e.describe(got), hint_of_operand(what, got)));
}

// Comparisons of tensors give tensors of u8, which would be true whatever their elements are.
void check_condition(const Engine& e, Value v) {
  if (tensors::is_recorded_comparison(v)) tensors::refuse_recorded(e, "a condition");
  if (value::is_tensor(v) && value::tensor_of(v).dtype == ops::DType::u8)
    throw ProgramError(fmt::format(
        "{} is no condition: what comparisons of tensors give is looked at by its elements, as in (= 1 (tensor->number t))",
        e.describe(v)));
}

// Is this a frame older than the tape whose live slots have not been lifted onto it yet?
inline bool unseen(Engine* e, const Frame* f) {
  if constexpr (kTaped) return e->loop.tape->is_old(f->serial) && !f->lifted();
  return e == nullptr;
}

// True if any other value is eqv? to v exactly when it has the same bits. Of flonums, taped numbers and objects the contents may
// matter.
inline bool same_if_bits_are(Value v) { return !v.is_flonum() && !v.is_object() && !v.is_taped(); }

inline bool are_integers(Value x, Value y) { return x.is_integer() && y.is_integer(); }
inline std::int64_t shifted(Value integer) { return static_cast<std::int64_t>(integer.bits << 16); }
inline Value unshifted(std::int64_t i) { return {static_cast<std::uint64_t>(i) >> 16 | value::kIntegerTag << value::kTagShift}; }

} // namespace
} // namespace cairn::machine
