// Whether the p-norm of a group is differentiated by powers of its elements, or by powers of what they are of the norm, since
// their own would leave the range of numbers. One rule for the kernel of reverse mode and the formulas of forward mode, so that
// both give the same.
#pragma once

#include "ops/pointwise.h"

#include <limits>

namespace cairn::ops {

// `whole` is the norm to the power p - 1. Powers that are smaller than this are not taken.
template <class T> inline constexpr double kLeastNormPower = 0x1p-500;
template <> inline constexpr double kLeastNormPower<float> = 0x1p-60;

template <class T> T by_powers_of_norm(const T& whole, const T& least, const T& powers, const T& quotients) {
  using pointwise::less, pointwise::where;
  return where(less(whole, least), quotients, where(less(whole, T(std::numeric_limits<double>::infinity())), powers, quotients));
}

} // namespace cairn::ops
