// Kernels of bits on the CPU: which elements of a tensor are positive, and what multiplies a cotangent by that. Bit i is of the
// i-th element in memory, and bits of a byte begin with its lowest.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// (x), dense, gives the bits.
void positive_bits(const KernelCall& call);
// (cotangent, bits), number: the cotangent, dense, as it is where the bit is set, and times the number where it is not.
void times_bits(const KernelCall& call);

} // namespace cairn::ops::cpu
