// Functions of one operand, with or without a parameter, and their reverse rules.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {

bool unary(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::unary(id, call, run);
}

} // namespace cairn::gpu::kernels
