// Convolutions on the CPU, on tensors of any layout; fastest where channels lie closest.
#pragma once

#include "ops/windows.h"

namespace cairn::ops::cpu {

struct Convolution {
  Windows windows;
  std::int64_t groups = 1;
};

// Whichever operand is written, `small` is the side of the positions of windows, `large` the one they slide over, weights are
// [channels of small, channels of large / groups, sizes...]. So the transpose is `to_large`.
void convolve_to_small(const Convolution& c, const View& small, const View& large, const View& weights, const View* bias);
void convolve_to_large(const Convolution& c, const View& large, const View& small, const View& weights);
void convolve_to_weights(const Convolution& c, const View& weights, const View& small, const View& large);

} // namespace cairn::ops::cpu
