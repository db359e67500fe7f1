// Whole quotients and what they leave, element by element.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// (a, b): a / b rounded towards 0; what that leaves, with the sign of a; what rounding down leaves, with the sign of b. An
// integer divided by 0 gives 0.
void quotient(const KernelCall& call);
void remainder(const KernelCall& call);
void modulo(const KernelCall& call);

} // namespace cairn::ops::cpu
