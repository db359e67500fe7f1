// A memory that is too small, and the way to what is below it.
#pragma once

#include "ops/plans/link.h"

#include <cstdint>

namespace cairn::ops::plans {

struct Memory {
  std::uint64_t capacity = 0; // bytes
  Link link;
  Picoseconds fault = 10'000'000; // until a kernel that stops at a page goes on, beside its copy
};

} // namespace cairn::ops::plans
