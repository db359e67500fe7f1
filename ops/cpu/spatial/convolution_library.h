// Convolutions from the module cairn_math, where they are worth a call and it can do them.
#pragma once

#include "ops/cpu/spatial/convolution.h"
#include "ops/libraries/convolution.h"

namespace cairn::ops::cpu {

inline constexpr double kLeastForLibrary = 1 << 20; // multiplications: fewer take longer to hand over

// As the functions of convolution.h, by what is written. False: not done.
bool convolved_by_library(cairn_math_written kind, const Convolution& c, const View& small, const View& large,
                          const View& weights, const View* bias);

} // namespace cairn::ops::cpu
