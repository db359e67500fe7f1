#include "gpu/driver.h"

#include "gpu/errors.h"

namespace cairn::gpu {
namespace {

constexpr unsigned kSince = 11000; // of CUDA: all of them are as old as that

void* found(const char* symbol) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(symbol, &function, kSince, cudaEnableDefault, &result), symbol);
  if (result != cudaDriverEntryPointSuccess || function == nullptr)
    throw ops::DeviceLost(fmt::format("cuda: the driver has no {}, which maps memory; version {}.{} of CUDA or later is needed",
                                      symbol, kSince / 1000, kSince % 1000 / 10));
  return function;
}

} // namespace

Driver driver() {
  Driver all;
#define X(symbol, name) all.name = reinterpret_cast<decltype(&::symbol)>(found(#symbol));
  CAIRN_DRIVER_FUNCTIONS(X)
#undef X
  return all;
}

} // namespace cairn::gpu
