// Resampling of the spatial axes to other sizes on the CPU, of operands of any layout; fastest where channels lie closest.
#pragma once

#include "ops/windows.h"

#include <algorithm>

namespace cairn::ops::cpu {

enum class Resampling {
  nearest,       // the position i * in / out, rounded down
  linear,        // between the two positions around (i + 1/2) * in / out - 1/2
  linear_corners // between the two positions around i * (in - 1) / (out - 1)
};

// What a position of the result is made of: the position `low`, and the next one where `beyond` is not 0. Both are quotients of
// integers, whose divisor is `unit`: no rounding decides between neighbours.
struct Neighbours {
  std::int64_t low, beyond, unit;
};
inline Neighbours neighbours(Resampling how, std::int64_t i, std::int64_t in, std::int64_t out) {
  std::int64_t position = i * in, unit = out;
  if (how == Resampling::linear) {
    position = std::max<std::int64_t>(0, (2 * i + 1) * in - out);
    unit = 2 * out;
  } else if (how == Resampling::linear_corners) {
    position = i * (in - 1);
    unit = std::max<std::int64_t>(1, out - 1);
  }
  const std::int64_t low = position / unit;
  return {low, how == Resampling::nearest || low + 1 == in ? 0 : position % unit, unit};
}

void resample(Resampling how, const View& out, const View& in);
// What that makes of the cotangent: each position of the input asks the outputs that look at it.
void resample_vjp(Resampling how, const View& out, const View& cotangent);

} // namespace cairn::ops::cpu
