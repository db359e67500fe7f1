// Plans: axes sorted by how far apart elements of the output lie, neighbours joined.
#include "gpu/elementwise.h"

#include <cmath>
#include <utility>

namespace cairn::gpu {
namespace {

template <class F> void each_operand(Plan& plan, F&& f) {
  for (unsigned k = 0; k < plan.inputs; ++k) f(plan.in[k]);
  f(plan.out);
}

StridedOperand operand_of(const View& view) {
  StridedOperand operand;
  operand.data = static_cast<char*>(view.data);
  operand.number = view.number;
  operand.dtype = view.dtype;
  operand.weak = view.weak;
  return operand;
}

void sort_axes(Plan& plan) {
  for (int axis = 1; axis < plan.rank; ++axis)
    for (int i = axis; i > 0 && plan.out.strides[i] < plan.out.strides[i - 1]; --i) {
      std::swap(plan.sizes[i], plan.sizes[i - 1]);
      each_operand(plan, [i](StridedOperand& o) { std::swap(o.strides[i], o.strides[i - 1]); });
    }
}

void join_axes(Plan& plan) {
  int kept = 0;
  for (int i = 1; i < plan.rank; ++i) {
    bool joined = true;
    each_operand(plan, [&](const StridedOperand& o) { joined = joined && o.strides[i] == o.strides[kept] * plan.sizes[kept]; });
    if (joined) {
      plan.sizes[kept] *= plan.sizes[i];
      continue;
    }
    ++kept;
    plan.sizes[kept] = plan.sizes[i];
    each_operand(plan, [&](StridedOperand& o) { o.strides[kept] = o.strides[i]; });
  }
  if (plan.rank > 0) plan.rank = kept + 1;
}

} // namespace

Plan plan_of(std::span<const View> inputs, const View& output) {
  Plan plan;
  plan.count = output.elements();
  plan.inputs = static_cast<unsigned>(inputs.size());
  for (unsigned k = 0; k < plan.inputs; ++k) plan.in[k] = operand_of(inputs[k]);
  plan.out = operand_of(output);
  for (int axis = output.shape.rank() - 1; axis >= 0; --axis) {
    if (output.shape[axis] == 1) continue;
    const int to = plan.rank++;
    plan.sizes[to] = output.shape[axis];
    plan.out.strides[to] = output.strides[static_cast<std::size_t>(axis)];
    for (unsigned k = 0; k < plan.inputs; ++k) {
      const int from = axis - (output.shape.rank() - inputs[k].shape.rank());
      const bool stretched = inputs[k].weak || from < 0 || inputs[k].shape[from] == 1;
      plan.in[k].strides[to] = stretched ? 0 : inputs[k].strides[static_cast<std::size_t>(from)];
    }
  }
  sort_axes(plan);
  join_axes(plan);
  return plan;
}

Compute compute_of(DType type) {
  if (type == DType::f64) return Compute::f64;
  return is_floating(type) ? Compute::f32 : Compute::i64;
}

Compute compared_in(const View& a, const View& b) {
  if (!a.weak && !b.weak) return compute_of(promoted(a.dtype, b.dtype));
  const View& tensor = a.weak ? b : a;
  const double number = a.weak ? a.number : b.number;
  return compute_of(promoted_with_number(tensor.weak ? DType::f64 : tensor.dtype, number == std::floor(number)));
}

} // namespace cairn::gpu
