// Handlers of arithmetic and comparison. Whatever is no flonum has the bits of a NaN, so a sum that is none proves both operands
// to be flonums; NaNs themselves go the general way. Operands of the quick ways are not counted: nothing has to be done at their
// last use.
#pragma once

#include "vm/machine/handlers/loop.h"

namespace cairn::machine {
namespace {

// Which of two operands an instruction gives up, as bits.
constexpr std::uint64_t last_uses(std::uint16_t x, std::uint16_t y) { return (x >> 15 & 1u) | (y >> 14 & 2u); }

// The double that an operand is to a tape it is not on; false for what is not simply a number.
inline bool plain_double(Value v, double& d) {
  if (v.is_flonum()) {
    d = v.flonum();
    return true;
  }
  d = static_cast<double>(v.integer());
  return v.is_integer();
}

template <Opcode Op> inline double value_of(double x, double y) {
  if constexpr (Op == Opcode::add) return x + y;
  if constexpr (Op == Opcode::sub) return x - y;
  if constexpr (Op == Opcode::mul) return x * y;
  return x / y;
}
template <Opcode Op> inline double partial_x(double y) {
  if constexpr (Op == Opcode::mul) return y;
  if constexpr (Op == Opcode::div) return 1 / y;
  return 1;
}
template <Opcode Op> inline double partial_y(double x, double y, double v) {
  if constexpr (Op == Opcode::sub) return -1;
  if constexpr (Op == Opcode::mul) return x;
  if constexpr (Op == Opcode::div) return -v / y;
  return 1;
}

template <Opcode Op> inline bool integers(Value x, Value y, Value& out) {
  if (!are_integers(x, y)) return false;
  std::int64_t a = shifted(x), b = shifted(y), s = 0;
  bool overflow = false;
  if constexpr (Op == Opcode::add)
    overflow = __builtin_add_overflow(a, b, &s);
  else if constexpr (Op == Opcode::sub)
    overflow = __builtin_sub_overflow(a, b, &s);
  else if constexpr (Op == Opcode::mul)
    overflow = __builtin_mul_overflow(a, b >> 16, &s);
  else
    return false;
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

// Flonums stand behind `Op` with x and y; fx and fy are the fields they came from, 0 for what is not counted. On a tape there is
// a way for numbers of that tape on both sides, or beside a plain number.
#define ARITHMETIC(name, Op, symbol, first, second, fx, fy)                                                                      \
  RARE(name##_slow) {                                                                                                            \
    SAVE();                                                                                                                      \
    Value x = first, y = second;                                                                                                 \
    Value v = e->arithmetic(Opcode::Op, x, y, last_uses(fx, fy));                                                                \
    done_with(e, fx, x);                                                                                                         \
    done_with(e, fy, y);                                                                                                         \
    SLOT(A) = v;                                                                                                                 \
    NEXT_ON_TAPE(1);                                                                                                             \
  }                                                                                                                              \
  OUTLINE(name##_both) {                                                                                                         \
    Tape& tape = *e->loop.tape;                                                                                                  \
    if (tape.is_full()) CONTINUE(more_tape);                                                                                     \
    std::uint32_t i = first.tape_node(), j = second.tape_node();                                                                 \
    double a = tape.primal(i), b = tape.primal(j), v = value_of<Opcode::Op>(a, b);                                               \
    SLOT(A) = tape.append_quickly(v, i, partial_x<Opcode::Op>(b), j, partial_y<Opcode::Op>(a, b, v));                            \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  OUTLINE(name##_left) {                                                                                                         \
    Tape& tape = *e->loop.tape;                                                                                                  \
    double b = 0;                                                                                                                \
    if (!plain_double(second, b)) CONTINUE(name##_slow);                                                                         \
    if (tape.is_full()) CONTINUE(more_tape);                                                                                     \
    std::uint32_t i = first.tape_node();                                                                                         \
    SLOT(A) = tape.append_quickly(value_of<Opcode::Op>(tape.primal(i), b), i, partial_x<Opcode::Op>(b), tape::kNone, 0);         \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  OUTLINE(name##_right) {                                                                                                        \
    Tape& tape = *e->loop.tape;                                                                                                  \
    double a = 0;                                                                                                                \
    if (!plain_double(first, a)) CONTINUE(name##_slow);                                                                          \
    if (tape.is_full()) CONTINUE(more_tape);                                                                                     \
    std::uint32_t j = second.tape_node();                                                                                        \
    double b = tape.primal(j), v = value_of<Opcode::Op>(a, b);                                                                   \
    SLOT(A) = tape.append_quickly(v, j, partial_y<Opcode::Op>(a, b, v), tape::kNone, 0);                                         \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = first, y = second;                                                                                                 \
    double d = x.flonum() symbol y.flonum();                                                                                     \
    Value out;                                                                                                                   \
    if (d == d) {                                                                                                                \
      out = flonum_unchecked(d);                                                                                                 \
    } else if (!integers<Opcode::Op>(x, y, out)) {                                                                               \
      if constexpr (kTaped) {                                                                                                    \
        const Tape& tape = *e->loop.tape;                                                                                        \
        if (tape.has(x)) {                                                                                                       \
          if (tape.has(y)) CONTINUE(name##_both);                                                                                \
          CONTINUE(name##_left);                                                                                                 \
        }                                                                                                                        \
        if (tape.has(y)) CONTINUE(name##_right);                                                                                 \
      }                                                                                                                          \
      CONTINUE(name##_slow);                                                                                                     \
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

// (- x 2) is compiled as (+ x -2), and a tensor of bytes holds 2 but no -2: what counts is the number that was written.
inline bool is_difference(Engine& engine, Value x, std::int64_t c) {
  const Value p = engine.primal(x);
  return c < 0 && value::is_tensor(p) && !ops::is_floating(value::tensor_of(p).dtype);
}

OUTLINE(add_i_slow) {
  SAVE();
  std::uint16_t b = B;
  Value x = SOURCE(b);
  const std::int64_t c = IMMEDIATE(C);
  Value out;
  if (x.is_flonum()) {
    out = flonum_unchecked(x.flonum() + static_cast<double>(c));
  } else {
    const bool negated = is_difference(*e, x, c);
    out = e->arithmetic(negated ? Opcode::sub : Opcode::add, x, value::integer_unchecked(negated ? -c : c), last_uses(b, 0));
    done_with(e, b, x);
  }
  SLOT(A) = out;
  NEXT_ON_TAPE(1);
}
OUTLINE(add_i_recorded) {
  Tape& tape = *e->loop.tape;
  if (tape.is_full()) CONTINUE(more_tape);
  std::uint32_t i = SOURCE(B).tape_node();
  SLOT(A) = tape.append_quickly(tape.primal(i) + static_cast<double>(IMMEDIATE(C)), i, 1, tape::kNone, 0);
  NEXT(1);
}
HANDLER(add_i) {
  Value x = SOURCE(B);
  std::int64_t sum = 0;
  if constexpr (kTaped) {
    if (e->loop.tape->has(x)) CONTINUE(add_i_recorded);
  }
  if (!x.is_integer() || __builtin_add_overflow(shifted(x), IMMEDIATE(C) * 65536, &sum)) [[unlikely]]
    CONTINUE(add_i_slow);
  SLOT(A) = unshifted(sum);
  NEXT(1);
}

#define GENERAL(Op, second, fy)                                                                                                  \
  SAVE();                                                                                                                        \
  std::uint16_t b = B;                                                                                                           \
  Value x = SOURCE(b), y = second;                                                                                               \
  Value v = e->arithmetic(Opcode::Op, x, y, last_uses(b, fy));                                                                   \
  done_with(e, b, x);                                                                                                            \
  done_with(e, fy, y);                                                                                                           \
  SLOT(A) = v;                                                                                                                   \
  NEXT_ON_TAPE(1)
#define DIVISION(name, Op, second, fy)                                                                                           \
  OUTLINE(name##_slow) { GENERAL(Op, second, fy); }                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = SOURCE(B), y = second;                                                                                             \
    if (!are_integers(x, y) || y.integer() == 0 || y.integer() == -1) [[unlikely]]                                               \
      CONTINUE(name##_slow);                                                                                                     \
    SLOT(A) = value::integer_unchecked(Op##_of(x.integer(), y.integer()));                                                       \
    NEXT(1);                                                                                                                     \
  }
inline std::int64_t quotient_of(std::int64_t x, std::int64_t y) { return x / y; }
inline std::int64_t remainder_of(std::int64_t x, std::int64_t y) { return x % y; }
inline std::int64_t modulo_of(std::int64_t x, std::int64_t y) {
  std::int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
DIVISION(quotient, quotient, SOURCE(C), C)
DIVISION(remainder, remainder, SOURCE(C), C)
DIVISION(modulo, modulo, SOURCE(C), C)
DIVISION(quotient_k, quotient, CONSTANT_C, 0)
DIVISION(remainder_k, remainder, CONSTANT_C, 0)
DIVISION(modulo_k, modulo, CONSTANT_C, 0)
#define GENERAL_RR(Op)                                                                                                           \
  HANDLER(Op) { GENERAL(Op, SOURCE(C), C); }
#define X(id, ...) GENERAL_RR(id)
CAIRN_NUMBER_BINARY(X)
#undef X

#define COMPARE(name, op)                                                                                                        \
  OUTLINE(name##_slow) {                                                                                                         \
    SAVE();                                                                                                                      \
    std::uint16_t b = B, c = C;                                                                                                  \
    Value x = SOURCE(b), y = SOURCE(c);                                                                                          \
    Value v = e->comparison(Opcode::name, x, y);                                                                                 \
    done_with(e, b, x);                                                                                                          \
    done_with(e, c, y);                                                                                                          \
    SLOT(A) = v;                                                                                                                 \
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
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(num_eq, ==)
OUTLINE(eqv_slow) {
  SAVE();
  std::uint16_t b = B, c = C;
  Value x = SOURCE(b), y = SOURCE(c);
  bool same = e->eqv(x, y);
  done_with(e, b, x);
  done_with(e, c, y);
  SLOT(A) = value::boolean(same);
  NEXT(1);
}
HANDLER(eqv) {
  Value x = SOURCE(B), y = SOURCE(C);
  if (!same_if_bits_are(x) || !same_if_bits_are(y)) CONTINUE(eqv_slow);
  SLOT(A) = value::boolean(x == y);
  NEXT(1);
}

#define UNARY(Op, expression)                                                                                                    \
  OUTLINE(Op##_slow) {                                                                                                           \
    SAVE();                                                                                                                      \
    std::uint16_t b = B;                                                                                                         \
    Value x = SOURCE(b);                                                                                                         \
    Value v = e->arithmetic(Opcode::Op, x, last_uses(b, 0));                                                                     \
    done_with(e, b, x);                                                                                                          \
    SLOT(A) = v;                                                                                                                 \
    NEXT_ON_TAPE(1);                                                                                                             \
  }                                                                                                                              \
  HANDLER(Op) {                                                                                                                  \
    Value x = SOURCE(B);                                                                                                         \
    if (!x.is_flonum()) CONTINUE(Op##_slow);                                                                                     \
    double d = x.flonum();                                                                                                       \
    SLOT(A) = flonum_unchecked(expression);                                                                                      \
    NEXT(1);                                                                                                                     \
  }
#define X(id, Struct, ...) UNARY(id, ops::pointwise::Struct::value<ops::pointwise::Number>(d).v)
CAIRN_NUMBER_UNARY(X)
#undef X
UNARY(inexact, d)

} // namespace
} // namespace cairn::machine
