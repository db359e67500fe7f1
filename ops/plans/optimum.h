// What no policy can do better than: for tests and measurements.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/memory.h"

#include <cstdint>
#include <optional>

namespace cairn::ops::plans {

// Bytes that are copied in when whoever is needed last always leaves, and nobody is brought before he is asked for. For blocks of
// one size this is the fewest there can be. None: some launch does not fit.
std::optional<std::uint64_t> belady_bytes(const AccessPlan& run, std::uint64_t capacity);

// No sequence of copies lets the run end sooner, whatever is copied when. Between the ends of two launches the launches between
// them take place, and what these need and is not there at the first comes in before the last of them that needs it begins; what
// they write and is needed later goes out, once the first of them that writes such a thing has ended, if it is not there at the
// second; and no more than the memory is there at either, what the launches beside them use included. The run is cut where that
// says most. It takes the square of the number of launches.
Picoseconds least_time(const AccessPlan& run, const Memory& memory);

} // namespace cairn::ops::plans
