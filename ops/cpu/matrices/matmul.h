// Products of stacks of matrices on the CPU.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// c [..., m, n] = a [..., m, k] b [..., k, n]; leading axes of a and b of size 1, or missing, are stretched. Sums are taken in
// float, double or 64-bit integers, by the type of c.
void matmul(const View& c, const View& a, const View& b);

} // namespace cairn::ops::cpu
