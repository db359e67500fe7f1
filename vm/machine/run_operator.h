// What the machine declares of run operators and leaves to vm/runs: their procedures, and the meaning of the run_ instructions.
#pragma once

#include "vm/machine/engine.h"

namespace cairn::machine {

// The procedures of run_operators.def: code that the machine runs like any other, and a value for each. Shared by all machines; immutable.
const Code& run_operator_code(bytecode::RunOperator op);

// Performs a run_ instruction of the frame on top of engine.current(). The frame's pc is already behind the instruction, its `result` names
// the destination, if there is one. Either delivers a value into that frame, or sets its pc, or pushes or replaces runs. Returns false
// when the machine is done. Throws ProgramError, BudgetExceeded.
bool perform_run_instruction(Engine& engine, const Word* instruction);

// Calls a procedure of the host, or reads again what it gave; borrowed arguments, owned result. Throws ProgramError, BudgetExceeded.
Value perform_host_call(Engine& engine, const HostProcedure& procedure, std::span<const Value> arguments);

} // namespace cairn::machine
