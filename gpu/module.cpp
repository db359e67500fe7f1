// What the library that loads this module sees of it: a table. Exceptions end here.
#include "ops/cuda/module.h"
#include "gpu/device.h"
#include "gpu/errors.h"

#include <exception>
#include <memory>

namespace cairn::gpu {
namespace {

// How many devices there are; 0: none, with the reason. (Without a driver the count is left as it was.)
int count_devices(std::string& why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  if (error == cudaErrorInsufficientDriver)
    why = "this machine has no CUDA driver, or one that is too old";
  else if (error == cudaErrorNoDevice || error == cudaSuccess)
    why = "this machine has no CUDA device";
  else
    why = fmt::format("the CUDA driver does not answer: {}", text_of(error));
  cudaGetLastError();
  return 0;
}

// Of what is free, what tensors may have: blocks do not fill all of their pages, and the driver needs some for itself.
std::int64_t for_tensors(std::int64_t free) { return free - free / 8; }

ops::Device* make(ops::Ledger& ledger, const ops::CudaOptions& asked, std::string& why) {
  constexpr int kOldest = 8; // kernels are made for compute capability 8.0 and later
  const int index = asked.index;
  try {
    const int count = count_devices(why);
    if (count == 0) return nullptr;
    if (index < 0 || index >= count) {
      why = fmt::format("there is no such device: this machine has {}, counted from 0", count);
      return nullptr;
    }
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index), "properties of the device");
    if (properties.major < kOldest) {
      why = fmt::format("{} has compute capability {}.{}; {}.0 or later is needed", properties.name, properties.major,
                        properties.minor, kOldest);
      return nullptr;
    }
    check(cudaSetDevice(index), "choosing the device");
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for the memory");
    ops::CudaOptions options = asked;
    if (options.memory_bytes > static_cast<std::int64_t>(free)) {
      why = fmt::format("memory= asks for {} bytes, but {} of its {} bytes are free", options.memory_bytes, free, total);
      return nullptr;
    }
    if (options.memory_bytes == 0) options.memory_bytes = for_tensors(static_cast<std::int64_t>(free));
    return std::make_unique<CudaDevice>(ledger, options).release();
  } catch (const std::exception& e) {
    why = e.what();
    return nullptr;
  }
}

std::vector<std::string> list(std::string& why) {
  std::vector<std::string> lines;
  try {
    const int count = count_devices(why);
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp properties;
      check(cudaGetDeviceProperties(&properties, i), "properties of the device");
      lines.push_back(fmt::format("cuda:{} {}, {} MB, compute capability {}.{}", i, properties.name,
                                  properties.totalGlobalMem >> 20, properties.major, properties.minor));
    }
  } catch (const std::exception& e) {
    why = e.what();
    lines.clear();
  }
  return lines;
}

} // namespace
} // namespace cairn::gpu

extern "C" __attribute__((visibility("default"))) const cairn::ops::CudaModule* cairn_cuda_module() {
  static const std::string build = cairn::ops::cuda_build();
  static const cairn::ops::CudaModule table{build.c_str(), cairn::gpu::make, cairn::gpu::list};
  return &table;
}
