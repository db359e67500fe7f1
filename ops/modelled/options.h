// Budgets, rates and folders of a device that models time.
#pragma once

#include "ops/modelled/virtual_time.h"
#include "ops/streaming/backing.h"

#include <cstdint>

namespace cairn::ops {

// What a user may say of it (settings.h).
struct ModelledOptions {
  std::int64_t memory_bytes = 0; // budget of its own; 0: none
  std::int64_t memory_asked = 0; // of it what somebody has asked for; 0: nothing was said
  std::int64_t host_bytes = 0;   // of the host's memory for what streams; 0: no limit but the machine's budget
  // Of it are to be locked; the rest goes through a buffer. 0: none, which costs nothing on the emulated device.
  std::int64_t pinned_bytes = 0;
  Backing::Streaming streaming;
  Rates rates; // in virtual time
};

} // namespace cairn::ops
