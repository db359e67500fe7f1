// From calls to folds: which axes stay and which go, and how many lanes work on one result.
#include "gpu/fold.h"
#include "ops/axes.h"

#include <vector>

namespace cairn::gpu {
namespace {

// An axis of the loops: how far apart its elements lie in each operand.
struct Axis {
  std::int64_t size, first, second, out;
  bool goes;
};

std::int64_t stride(const View& view, int axis) { return view.strides[static_cast<std::size_t>(axis)]; }

Fold fold_over(OperatorId op, std::span<const Axis> axes, std::span<const View> inputs, const View& output) {
  const auto side = [&](const View& model, bool goes, std::int64_t Axis::*where) {
    View view = model;
    view.shape = Shape();
    view.strides.fill(0);
    for (const Axis& axis : axes) {
      if (axis.goes != goes) continue;
      view.strides[static_cast<std::size_t>(view.shape.rank())] = axis.*where;
      view.shape.push_back(axis.size);
    }
    return view;
  };
  constexpr std::int64_t Axis::*kInputs[] = {&Axis::first, &Axis::second};
  std::vector<View> stay, go;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    stay.push_back(side(inputs[k], false, kInputs[k]));
    go.push_back(side(inputs[k], true, kInputs[k]));
  }
  // The loop over what goes follows the memory of the first operand.
  Fold fold;
  fold.op = op;
  fold.kept = traversal_of(stay, side(output, false, &Axis::out));
  fold.folded = traversal_of(go, go[0]);
  return fold;
}

std::vector<Axis> axes_of_product(const View& a, const View& b, const View& out) {
  const bool rows = a.shape.rank() > 1, columns = b.shape.rank() > 1;
  const int outer = out.shape.rank() - (rows ? 1 : 0) - (columns ? 1 : 0);
  const auto outer_stride = [outer](const View& view, int axis) -> std::int64_t {
    const int at = axis - (outer - (view.shape.rank() - 2));
    return view.shape.rank() < 2 || at < 0 || view.shape[at] == 1 ? 0 : stride(view, at);
  };
  std::vector<Axis> axes;
  for (int i = 0; i < outer; ++i) axes.push_back({out.shape[i], outer_stride(a, i), outer_stride(b, i), stride(out, i), false});
  if (rows) axes.push_back({a.shape[a.shape.rank() - 2], stride(a, a.shape.rank() - 2), 0, stride(out, outer), false});
  if (columns)
    axes.push_back({b.shape[b.shape.rank() - 1], 0, stride(b, b.shape.rank() - 1), stride(out, out.shape.rank() - 1), false});
  const int inner = a.shape.rank() - 1;
  axes.push_back({a.shape[inner], stride(a, inner), stride(b, columns ? b.shape.rank() - 2 : 0), 0, true});
  return axes;
}

std::vector<Axis> axes_of_sum_to(const View& in, const View& out) {
  const int added = in.shape.rank() - out.shape.rank();
  std::vector<Axis> axes;
  for (int i = 0; i < in.shape.rank(); ++i) {
    const bool goes = i < added || (out.shape[i - added] == 1 && in.shape[i] != 1);
    axes.push_back({in.shape[i], stride(in, i), 0, goes ? 0 : stride(out, i - added), goes});
  }
  return axes;
}

std::vector<Axis> axes_of_reduction(const View& in, const View& out, const Attributes& attributes) {
  const int rank = in.shape.rank();
  const rules::Mask goes = rules::axes_of("reduction", attributes, rank);
  const bool keep = rules::keeps_axes(attributes);
  std::vector<Axis> axes;
  for (int i = 0, to = 0; i < rank; ++i) {
    const bool gone = (goes >> i & 1) != 0;
    axes.push_back({in.shape[i], stride(in, i), 0, gone ? 0 : stride(out, to), gone});
    if (!gone || keep) ++to;
  }
  return axes;
}

// One where results alone keep the GPU busy and threads beside each other read what lies beside each other, else as many as the
// work is worth.
int lanes_for(const Fold& fold) {
  constexpr std::int64_t kFew = 16, kManyResults = 8192;
  const bool along = fold.kept.inputs == 1 && fold.folded.rank > 0 && fold.folded.in[0].strides[0] == 1;
  if (fold.folded.count <= kFew) return 1;
  if (fold.kept.count >= kManyResults) return along ? 32 : 1;
  return kMostThreads;
}

} // namespace

Fold fold_of(OperatorId op, const KernelCall& call) {
  const View &in = call.inputs[0], &out = call.outputs[0];
  const std::vector<Axis> axes = op == OperatorId::matmul   ? axes_of_product(in, call.inputs[1], out)
                                 : op == OperatorId::sum_to ? axes_of_sum_to(in, out)
                                                            : axes_of_reduction(in, out, call.attributes);
  Fold fold = fold_over(op, axes, call.inputs.first(op == OperatorId::matmul ? 2 : 1), out);
  fold.lanes = lanes_for(fold);
  return fold;
}

} // namespace cairn::gpu
