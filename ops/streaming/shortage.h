// What is said where one of the memories of a device has no room: what each of them holds, and the least settings with which
// there would have been room for this.
#pragma once

#include "ops/streaming/backing.h"

#include <cstdint>
#include <string>

namespace cairn::ops::streaming {

// Bytes that cannot leave, and what is wanted; 0: more of that memory would not help. Any one of them is enough.
struct Least {
  std::int64_t memory = 0, host = 0, disk = 0;
  bool wants_disk = false; // there is none, and one would help
  bool streams = true;     // what has no room; or else it could
};

// `on_disk`: the bytes there.
std::string with_ledger(const std::string& what, const Backing& backing, std::int64_t on_disk, const Least& least);

} // namespace cairn::ops::streaming
