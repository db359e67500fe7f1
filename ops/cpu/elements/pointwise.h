// Kernels of the CPU for the pointwise functions, by the structs of pointwise.h.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

template <class F> void unary_kernel(const KernelCall& call);
template <class F> void unary_vjp_kernel(const KernelCall& call);
template <class F> void parameter_kernel(const KernelCall& call);
template <class F> void parameter_vjp_kernel(const KernelCall& call);
template <class F> void binary_kernel(const KernelCall& call);
template <class F> void binary_vjp_a_kernel(const KernelCall& call);
template <class F> void binary_vjp_b_kernel(const KernelCall& call);
template <class F> void compare_kernel(const KernelCall& call);
void where_kernel(const KernelCall& call);

} // namespace cairn::ops::cpu
