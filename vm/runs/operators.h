// What vm/runs gives to the machine, and to those who write and read its state.
#pragma once

#include "vm/bytecode/verifier.h"
#include "vm/machine/run_operator.h"

#include <cstddef>
#include <cstdint>

namespace cairn::runs {

// For the constructor of an Engine.
extern const machine::RunOperators kOperators;

// The functions that it consists of.
const value::Code& operator_code(bytecode::RunOperator op);
bool perform_instruction(machine::Engine& engine, const bytecode::Word* instruction);
void handle_error(machine::Engine& engine, std::string_view message, value::Value irritants);
value::Value call_host(machine::Engine& engine, const machine::HostProcedure& procedure, std::span<const value::Value> arguments);

// Code of the machine's own by number: that of the run operators first, then the helpers of vm/runs/bodies.cpp.
struct MachineCode {
  static constexpr std::uint32_t kNoProcedure = UINT32_MAX;
  const value::Code* code = nullptr; // null beyond the end
  const bytecode::FunctionFacts* facts = nullptr;
  std::uint32_t captures = kNoProcedure; // of a closure block of this code, if there are such blocks
};
MachineCode machine_code(std::size_t number);

} // namespace cairn::runs
