// Kernels of the functions of two operands, their reverse rules, comparisons, and `where`.
#include "ops/cpu/elements/pointwise.h"
#include "ops/cpu/elements/pointwise_loops.h"

namespace cairn::ops::cpu {

template <class F> void binary_kernel(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  Loop loop = nullptr;
  if (compute == Compute::f32)
    loop = Compiled<BinaryLoop<F, float>>::chosen();
  else if (compute == Compute::f64)
    loop = Compiled<BinaryLoop<F, double>>::chosen();
  else if constexpr (F::closed)
    loop = Compiled<BinaryLoop<F, pointwise::Integer>>::chosen();
  elementwise(call, compute, loop);
}

namespace {

template <class F, bool second> void binary_vjp(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute,
              compute == Compute::f32 ? Compiled<BinaryVjpLoop<F, float, second>>::chosen()
                                      : Compiled<BinaryVjpLoop<F, double, second>>::chosen());
}

} // namespace

template <class F> void binary_vjp_a_kernel(const KernelCall& call) { binary_vjp<F, false>(call); }
template <class F> void binary_vjp_b_kernel(const KernelCall& call) { binary_vjp<F, true>(call); }

template <class F> void compare_kernel(const KernelCall& call) {
  const Compute compute = compared_in(call.inputs[0], call.inputs[1]);
  Details details;
  details.flags = true;
  elementwise(call, compute,
              compute == Compute::f32   ? Compiled<CompareLoop<F, float>>::chosen()
              : compute == Compute::f64 ? Compiled<CompareLoop<F, double>>::chosen()
                                        : Compiled<CompareLoop<F, pointwise::Integer>>::chosen(),
              details);
}

void where_kernel(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  Loop loop = compute == Compute::f32   ? Compiled<WhereLoop<float>>::chosen()
              : compute == Compute::f64 ? Compiled<WhereLoop<double>>::chosen()
                                        : Compiled<WhereLoop<pointwise::Integer>>::chosen();
  Details details;
  details.condition = true;
  elementwise(call, compute, loop, details);
}

#define X(id, Struct, ...)                                                                                                       \
  template void binary_kernel<pointwise::Struct>(const KernelCall&);                                                             \
  template void binary_vjp_a_kernel<pointwise::Struct>(const KernelCall&);                                                       \
  template void binary_vjp_b_kernel<pointwise::Struct>(const KernelCall&);
CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, Struct, ...) template void compare_kernel<pointwise::Struct>(const KernelCall&);
CAIRN_POINTWISE_COMPARE(X)
#undef X

} // namespace cairn::ops::cpu
