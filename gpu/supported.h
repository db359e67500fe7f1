// Which operators have kernels on the GPU.
#pragma once

#include "ops/operator.h"

namespace cairn::gpu {

bool supported(ops::OperatorId id);

} // namespace cairn::gpu
