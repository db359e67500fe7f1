// Convolutions whose windows are at every position, where the weights are large beside what they slide over, since libraries then
// take long to bring the weights into their order; and those that are too small for a library. Each panel of the weights is
// packed into the caches and used for all positions at once.
#pragma once

#include "ops/cpu/spatial/convolution.h"

namespace cairn::ops::cpu {

// As convolve_to_small and convolve_to_large of convolution.h, for f32 and f64 with dense weights. False: not done, another way
// is faster or there is no memory.
bool convolved_by_panels_to_small(const Convolution& c, const View& small, const View& large, const View& weights,
                                  const View* bias);
bool convolved_by_panels_to_large(const Convolution& c, const View& large, const View& small, const View& weights);

} // namespace cairn::ops::cpu
