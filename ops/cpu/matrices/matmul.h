// Products of stacks of matrices on the CPU.
#pragma once

#include "ops/cpu/matrices/product_operands.h"
#include "ops/operator.h"

namespace cairn::ops::cpu {

// c [..., m, n] = a [..., m, k] b [..., k, n]; leading axes of a and b of size 1, or missing, are stretched. Sums are taken in
// float, double or 64-bit integers, by the type of c.
void matmul(const View& c, const View& a, const View& b);

// c = a b, or c = c + a b, of floats or doubles, by the calling thread alone: for kernels that divide their work themselves.
void multiply_here(const product::Matrix& c, const product::Matrix& a, const product::Matrix& b, bool adds = false);

} // namespace cairn::ops::cpu
