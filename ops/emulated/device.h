// The emulated device, for tests that want more than a user may ask for (device_spec.h).
#pragma once

#include "ops/device.h"
#include "ops/modelled/virtual_time.h"
#include "ops/streaming/backing.h"

namespace cairn::ops {

struct EmulatedOptions {
  std::int64_t memory_bytes = 0; // budget of its own; 0: none
  std::int64_t host_bytes = 0;   // of the host's memory for what streams; 0: no limit but the machine's budget
  std::int64_t pinned_bytes = 0; // of it are to be locked; what is not goes through a buffer. 0: that does not matter
  Backing::Streaming streaming;
  Rates rates;                         // of the machine that is emulated, in virtual time
  bool copies_take_their_time = false; // also on the clock
  std::uint64_t random_delays = 0;     // seed of random pauses before each operation; 0: none. Results never depend on it
  std::uint64_t lost_after = 0;        // operations, then it is lost: nothing that is queued behind them is done; 0: never
  bool forget_ordering = false;        // for tests of the race checker: streams do not wait for each other
};
std::unique_ptr<Device> make_emulated_device(Ledger& ledger, const EmulatedOptions& options);

} // namespace cairn::ops
