// The innermost loops of the weights' gradient of a convolution, compiled for several generations of processors.
#pragma once

#include "ops/cpu/loops/isa.h"

#include <cstdint>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kMostTaps = 3;

// A tile has `rows` channels of the small side and `lanes`, one vector, of the large one, and so many for each of up to kMostTaps
// neighbouring taps of the window: as many sums as the processor has registers for.
template <class T> struct WeightLoops {
  std::int64_t rows, lanes;

  // Of `lines` lines of `columns` positions each: sums [taps, rows, lanes] +=
  //   small [line, column, rows] * large [line_at[line] + column * step + t * tap, lanes]
  // The sum of one call is added as a whole. `large` and `sums` are aligned to vectors.
  using Loop = void (*)(const std::int64_t* line_at, std::int64_t lines, std::int64_t columns, const T* large, std::int64_t step,
                        std::int64_t tap, const T* small, T* sums);
  Loop by_taps[kMostTaps];

  // to [tiles, count, rows or lanes], `next` elements from one tile to the next: the first elements of all tiles at each of
  // `count` positions, `stride` elements apart.
  using Copy = void (*)(const T* from, std::int64_t stride, std::int64_t count, std::int64_t tiles, T* to, std::int64_t next);
  Copy copy_rows, copy_lanes;

  // to [lanes], `stride` elements apart.
  void (*spread_lanes)(const T* from, T* to, std::int64_t stride);
};
template <class T> const WeightLoops<T>& weight_loops();

} // namespace cairn::ops::cpu
