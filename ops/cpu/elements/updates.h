// What optimisers do to parameters and their states, and derivatives of variances to cotangents, in one pass over memory each. No
// products and sums are contracted, so that the bits are those of the operations one after the other.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

inline constexpr double kAdamEpsilon = 1e-8;

// (a, b, s, t): s a + t b, and s a + t (b b).
void weighted_sum(const KernelCall& call);
void weighted_square_sum(const KernelCall& call);
// (sum, term, x, mean, factor): (sum + term) + factor (x - mean).
void add_deviations(const KernelCall& call);
// (x, mean, squares, kept, rate, root): kept x - rate (mean / (sqrt(squares) / root + epsilon)).
void adam_step(const KernelCall& call);
// (x, mean, squares, cotangent, and the numbers of the three above in their order): all three at once, with results x, mean and
// squares. Seven elements are read and written where the three ones take ten.
void adam_update(const KernelCall& call);

} // namespace cairn::ops::cpu
