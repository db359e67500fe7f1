// The loops of sums of f32 in double, compiled for several generations of processors: in the same order on all of them.
#pragma once

#include <cstdint>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kSumBlock = 512;
inline constexpr std::int64_t kSumLanes = 16;

// Sums of so many blocks of kSumBlock elements: each by lanes, of which the farther half is added to the nearer until one is
// left.
void sum_blocks(double* sums, const float* x, std::int64_t blocks);
// sums[i] += x[i]
void add_row(double* sums, const float* x, std::int64_t n);

} // namespace cairn::ops::cpu
