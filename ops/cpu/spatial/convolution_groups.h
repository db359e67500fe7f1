// Convolutions in groups of few channels, such as one filter for each channel: channels lie beside each other in vectors, as a
// product of matrices of so few rows would be mostly packing.
#pragma once

#include "ops/cpu/spatial/convolution.h"

namespace cairn::ops::cpu {

// As the functions of convolution.h. False: not done, groups are large or windows very long.
bool convolved_by_groups_to_small(const Convolution& c, const View& small, const View& large, const View& weights,
                                  const View* bias);
bool convolved_by_groups_to_large(const Convolution& c, const View& large, const View& small, const View& weights);
bool convolved_by_groups_to_weights(const Convolution& c, const View& weights, const View& small, const View& large);

} // namespace cairn::ops::cpu
