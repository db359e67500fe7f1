// Reductions on the CPU: sums, maxima and minima over any axes of tensors of any layout. Floating numbers are summed in double,
// in blocks whose borders depend on sizes alone, so results are the same for any number of threads.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

enum class Reduction { sum, mean, max, min };

// `to` has an axis for each axis of `from`, of size 1 where it is reduced. Integers are summed modulo 2^64.
void reduce(Reduction reduction, const View& to, const View& from);

} // namespace cairn::ops::cpu
