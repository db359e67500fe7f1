// The weights' gradient of a convolution where each group has at least half a vector of channels on the large side.
#pragma once

#include "ops/cpu/spatial/convolution.h"

namespace cairn::ops::cpu {

// As convolve_to_weights of convolution.h, for any types and layouts; fastest where channels lie closest. False: not done, there
// are too few channels, windows reach very far, or there is no memory.
bool convolved_to_weights(const Convolution& c, const View& weights, const View& small, const View& large);

} // namespace cairn::ops::cpu
