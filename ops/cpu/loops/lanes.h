// Sums and the like over a row by lanes beside each other, so that a compiler makes vectors of them; in the same order on all
// processors.
#pragma once

#include "ops/cpu/device/pace.h"
#include "ops/cpu/loops/isa.h"

namespace cairn::ops::cpu {

inline constexpr std::int64_t kLanes = 16;

// f(i, lane) for all i < n.
template <class F> CAIRN_INLINE void by_lanes(std::int64_t n, F&& f) {
  std::int64_t i = 0;
  for (const std::int64_t whole = n / kLanes * kLanes; i < whole;) {
    const std::int64_t stop = std::min(whole, i + Pace::kBetween);
    for (; i < stop; i += kLanes) {
      CAIRN_EACH
      for (std::int64_t l = 0; l < kLanes; ++l) f(i + l, l);
    }
    if (stop < whole) Meter::poll_current();
  }
  for (std::int64_t l = 0; i + l < n; ++l) f(i + l, l);
}

// f(begin, end) over [0, n), as in_stretches, within a loop that is compiled for several generations.
template <class F> CAIRN_INLINE void by_stretches(std::int64_t n, F&& f) {
  for (std::int64_t i = 0; i < n; i += Pace::kBetween) {
    if (i != 0) Meter::poll_current();
    f(i, std::min(n, i + Pace::kBetween));
  }
}

// Of halves, and halves of these: few additions wait for one another. The lanes are overwritten.
template <class T> CAIRN_INLINE T sum_of(T* lanes) {
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    CAIRN_EACH
    for (std::int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

} // namespace cairn::ops::cpu
