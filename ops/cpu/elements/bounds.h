// Whether indices name positions that are there: looked at by the runtime before kernels go to those positions.
#pragma once

#include "ops/dtype.h"

#include <cstdint>

namespace cairn::ops::cpu {

// The first of n integers of a type that is not in [0, size); n: all are.
std::int64_t first_beyond(DType type, const void* indices, std::int64_t n, std::int64_t size);

} // namespace cairn::ops::cpu
