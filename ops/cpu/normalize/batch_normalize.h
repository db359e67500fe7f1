// Normalisation of a batch by the mean and variance of each channel, on the CPU, for tensors of any layout; fast where channels
// lie closest.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, and the mean and variance of each channel. y may be x.
void batch_normalize(double epsilon, const View& y, const View& mean, const View& variance, const View& x, const View& scale,
                     const View& shift);
// The cotangents of x, scale and shift. dx may be the cotangent or x.
void batch_normalize_vjp(double epsilon, const View& dx, const View& dscale, const View& dshift, const View& cotangent,
                         const View& x, const View& scale);
// The same by what x was when it was normalised, which may have errors, and by x's variance, which has none: x's own statistics
// are not taken from it. dx may be the cotangent or that.
void batch_normalized_vjp(double epsilon, const View& dx, const View& dscale, const View& dshift, const View& cotangent,
                          const View& normalized, const View& scale, const View& variance);

} // namespace cairn::ops::cpu
