// The innermost loops of matrix products, compiled for several generations of processors.
#pragma once

#include "ops/cpu/isa.h"

#include <cstdint>

namespace cairn::ops::cpu {

// A panel has this many rows of the left matrix, or columns of the right one: two registers of 64 bytes.
inline constexpr std::int64_t kRows = 6;
template <class T> inline constexpr std::int64_t kColumns = 128 / static_cast<std::int64_t>(sizeof(T));

// sums [kRows, kColumns] += a [depth, kRows]' b [depth, kColumns], where rows of sums are `wide` apart.
template <class T> using GemmLoop = void (*)(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide);
template <class T> GemmLoop<T> gemm_loop();

template <class T> T dot(const T* a, const T* b, std::int64_t n);

} // namespace cairn::ops::cpu
