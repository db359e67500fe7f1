// The innermost loops of matrix products, compiled for several generations of processors.
#pragma once

#include "ops/cpu/loops/isa.h"

#include <cstdint>

namespace cairn::ops::cpu {

// A panel has this many rows of the left matrix, or columns of the right one: two registers of 64 bytes.
inline constexpr std::int64_t kRows = 6;
template <class T> inline constexpr std::int64_t kColumns = 128 / static_cast<std::int64_t>(sizeof(T));

// sums [kRows, kColumns] += a [depth, kRows]' b [depth, kColumns], where rows of sums are `wide` apart.
template <class T> using GemmLoop = void (*)(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide);
template <class T> GemmLoop<T> gemm_loop();

// A sum of products in sixteen lanes, whatever the generation it is compiled for.
template <class T> CAIRN_INLINE T dot(const T* a, const T* b, std::int64_t n) {
  constexpr std::int64_t lanes = 16;
  T sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) sums[l] = sums[l] + a[i + l] * b[i + l];
  for (; i < n; ++i) sums[i % lanes] = sums[i % lanes] + a[i] * b[i];
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t l = 0; l < width; ++l) sums[l] = sums[l] + sums[l + width];
  return sums[0];
}

} // namespace cairn::ops::cpu
