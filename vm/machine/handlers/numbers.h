// Handlers of arithmetic and comparison. Whatever is no flonum has the bits of a NaN, so a sum that is none proves both operands to be
// flonums; NaNs themselves go the general way. Operands of the quick ways are not counted: nothing has to be done at their last use.
#pragma once

#include "vm/machine/handlers/loop.h"

namespace cairn::machine {
namespace {

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
template <Opcode Op> [[gnu::always_inline]] inline bool record(Tape& tape, Value x, Value y, Value& out) {
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
    out = tape.append_quickly(v, ny, dy, tape::kNone, 0);
  } else {
    out = tape.append_quickly(v, nx, dx, ny, dy);
  }
  return true;
}

template <Opcode Op> inline bool integers(Value x, Value y, Value& out) {
  if (!are_integers(x, y)) return false;
  std::int64_t a = shifted(x), b = shifted(y), s = 0;
  bool overflow = false;
  if constexpr (Op == Opcode::add) overflow = __builtin_add_overflow(a, b, &s);
  else if constexpr (Op == Opcode::sub) overflow = __builtin_sub_overflow(a, b, &s);
  else if constexpr (Op == Opcode::mul) overflow = __builtin_mul_overflow(a, b >> 16, &s);
  else return false;
  if (overflow) return false;
  out = unshifted(s);
  return true;
}

// The tape needs another chunk before the instruction can be recorded; then it is begun again, as the same step.
RARE(more_tape) {
  SAVE();
  e->loop.tape->grow();
  ++left;
  NEXT(0);
}

// Flonums stand behind `Op` with x and y; fx and fy are the fields they came from, 0 for what is not counted.
#define ARITHMETIC(name, Op, symbol, first, second, fx, fy)                                                                      \
  RARE(name##_slow) {                                                                                                            \
    SAVE();                                                                                                                      \
    Value x = first, y = second;                                                                                                 \
    Value v = e->binary(Opcode::Op, x, y);                                                                                       \
    done_with(e, fx, x);                                                                                                         \
    done_with(e, fy, y);                                                                                                         \
    SLOT(A) = v;                                                                                                                 \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  OUTLINE(name##_recorded) {                                                                                                     \
    Tape& tape = *e->loop.tape;                                                                                                  \
    Value out;                                                                                                                   \
    if (tape.is_full()) CONTINUE(more_tape);                                                                                     \
    if (!record<Opcode::Op>(tape, first, second, out)) CONTINUE(name##_slow);                                                    \
    SLOT(A) = out;                                                                                                               \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = first, y = second;                                                                                                 \
    double d = x.flonum() symbol y.flonum();                                                                                     \
    Value out;                                                                                                                   \
    if (d == d) out = flonum_unchecked(d);                                                                                       \
    else if (!integers<Opcode::Op>(x, y, out)) {                                                                                 \
      if constexpr (kTaped) CONTINUE(name##_recorded);                                                                           \
      else CONTINUE(name##_slow);                                                                                                \
    }                                                                                                                            \
    SLOT(A) = out;                                                                                                               \
    NEXT(1);                                                                                                                     \
  }
#define CONSTANT_C e->loop.constants[C]
#define ARITHMETIC_RR(Op, symbol) ARITHMETIC(Op, Op, symbol, SOURCE(B), SOURCE(C), B, C)
#define ARITHMETIC_RK(name, Op, symbol) ARITHMETIC(name, Op, symbol, SOURCE(B), CONSTANT_C, B, 0)
#define ARITHMETIC_KR(name, Op, symbol) ARITHMETIC(name, Op, symbol, CONSTANT_C, SOURCE(B), 0, B)
ARITHMETIC_RR(add, +)
ARITHMETIC_RR(sub, -)
ARITHMETIC_RR(mul, *)
ARITHMETIC_RR(div, /)
ARITHMETIC_RK(add_k, add, +)
ARITHMETIC_RK(sub_k, sub, -)
ARITHMETIC_RK(mul_k, mul, *)
ARITHMETIC_RK(div_k, div, /)
ARITHMETIC_KR(rsub_k, sub, -)
ARITHMETIC_KR(rdiv_k, div, /)

OUTLINE(add_i_slow) {
  SAVE();
  std::uint16_t b = B;
  Value x = SOURCE(b), y = value::integer_unchecked(IMMEDIATE(C));
  Value out;
  if (x.is_flonum()) {
    out = flonum_unchecked(x.flonum() + static_cast<double>(IMMEDIATE(C)));
  } else if (kTaped && e->loop.tape->is_full()) {
    CONTINUE(more_tape);
  } else if (!kTaped || !record<Opcode::add>(*e->loop.tape, x, y, out)) {
    out = e->binary(Opcode::add, x, y);
    done_with(e, b, x);
  }
  SLOT(A) = out;
  NEXT(1);
}
HANDLER(add_i) {
  Value x = SOURCE(B);
  std::int64_t sum = 0;
  if (!x.is_integer() || __builtin_add_overflow(shifted(x), IMMEDIATE(C) * 65536, &sum)) [[unlikely]]
    CONTINUE(add_i_slow);
  SLOT(A) = unshifted(sum);
  NEXT(1);
}

#define GENERAL(Op, second, fy)                                                                                                  \
  SAVE();                                                                                                                        \
  std::uint16_t b = B;                                                                                                           \
  Value x = SOURCE(b), y = second;                                                                                               \
  Value v = e->binary(Opcode::Op, x, y);                                                                                         \
  done_with(e, b, x);                                                                                                            \
  done_with(e, fy, y);                                                                                                           \
  SLOT(A) = v;                                                                                                                   \
  NEXT(1)
#define DIVISION(name, Op, second, fy, symbol)                                                                                   \
  OUTLINE(name##_slow) { GENERAL(Op, second, fy); }                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = SOURCE(B), y = second;                                                                                             \
    if (!are_integers(x, y) || y.integer() == 0 || y.integer() == -1) [[unlikely]]                                               \
      CONTINUE(name##_slow);                                                                                                     \
    SLOT(A) = value::integer_unchecked(x.integer() symbol y.integer());                                                          \
    NEXT(1);                                                                                                                     \
  }
DIVISION(quotient, quotient, SOURCE(C), C, /)
DIVISION(remainder, remainder, SOURCE(C), C, %)
DIVISION(quotient_k, quotient, CONSTANT_C, 0, /)
DIVISION(remainder_k, remainder, CONSTANT_C, 0, %)
#define GENERAL_RR(Op)                                                                                                           \
  HANDLER(Op) { GENERAL(Op, SOURCE(C), C); }
GENERAL_RR(modulo)
GENERAL_RR(max)
GENERAL_RR(min)
GENERAL_RR(expt)
GENERAL_RR(atan2)

#define COMPARE(name, op, general)                                                                                               \
  OUTLINE(name##_slow) {                                                                                                         \
    SAVE();                                                                                                                      \
    std::uint16_t b = B, c = C;                                                                                                  \
    Value x = SOURCE(b), y = SOURCE(c);                                                                                          \
    bool holds = e->general(x, y);                                                                                               \
    done_with(e, b, x);                                                                                                          \
    done_with(e, c, y);                                                                                                          \
    SLOT(A) = value::boolean(holds);                                                                                             \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = SOURCE(B), y = SOURCE(C);                                                                                          \
    if (are_integers(x, y)) {                                                                                                    \
      SLOT(A) = value::boolean(shifted(x) op shifted(y));                                                                        \
    } else {                                                                                                                     \
      double a = x.flonum(), b = y.flonum();                                                                                     \
      if (__builtin_isunordered(a, b)) CONTINUE(name##_slow);                                                                    \
      SLOT(A) = value::boolean(a op b);                                                                                          \
    }                                                                                                                            \
    NEXT(1);                                                                                                                     \
  }
COMPARE(lt, <, less)
COMPARE(le, <=, less_equal)
COMPARE(num_eq, ==, number_equal)
HANDLER(eqv) {
  std::uint16_t b = B, c = C;
  Value x = SOURCE(b), y = SOURCE(c);
  bool same = e->eqv(x, y);
  done_with(e, b, x);
  done_with(e, c, y);
  SLOT(A) = value::boolean(same);
  NEXT(1);
}

#define UNARY(Op, expression)                                                                                                    \
  OUTLINE(Op##_slow) {                                                                                                           \
    SAVE();                                                                                                                      \
    std::uint16_t b = B;                                                                                                         \
    Value x = SOURCE(b);                                                                                                         \
    Value v = e->unary(Opcode::Op, x);                                                                                           \
    done_with(e, b, x);                                                                                                          \
    SLOT(A) = v;                                                                                                                 \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(Op) {                                                                                                                  \
    Value x = SOURCE(B);                                                                                                         \
    if (!x.is_flonum()) CONTINUE(Op##_slow);                                                                                     \
    double d = x.flonum();                                                                                                       \
    SLOT(A) = flonum_unchecked(expression);                                                                                      \
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

} // namespace
} // namespace cairn::machine
