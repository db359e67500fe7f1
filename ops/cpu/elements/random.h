// Kernels of random tensors on the CPU.
#pragma once

#include "ops/operator.h"

#include <cstdint>

namespace cairn::ops::cpu {

// Elements 2 first to 2 (first + pairs) - 1 of uniform numbers from a key, with all the bits that they can have.
void draw_uniforms(std::uint64_t key, std::uint64_t first, std::int64_t pairs, double* to);
void uniform_kernel(const KernelCall& call);
void normal_kernel(const KernelCall& call);

} // namespace cairn::ops::cpu
