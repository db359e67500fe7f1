// Handlers of jumps.
#pragma once

#include "vm/machine/handlers/loop.h"

namespace cairn::machine {
namespace {

HANDLER(jump) { NEXT(bytecode::long_jump(*pc)); }

// Tests of one value; an object that dies in them takes the slow way.
#define VALUE_JUMP(name, test)                                                                                                   \
  OUTLINE(name##_slow) {                                                                                                         \
    Value v = SOURCE(A);                                                                                                         \
    bool holds = test;                                                                                                           \
    done_with(e, A, v);                                                                                                          \
    if (!holds) GO(B);                                                                                                           \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    std::uint16_t a = A;                                                                                                         \
    Value v = SOURCE(a);                                                                                                         \
    if (!idle(a, v)) [[unlikely]]                                                                                                \
      CONTINUE(name##_slow);                                                                                                     \
    if (!(test)) GO(B);                                                                                                          \
    NEXT(1);                                                                                                                     \
  }

// Objects take the slow way, which looks whether they are conditions.
OUTLINE(jump_false_slow) {
  SAVE();
  Value v = SOURCE(A);
  check_condition(*e, v);
  done_with(e, A, v);
  NEXT(1);
}
HANDLER(jump_false) {
  Value v = SOURCE(A);
  if (v.is_object()) [[unlikely]]
    CONTINUE(jump_false_slow);
  if (v == value::kFalse) GO(B);
  NEXT(1);
}
VALUE_JUMP(jump_not_null, v == value::kNull)
VALUE_JUMP(jump_not_pair, v.is_pair())

// Comparisons: two integers or two flonums here; NaNs, which compare as unordered, and everything else in the slow way.
#define COMPARE_JUMP(name, first, second, op, general, uses)                                                                     \
  OUTLINE(name##_slow) {                                                                                                         \
    SAVE();                                                                                                                      \
    Value x = first, y = second;                                                                                                 \
    bool holds = e->general;                                                                                                     \
    done_with(e, A, x);                                                                                                          \
    if (uses) done_with(e, B, y);                                                                                                \
    if (!holds) GO(C);                                                                                                           \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = first, y = second;                                                                                                 \
    bool holds = false;                                                                                                          \
    if (are_integers(x, y)) {                                                                                                    \
      holds = shifted(x) op shifted(y);                                                                                          \
    } else {                                                                                                                     \
      double a = x.flonum(), b = y.flonum();                                                                                     \
      if (__builtin_isunordered(a, b)) CONTINUE(name##_slow);                                                                    \
      holds = a op b;                                                                                                            \
    }                                                                                                                            \
    if (!holds) GO(C);                                                                                                           \
    NEXT(1);                                                                                                                     \
  }
COMPARE_JUMP(jump_not_lt, SOURCE(A), SOURCE(B), <, less(x, y), true)
COMPARE_JUMP(jump_not_le, SOURCE(A), SOURCE(B), <=, less_equal(x, y), true)
COMPARE_JUMP(jump_not_eq, SOURCE(A), SOURCE(B), ==, number_equal(x, y), true)
#define CONSTANT_B e->loop.constants[B]
COMPARE_JUMP(jump_not_lt_k, SOURCE(A), CONSTANT_B, <, less(x, y), false)
COMPARE_JUMP(jump_not_le_k, SOURCE(A), CONSTANT_B, <=, less_equal(x, y), false)
COMPARE_JUMP(jump_not_gt_k, SOURCE(A), CONSTANT_B, >, less(y, x), false)
COMPARE_JUMP(jump_not_ge_k, SOURCE(A), CONSTANT_B, >=, less_equal(y, x), false)
COMPARE_JUMP(jump_not_eq_k, SOURCE(A), CONSTANT_B, ==, number_equal(x, y), false)

#define INTEGER_JUMP(name, op, general)                                                                                          \
  OUTLINE(name##_slow) {                                                                                                         \
    SAVE();                                                                                                                      \
    Value x = SOURCE(A), y = value::integer_unchecked(IMMEDIATE(B));                                                             \
    bool holds = e->general;                                                                                                     \
    done_with(e, A, x);                                                                                                          \
    if (!holds) GO(C);                                                                                                           \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = SOURCE(A);                                                                                                         \
    if (!x.is_integer()) [[unlikely]]                                                                                            \
      CONTINUE(name##_slow);                                                                                                     \
    if (!(shifted(x) op IMMEDIATE(B) * 65536)) GO(C);                                                                            \
    NEXT(1);                                                                                                                     \
  }
INTEGER_JUMP(jump_not_lt_i, <, less(x, y))
INTEGER_JUMP(jump_not_le_i, <=, less_equal(x, y))
INTEGER_JUMP(jump_not_gt_i, >, less(y, x))
INTEGER_JUMP(jump_not_ge_i, >=, less_equal(y, x))
INTEGER_JUMP(jump_not_eq_i, ==, number_equal(x, y))

#define IDENTITY_JUMP(name, second, uses)                                                                                        \
  OUTLINE(name##_slow) {                                                                                                         \
    SAVE();                                                                                                                      \
    Value x = SOURCE(A), y = second;                                                                                             \
    bool same = e->eqv(x, y);                                                                                                    \
    done_with(e, A, x);                                                                                                          \
    if (uses) done_with(e, B, y);                                                                                                \
    if (!same) GO(C);                                                                                                            \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    Value x = SOURCE(A), y = second;                                                                                             \
    if (!same_if_bits_are(x) || !same_if_bits_are(y)) CONTINUE(name##_slow);                                                     \
    if (x != y) GO(C);                                                                                                           \
    NEXT(1);                                                                                                                     \
  }
IDENTITY_JUMP(jump_not_eqv, SOURCE(B), true)
IDENTITY_JUMP(jump_not_eqv_k, CONSTANT_B, false)

} // namespace
} // namespace cairn::machine
