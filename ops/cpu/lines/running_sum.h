// Running sums along one axis on the CPU, from the first element or from the last one. Floating elements are added as doubles.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// out: of the type of x, or of type i64 for integers.
void running_sum(int axis, bool from_last, const View& out, const View& x);

} // namespace cairn::ops::cpu
