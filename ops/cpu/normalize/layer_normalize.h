// Normalisation over the last axes on the CPU: those that `scale` has.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

struct LayerNormalization {
  double epsilon = 1e-5;
  bool centred = true; // the mean is taken away
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + shift. shift may be null. y may be x.
void layer_normalize(const LayerNormalization& n, const View& y, const View& x, const View& scale, const View* shift);
// The cotangents of x, scale and shift. dx may be the cotangent or x.
void layer_normalize_vjp(const LayerNormalization& n, const View& dx, const View& dscale, const View& dshift,
                         const View& cotangent, const View& x, const View& scale);
// Without scale and shift, over so many last axes; and the variances of rows, or mean squares, before epsilon, of which there are
// as many as rows.
void layer_normalized(const LayerNormalization& n, int axes, const View& y, const View& variances, const View& x);
// The same cotangents by those two.
void layer_normalized_vjp(const LayerNormalization& n, const View& dx, const View& dscale, const View& dshift,
                          const View& cotangent, const View& normalized, const View& scale, const View& variances);

} // namespace cairn::ops::cpu
