// Convolution, its transpose, and what their reverse rules need. The gradient by the input of one is the other, so three kernels
// do for all.
#include "ops/cpu/spatial/convolution.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

#include <climits>

namespace cairn::ops {

namespace {

constexpr std::size_t kStrides = 0, kPadding = 1, kDilation = 2, kGroups = 3, kSizes = 4; // attributes

cpu::Convolution read(std::string_view who, const Attributes& attributes, int axes) {
  cpu::Convolution c;
  c.windows.axes = axes;
  c.windows.stride = spatial_attribute(who, "strides", attributes, kStrides, axes, 1, 1);
  c.windows.padding = spatial_attribute(who, "padding", attributes, kPadding, axes, 0, 0);
  c.windows.dilation = spatial_attribute(who, "dilation", attributes, kDilation, axes, 1, 1);
  if (is_present(attributes, kGroups)) c.groups = attributes[kGroups].integer();
  if (c.groups < 1) throw OperatorError(fmt::format("{}: {} groups are not possible", who, c.groups));
  return c;
}

cpu::Convolution read(const KernelCall& call, const Shape& weights) {
  cpu::Convolution c = read("convolve", call.attributes, weights.rank() - 2);
  c.windows.kernel = spatial_sizes(weights);
  return c;
}

cpu::Convolution read_with(const RegionCall& call, const Shape& weights) {
  cpu::Convolution c = read(shown_name(call.call.op), call.call.attributes, weights.rank() - 2);
  c.windows.kernel = spatial_sizes(weights);
  return c;
}

DType type_of_product(const Tensor& a, const Tensor& b) { return floating_of(promoted(a.dtype, b.dtype)); }

// What was probably meant: a picture without an axis for the batch, or weights of groups that the call does not have.
std::string cure(const Shape& x, const Shape& w, const cpu::Convolution& c, bool transposed) {
  if (x.rank() + 1 == w.rank()) return "; (unsqueeze x 0) makes a batch of one picture";
  const bool split =
      !transposed && x.rank() == w.rank() && w[1] > 0 && x[1] > w[1] && x[1] % w[1] == 0 && w[0] % (x[1] / w[1]) == 0;
  if (!split || c.groups != 1) return "";
  return fmt::format(
      "; weights of {0} groups want them in the call, too: (convolution p x 1 0 1 {0}), behind strides, padding and "
      "dilation",
      x[1] / w[1]);
}

// What both have to fulfil; `channels` are those of the axis of weights that meets the input.
cpu::Convolution check(const Call& call, bool transposed) {
  const std::string_view who = shown_name(call.op);
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape;
  const int axes = spatial_axes(who, x);
  cpu::Convolution c = read(who, call.attributes, axes);
  const bool ranks = w.rank() == x.rank();
  const bool meet = ranks && (transposed ? w[0] == x[1] : x[1] % c.groups == 0 && w[1] == x[1] / c.groups);
  if (!meet || w[0] % c.groups != 0 || (c.groups > w[0] && c.groups > 1))
    throw OperatorError(fmt::format("{}: an input of shape {} and weights of shape {} do not go together{}{}", who, x.text(),
                                    w.text(), c.groups == 1 ? "" : fmt::format(" in {} groups", c.groups),
                                    cure(x, w, c, transposed)));
  c.windows.kernel = spatial_sizes(w);
  for (const std::int64_t size : c.windows.kernel)
    if (size < 1 || size > INT_MAX) throw OperatorError(fmt::format("{}: weights of shape {} have no windows", who, w.text()));
  return c;
}

void infer_convolve(const Call& call, ResultTypes& results) {
  const cpu::Convolution c = check(call, false);
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape;
  Sizes sizes = spatial_sizes(x);
  for (int i = 0; i < kMostSpatial; ++i) {
    std::int64_t& size = sizes[static_cast<std::size_t>(i)];
    size = c.windows.positions(i, size);
    if (size <= 0)
      throw OperatorError(fmt::format("{}: windows of weights of shape {} do not fit into an input of shape {}",
                                      shown_name(call.op), w.text(), x.text()));
  }
  results[0].dtype = type_of_product(call.inputs[0], call.inputs[1]);
  results[0].shape = with_spatial(x[0], w[0], sizes, c.windows.axes);
  results[0].channels_last = true;
}

void infer_with_bias(const Call& call, ResultTypes& results) {
  infer_convolve(call, results);
  const Shape& bias = call.inputs[2].shape;
  if (!(bias == Shape{results[0].shape[1]}))
    throw OperatorError(fmt::format("{}: {} channels of the result do not have a bias each in a tensor of shape {}",
                                    shown_name(call.op), results[0].shape[1], bias.text()));
  results[0].dtype = floating_of(promoted(results[0].dtype, call.inputs[2].dtype));
}

void infer_transpose(const Call& call, ResultTypes& results) {
  const cpu::Convolution c = check(call, true);
  const std::string_view who = shown_name(call.op);
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape;
  const Sizes added = spatial_attribute(who, "what is added to the sizes", call.attributes, kSizes, c.windows.axes, 0, 0);
  Sizes sizes = spatial_sizes(x);
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    const Windows& k = c.windows;
    const bool fits = sizes[i] > 0 && sizes[i] <= INT_MAX && added[i] < k.stride[i];
    sizes[i] = (sizes[i] - 1) * k.stride[i] - 2 * k.padding[i] + k.dilation[i] * (k.kernel[i] - 1) + added[i] + 1;
    if (!fits || sizes[i] <= 0)
      throw OperatorError(
          fmt::format("{}: an input of shape {} and weights of shape {} do not give a result of positive size with this "
                      "stride, padding and {} added",
                      who, x.text(), w.text(), added[i]));
  }
  results[0].dtype = type_of_product(call.inputs[0], call.inputs[1]);
  results[0].shape = with_spatial(x[0], w[1] * c.groups, sizes, c.windows.axes);
  results[0].channels_last = true;
}

// --- internal: shapes come from the rules

void infer_vjp_input(const Call& call, ResultTypes& results) {
  const cpu::Convolution c = check(call, true);
  const Shape &y = call.inputs[0].shape, &w = call.inputs[1].shape;
  const Sizes sizes = spatial_attribute(shown_name(call.op), "sizes", call.attributes, kSizes, c.windows.axes, 1, 0);
  results[0].dtype = type_of_product(call.inputs[0], call.inputs[1]);
  results[0].shape = with_spatial(y[0], w[1] * c.groups, sizes, c.windows.axes);
  results[0].channels_last = true;
}

void infer_vjp_weights(const Call& call, ResultTypes& results) {
  const std::string_view who = shown_name(call.op);
  const Shape &y = call.inputs[0].shape, &x = call.inputs[1].shape;
  const int axes = spatial_axes(who, x);
  const cpu::Convolution c = read(who, call.attributes, axes);
  if (y.rank() != x.rank() || y[0] != x[0] || y[1] % c.groups != 0 || x[1] % c.groups != 0)
    throw OperatorError(fmt::format("{}: shapes {} and {} do not go together", who, y.text(), x.text()));
  results[0].dtype = type_of_product(call.inputs[0], call.inputs[1]);
  results[0].shape =
      with_spatial(y[1], x[1] / c.groups, spatial_attribute(who, "sizes", call.attributes, kSizes, axes, 1, 1), axes);
}

// --- regions. Of channels those of the groups; of weights whole windows, also where some of their places lie in padding alone.

// `count` channels of groups of such a size; and those of the other side, in groups of another size.
Range channels_of_groups(const Range& range, std::int64_t size, std::int64_t size_of_others) {
  return {range.begin / size * size_of_others, ((range.end - 1) / size + 1) * size_of_others};
}

void narrow_to_small(const RegionCall& call) {
  const Shape& w = call.call.inputs[1].shape;
  const cpu::Convolution c = read_with(call, w);
  Region &x = call.needed[0], &weights = call.needed[1];
  x.within(0, call.box[0]);
  x.within(1, channels_of_groups(call.box[1], w[0] / c.groups, w[1]));
  for (int i = 0; i < c.windows.axes; ++i)
    x.padded(i + 2, read_by_windows(call.box[i + 2], c.windows, kMostSpatial - c.windows.axes + i));
  weights.within(0, Reading{call.box[1], Fit::loose});
  if (call.needed.size() > 2) call.needed[2].within(0, call.box[1]);
}

void narrow_to_large(const RegionCall& call) {
  const Shape &x = call.call.inputs[0].shape, &w = call.call.inputs[1].shape;
  const cpu::Convolution c = read_with(call, w);
  const Range channels = channels_of_groups(call.box[1], w[1], w[0] / c.groups);
  Region &small = call.needed[0], &weights = call.needed[1];
  small.within(0, call.box[0]);
  small.within(1, channels);
  for (int i = 0; i < c.windows.axes; ++i)
    small.within(i + 2, windows_that_read(call.box[i + 2], c.windows, kMostSpatial - c.windows.axes + i, x[i + 2]));
  weights.within(0, channels);
  const std::int64_t first = call.box[1].begin / w[1] * w[1]; // of the group
  if (call.box[1].end <= first + w[1]) weights.within(1, Range{call.box[1].begin - first, call.box[1].end - first});
  weights.loosen(Fit::loose);
}

void narrow_to_weights(const RegionCall& call) {
  const Shape &y = call.call.inputs[0].shape, &w = call.results.types[0].shape;
  const cpu::Convolution c = read_with(call, w);
  Region &small = call.needed[0], &large = call.needed[1];
  small.within(1, call.box[0]);
  const Range groups = channels_of_groups(call.box[0], w[0] / c.groups, 1);
  large.within(1, Range{groups.begin * w[1] + call.box[1].begin, (groups.end - 1) * w[1] + call.box[1].end});
  for (int i = 0; i < c.windows.axes; ++i) {
    // The windows with these of their places alone.
    const auto k = static_cast<std::size_t>(kMostSpatial - c.windows.axes + i);
    Windows some = c.windows;
    some.kernel[k] = call.box[i + 2].size();
    some.padding[k] -= call.box[i + 2].begin * some.dilation[k];
    large.padded(i + 2, read_by_windows({0, y[i + 2]}, some, static_cast<int>(k)));
  }
  for (Region& region : call.needed) region.loosen(Fit::loose);
}

constexpr RegionRule kToSmall = {"windows, of the channels of its group", narrow_to_small},
                     kToLarge = {"places with windows around it, of the channels of its group", narrow_to_large},
                     kToWeights = {"all with these places of windows", narrow_to_weights};

void convolve_kernel(const KernelCall& call) {
  cpu::convolve_to_small(read(call, call.inputs[1].shape), call.outputs[0], call.inputs[0], call.inputs[1],
                         call.inputs.size() > 2 ? &call.inputs[2] : nullptr);
}

void transpose_kernel(const KernelCall& call) {
  cpu::convolve_to_large(read(call, call.inputs[1].shape), call.outputs[0], call.inputs[0], call.inputs[1]);
}

void weights_kernel(const KernelCall& call) {
  cpu::convolve_to_weights(read(call, call.outputs[0].shape), call.outputs[0], call.inputs[0], call.inputs[1]);
}

// The attributes of an operator with spatial sizes behind them.
Attributes with_sizes(const Attributes& attributes, const Shape& of) {
  Attributes out;
  out.values.resize(kSizes + 1);
  for (std::size_t i = 0; i < kSizes && i < attributes.values.size(); ++i) out.values[i] = attributes.values[i];
  out.values[kSizes] = Attribute::of_list(of.sizes().subspan(2));
  return out;
}

void convolve_vjp(const VjpCall& call) {
  const Tensor &x = call.inputs[0], &w = call.inputs[1], &c = call.cotangents[0];
  if (rules::wanted(call, 0))
    call.results[0] = rules::fit(
        call.runtime, call.runtime.apply(OperatorId::convolve_vjp_input, {c, w}, with_sizes(call.attributes, x.shape)), x);
  if (rules::wanted(call, 1))
    call.results[1] = rules::fit(
        call.runtime, call.runtime.apply(OperatorId::convolve_vjp_weights, {c, x}, with_sizes(call.attributes, w.shape)), w);
  if (call.inputs.size() > 2 && rules::wanted(call, 2)) {
    std::vector<std::int64_t> axes;
    for (int i = 0; i < c.rank(); ++i)
      if (i != 1) axes.push_back(i);
    const Attributes all_but_channels = rules::attributes({Attribute::of_list(std::move(axes))});
    call.results[2] = rules::fit(call.runtime, call.runtime.apply(OperatorId::sum, {c}, all_but_channels), call.inputs[2]);
  }
}

void transposed_convolution_vjp(const VjpCall& call) {
  const Tensor &x = call.inputs[0], &w = call.inputs[1], &c = call.cotangents[0];
  Attributes same = call.attributes;
  same.values.resize(kSizes);
  if (rules::wanted(call, 0))
    call.results[0] = rules::fit(call.runtime, call.runtime.apply(OperatorId::convolve, {c, w}, same), x);
  if (rules::wanted(call, 1))
    call.results[1] = rules::fit(
        call.runtime, call.runtime.apply(OperatorId::convolve_vjp_weights, {x, c}, with_sizes(call.attributes, w.shape)), w);
}

void with_bias_jvp(const JvpCall& call) {
  Term sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.tangents[i] == nullptr) continue;
    const Term& t = *call.tangents[i];
    const Term part = i == 0   ? apply(OperatorId::convolve, {t, call.inputs[1]}, call.attributes)
                      : i == 1 ? apply(OperatorId::convolve, {call.inputs[0], t}, call.attributes)
                               : apply(OperatorId::along_channels, {t, call.outputs[0]});
    sum = sum + part;
  }
  call.results[0] = sum;
}

// Two flops for each element of a window, each channel of the smaller side that meets it.
Cost cost_of_convolution(const Call& call, const ResultTypes& results, const Shape& small, const Shape& weights) {
  double bytes = static_cast<double>(results.types[0].shape.elements()) * static_cast<double>(bytes_of(results.types[0].dtype));
  for (const Tensor& t : call.inputs) bytes += static_cast<double>(t.elements()) * static_cast<double>(bytes_of(t.dtype));
  double of_position = 2;
  for (const std::int64_t size : weights) of_position *= static_cast<double>(size);
  double positions = 1;
  for (int i = 0; i < small.rank(); ++i) positions *= i == 1 ? 1 : static_cast<double>(small[i]);
  return Cost{0, bytes, of_position * positions};
}
Cost cost_to_small(const Call& call, const ResultTypes& results) {
  return cost_of_convolution(call, results, results.types[0].shape, call.inputs[1].shape);
}
Cost cost_to_large(const Call& call, const ResultTypes& results) {
  return cost_of_convolution(call, results, call.inputs[0].shape, call.inputs[1].shape);
}
Cost cost_to_weights(const Call& call, const ResultTypes& results) {
  return cost_of_convolution(call, results, call.inputs[0].shape, results.types[0].shape);
}

constexpr Definition convolution_definition(Infer infer, const RegionRule& regions, Kernel kernel, CostOf cost, Vjp vjp = nullptr,
                                            Jvp jvp = nullptr) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.cost = cost;
  d.vjp = vjp;
  d.jvp = jvp;
  if (vjp != nullptr) {
    d.keep = keep_input(0) | keep_input(1);
    d.lossy = LossyKind::convolution;
  }
  return d;
}

} // namespace

namespace definitions {

constinit const Definition convolve =
    convolution_definition(infer_convolve, kToSmall, convolve_kernel, cost_to_small, ops::convolve_vjp);
constinit const Definition convolve_add_tied =
    convolution_definition(infer_with_bias, kToSmall, convolve_kernel, cost_to_small, ops::convolve_vjp, with_bias_jvp);
constinit const Definition transpose_convolve =
    convolution_definition(infer_transpose, kToLarge, transpose_kernel, cost_to_large, transposed_convolution_vjp);
constinit const Definition convolve_vjp_input =
    convolution_definition(infer_vjp_input, kToLarge, transpose_kernel, cost_to_large);
constinit const Definition convolve_vjp_weights =
    convolution_definition(infer_vjp_weights, kToWeights, weights_kernel, cost_to_weights);

} // namespace definitions

} // namespace cairn::ops
