// Errors of the CUDA runtime as exceptions.
#pragma once

#include "ops/elements_lost.h"

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cairn::gpu {

inline std::string text_of(cudaError_t error) { return cudaGetErrorString(error); }

inline void check(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return;
  cudaGetLastError(); // it has been told
  throw ops::DeviceLost(fmt::format("cuda: {}: {}", what, text_of(error)));
}

} // namespace cairn::gpu
