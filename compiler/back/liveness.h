// Where each variable dies: last uses, what a branch drops on entry, results nobody reads.
#pragma once

#include "compiler/back/anf.h"

namespace cairn::compiler::back {

void find_last_uses(AnfFunction& function);

// Sorted sets of variables.
using VariableSet = Vector<std::uint32_t>;
VariableSet union_of(const VariableSet& a, const VariableSet& b);
VariableSet difference_of(const VariableSet& a, const VariableSet& b);

} // namespace cairn::compiler::back
