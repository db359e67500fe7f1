// What the CUDA module (libcairn_cuda.so, gpu/) shows to the library that loads it: one function that gives a table. The module
// has its own copy of what it needs from ops/; both sides must be of the same build, which they compare before anything else.
#pragma once

#include "ops/cuda/options.h"
#include "ops/device.h"

#include <string>
#include <vector>

namespace cairn::ops {

struct CudaModule {
  const char* build;
  // Null, with the reason. Nothing is thrown.
  Device* (*make)(Ledger& ledger, const CudaOptions& options, std::string& why);
  // A line for each device; none, with the reason.
  std::vector<std::string> (*list)(std::string& why);
};
inline constexpr const char* kCudaModule = "cairn_cuda_module";
using CudaModuleFunction = const CudaModule* (*)();

// Changes with what both sides must agree on.
std::string cuda_build();

} // namespace cairn::ops
