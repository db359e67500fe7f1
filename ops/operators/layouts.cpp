// Types, residence and layouts of elements: cast, copies, and views, which share the memory of their operand.
#include "ops/cpu/loops/copy.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/runtime.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

namespace {

// The operand's memory under another shape, with strides to be set by the caller.
Tensor over(const Tensor& t, const ResultType& result) {
  Tensor v = t;
  v.shape = result.shape;
  v.strides.fill(0);
  return v;
}

std::int64_t stride(const Tensor& t, int axis) { return t.strides[static_cast<std::size_t>(axis)]; }
std::int64_t& stride(Tensor& t, int axis) { return t.strides[static_cast<std::size_t>(axis)]; }

Tensor viewed(Runtime& runtime, const Tensor& t, const Shape& shape) {
  return runtime.apply(OperatorId::view, {t}, rules::attributes({Attribute::of_list(shape.sizes())}));
}

// --- cast

void infer_cast(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  results[0].dtype = static_cast<DType>(call.attributes[0].integer());
}

Tensor view_cast(const Call& call, const ResultType& result) {
  return call.inputs[0].dtype == result.dtype ? call.inputs[0] : Tensor();
}

void cast_kernel(const KernelCall& call) { cpu::copy_elements(call.outputs[0], call.inputs[0]); }

void cast_vjp(const VjpCall& call) {
  if (is_floating(call.outputs[0].dtype) && rules::wanted(call, 0))
    call.results[0] = rules::fit(call.runtime, call.cotangents[0], call.inputs[0]);
}

void cast_jvp(const JvpCall& call) {
  if (is_floating(static_cast<DType>(call.attributes[0].integer())))
    call.results[0] = apply(OperatorId::cast, {*call.tangents[0]}, call.attributes);
}

// --- to-device

void infer_to_device(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  results[0].device = call.attributes[0].device();
  if (results[0].device == nullptr) throw OperatorError("to-device: no device is given");
}

void to_device_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = call.runtime.to_device(call.cotangents[0], *call.inputs[0].device());
}

// --- contiguous

Tensor view_contiguous(const Call& call, const ResultType&) { return call.inputs[0].contiguous() ? call.inputs[0] : Tensor(); }

// What holds a larger one alive is copied. Bytes of storage are those of the tensor that it was made for, also where another one
// was written over it.
Tensor view_own(const Call& call, const ResultType&) {
  const Tensor& t = call.inputs[0];
  return t.contiguous() && (!t.storage || t.storage->bytes == t.bytes()) ? t : Tensor();
}

void same_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = call.cotangents[0];
}

// --- view

void infer_view(const Call& call, ResultTypes& results) {
  const Tensor& t = call.inputs[0];
  const std::vector<std::int64_t>& sizes = call.attributes[0].list();
  const std::int64_t elements = t.elements();
  Shape shape;
  int open = -1;
  for (const std::int64_t size : sizes) {
    if (size == -1 && open >= 0) throw OperatorError("view: only one size can be -1");
    if (size == -1) open = shape.rank();
    shape.push_back(size == -1 ? 1 : size);
  }
  const std::int64_t given = shape.elements();
  if (open >= 0 && given != 0 && elements % given == 0) shape[open] = elements / given;
  if (shape.elements() != elements || (open >= 0 && given == 0))
    throw OperatorError(
        fmt::format("view: a tensor of shape {} cannot be seen as one of shape {}", t.shape.text(), list_text(sizes)));
  results[0].dtype = t.dtype;
  results[0].shape = shape;
}

// Walks both shapes from the last axis: stretches of axes with the same number of elements correspond, and the operand's must lie
// without gaps between them.
Tensor view_view(const Call& call, const ResultType& result) {
  const Tensor& t = call.inputs[0];
  Tensor v = over(t, result);
  std::array<int, kMostAxes> axes{}; // of the operand, without those of size 1
  int n = 0;
  for (int i = 0; i < t.rank(); ++i)
    if (t.shape[i] != 1) axes[static_cast<std::size_t>(n++)] = i;
  if (n == 0 || t.shape.elements() == 0) {
    set_contiguous(v);
    return v;
  }
  int to = v.rank() - 1;
  std::int64_t elements = 1;
  std::int64_t closest = stride(t, axes[static_cast<std::size_t>(n - 1)]);
  while (n-- > 0) {
    elements *= t.shape[axes[static_cast<std::size_t>(n)]];
    const std::int64_t next = n > 0 ? stride(t, axes[static_cast<std::size_t>(n - 1)]) : 0;
    if (n > 0 && next == elements * closest) continue;
    std::int64_t placed = 1;
    for (; to >= 0 && (placed < elements || v.shape[to] == 1); --to) {
      stride(v, to) = placed * closest;
      placed *= v.shape[to];
    }
    if (placed != elements) return {};
    closest = next;
    elements = 1;
  }
  return v;
}

void narrow_view(const RegionCall& call) {
  narrow_reshaped(call.needed[0], call.call.inputs[0].shape, call.results.types[0].shape, call.box);
}
constexpr RegionRule kRegionsOfView = {"its place, or a run of elements where axes are merged or divided", narrow_view};

void view_kernel(const KernelCall& call) {
  View to = call.outputs[0];
  to.shape = call.inputs[0].shape;
  Tensor row_major;
  row_major.shape = to.shape;
  set_contiguous(row_major);
  to.strides = row_major.strides;
  cpu::copy_elements(to, call.inputs[0]);
}

void view_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = viewed(call.runtime, call.cotangents[0], call.inputs[0].shape);
}

// --- transpose and permute

// Axis i of the result is axis order[i] of the operand.
using Order = std::array<int, kMostAxes>;

Order order_of_transpose(const Call& call) {
  const int rank = call.inputs[0].rank();
  const Attributes& a = call.attributes;
  const bool first = !a.values.empty() && a[0].present(), second = a.values.size() > 1 && a[1].present();
  if (first != second) throw OperatorError("transpose: two axes or none are given");
  if (!first && rank < 2)
    throw OperatorError(fmt::format("transpose: a tensor of shape {} has no two axes", call.inputs[0].shape.text()));
  Order order{};
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i;
  std::swap(order[static_cast<std::size_t>(first ? axis_in("transpose", a[0].integer(), rank) : rank - 2)],
            order[static_cast<std::size_t>(first ? axis_in("transpose", a[1].integer(), rank) : rank - 1)]);
  return order;
}

Order order_of_permute(const Call& call) {
  const int rank = call.inputs[0].rank();
  const std::vector<std::int64_t>& axes = call.attributes[0].list();
  auto refuse = [&] {
    throw OperatorError(fmt::format("permute: {} does not name each axis of a tensor of shape {} once", list_text(axes),
                                    call.inputs[0].shape.text()));
  };
  if (axes.size() != static_cast<std::size_t>(rank)) refuse();
  Order order{};
  unsigned seen = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    order[i] = axis_in("permute", axes[i], rank);
    seen |= 1u << order[i];
  }
  if (seen != (1u << rank) - 1) refuse();
  return order;
}

template <Order (*order_of)(const Call&)> void infer_ordered(const Call& call, ResultTypes& results) {
  const Order order = order_of(call);
  rules::infer_same(call, results);
  for (int i = 0; i < results[0].shape.rank(); ++i)
    results[0].shape[i] = call.inputs[0].shape[order[static_cast<std::size_t>(i)]];
}

template <Order (*order_of)(const Call&)> Tensor view_ordered(const Call& call, const ResultType& result) {
  const Order order = order_of(call);
  Tensor v = over(call.inputs[0], result);
  for (int i = 0; i < v.rank(); ++i) stride(v, i) = stride(call.inputs[0], order[static_cast<std::size_t>(i)]);
  return v;
}

template <Order (*order_of)(const Call&)> void narrow_ordered(const RegionCall& call) {
  const Order order = order_of(call.call);
  for (int i = 0; i < call.box.rank(); ++i) call.needed[0].within(order[static_cast<std::size_t>(i)], call.box[i]);
}
template <Order (*order_of)(const Call&)>
constexpr RegionRule kRegionsOfOrder = {"its place, axes exchanged", narrow_ordered<order_of>};

void transpose_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = call.runtime.apply(OperatorId::transpose, {call.cotangents[0]}, call.attributes);
}

void permute_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Order order = order_of_permute(Call{call.op, call.inputs, call.attributes, nullptr});
  Shape back = call.inputs[0].shape;
  for (int i = 0; i < back.rank(); ++i) back[order[static_cast<std::size_t>(i)]] = i;
  call.results[0] =
      call.runtime.apply(OperatorId::permute, {call.cotangents[0]}, rules::attributes({Attribute::of_list(back.sizes())}));
}

// --- narrow

void infer_narrow(const Call& call, ResultTypes& results) {
  const Tensor& t = call.inputs[0];
  const int axis = axis_in("narrow-tensor", call.attributes[0].integer(), t.rank());
  const std::int64_t first = call.attributes[1].integer(), count = call.attributes[2].integer();
  if (first < 0 || count < 0 || first > t.shape[axis] || count > t.shape[axis] - first)
    throw OperatorError(fmt::format("narrow-tensor: {} from {} on along axis {} are not in a tensor of shape {}", count, first,
                                    axis, t.shape.text()));
  rules::infer_same(call, results);
  results[0].shape[axis] = count;
}

Tensor view_narrow(const Call& call, const ResultType& result) {
  const int axis = axis_in("narrow-tensor", call.attributes[0].integer(), call.inputs[0].rank());
  Tensor v = call.inputs[0];
  v.shape = result.shape;
  if (v.shape.elements() != 0) v.offset += call.attributes[1].integer() * stride(v, axis);
  return v;
}

void narrow_narrow(const RegionCall& call) {
  const int axis = axis_in("narrow-tensor", call.call.attributes[0].integer(), call.box.rank());
  regions::narrow_but(call.needed[0], call.box, 1u << axis);
  call.needed[0].within(axis, read_by_steps(call.box[axis], call.call.attributes[1].integer(), 1));
}
constexpr RegionRule kRegionsOfNarrow = {"its place, moved", narrow_narrow};

void narrow_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Shape& shape = call.inputs[0].shape;
  const int axis = axis_in("narrow-tensor", call.attributes[0].integer(), shape.rank());
  const std::int64_t first = call.attributes[1].integer(), count = call.attributes[2].integer();
  Shape before = shape, behind = shape, steps = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    before[i] = behind[i] = 0;
    steps[i] = 1;
  }
  before[axis] = first;
  if (rules::added_within(call, before, steps)) return;
  behind[axis] = shape[axis] - first - count;
  call.results[0] =
      call.runtime.apply(OperatorId::pad, {call.cotangents[0]},
                         rules::attributes({Attribute::of_list(before.sizes()), Attribute::of_list(behind.sizes())}));
}

// --- expand

void infer_expand(const Call& call, ResultTypes& results) {
  const Shape& from = call.inputs[0].shape;
  const Shape to{std::span<const std::int64_t>(call.attributes[0].list())};
  const int added = to.rank() - from.rank();
  bool fits = added >= 0;
  for (int i = 0; fits && i < from.rank(); ++i) fits = from[i] == 1 || from[i] == to[i + added];
  if (!fits)
    throw OperatorError(fmt::format("expand-tensor: a tensor of shape {} does not stretch to {}", from.text(), to.text()));
  to.elements(); // refused here if they are too many
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = to;
}

Tensor view_expand(const Call& call, const ResultType& result) {
  const Tensor& t = call.inputs[0];
  Tensor v = over(t, result);
  const int added = v.rank() - t.rank();
  for (int i = 0; i < t.rank(); ++i) stride(v, i + added) = t.shape[i] == v.shape[i + added] ? stride(t, i) : 0;
  return v;
}

void expand_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = rules::fit(call.runtime, call.cotangents[0], call.inputs[0]);
}

constexpr Definition layout_definition(Infer infer, const RegionRule& regions, Kernel kernel, ViewOf view, Vjp vjp,
                                       VjpMemory vjp_memory, CostOf cost = nullptr) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.view = view;
  d.vjp = vjp;
  d.vjp_memory = vjp_memory;
  d.cost = cost;
  return d;
}

constexpr Definition definition_of_cast() {
  Definition d = layout_definition(infer_cast, regions::pointwise, cast_kernel, view_cast, cast_vjp, VjpMemory::own);
  d.jvp = cast_jvp;
  d.in_shared_layout = true;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition cast = definition_of_cast();
constinit const Definition to_device =
    layout_definition(infer_to_device, regions::pointwise, nullptr, nullptr, to_device_vjp, VjpMemory::own);
constinit const Definition contiguous =
    layout_definition(rules::infer_same, regions::pointwise, cast_kernel, view_contiguous, same_vjp, VjpMemory::shares);
constinit const Definition own =
    layout_definition(rules::infer_same, regions::pointwise, cast_kernel, view_own, same_vjp, VjpMemory::shares);
constinit const Definition view =
    layout_definition(infer_view, kRegionsOfView, view_kernel, view_view, view_vjp, VjpMemory::shares);
constinit const Definition transpose =
    layout_definition(infer_ordered<order_of_transpose>, kRegionsOfOrder<order_of_transpose>, nullptr,
                      view_ordered<order_of_transpose>, transpose_vjp, VjpMemory::shares, rules::cost_of_view);
constinit const Definition permute =
    layout_definition(infer_ordered<order_of_permute>, kRegionsOfOrder<order_of_permute>, nullptr, view_ordered<order_of_permute>,
                      permute_vjp, VjpMemory::shares, rules::cost_of_view);
constinit const Definition narrow =
    layout_definition(infer_narrow, kRegionsOfNarrow, nullptr, view_narrow, narrow_vjp, VjpMemory::onto, rules::cost_of_view);
constinit const Definition expand =
    layout_definition(infer_expand, regions::pointwise, nullptr, view_expand, expand_vjp, VjpMemory::own, rules::cost_of_view);

} // namespace definitions

} // namespace cairn::ops
