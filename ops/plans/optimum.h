// What no policy can do better than: for tests and measurements.
#pragma once

#include "ops/plans/access_plan.h"

#include <cstdint>
#include <optional>

namespace cairn::ops::plans {

// Bytes that are copied in when whoever is needed last always leaves, and nobody is brought before he is asked for. For blocks of
// one size this is the fewest there can be. None: some launch does not fit.
std::optional<std::uint64_t> belady_bytes(const AccessPlan& run, std::uint64_t capacity);

} // namespace cairn::ops::plans
