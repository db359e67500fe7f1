// Operators of the host on tensors, with rules of their own: to a tape one operation, kept whole.
#pragma once

#include "vm/machine/engine.h"

#include <span>

namespace cairn::runs {

// Arguments borrowed, the result, a tensor, owned. Only first derivatives are right, so derivatives of those are refused. Throws
// ProgramError.
value::Value call_operator(machine::Engine& engine, const machine::HostProcedure& procedure,
                           std::span<const value::Value> arguments);

} // namespace cairn::runs
