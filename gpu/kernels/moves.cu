// Copies into other types and layouts, and filling.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {

bool moves(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::moves(id, call, run);
}

} // namespace cairn::gpu::kernels
