// Vectors with a number for each channel, beside tensors whose channels are on axis 1: what forward rules over space are made of,
// since a rule that composes terms does not know how many axes they have.
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/reduce/reduce.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

namespace {

Shape beside(const Shape& vector, const Shape& like) {
  Shape out{vector[0]};
  for (int i = 2; i < like.rank(); ++i) out.push_back(1);
  return out;
}

void infer_along_channels(const Call& call, ResultTypes& results) {
  const Shape &vector = call.inputs[0].shape, &like = call.inputs[1].shape;
  if (vector.rank() != 1 || like.rank() < 2)
    throw OperatorError(fmt::format("along-channels: shapes {} and {} do not go together", vector.text(), like.text()));
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = beside(vector, like);
}

Tensor view_along_channels(const Call& call, const ResultType& result) {
  Tensor v = call.inputs[0];
  v.shape = result.shape;
  v.strides.fill(0);
  v.strides[0] = call.inputs[0].strides[0];
  return v;
}

void along_channels_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0))
    call.results[0] = call.runtime.apply(OperatorId::view, {call.cotangents[0]},
                                         rules::attributes({Attribute::of_list(call.inputs[0].shape.sizes())}));
}

// Linear in the vector alone.
void along_channels_jvp(const JvpCall& call) {
  if (call.tangents[0] != nullptr) call.results[0] = apply(OperatorId::along_channels, {*call.tangents[0], call.inputs[1]});
}

void infer_channel_mean(const Call& call, ResultTypes& results) {
  const Shape& shape = call.inputs[0].shape;
  if (shape.rank() < 2) throw OperatorError(fmt::format("channel-mean: a tensor of shape {} has no channels", shape.text()));
  results[0].dtype = floating_of(call.inputs[0].dtype);
  results[0].shape = Shape{shape[1]};
}

void channel_mean_kernel(const KernelCall& call) {
  const View &in = call.inputs[0], &out = call.outputs[0];
  View with = out;
  with.shape = in.shape;
  with.strides.fill(0);
  for (int i = 0; i < in.shape.rank(); ++i)
    if (i != 1) with.shape[i] = 1;
  with.strides[1] = out.strides[0];
  cpu::reduce(cpu::Reduction::mean, with, in);
}

void channel_mean_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Shape& shape = call.inputs[0].shape;
  const double count = static_cast<double>(shape.elements()) / static_cast<double>(std::max<std::int64_t>(1, shape[1]));
  const Tensor part = call.runtime.apply(OperatorId::div, {call.cotangents[0], weak_number(count, false)});
  const Tensor column =
      call.runtime.apply(OperatorId::view, {part}, rules::attributes({Attribute::of_list(beside(part.shape, shape).sizes())}));
  call.results[0] = call.runtime.apply(OperatorId::expand, {column}, rules::attributes({Attribute::of_list(shape.sizes())}));
}

void narrow_along_channels(const RegionCall& call) {
  call.needed[0].within(0, call.box[0]);
  call.needed[1].unseen();
}
constexpr RegionRule kRegionsAlongChannels = {"its channel", narrow_along_channels};

void narrow_channel_mean(const RegionCall& call) { call.needed[0].within(1, call.box[0]); }
constexpr RegionRule kRegionsOfMean = {"all of its channel", narrow_channel_mean};

Cost cost_of_mean(const Call& call, const ResultTypes&) {
  const auto n = static_cast<double>(call.inputs[0].elements());
  return Cost{n, n * static_cast<double>(bytes_of(call.inputs[0].dtype))};
}

constexpr Definition definition_of_along_channels() {
  Definition d;
  d.infer = infer_along_channels;
  d.regions = &kRegionsAlongChannels;
  d.view = view_along_channels;
  d.vjp = along_channels_vjp;
  d.vjp_memory = VjpMemory::shares;
  d.jvp = along_channels_jvp;
  d.cost = rules::cost_of_view;
  return d;
}

constexpr Definition definition_of_channel_mean() {
  Definition d;
  d.infer = infer_channel_mean;
  d.regions = &kRegionsOfMean;
  d.kernel = channel_mean_kernel;
  d.vjp = channel_mean_vjp;
  d.cost = cost_of_mean;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition along_channels = definition_of_along_channels();
constinit const Definition channel_mean = definition_of_channel_mean();

} // namespace definitions

} // namespace cairn::ops
