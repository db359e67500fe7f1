// Kernels of random tensors on the CPU.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

void uniform_kernel(const KernelCall& call);
void normal_kernel(const KernelCall& call);

} // namespace cairn::ops::cpu
