// Kernels of the functions of one operand and of their reverse rules.
#include "ops/cpu/elements/pointwise.h"
#include "ops/cpu/elements/pointwise_loops.h"

namespace cairn::ops::cpu {

template <class F> void unary_kernel(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  Loop loop = nullptr;
  if (compute == Compute::f32)
    loop = Compiled<UnaryLoop<F, float>>::chosen();
  else if (compute == Compute::f64)
    loop = Compiled<UnaryLoop<F, double>>::chosen();
  else if constexpr (F::closed)
    loop = Compiled<UnaryLoop<F, pointwise::Integer>>::chosen();
  elementwise(call, compute, loop);
}

template <class F> void unary_vjp_kernel(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute,
              compute == Compute::f32 ? Compiled<UnaryVjpLoop<F, float>>::chosen() : Compiled<UnaryVjpLoop<F, double>>::chosen());
}

namespace {

template <class F> Details with_parameter(const Attributes& attributes) {
  Details details;
  details.parameter = attributes.values.empty() || !attributes[0].present() ? F::kParameter : attributes[0].number();
  return details;
}

} // namespace

template <class F> void parameter_kernel(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute,
              compute == Compute::f32 ? Compiled<ParameterLoop<F, float>>::chosen()
                                      : Compiled<ParameterLoop<F, double>>::chosen(),
              with_parameter<F>(call.attributes));
}

template <class F> void parameter_vjp_kernel(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute,
              compute == Compute::f32 ? Compiled<ParameterVjpLoop<F, float>>::chosen()
                                      : Compiled<ParameterVjpLoop<F, double>>::chosen(),
              with_parameter<F>(call.attributes));
}

#define X(id, Struct, ...)                                                                                                       \
  template void unary_kernel<pointwise::Struct>(const KernelCall&);                                                              \
  template void unary_vjp_kernel<pointwise::Struct>(const KernelCall&);
CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct, ...)                                                                                                       \
  template void parameter_kernel<pointwise::Struct>(const KernelCall&);                                                          \
  template void parameter_vjp_kernel<pointwise::Struct>(const KernelCall&);
CAIRN_POINTWISE_PARAMETER(X)
#undef X

} // namespace cairn::ops::cpu
