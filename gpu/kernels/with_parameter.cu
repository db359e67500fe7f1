// Functions with a parameter, and their reverse rules.
#include "gpu/kernels.h"
#include "gpu/kernels/launch.cuh"

namespace cairn::gpu::kernels {
bool with_parameter(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const OnStream run{stream};
  return gpu::with_parameter(id, call, run);
}
} // namespace cairn::gpu::kernels
