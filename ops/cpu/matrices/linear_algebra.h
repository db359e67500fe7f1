// Small dense matrices on the CPU: factors, solutions, determinants. Leading axes are those of stacks; everything is computed in
// double.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

void cholesky(const KernelCall& call);
void triangular_solve(const KernelCall& call, bool lower);
void solve(const KernelCall& call);
void determinant(const KernelCall& call);
// (matrix, directions) and (cotangent, matrix, directions): at most kMostDirections (jets.h); which of them the result is for.
void determinant_along(const KernelCall& call);
void determinant_vjp(const KernelCall& call, unsigned which);

} // namespace cairn::ops::cpu
