// What the machine declares of run operators and leaves to whoever makes one: their procedures, the meaning of the run_
// instructions, and calls of the host. vm/runs has them.
#pragma once

#include "vm/machine/options.h"
#include "vm/value/object.h"

#include <span>
#include <string_view>

namespace cairn::machine {

class Engine;

struct RunOperators {
  // The procedures of run_operators.def: code that the machine runs like any other, and a value for each. Shared by all machines;
  // immutable.
  const value::Code& (*code)(bytecode::RunOperator op);
  // Performs a run_ instruction of the frame on top of engine.current(). The frame's pc is already behind the instruction, its
  // `result` names the destination, if there is one. Either delivers a value into that frame, or sets its pc, or pushes or
  // replaces runs. Returns false when the machine is done. Throws ProgramError, BudgetExceeded.
  bool (*perform)(Engine& engine, const bytecode::Word* instruction);
  // Where memory has run out within the budget, or a device has no room (`on_device`): an operator that can do with less begins
  // again, and the machine goes on. False: the program ends. Throws BudgetExceeded as well.
  bool (*begin_again)(Engine& engine, bool on_device);
  // An error in the program, said to be that, where `irritants` is the list (message . irritants) that the program gave, or
  // unspecified: ends the runs up to the innermost guarded one and lets its handler go on. There is one. Throws ProgramError,
  // BudgetExceeded.
  void (*handle_error)(Engine& engine, std::string_view message, value::Value irritants);
  // Calls a procedure of the host, or reads again what it gave; borrowed arguments, owned result. Throws ProgramError,
  // BudgetExceeded.
  value::Value (*call_host)(Engine& engine, const HostProcedure& procedure, std::span<const value::Value> arguments);
};

} // namespace cairn::machine
