// Resampling of the spatial axes to other sizes on the CPU, of operands of any layout; fastest where channels lie closest.
#pragma once

#include "ops/windows.h"

namespace cairn::ops::cpu {

enum class Resampling {
  nearest,       // the position i * in / out, rounded down
  linear,        // between the two positions around (i + 1/2) * in / out - 1/2
  linear_corners // between the two positions around i * (in - 1) / (out - 1)
};

void resample(Resampling how, const View& out, const View& in);
// What that makes of the cotangent: each position of the input asks the outputs that look at it.
void resample_vjp(Resampling how, const View& out, const View& cotangent);

} // namespace cairn::ops::cpu
