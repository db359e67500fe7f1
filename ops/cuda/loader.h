// Devices of the CUDA module, which is a library of its own and loaded when the first of them is asked for.
#pragma once

#include "ops/cuda/options.h"
#include "ops/device_spec.h"

#include <memory>
#include <string>
#include <vector>

namespace cairn::ops {

// A device of the CUDA module, which is looked for and loaded now. Throws std::runtime_error with the reason if there is none.
std::unique_ptr<Device> make_cuda_device(Ledger& ledger, const CudaOptions& options);
// A line for each device that make_cuda_device can make, by index: name, memory, compute capability. None: `why` has the reason.
std::vector<std::string> cuda_devices(std::string& why);

} // namespace cairn::ops
