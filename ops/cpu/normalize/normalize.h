// Normalisation on the CPU, of tensors of any layout: over batch and space, over groups of channels, or over the last axes.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

struct Normalization {
  enum class Kind { batch, groups, last } kind = Kind::last;
  std::int64_t groups = 1; // of channels
  int last = 1;            // how many axes at the end
  bool centred = true;     // the mean is taken away
  double epsilon = 1e-5;
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + shift. Null: without. `variances`: where those of the sets go, or null.
void normalize(const Normalization& n, const View& y, const View& x, const View* scale, const View* shift,
               const View* variances = nullptr);
// By mean and variance that are given: of channels.
void normalize_by(const Normalization& n, const View& y, const View& x, const View& scale, const View& shift, const View& mean,
                  const View& variance);
// (cotangent, x, mean, deviation), broadcast: the cotangent times (x - mean) / deviation.
void times_normalized(const KernelCall& call);
// The mean of each set at all its elements.
void mean_within(const Normalization& n, const View& out, const View& x);
// The part of x, which is of the shape of cotangent and x. Where variances of the sets are given, x is normalised.
void normalize_vjp(const Normalization& n, const View& dx, const View& cotangent, const View& x, const View& scale,
                   const View* variances = nullptr);

} // namespace cairn::ops::cpu
