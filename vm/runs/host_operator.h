// Operators of the host on tensors, with rules of their own: to a tape one operation, kept whole.
#pragma once

#include "vm/machine/engine.h"

#include <functional>
#include <span>

namespace cairn::runs {

// Arguments borrowed, the result, a tensor, owned. Only first derivatives are right, so derivatives of those are refused.
// `logged`, unless it is empty, gives what the host returns (owned) in the place of a call that may be repeated. Throws
// ProgramError.
value::Value call_operator(machine::Engine& engine, const machine::HostProcedure& procedure,
                           std::span<const value::Value> arguments, const std::function<value::Value()>& logged);

} // namespace cairn::runs
