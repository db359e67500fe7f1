// Derivatives along directions as operators of their own, (x, directions ...): linear in each direction, and the derivative by x
// has one direction more. Their kernels compute with jets (ops/jets.h).
#pragma once

#include "ops/operator.h"

namespace cairn::ops::rules {

// All of one shape, and not too many.
void check_directions(const Call& call);
// Forward rule of the function, with x alone, and of `along`.
void along_directions(const JvpCall& call, OperatorId along);
// Its reverse rule's kernel on (cotangent, x, directions ...).
Tensor with_cotangent(const VjpCall& call, OperatorId kernel, const Attributes& attributes);

} // namespace cairn::ops::rules
