// Reverse rules of functions of one operand.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {
bool unary_vjp(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::unary_vjp(id, call, run);
}
} // namespace cairn::gpu::kernels
