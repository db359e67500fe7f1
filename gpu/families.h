// Which operators the GPU has, and which function of an element each is: from the same lists and structs as the kernels of the
// CPU (ops/pointwise.h). A runner is called with the body and the type computed in as template arguments, and the traversal:
// kernels/*.cu run it on the GPU, a test on the host. Each family has a table of its operators.
#pragma once

#include "gpu/elementwise.h"
#include "gpu/fold.h"
#include "gpu/rows.h"
#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"
#include "ops/random.h"

#include <type_traits>
#include <vector>

namespace cairn::gpu {

// --- bodies. An operator that has no function for integers is never computed in them.

template <class T, bool closed> inline constexpr bool kHas = closed || !std::is_same_v<T, pointwise::Integer>;

struct Unary {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Traversal& traversal, const T* x, std::int64_t) {
    switch (traversal.op) {
#define X(id, Struct, ...)                                                                                                       \
  case OperatorId::id:                                                                                                           \
    if constexpr (kHas<T, pointwise::Struct::closed>) return pointwise::Struct::value<T>(x[0]);                                  \
    break;
      CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct, ...)                                                                                                       \
  case OperatorId::id:                                                                                                           \
    if constexpr (kHas<T, pointwise::Struct::closed>)                                                                            \
      return pointwise::Struct::value<T>(x[0], static_cast<T>(traversal.parameter));                                             \
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
  template <class T> CAIRN_GPU static T value(const Traversal& traversal, const T* x, std::int64_t) {
    switch (traversal.op) {
#define X(id, Struct, ...)                                                                                                       \
  case OperatorId::id##_vjp:                                                                                                     \
    return x[0] * pointwise::Struct::slope<T>(x[1], x[2]);
      CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct, ...)                                                                                                       \
  case OperatorId::id##_vjp:                                                                                                     \
    return x[0] * pointwise::Struct::slope<T>(x[1], x[2], static_cast<T>(traversal.parameter));
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
  template <class T> CAIRN_GPU static T value(const Traversal& traversal, const T* x, std::int64_t) {
    switch (traversal.op) {
#define X(id, Struct, ...)                                                                                                       \
  case OperatorId::id:                                                                                                           \
    if constexpr (kHas<T, pointwise::Struct::closed>) return pointwise::Struct::value<T>(x[0], x[1]);                            \
    break;
      CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, Struct, ...)                                                                                                       \
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
  template <class T> CAIRN_GPU static T value(const Traversal& traversal, const T* x, std::int64_t) {
    switch (traversal.op) {
#define X(id, Struct, ...)                                                                                                       \
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
  template <class T> CAIRN_GPU static T value(const Traversal&, const T* x, std::int64_t) {
    return pointwise::Where::value<T>(x[0], x[1], x[2]);
  }
};

struct Copy {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Traversal&, const T* x, std::int64_t) { return x[0]; }
};

// The operand is a number: how many bits the type of the result takes. New tensors are row-major, so an element's index is its
// position.
struct Random {
  static constexpr unsigned inputs = 1;
  static constexpr bool condition = false;
  template <class T> CAIRN_GPU static T value(const Traversal& traversal, const T* x, std::int64_t i) {
    const random::Pair bits = random::bits_of_pair(traversal.key, static_cast<std::uint64_t>(i) / 2);
    if (traversal.op == OperatorId::random_uniform)
      return random::uniform(i % 2 == 0 ? bits.first : bits.second, static_cast<int>(x[0]));
    const random::Normals both = random::normals(bits);
    return i % 2 == 0 ? both.first : both.second;
  }
};

// --- from calls to bodies

template <class Body, bool integers, class Run> void compute(Compute in, const Traversal& traversal, Run& run) {
  if (traversal.count == 0) return;
  if (in == Compute::f32) return run.template operator()<Body, float>(traversal);
  if constexpr (integers)
    if (in == Compute::i64) return run.template operator()<Body, pointwise::Integer>(traversal);
  run.template operator()<Body, double>(traversal);
}

// A table of kernels: its operators, each with what queues it. What the GPU has is what stands in these tables.
template <class Run> struct Entry {
  OperatorId id;
  void (*queue)(OperatorId id, const KernelCall& call, Run& run);
};

template <class Table> bool has(const Table& table, OperatorId id) {
  for (const auto& entry : table)
    if (entry.id == id) return true;
  return false;
}

template <class Table, class Run> bool queued(const Table& table, OperatorId id, const KernelCall& call, Run& run) {
  for (const auto& entry : table) {
    if (entry.id != id) continue;
    entry.queue(id, call, run);
    return true;
  }
  return false;
}

template <class Body, bool integers, class Run>
void elementwise_with(OperatorId id, const KernelCall& call, Compute in, double parameter, Run& run) {
  Traversal traversal = traversal_of(call.inputs, call.outputs[0]);
  traversal.op = id;
  traversal.parameter = parameter;
  compute<Body, integers>(in, traversal, run);
}

template <class Body, bool integers, class Run> void elementwise(OperatorId id, const KernelCall& call, Run& run) {
  elementwise_with<Body, integers>(id, call, compute_of(call.outputs[0].dtype), 0, run);
}

template <class F, class Body, bool integers, class Run> void parametric(OperatorId id, const KernelCall& call, Run& run) {
  const std::vector<Attribute>& given = call.attributes.values;
  const double parameter = given.empty() || !given[0].present() ? F::kParameter : given[0].number();
  elementwise_with<Body, integers>(id, call, compute_of(call.outputs[0].dtype), parameter, run);
}

template <class Run> void comparison(OperatorId id, const KernelCall& call, Run& run) {
  elementwise_with<Binary, true>(id, call, compared_in(call.inputs[0], call.inputs[1]), 0, run);
}

template <class Run>
inline constexpr Entry<Run> kUnary[] = {
#define X(id, Struct, ...)                                                                                                       \
  {OperatorId::id, elementwise<Unary, true, Run>}, {OperatorId::id##_vjp, elementwise<UnaryVjp, false, Run>},
    CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct, ...)                                                                                                       \
  {OperatorId::id, parametric<pointwise::Struct, Unary, true, Run>},                                                             \
      {OperatorId::id##_vjp, parametric<pointwise::Struct, UnaryVjp, false, Run>},
        CAIRN_POINTWISE_PARAMETER(X)
#undef X
};

template <class Run> bool unary(OperatorId id, const KernelCall& call, Run& run) { return queued(kUnary<Run>, id, call, run); }

template <class Run>
inline constexpr Entry<Run> kBinary[] = {
#define X(id, Struct, ...)                                                                                                       \
  {OperatorId::id, elementwise<Binary, true, Run>}, {OperatorId::id##_vjp_a, elementwise<BinaryVjp, false, Run>},                \
      {OperatorId::id##_vjp_b, elementwise<BinaryVjp, false, Run>},
    CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, Struct, ...) {OperatorId::id, comparison<Run>},
        CAIRN_POINTWISE_COMPARE(X)
#undef X
            {OperatorId::where, elementwise<Choice, true, Run>}};

template <class Run> bool binary(OperatorId id, const KernelCall& call, Run& run) { return queued(kBinary<Run>, id, call, run); }

// The elements of a view from `first` on along an axis, so many.
inline View narrowed(const View& view, int axis, std::int64_t first, std::int64_t count) {
  View part = view;
  part.data = static_cast<char*>(view.data) + first * view.strides[static_cast<std::size_t>(axis)] * bytes_of(view.dtype);
  part.shape[axis] = count;
  return part;
}

// A floating number goes to the type of an integer in one conversion: by way of a wider one it would lose its high bits instead
// of becoming the nearest there is.
template <class Run> void copy(const View& from, const View& to, Run& run) {
  const bool becomes_integer = is_floating(from.dtype) && !is_floating(to.dtype);
  compute<Copy, true>(becomes_integer ? Compute::f64 : compute_of(to.dtype), traversal_of({&from, 1}, to), run);
}

template <class Run> void copied(OperatorId /*id*/, const KernelCall& call, Run& run) {
  copy(call.inputs[0], call.outputs[0], run);
}

// Row-major on both sides: the output is written under the shape of the input.
template <class Run> void viewed(OperatorId /*id*/, const KernelCall& call, Run& run) {
  View out = call.outputs[0];
  out.shape = call.inputs[0].shape;
  std::int64_t stride = 1;
  for (int axis = out.shape.rank() - 1; axis >= 0; --axis) {
    out.strides[static_cast<std::size_t>(axis)] = stride;
    stride *= out.shape[axis];
  }
  copy(call.inputs[0], out, run);
}

template <class Run> void fill(const View& to, double number, Run& run) {
  View from;
  from.weak = true;
  from.number = number;
  compute<Copy, true>(is_floating(to.dtype) ? compute_of(to.dtype) : Compute::f64, traversal_of({&from, 1}, to),
                      run); // as a double, which any number is
}

template <class Run> void filled(OperatorId /*id*/, const KernelCall& call, Run& run) {
  fill(call.outputs[0], call.attributes[1].number(), run);
}

template <class Run> void concat(OperatorId /*id*/, const KernelCall& call, Run& run) {
  const View& out = call.outputs[0];
  const std::int64_t given = call.attributes[0].integer();
  const int axis = static_cast<int>(given < 0 ? given + out.shape.rank() : given);
  std::int64_t at = 0;
  for (const View& in : call.inputs) {
    copy(in, narrowed(out, axis, at, in.shape[axis]), run);
    at += in.shape[axis];
  }
}

template <class Run> void pad(OperatorId /*id*/, const KernelCall& call, Run& run) {
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
  View digits;
  digits.weak = true;
  digits.number = random::digits_of(call.outputs[0].dtype);
  Traversal traversal = traversal_of({&digits, 1}, call.outputs[0]);
  traversal.op = id;
  traversal.key = call.attributes.key;
  if (traversal.count != 0) run.template operator()<Random, double>(traversal);
}

// What does not compute with elements: other types, other positions, new ones.
template <class Run>
inline constexpr Entry<Run> kMoves[] = {
    {OperatorId::cast, copied<Run>},         {OperatorId::contiguous, copied<Run>},
    {OperatorId::view, viewed<Run>},         {OperatorId::fill, filled<Run>},
    {OperatorId::random_uniform, draw<Run>}, {OperatorId::random_normal, draw<Run>},
    {OperatorId::concat, concat<Run>},       {OperatorId::pad, pad<Run>},
};

template <class Run> bool moves(OperatorId id, const KernelCall& call, Run& run) { return queued(kMoves<Run>, id, call, run); }

template <class Run> bool folds(OperatorId id, const KernelCall& call, Run& run) {
  if (!is_fold(id)) return false;
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

template <class Run> bool rows(OperatorId id, const KernelCall& call, Run& run) {
  if (!is_of_rows(id)) return false;
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

} // namespace cairn::gpu
