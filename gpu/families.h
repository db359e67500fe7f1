// Which operators the GPU has, and which function of an element each is: from the same lists and structs as the kernels of the
// CPU (ops/pointwise.h). A runner is called with the body and the type computed in as template arguments, and the plan:
// kernels/*.cu run it on the GPU, a test on the host. Each family says whether it has the operator.
#pragma once

#include "gpu/elementwise.h"
#include "gpu/fold.h"
#include "gpu/rows.h"
#include "ops/pointwise.h"
#include "ops/random.h"

#include <type_traits>

namespace cairn::gpu {

// --- bodies. An operator that has no function for integers is never computed in them.

template <class T, bool closed> inline constexpr bool kHas = closed || !std::is_same_v<T, pointwise::Integer>;

struct Unary {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Plan& plan, const T* x, std::int64_t) {
    switch (plan.op) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    if constexpr (kHas<T, pointwise::Struct::closed>) return pointwise::Struct::value<T>(x[0]);                                  \
    break;
      CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    if constexpr (kHas<T, pointwise::Struct::closed>) return pointwise::Struct::value<T>(x[0], static_cast<T>(plan.parameter));  \
    break;
      CAIRN_POINTWISE_PARAMETER(X)
#undef X
    default:
      break;
    }
    return x[0];
  }
};

// (cotangent, x, y)
struct UnaryVjp {
  static constexpr unsigned inputs = 3;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Plan& plan, const T* x, std::int64_t) {
    switch (plan.op) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id##_vjp:                                                                                                     \
    return x[0] * pointwise::Struct::slope<T>(x[1], x[2]);
      CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct)                                                                                                            \
  case OperatorId::id##_vjp:                                                                                                     \
    return x[0] * pointwise::Struct::slope<T>(x[1], x[2], static_cast<T>(plan.parameter));
      CAIRN_POINTWISE_PARAMETER(X)
#undef X
    default:
      return x[0];
    }
  }
};

struct Binary {
  static constexpr unsigned inputs = 2;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Plan& plan, const T* x, std::int64_t) {
    switch (plan.op) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    if constexpr (kHas<T, pointwise::Struct::closed>) return pointwise::Struct::value<T>(x[0], x[1]);                            \
    break;
      CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    return pointwise::Struct::value<T>(x[0], x[1]);
      CAIRN_POINTWISE_COMPARE(X)
#undef X
    default:
      break;
    }
    return x[0];
  }
};

// (cotangent, a, b, value)
struct BinaryVjp {
  static constexpr unsigned inputs = 4;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Plan& plan, const T* x, std::int64_t) {
    switch (plan.op) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id##_vjp_a:                                                                                                   \
    return x[0] * pointwise::Struct::slope_a<T>(x[1], x[2], x[3]);                                                               \
  case OperatorId::id##_vjp_b:                                                                                                   \
    return x[0] * pointwise::Struct::slope_b<T>(x[1], x[2], x[3]);
      CAIRN_POINTWISE_BINARY(X)
#undef X
    default:
      return x[0];
    }
  }
};

struct Choice {
  static constexpr unsigned inputs = 3;
  static constexpr bool condition = true;
  template <class T> CAIRN_GPU static T value(const Plan&, const T* x, std::int64_t) {
    return pointwise::Where::value<T>(x[0], x[1], x[2]);
  }
};

struct Copy {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Plan&, const T* x, std::int64_t) { return x[0]; }
};

// The operand is a number: how many bits the type of the result takes. New tensors are row-major, so an element's index is its
// place.
struct Random {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Plan& plan, const T* x, std::int64_t i) {
    const random::Pair bits = random::bits_of_pair(plan.key, static_cast<std::uint64_t>(i) / 2);
    if (plan.op == OperatorId::random_uniform)
      return random::uniform(i % 2 == 0 ? bits.first : bits.second, static_cast<int>(x[0]));
    const random::Normals both = random::normals(bits);
    return i % 2 == 0 ? both.first : both.second;
  }
};

// --- from calls to bodies

template <class Body, bool integers, class Run> void compute(Compute in, const Plan& plan, Run& run) {
  if (plan.count == 0) return;
  if (in == Compute::f32) return run.template operator()<Body, float>(plan);
  if constexpr (integers)
    if (in == Compute::i64) return run.template operator()<Body, pointwise::Integer>(plan);
  run.template operator()<Body, double>(plan);
}

template <class Body, bool integers, class Run>
bool elementwise(OperatorId id, const KernelCall& call, Run& run, double parameter = 0) {
  Plan plan = plan_of(call.inputs, call.outputs[0]);
  plan.op = id;
  plan.parameter = parameter;
  compute<Body, integers>(compute_of(call.outputs[0].dtype), plan, run);
  return true;
}

template <class F> double parameter(const Attributes& attributes) {
  return attributes.values.empty() || !attributes[0].present() ? F::kParameter : attributes[0].number();
}

template <class Run> bool unary(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct) case OperatorId::id:
    CAIRN_POINTWISE_UNARY(X)
#undef X
    return elementwise<Unary, true>(id, call, run);
#define X(id, Struct) case OperatorId::id##_vjp:
    CAIRN_POINTWISE_UNARY(X)
#undef X
    return elementwise<UnaryVjp, false>(id, call, run);
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
    return elementwise<Unary, true>(OperatorId::id, call, run, parameter<pointwise::Struct>(call.attributes));                   \
  case OperatorId::id##_vjp:                                                                                                     \
    return elementwise<UnaryVjp, false>(OperatorId::id##_vjp, call, run, parameter<pointwise::Struct>(call.attributes));
    CAIRN_POINTWISE_PARAMETER(X)
#undef X
  default:
    return false;
  }
}

template <class Run> bool binary(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
#define X(id, Struct) case OperatorId::id:
    CAIRN_POINTWISE_BINARY(X)
#undef X
    return elementwise<Binary, true>(id, call, run);
#define X(id, Struct)                                                                                                            \
  case OperatorId::id##_vjp_a:                                                                                                   \
  case OperatorId::id##_vjp_b:
    CAIRN_POINTWISE_BINARY(X)
#undef X
    return elementwise<BinaryVjp, false>(id, call, run);
#define X(id, Struct) case OperatorId::id:
    CAIRN_POINTWISE_COMPARE(X)
#undef X
    {
      Plan plan = plan_of(call.inputs, call.outputs[0]);
      plan.op = id;
      compute<Binary, true>(compared_in(call.inputs[0], call.inputs[1]), plan, run);
      return true;
    }
  case OperatorId::where:
    return elementwise<Choice, true>(id, call, run);
  default:
    return false;
  }
}

// The elements of a view from `first` on along an axis, so many.
inline View narrowed(const View& view, int axis, std::int64_t first, std::int64_t count) {
  View part = view;
  part.data = static_cast<char*>(view.data) + first * view.strides[static_cast<std::size_t>(axis)] * bytes_of(view.dtype);
  part.shape[axis] = count;
  return part;
}

template <class Run> void copy(const View& from, const View& to, Run& run) {
  compute<Copy, true>(compute_of(to.dtype), plan_of({&from, 1}, to), run);
}

template <class Run> void fill(const View& to, double number, Run& run) {
  View from;
  from.weak = true;
  from.number = number;
  compute<Copy, true>(is_floating(to.dtype) ? compute_of(to.dtype) : Compute::f64, plan_of({&from, 1}, to), run); // as a double, which any number is
}

template <class Run> void concat(const KernelCall& call, Run& run) {
  const View& out = call.outputs[0];
  const std::int64_t given = call.attributes[0].integer();
  const int axis = static_cast<int>(given < 0 ? given + out.shape.rank() : given);
  std::int64_t at = 0;
  for (const View& in : call.inputs) {
    copy(in, narrowed(out, axis, at, in.shape[axis]), run);
    at += in.shape[axis];
  }
}

template <class Run> void pad(const KernelCall& call, Run& run) {
  View to = call.outputs[0], from = call.inputs[0];
  const Attributes& a = call.attributes;
  bool empty = false;
  for (int i = 0; i < to.shape.rank() && !empty; ++i) {
    const std::int64_t before = a[0].list()[static_cast<std::size_t>(i)], behind = a[1].list()[static_cast<std::size_t>(i)];
    const std::int64_t first = before < 0 ? -before : 0, count = from.shape[i] - first - (behind < 0 ? -behind : 0);
    empty = count <= 0;
    if (empty) break;
    from = narrowed(from, i, first, count);
    to = narrowed(to, i, before > 0 ? before : 0, count);
  }
  fill(call.outputs[0], a.values.size() > 2 && a[2].present() ? a[2].number() : 0, run);
  if (!empty) copy(from, to, run);
}

template <class Run> void draw(OperatorId id, const KernelCall& call, Run& run) {
  const DType type = call.outputs[0].dtype;
  View digits;
  digits.weak = true;
  digits.number = type == DType::f64 ? 53 : type == DType::f32 ? 24 : 8;
  Plan plan = plan_of({&digits, 1}, call.outputs[0]);
  plan.op = id;
  plan.key = call.attributes.key;
  if (plan.count != 0) run.template operator()<Random, double>(plan);
}

// What does not compute with elements: other types, other places, new ones.
template <class Run> bool moves(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
  case OperatorId::cast:
  case OperatorId::contiguous:
    copy(call.inputs[0], call.outputs[0], run);
    return true;
  case OperatorId::view: { // row-major on both sides: the output is written under the shape of the input
    View out = call.outputs[0];
    out.shape = call.inputs[0].shape;
    std::int64_t stride = 1;
    for (int axis = out.shape.rank() - 1; axis >= 0; --axis) {
      out.strides[static_cast<std::size_t>(axis)] = stride;
      stride *= out.shape[axis];
    }
    copy(call.inputs[0], out, run);
    return true;
  }
  case OperatorId::fill:
    fill(call.outputs[0], call.attributes[1].number(), run);
    return true;
  case OperatorId::random_uniform:
  case OperatorId::random_normal:
    draw(id, call, run);
    return true;
  case OperatorId::concat:
    concat(call, run);
    return true;
  case OperatorId::pad:
    pad(call, run);
    return true;
  default:
    return false;
  }
}

template <class Run> bool folds(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
  case OperatorId::sum:
  case OperatorId::mean:
  case OperatorId::max_over:
  case OperatorId::sum_to:
  case OperatorId::matmul: {
    const Fold fold = fold_of(id, call);
    if (fold.kept.count == 0) return true;
    if (compute_of(fold) == Compute::f32)
      run.template fold<float>(fold);
    else if (compute_of(fold) == Compute::f64)
      run.template fold<double>(fold);
    else
      run.template fold<pointwise::Integer>(fold);
    return true;
  }
  default:
    return false;
  }
}

template <class Run> bool rows(OperatorId id, const KernelCall& call, Run& run) {
  switch (id) {
  case OperatorId::softmax:
  case OperatorId::log_softmax:
  case OperatorId::softmax_vjp:
  case OperatorId::log_softmax_vjp:
  case OperatorId::max_over_mask: {
    const Rows rows = rows_of(id, call);
    if (rows.kept.count == 0 || rows.along.count == 0) return true;
    if (computed_in(rows) == Compute::f32)
      run.template rows<float>(rows);
    else if (computed_in(rows) == Compute::f64)
      run.template rows<double>(rows);
    else
      run.template rows<pointwise::Integer>(rows);
    return true;
  }
  default:
    return false;
  }
}

} // namespace cairn::gpu
