// The registry: every operator with its definition, found by its number.
#pragma once

#include "ops/operator.h"

#include <span>

namespace cairn::ops {

const Operator& operator_of(OperatorId id);
// Those that programs may call.
std::span<const Operator> all_operators();
// Is every attribute of the kind that the signature says, and none missing that must be there? So are those that programs give,
// and so must be those that rules make: they are saved with what a tape keeps, and read back.
bool well_formed(const Operator& op, const Attributes& attributes);

} // namespace cairn::ops
