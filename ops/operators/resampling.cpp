// Spatial axes brought to other sizes. Linear operators, whose reverse rules are kernels that gather.
#include "ops/cpu/spatial/resample.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <fmt/format.h>

#include <climits>

namespace cairn::ops {

namespace {

using cpu::Resampling;

// The operands "Lb": sizes, of the result or, in reverse rules, of the input; whether the corners are those of the input.
template <bool linear> Resampling how(const Attributes& attributes) {
  if (!linear) return Resampling::nearest;
  return rules::integer_or(attributes, 1, 0) != 0 ? Resampling::linear_corners : Resampling::linear;
}

template <bool linear> void infer(const Call& call, ResultTypes& results) {
  const std::string_view who = shown_name(call.op);
  const Shape& x = call.inputs[0].shape;
  const int axes = spatial_axes(who, x);
  const Sizes sizes = spatial_attribute(who, "sizes", call.attributes, 0, axes, 1, 1);
  for (const std::int64_t size : spatial_sizes(x))
    if (size < 1 || size > INT_MAX)
      throw OperatorError(fmt::format("{}: a tensor of shape {} has nothing to take elements from", who, x.text()));
  results[0].dtype = linear ? floating_of(call.inputs[0].dtype) : call.inputs[0].dtype;
  results[0].shape = with_spatial(x[0], x[1], sizes, axes);
  results[0].channels_last = true;
}

template <bool linear> void kernel(const KernelCall& call) {
  cpu::resample(how<linear>(call.attributes), call.outputs[0], call.inputs[0]);
}
template <bool linear> void vjp_kernel(const KernelCall& call) {
  cpu::resample_vjp(how<linear>(call.attributes), call.outputs[0], call.inputs[0]);
}

template <OperatorId reverse> void vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  Attributes attributes = call.attributes;
  attributes.values[0] = Attribute::of_list(call.inputs[0].shape.sizes().subspan(2));
  call.results[0] = rules::fit(call.runtime, call.runtime.apply(reverse, {call.cotangents[0]}, attributes), call.inputs[0]);
}

// --- regions. Positions rise, so a range is made of what lies between those of its first and its last.

Range read_by(Resampling how, std::int64_t i, std::int64_t in, std::int64_t out) {
  const cpu::Neighbours found = cpu::neighbours(how, i, in, out);
  return {found.low, found.low + (found.beyond != 0 ? 2 : 1)};
}

template <bool linear> void narrow_resampled(const RegionCall& call) {
  const Shape &in = call.call.inputs[0].shape, &out = call.results.types[0].shape;
  Region& x = call.needed[0];
  for (int i = 0; i < in.rank(); ++i) {
    const Range& range = call.box[i];
    if (i < 2) {
      x.within(i, range);
      continue;
    }
    const auto of = [&](std::int64_t at) { return read_by(how<linear>(call.call.attributes), at, in[i], out[i]); };
    const bool all = in[i] <= out[i] || range.size() == 1; // else some are stepped over
    x.within(i, Reading{{of(range.begin).begin, of(range.end - 1).end}, all ? Fit::every : Fit::borders});
  }
}

// Of the cotangent the positions whose neighbours are in the range.
template <bool linear> void narrow_resampled_vjp(const RegionCall& call) {
  const Shape &of_result = call.call.inputs[0].shape, &of_input = call.results.types[0].shape;
  Region& c = call.needed[0];
  for (int i = 0; i < of_input.rank(); ++i) {
    const Range& range = call.box[i];
    if (i < 2) {
      c.within(i, range);
      continue;
    }
    const auto of = [&](std::int64_t at) { return read_by(how<linear>(call.call.attributes), at, of_input[i], of_result[i]); };
    const auto first = [&](auto&& holds) { // from which on something holds
      std::int64_t low = 0, high = of_result[i];
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (holds(of(middle)))
          high = middle;
        else
          low = middle + 1;
      }
      return low;
    };
    c.within(i, Range{first([&](const Range& read) { return read.end > range.begin; }),
                      first([&](const Range& read) { return read.begin >= range.end; })});
  }
}

template <bool linear> constexpr RegionRule kResampled = {"neighbours, by where it is in the whole", narrow_resampled<linear>};
template <bool linear> constexpr RegionRule kResampledVjp = {"places with such neighbours", narrow_resampled_vjp<linear>};

// Two flops for each neighbour of each element.
template <bool linear> Cost cost(const Call& call, const ResultTypes& results) {
  const Tensor& x = call.inputs[0];
  const auto n = static_cast<double>(x.elements()), m = static_cast<double>(results.types[0].shape.elements());
  return Cost{linear ? m * static_cast<double>(2 << (x.rank() - 2)) : m,
              n * static_cast<double>(bytes_of(x.dtype)) + m * static_cast<double>(bytes_of(results.types[0].dtype))};
}

template <bool linear> constexpr Definition resampling_definition(const RegionRule& regions, Kernel kernel, Vjp vjp = nullptr) {
  Definition d;
  d.infer = infer<linear>;
  d.regions = &regions;
  d.kernel = kernel;
  d.vjp = vjp;
  d.cost = cost<linear>;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition interpolate_nearest =
    resampling_definition<false>(kResampled<false>, kernel<false>, vjp<OperatorId::interpolate_nearest_vjp>);
constinit const Definition interpolate_linear =
    resampling_definition<true>(kResampled<true>, kernel<true>, vjp<OperatorId::interpolate_linear_vjp>);
constinit const Definition interpolate_nearest_vjp = resampling_definition<false>(kResampledVjp<false>, vjp_kernel<false>);
constinit const Definition interpolate_linear_vjp = resampling_definition<true>(kResampledVjp<true>, vjp_kernel<true>);

} // namespace definitions

} // namespace cairn::ops
