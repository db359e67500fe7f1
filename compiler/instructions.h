// The procedures of the core that are one instruction each, by the names that the front gives them: the front knows from here how
// many operands they take, the back which instruction does it. Functions of numbers, primitives and operators on tensors are
// listed in vm/bytecode.
#pragma once

#include "vm/bytecode/instruction.h"

#include <algorithm>
#include <string_view>

namespace cairn::compiler {

inline constexpr unsigned kAnyNumber = 65'000; // of operands, which instructions count in 16 bits

struct CoreInstruction {
  std::string_view name;
  bytecode::Opcode op;
  unsigned least, most; // operands
  bool swapped = false; // the second operand of a call is the first of the instruction
};

// As many operands as the instruction has source registers.
constexpr CoreInstruction core_instruction(std::string_view name, bytecode::Opcode op, bool swapped = false) {
  const std::string_view roles = bytecode::info_of(op).roles;
  const auto sources = static_cast<unsigned>(std::count(roles.begin(), roles.end(), 'S'));
  return {name, op, sources, sources, swapped};
}

inline constexpr CoreInstruction kCoreInstructions[] = {
    core_instruction("quotient", bytecode::Opcode::quotient),
    core_instruction("remainder", bytecode::Opcode::remainder),
    core_instruction("modulo", bytecode::Opcode::modulo),
    core_instruction("<", bytecode::Opcode::lt),
    core_instruction("<=", bytecode::Opcode::le),
    core_instruction(">", bytecode::Opcode::lt, true),
    core_instruction(">=", bytecode::Opcode::le, true),
    core_instruction("=", bytecode::Opcode::num_eq),
    core_instruction("exact->inexact", bytecode::Opcode::inexact),
    core_instruction("cons", bytecode::Opcode::cons),
    core_instruction("car", bytecode::Opcode::car),
    core_instruction("cdr", bytecode::Opcode::cdr),
    {"vector", bytecode::Opcode::vector, 0, kAnyNumber},
    core_instruction("vector-ref", bytecode::Opcode::vector_ref),
    core_instruction("vector-length", bytecode::Opcode::vector_length),
    {"vector-update", bytecode::Opcode::vector_update, 3, 3},
    core_instruction("make-vector", bytecode::Opcode::make_vector),
    core_instruction("list->vector", bytecode::Opcode::list_vector),
    core_instruction("eqv?", bytecode::Opcode::eqv),
    core_instruction("null?", bytecode::Opcode::is_null),
    core_instruction("pair?", bytecode::Opcode::is_pair),
    core_instruction("vector?", bytecode::Opcode::is_vector),
    core_instruction("procedure?", bytecode::Opcode::is_procedure),
    core_instruction("number?", bytecode::Opcode::is_number),
    core_instruction("integer?", bytecode::Opcode::is_integer),
    core_instruction("exact?", bytecode::Opcode::is_exact),
    core_instruction("boolean?", bytecode::Opcode::is_boolean),
    core_instruction("symbol?", bytecode::Opcode::is_symbol),
    core_instruction("string?", bytecode::Opcode::is_string),
    core_instruction("char?", bytecode::Opcode::is_char),
    core_instruction("not", bytecode::Opcode::logical_not),
    core_instruction("apply", bytecode::Opcode::apply),
    {"%error", bytecode::Opcode::fail, 1, 1},
};

} // namespace cairn::compiler
