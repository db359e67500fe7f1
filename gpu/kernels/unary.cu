// Functions of one operand.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {
bool unary(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::unary(id, call, run);
}
} // namespace cairn::gpu::kernels
