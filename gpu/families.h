// Which operators the GPU has, and which function of an element each is: from the same lists and structs as the kernels of the
// CPU (ops/pointwise.h). A runner is called with the body and the type computed in as template arguments, and the plan:
// kernels/*.cu run it on the GPU, a test on the host. Each family says whether it has the operator.
#pragma once

#include "gpu/elementwise.h"
#include "ops/pointwise.h"

#include <array>

namespace cairn::gpu {

template <class F> struct Unary {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double) { return F::template value<T>(x[0]); }
};
template <class F> struct UnaryVjp {
  static constexpr unsigned inputs = 3;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double) { return x[0] * F::template slope<T>(x[1], x[2]); }
};
template <class F> struct Parameter {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double p) { return F::template value<T>(x[0], static_cast<T>(p)); }
};
template <class F> struct ParameterVjp {
  static constexpr unsigned inputs = 3;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double p) {
    return x[0] * F::template slope<T>(x[1], x[2], static_cast<T>(p));
  }
};
template <class F> struct Binary {
  static constexpr unsigned inputs = 2;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double) { return F::template value<T>(x[0], x[1]); }
};
template <class F, bool second> struct BinaryVjp {
  static constexpr unsigned inputs = 4;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double) {
    if constexpr (second)
      return x[0] * F::template slope_b<T>(x[1], x[2], x[3]);
    else
      return x[0] * F::template slope_a<T>(x[1], x[2], x[3]);
  }
};
struct Choice {
  static constexpr unsigned inputs = 3;
  static constexpr bool condition = true;
  template <class T> CAIRN_HD static T value(const T* x, double) { return pointwise::Where::value<T>(x[0], x[1], x[2]); }
};
struct Copy {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_HD static T value(const T* x, double) { return x[0]; }
};

template <class Body, bool integers, class Run> void compute(Compute in, const Plan& plan, Run& run) {
  if (plan.count == 0) return;
  if (in == Compute::f32) return run.template operator()<Body, float>(plan);
  if constexpr (integers)
    if (in == Compute::i64) return run.template operator()<Body, pointwise::Integer>(plan);
  run.template operator()<Body, double>(plan);
}

template <class Body, bool integers, class Run> bool elementwise(const KernelCall& call, Run& run, double parameter = 0) {
  Plan plan = plan_of(call.inputs, call.outputs[0]);
  plan.parameter = parameter;
  compute<Body, integers>(compute_of(call.outputs[0].dtype), plan, run);
  return true;
}

template <class Run> bool unary(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    return elementwise<Unary<pointwise::Struct>, pointwise::Struct::closed>(call, run);
    CAIRN_POINTWISE_UNARY(X)
#undef X
  default:
    return false;
  }
}

template <class Run> bool unary_vjp(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id##_vjp:                                                                                                     \
    return elementwise<UnaryVjp<pointwise::Struct>, false>(call, run);
    CAIRN_POINTWISE_UNARY(X)
#undef X
  default:
    return false;
  }
}

template <class F> double parameter(const Attributes& attributes) {
  return attributes.values.empty() || !attributes[0].present ? F::kParameter : attributes[0].number;
}

template <class Run> bool with_parameter(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    return elementwise<Parameter<pointwise::Struct>, false>(call, run, parameter<pointwise::Struct>(call.attributes));           \
  case OperatorId::id##_vjp:                                                                                                     \
    return elementwise<ParameterVjp<pointwise::Struct>, false>(call, run, parameter<pointwise::Struct>(call.attributes));
    CAIRN_POINTWISE_PARAMETER(X)
#undef X
  default:
    return false;
  }
}

template <class Run> bool binary(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    return elementwise<Binary<pointwise::Struct>, pointwise::Struct::closed>(call, run);
    CAIRN_POINTWISE_BINARY(X)
#undef X
  default:
    return false;
  }
}

template <class Run> bool binary_vjp(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id##_vjp_a:                                                                                                   \
    return elementwise<BinaryVjp<pointwise::Struct, false>, false>(call, run);                                                   \
  case OperatorId::id##_vjp_b:                                                                                                   \
    return elementwise<BinaryVjp<pointwise::Struct, true>, false>(call, run);
    CAIRN_POINTWISE_BINARY(X)
#undef X
  default:
    return false;
  }
}

// Comparisons and `where`.
template <class Run> bool choice(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    compute<Binary<pointwise::Struct>, true>(compared_in(call.inputs[0], call.inputs[1]), plan_of(call.inputs, call.outputs[0]), \
                                             run);                                                                               \
    return true;
    CAIRN_POINTWISE_COMPARE(X)
#undef X
  case OperatorId::where:
    return elementwise<Choice, true>(call, run);
  default:
    return false;
  }
}

// What moves elements without computing: other types, other places, one number everywhere.
template <class Run> bool moves(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
  case OperatorId::cast:
  case OperatorId::contiguous:
    return elementwise<Copy, true>(call, run);
  case OperatorId::view: { // row-major on both sides: the output is written under the shape of the input
    View out = call.outputs[0];
    out.shape = call.inputs[0].shape;
    std::int64_t stride = 1;
    for (int axis = out.shape.rank() - 1; axis >= 0; --axis) {
      out.strides[static_cast<std::size_t>(axis)] = stride;
      stride *= out.shape[axis];
    }
    return elementwise<Copy, true>(KernelCall{call.inputs, {&out, 1}, call.attributes}, run);
  }
  case OperatorId::fill: {
    View number;
    number.weak = true;
    number.number = call.attributes[1].number;
    return elementwise<Copy, true>(KernelCall{{&number, 1}, call.outputs, call.attributes}, run);
  }
  default:
    return false;
  }
}

} // namespace cairn::gpu
