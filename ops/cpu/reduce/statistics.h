// Reductions that need more than one pass or more than one number, and their reverse rules. Each group of elements is reduced by
// one thread, in double (products of integers as integers), so results do not depend on how many there are.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// The axes of the mask go. Reverse rules take (cotangent, x) or (cotangent, x, y).
void prod(const KernelCall& call, unsigned mask);
// (x, directions) and (cotangent, x, directions): at most kMostDirections (jets.h); which of them the result is for.
void prod_along(const KernelCall& call, unsigned mask);
void prod_vjp(const KernelCall& call, unsigned mask, unsigned which);
void norm(const KernelCall& call, unsigned mask, double p);
void norm_vjp(const KernelCall& call, unsigned mask, double p);
void logsumexp(const KernelCall& call, unsigned mask);
void logsumexp_vjp(const KernelCall& call, unsigned mask);
// Sums of squares are divided by the count less the correction.
void variance(const KernelCall& call, unsigned mask, double correction);
void variance_vjp(const KernelCall& call, unsigned mask, double correction);
// The index of the first of the largest (or smallest) of each group. A NaN is larger, and smaller, than all.
void index_of_extreme(const KernelCall& call, unsigned mask, bool largest);

} // namespace cairn::ops::cpu
