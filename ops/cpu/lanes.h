// Sums and the like over a row by lanes beside each other, so that a compiler makes vectors of them; in the same order on all
// processors.
#pragma once

#include "ops/cpu/isa.h"

namespace cairn::ops::cpu {

inline constexpr std::int64_t kLanes = 16;

// f(i, lane) for all i < n.
template <class F> CAIRN_INLINE void by_lanes(std::int64_t n, F&& f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    CAIRN_EACH
    for (std::int64_t l = 0; l < kLanes; ++l) f(i + l, l);
  }
  for (std::int64_t l = 0; i + l < n; ++l) f(i + l, l);
}

template <class T> CAIRN_INLINE T sum_of(const T* lanes) {
  T sum = 0;
  for (std::int64_t l = 0; l < kLanes; ++l) sum += lanes[l];
  return sum;
}

} // namespace cairn::ops::cpu
