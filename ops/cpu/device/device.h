// The processor as a device.
#pragma once

#include "ops/device_spec.h"

namespace cairn::ops {

// threads: that share the work of large kernels; 0: as many as there are processors. Results do not depend on it.
std::unique_ptr<Device> make_cpu_device(Ledger& ledger, unsigned threads = 0);

} // namespace cairn::ops
