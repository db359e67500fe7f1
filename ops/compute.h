// In which type kernels compute with elements of a type: one rule for every device.
#pragma once

#include "ops/operator.h"

#include <cstdint>

namespace cairn::ops {

enum class Compute : std::uint8_t { f32, f64, i64 };

Compute compute_of(DType type);
// Operands are compared in the type that holds both; with a number, in that of the tensor if the number is one of its kind.
Compute compared_in(const View& a, const View& b);

} // namespace cairn::ops
