// Functions of the driver for virtual memory, which the runtime has not: they are looked up through it.
#pragma once

#include <cuda.h>

namespace cairn::gpu {

// Declared once, the driver's name for each and ours.
#define CAIRN_DRIVER_FUNCTIONS(X)                                                                                                \
  X(cuMemGetAllocationGranularity, granularity)                                                                                  \
  X(cuMemAddressReserve, reserve)                                                                                                \
  X(cuMemAddressFree, free_addresses)                                                                                            \
  X(cuMemCreate, create)                                                                                                         \
  X(cuMemRelease, release)                                                                                                       \
  X(cuMemMap, map)                                                                                                               \
  X(cuMemUnmap, unmap)                                                                                                           \
  X(cuMemSetAccess, set_access)
struct Driver {
#define X(symbol, name) decltype(&::symbol) name = nullptr;
  CAIRN_DRIVER_FUNCTIONS(X)
#undef X
};

// Those of the driver that is there. Throws DeviceLost where it has none for virtual memory.
Driver driver();

} // namespace cairn::gpu
