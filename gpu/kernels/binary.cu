// Functions of two operands, their reverse rules, comparisons, and `where`.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {

bool binary(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::binary(id, call, run);
}

} // namespace cairn::gpu::kernels
