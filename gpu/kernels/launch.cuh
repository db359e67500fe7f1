// Runs an elementwise body on a stream.
#pragma once

#include "gpu/families.h"

#include <algorithm>
#include <cuda_runtime.h>

namespace cairn::gpu {

template <class Body, class T> __global__ void __launch_bounds__(kMostThreads) elements(const Traversal traversal) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < traversal.count; i += step)
    element<Body, T>(traversal, i);
}

struct OnStream {
  cudaStream_t stream;
  template <class Body, class T> void operator()(const Traversal& traversal) const {
    constexpr std::int64_t kThreads = kMostThreads, kMostBlocks = 1 << 15;
    const std::int64_t blocks = std::min(kMostBlocks, (traversal.count + kThreads - 1) / kThreads);
    elements<Body, T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(traversal);
  }
};

} // namespace cairn::gpu
