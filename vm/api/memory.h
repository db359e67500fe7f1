// How much memory this process may use: of the machine, or of its control group if that is less.
#pragma once

#include <cstdint>

namespace cairn::api {

std::uint64_t available_memory_bytes();

// The largest resident size of this process so far.
std::uint64_t peak_resident_bytes();

} // namespace cairn::api
