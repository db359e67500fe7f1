// The innermost loop of convolutions by panels of weights, compiled for several generations of processors.
#pragma once

#include "ops/cpu/loops/isa.h"

#include <cstdint>

namespace cairn::ops::cpu {

inline constexpr int kMostPanelPositions = 14;

// A panel of weights has two vectors of channels of the result; a tile of sums has so many for each of up to `positions`
// positions.
template <class T> struct PanelLoops {
  std::int64_t positions, channels;

  // sums [positions, channels] +=, or = if they are fresh, x [row, i, position + k tap] * weights [row, i, k, channels], over
  // rows, `depth` channels i that are `wide` elements apart, and k < taps. Weights and sums are aligned to vectors.
  using Loop = void (*)(const T* const* x, const T* const* weights, std::int64_t rows, std::int64_t depth, std::int64_t wide,
                        std::int64_t taps, std::int64_t tap, bool fresh, T* sums);
  Loop by_positions[kMostPanelPositions + 1];
};
template <class T> const PanelLoops<T>& panel_loops(); // float, double

} // namespace cairn::ops::cpu
