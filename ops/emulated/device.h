// The emulated device, for tests that want more than a user may ask for (device_spec.h).
#pragma once

#include "ops/modelled/device.h"

namespace cairn::ops {

// What tests may want of it.
struct EmulatedBehaviour {
  bool copies_take_their_time = false; // also on the clock
  std::uint64_t random_delays = 0;     // seed of random pauses before each operation; 0: none. Results never depend on it
  std::uint64_t lost_after = 0;        // operations, then it is lost: nothing that is queued behind them is done; 0: never
  bool forget_ordering = false;        // for tests of the race checker: streams do not wait for each other
};
// Rates are those of the machine that is emulated.
struct EmulatedOptions : ModelledOptions, EmulatedBehaviour {
  int number = -1; // of several, which are `emulated:0` and so on; below 0: it is `emulated`
};
std::unique_ptr<Device> make_emulated_device(Ledger& ledger, const EmulatedOptions& options);

} // namespace cairn::ops
