// From calls to rows: which axes they lie along.
#include "gpu/rows.h"
#include "ops/axes.h"

#include <vector>

namespace cairn::gpu {
namespace {

unsigned axes_along(OperatorId op, const KernelCall& call) {
  const int rank = call.inputs[0].shape.rank();
  if (op == OperatorId::max_over_mask) return rules::axes_of("max", call.attributes, rank);
  const std::vector<Attribute>& values = call.attributes.values;
  const bool given = !values.empty() && values[0].present();
  return 1u << axis_in("softmax", given ? values[0].integer() : -1, rank);
}

// The axes of a view in the mask, or the others.
View part(const View& view, unsigned mask, bool in_mask) {
  View out = view;
  out.shape = Shape();
  out.strides.fill(0);
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (((mask >> axis & 1) != 0) != in_mask) continue;
    out.strides[static_cast<std::size_t>(out.shape.rank())] = view.strides[static_cast<std::size_t>(axis)];
    out.shape.push_back(view.shape[axis]);
  }
  return out;
}

// Traversals follow the strides of their output: this one makes them row-major.
View row_major(const View& like) {
  View out = like;
  std::int64_t stride = 1;
  for (int axis = like.shape.rank() - 1; axis >= 0; --axis) {
    out.strides[static_cast<std::size_t>(axis)] = stride;
    stride *= like.shape[axis];
  }
  return out;
}

} // namespace

Rows rows_of(OperatorId op, const KernelCall& call) {
  constexpr std::int64_t kShort = 64;
  const unsigned mask = axes_along(op, call);
  const std::size_t inputs = op == OperatorId::softmax_vjp || op == OperatorId::log_softmax_vjp ? 2 : 1;
  std::vector<View> kept, along;
  for (const View& view : call.inputs.first(inputs)) {
    kept.push_back(part(view, mask, false));
    along.push_back(part(view, mask, true));
  }
  kept.push_back(part(call.outputs[0], mask, false));
  along.push_back(part(call.outputs[0], mask, true));
  Rows rows;
  rows.op = op;
  rows.kept = traversal_of(kept, row_major(kept[0]));
  rows.along = traversal_of(along, row_major(along[0]));
  rows.lanes = rows.along.count <= kShort ? 32 : kMostThreads;
  return rows;
}

Compute computed_in(const Rows& rows) {
  const DType type = rows.kept.in[rows.op == OperatorId::max_over_mask ? 0 : rows.kept.inputs - 1].dtype;
  return compute_of(type);
}

} // namespace cairn::gpu
