// Comparisons and where.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {
bool choice(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::choice(id, call, run);
}
} // namespace cairn::gpu::kernels
