// Handlers of predicates, primitives, failures and the instructions of run operators.
#pragma once

#include "vm/machine/handlers/loop.h"
#include "vm/machine/recorded.h"

namespace cairn::machine {
namespace {

// `rare` is told apart in no hurry.
#define PREDICATE_BUT(name, rare, holds_then, expression)                                                                        \
  OUTLINE(name##_slow) {                                                                                                         \
    std::uint16_t b = B;                                                                                                         \
    Value v = SOURCE(b);                                                                                                         \
    bool holds = (rare) ? (holds_then) : (expression);                                                                           \
    done_with(e, b, v);                                                                                                          \
    SLOT(A) = value::boolean(holds);                                                                                             \
    NEXT(1);                                                                                                                     \
  }                                                                                                                              \
  HANDLER(name) {                                                                                                                \
    std::uint16_t b = B;                                                                                                         \
    Value v = SOURCE(b);                                                                                                         \
    if (!idle(b, v) || (rare)) CONTINUE(name##_slow);                                                                            \
    SLOT(A) = value::boolean(expression);                                                                                        \
    NEXT(1);                                                                                                                     \
  }
#define PREDICATE(name, expression) PREDICATE_BUT(name, false, false, expression)
PREDICATE(is_null, v == value::kNull)
PREDICATE(is_pair, v.is_pair())
PREDICATE_BUT(is_vector, tensors::may_be_recorded(v), !tensors::is_recorded(v), value::is_vector(v))
PREDICATE(is_procedure, v.is_procedure())
PREDICATE(is_number, e->is_number(v))
PREDICATE(is_boolean, value::is_boolean(v))
PREDICATE(is_symbol, value::is_symbol(v))
PREDICATE(is_string, value::is_string(v))
PREDICATE(is_char, value::is_character(v))

OUTLINE(logical_not_slow) {
  SAVE();
  std::uint16_t b = B;
  Value v = SOURCE(b);
  check_condition(*e, v);
  done_with(e, b, v);
  SLOT(A) = value::boolean(false);
  NEXT(1);
}
HANDLER(logical_not) {
  Value v = SOURCE(B);
  if (v.is_object()) CONTINUE(logical_not_slow);
  SLOT(A) = value::boolean(v == value::kFalse);
  NEXT(1);
}
HANDLER(is_integer) {
  SAVE();
  std::uint16_t b = B;
  Value v = SOURCE(b);
  Value p = e->primal(v);
  bool holds = p.is_integer() || (p.is_flonum() && std::isfinite(p.flonum()) && p.flonum() == std::trunc(p.flonum()));
  done_with(e, b, v);
  SLOT(A) = value::boolean(holds);
  NEXT(1);
}
HANDLER(is_exact) {
  SAVE();
  std::uint16_t b = B;
  Value v = SOURCE(b);
  if (!e->is_number(v)) expected(*e, "exact?", "a number", v);
  bool holds = v.is_integer();
  done_with(e, b, v);
  SLOT(A) = value::boolean(holds);
  NEXT(1);
}

HANDLER(primitive) {
  SAVE();
  unsigned n = C;
  SLOT(A) = e->primitive(static_cast<bytecode::Primitive>(B), frame, operands(pc, n));
  NEXT(1 + (n + 3) / 4);
}

HANDLER(tensor) {
  SAVE();
  unsigned n = C;
  SLOT(A) = e->tensor(B, frame, operands(pc, n));
  NEXT_ON_TAPE(1 + (n + 3) / 4);
}

HANDLER(host) {
  SAVE();
  unsigned n = C;
  SLOT(A) = e->host(B, frame, operands(pc, n));
  NEXT(1 + (n + 3) / 4);
}

RARE(op_fail) {
  SAVE();
  e->fail(A != 0, C > 0 ? SOURCE(OPERAND(0)) : value::kNull);
}

// The run_ instructions push, pop and change runs, so the loop is left after each and starts anew.
OUTLINE(run_operator) {
  const Word* instruction = pc;
  Word w = *pc;
  bool has_result = bytecode::kOpcodes[w & 0xFFFF].roles[0] == 'D';
  pc += bytecode::words_of(w);
  SAVE();
  if (has_result) frame->set_result(bytecode::field_a(w));
  return e->perform_run_instruction(instruction) ? Exit::switched : Exit::done;
}
#define X(name, roles, traits, text)
#define RUN(name, roles, traits, text) constexpr Handler op_##name = run_operator;
#include "vm/bytecode/opcodes.def"
#undef X

} // namespace
} // namespace cairn::machine
