// Traversals: axes sorted by how far apart elements of the output lie, neighbours joined.
#include "gpu/elementwise.h"

#include <cmath>
#include <utility>

namespace cairn::gpu {
namespace {

template <class F> void each_operand(Traversal& traversal, F&& f) {
  for (unsigned k = 0; k < traversal.inputs; ++k) f(traversal.in[k]);
  f(traversal.out);
}

StridedOperand operand_of(const View& view) {
  StridedOperand operand;
  operand.data = static_cast<char*>(view.data);
  operand.number = view.number;
  operand.dtype = view.dtype;
  operand.weak = view.weak;
  return operand;
}

void sort_axes(Traversal& traversal) {
  for (int axis = 1; axis < traversal.rank; ++axis)
    for (int i = axis; i > 0 && traversal.out.strides[i] < traversal.out.strides[i - 1]; --i) {
      std::swap(traversal.sizes[i], traversal.sizes[i - 1]);
      each_operand(traversal, [i](StridedOperand& o) { std::swap(o.strides[i], o.strides[i - 1]); });
    }
}

void join_axes(Traversal& traversal) {
  int kept = 0;
  for (int i = 1; i < traversal.rank; ++i) {
    bool joined = true;
    each_operand(traversal,
                 [&](const StridedOperand& o) { joined = joined && o.strides[i] == o.strides[kept] * traversal.sizes[kept]; });
    if (joined) {
      traversal.sizes[kept] *= traversal.sizes[i];
      continue;
    }
    ++kept;
    traversal.sizes[kept] = traversal.sizes[i];
    each_operand(traversal, [&](StridedOperand& o) { o.strides[kept] = o.strides[i]; });
  }
  if (traversal.rank > 0) traversal.rank = kept + 1;
}

} // namespace

Traversal traversal_of(std::span<const View> inputs, const View& output) {
  Traversal traversal;
  traversal.count = output.elements();
  traversal.inputs = static_cast<unsigned>(inputs.size());
  for (unsigned k = 0; k < traversal.inputs; ++k) traversal.in[k] = operand_of(inputs[k]);
  traversal.out = operand_of(output);
  for (int axis = output.shape.rank() - 1; axis >= 0; --axis) {
    if (output.shape[axis] == 1) continue;
    const int to = traversal.rank++;
    traversal.sizes[to] = output.shape[axis];
    traversal.out.strides[to] = output.strides[static_cast<std::size_t>(axis)];
    for (unsigned k = 0; k < traversal.inputs; ++k) {
      const int from = axis - (output.shape.rank() - inputs[k].shape.rank());
      const bool stretched = inputs[k].weak || from < 0 || inputs[k].shape[from] == 1;
      traversal.in[k].strides[to] = stretched ? 0 : inputs[k].strides[static_cast<std::size_t>(from)];
    }
  }
  sort_axes(traversal);
  join_axes(traversal);
  return traversal;
}

} // namespace cairn::gpu
