// The emulated device, for tests that want more than a user may ask for (device_spec.h).
#pragma once

#include "ops/device.h"

namespace cairn::ops {

struct EmulatedOptions {
  std::int64_t memory_bytes = 0;     // budget of its own; 0: none
  std::int64_t bytes_per_second = 0; // of copies between host and device; 0: as fast as they go
  std::uint64_t random_delays = 0;   // seed of random pauses before each operation; 0: none. Results never depend on it
  bool forget_ordering = false;      // for tests of the race checker: streams do not wait for each other
};
std::unique_ptr<Device> make_emulated_device(Ledger& ledger, const EmulatedOptions& options);

} // namespace cairn::ops
