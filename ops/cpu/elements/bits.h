// Kernels of bits on the CPU: which elements of a tensor are positive, or where the first of two operands is taken, and what
// multiplies a cotangent by that. Bit i is of the i-th element in memory, and bits of a byte begin with its lowest.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// (x), dense, gives the bits.
void positive_bits(const KernelCall& call);
// (a, b): the bits for the result of Max or Min on them (ops/pointwise_binary.h), as that lies. Elements are of floating types.
template <class F> void choice_bits(const KernelCall& call);
// (cotangent, bits), number, boolean: the cotangent, dense, as it is where the bit is set, and times the number where it is
// not, or the other way round.
void times_bits(const KernelCall& call);

} // namespace cairn::ops::cpu
