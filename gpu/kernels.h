// Kernels by family: each queues an operator on a stream, or says that it is not of this family.
#pragma once

#include "ops/operator.h"

#include <cuda_runtime_api.h>

namespace cairn::gpu::kernels {

using ops::KernelCall;
using ops::OperatorId;

bool unary(OperatorId id, const KernelCall& call, cudaStream_t stream);
bool binary(OperatorId id, const KernelCall& call, cudaStream_t stream);
bool moves(OperatorId id, const KernelCall& call, cudaStream_t stream);
bool folds(OperatorId id, const KernelCall& call, cudaStream_t stream);
bool rows(OperatorId id, const KernelCall& call, cudaStream_t stream);

} // namespace cairn::gpu::kernels
