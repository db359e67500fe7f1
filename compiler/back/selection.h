// Which instruction does an operation or a test with a literal operand.
#pragma once

#include "compiler/back/anf.h"

#include <optional>

namespace cairn::compiler::back {

struct Selected {
  Opcode op = Opcode::count;
  std::uint32_t variable = 0; // which of the two operands is the variable
  bool immediate = false;     // the other is `value`, else it is a constant
  std::int16_t value = 0;
};
std::optional<Selected> select(const Statement& s, const Unit& unit);

struct SelectedTest {
  Opcode op = Opcode::count;
  std::uint32_t constant = kNone; // which operand is the constant
  bool immediate = false;         // it is `value`
  std::int16_t value = 0;
};
SelectedTest select_test(const Statement& s, const Unit& unit);

// The value of an exact integer literal that fits an instruction.
std::optional<std::int16_t> small_integer(const Literal& literal);

} // namespace cairn::compiler::back
