// The procedures that the core may call without a definition in the library, under the names users write, with their arities and
// how a call of them is expanded. Derived from compiler/instructions.h, primitives.def and run_operators.def; those whose calls
// are expanded are listed in builtins.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cairn::compiler {

inline constexpr unsigned kMany = ~0u; // operands without limit

// How a call becomes core.
enum class Shape {
  direct,     // a call of the builtin `core` with the same operands
  sum,        // + *: folded to the left
  difference, // - /: folded to the left; one operand is its own case
  extremum,   // max min: folded to the left; one operand must be a number
  comparison, // = < > <= >=: every neighbouring pair, operands evaluated once
  list,       // nested cons
  cons_star,  // nested cons, the last operand is the tail
  selector,   // caar ... cddddr: a chain of car and cdr
  sign_test,  // zero? positive? negative?: comparison with 0
  step,       // 1+ -1+
  apply,      // the operands between procedure and list are put before the list
  error,      // %error of the list of its operands
  arctangent, // one or two operands
  fill        // make-vector, make-string: the element may be left out
};

struct Builtin {
  std::string_view name; // as users write it
  std::string_view core; // name of the core's builtin
  unsigned least, most;  // operands
  Shape shape;
};

const Builtin* find_builtin(std::string_view name);

// "takes 1 argument", "takes at least 2 arguments", "takes 1 to 3 arguments".
std::string arity_text(unsigned least, unsigned most);

// All of them, in a fixed order.
std::span<const Builtin> all_builtins();

} // namespace cairn::compiler
