// Pools: the largest or the mean of each window, or of bins that divide an axis into so many.
#include "ops/cpu/spatial/pool.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

namespace cairn::ops {

namespace {

constexpr std::size_t kPoolKernel = 0, kPoolStrides = 1, kPoolPadding = 2, kPoolCount = 3, kPoolSizes = 4; // attributes

cpu::Pool read_pool(std::string_view who, const Attributes& attributes, int axes) {
  cpu::Pool pool;
  pool.windows.axes = axes;
  pool.windows.kernel = spatial_attribute(who, "sizes of windows", attributes, kPoolKernel, axes, 1, 1);
  pool.windows.stride = is_present(attributes, kPoolStrides)
                            ? spatial_attribute(who, "strides", attributes, kPoolStrides, axes, 1, 1)
                            : pool.windows.kernel;
  pool.windows.padding = spatial_attribute(who, "padding", attributes, kPoolPadding, axes, 0, 0);
  pool.count_padding = !is_present(attributes, kPoolCount) || attributes[kPoolCount].integer() != 0;
  return pool;
}

cpu::Pool read_pool(const KernelCall& call) { return read_pool("pool", call.attributes, call.outputs[0].shape.rank() - 2); }

cpu::Pool bins() {
  cpu::Pool pool;
  pool.bins = true;
  return pool;
}

void set(ResultTypes& results, const Call& call, const Sizes& sizes) {
  const Shape& x = call.inputs[0].shape;
  results[0].dtype = floating_of(call.inputs[0].dtype);
  results[0].shape = with_spatial(x[0], x[1], sizes, x.rank() - 2);
  results[0].channels_last = true;
}

void infer_pool(const Call& call, ResultTypes& results) {
  const std::string_view who = shown_name(call.op);
  const Shape& x = call.inputs[0].shape;
  const int axes = spatial_axes(who, x);
  const cpu::Pool pool = read_pool(who, call.attributes, axes);
  Sizes sizes = spatial_sizes(x);
  for (int i = 0; i < kMostSpatial; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (pool.windows.padding[k] >= pool.windows.kernel[k])
      throw OperatorError(fmt::format("{}: padding of {} is not less than windows of size {}", who, pool.windows.padding[k],
                                      pool.windows.kernel[k]));
    const std::int64_t positions = sizes[k] == 0 ? 0 : pool.windows.positions(i, sizes[k]);
    if (positions <= 0)
      throw OperatorError(
          fmt::format("{}: windows of size {} do not fit into a tensor of shape {}", who, pool.windows.kernel[k], x.text()));
    sizes[k] = positions;
  }
  set(results, call, sizes);
}

template <Infer infer> void infer_pick(const Call& call, ResultTypes& results) {
  if (!(call.inputs[0].shape == call.inputs[1].shape))
    throw OperatorError(fmt::format("{}: shapes {} and {} do not go together", shown_name(call.op), call.inputs[0].shape.text(),
                                    call.inputs[1].shape.text()));
  infer(call, results);
}

void infer_max_vjp(const Call& call, ResultTypes& results) { set(results, call, spatial_sizes(call.inputs[1].shape)); }

void infer_pool_places(const Call& call, ResultTypes& results) {
  infer_pool(call, results);
  results[0].dtype = DType::u8;
}

template <std::size_t attribute> void infer_sizes(const Call& call, ResultTypes& results) {
  const std::string_view who = shown_name(call.op);
  const Shape& x = call.inputs[0].shape;
  const int axes = spatial_axes(who, x);
  for (const std::int64_t size : spatial_sizes(x))
    if (size < 1 || size > INT_MAX) throw OperatorError(fmt::format("{}: a tensor of shape {} has no such bins", who, x.text()));
  set(results, call, spatial_attribute(who, "sizes", call.attributes, attribute, axes, 1, 1));
}

template <cpu::MaxPool what, bool adaptive> void max_kernel(const KernelCall& call) {
  cpu::max_pool(adaptive ? bins() : read_pool(call), what, call.outputs[0], call.inputs);
}
template <bool adaptive> void max_vjp_kernel(const KernelCall& call) {
  cpu::max_pool_vjp(adaptive ? bins() : read_pool(call), call.outputs[0], call.inputs[0], call.inputs[1]);
}
void pool_places_kernel(const KernelCall& call) { cpu::max_pool_places(read_pool(call), call.outputs[0], call.inputs[0]); }
void by_places_kernel(const KernelCall& call) {
  cpu::max_pool_vjp_by_places(read_pool(call), call.outputs[0], call.inputs[0], call.inputs[1]);
}
void average_kernel(const KernelCall& call) { cpu::average_pool(read_pool(call), call.outputs[0], call.inputs[0]); }
void average_vjp_kernel(const KernelCall& call) { cpu::average_pool_vjp(read_pool(call), call.outputs[0], call.inputs[0]); }
void adaptive_kernel(const KernelCall& call) { cpu::average_pool(bins(), call.outputs[0], call.inputs[0]); }
void adaptive_vjp_kernel(const KernelCall& call) { cpu::average_pool_vjp(bins(), call.outputs[0], call.inputs[0]); }

Attribute spatial(const Shape& shape) { return Attribute::of_list(shape.sizes().subspan(2)); }

// A byte can tell the places of a window apart.
bool has_places(const Call& call, std::span<const Tensor> whole) {
  std::int64_t places = 1;
  for (const std::int64_t size : read_pool("max-pool", call.attributes, whole[0].rank() - 2).windows.kernel)
    if (__builtin_mul_overflow(places, size, &places)) return false;
  return places <= 256;
}
constexpr SmallerForm kPlaces = {"a byte a window", OperatorId::max_pool_places, has_places};

// Of max-pool, whose only operand is x, and of pick-max, where x is the second.
template <unsigned x, OperatorId reverse> void max_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  if (call.smaller != nullptr) {
    Attributes attributes = call.attributes;
    attributes.values.resize(kPoolCount);
    attributes.values.push_back(spatial(call.inputs[0].shape));
    const Tensor by_places =
        call.runtime.apply(OperatorId::max_pool_vjp_by_places, {call.cotangents[0], *call.smaller}, attributes);
    call.results[0] = rules::fit(call.runtime, by_places, call.inputs[0]);
    return;
  }
  const Tensor part = call.runtime.apply(reverse, {call.cotangents[0], call.inputs[x]}, call.attributes);
  call.results[0] = rules::fit(call.runtime, part, call.inputs[0]);
}

// pick-max is linear in what it picks from.
template <unsigned x, OperatorId pick> void max_jvp(const JvpCall& call) {
  if (call.tangents[0] != nullptr) call.results[0] = apply(pick, {*call.tangents[0], call.inputs[x]}, call.attributes);
}

void average_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  Attributes attributes = call.attributes;
  attributes.values.resize(kPoolSizes);
  attributes.values.push_back(spatial(call.inputs[0].shape));
  call.results[0] = rules::fit(call.runtime, call.runtime.apply(OperatorId::average_pool_vjp, {call.cotangents[0]}, attributes),
                               call.inputs[0]);
}

void adaptive_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Attributes attributes = rules::attributes({spatial(call.inputs[0].shape)});
  call.results[0] = rules::fit(
      call.runtime, call.runtime.apply(OperatorId::adaptive_average_pool_vjp, {call.cotangents[0]}, attributes), call.inputs[0]);
}

// --- regions

// What a range of the results reads of an axis of the input, and which of so many results read a range of it.
template <bool adaptive>
Reading read_by_pool(const Range& range, const RegionCall& call, int axis, std::int64_t size, std::int64_t count) {
  if (adaptive) return read_by_bins(range, size, count);
  const int axes = call.box.rank() - 2;
  return read_by_windows(range, read_pool("pool", call.call.attributes, axes).windows, kMostSpatial - axes + axis - 2);
}
template <bool adaptive>
Reading pools_that_read(const Range& range, const RegionCall& call, int axis, std::int64_t size, std::int64_t count) {
  if (adaptive) return read_by_bins(range, count, size);
  const int axes = call.box.rank() - 2;
  return windows_that_read(range, read_pool("pool", call.call.attributes, axes).windows, kMostSpatial - axes + axis - 2, count);
}

template <bool adaptive> void narrow_pool(const RegionCall& call) {
  const Shape &in = call.call.inputs[0].shape, &out = call.results.types[0].shape;
  for (Region& region : call.needed)
    for (int i = 0; i < call.box.rank(); ++i)
      region.padded(i, i < 2 ? Reading{call.box[i]} : read_by_pool<adaptive>(call.box[i], call, i, in[i], out[i]));
  if (call.needed.size() > 1) // elements at which another is the largest, which of one element need not be asked
    for (Region& region : call.needed) region.loosen(Fit::loose);
}

// Of the cotangent the windows that read this part, and of the places of the largest in each; of the input, where that decides,
// all of these windows.
template <bool adaptive, bool places = false> void narrow_pool_vjp(const RegionCall& call) {
  const Shape &of_result = call.call.inputs[0].shape, &of_input = call.results.types[0].shape;
  for (int i = 0; i < call.box.rank(); ++i) {
    const Reading windows =
        i < 2 ? Reading{call.box[i]} : pools_that_read<adaptive>(call.box[i], call, i, of_input[i], of_result[i]);
    call.needed[0].within(i, windows);
    if (places)
      call.needed[1].within(i, windows);
    else if (call.needed.size() > 1)
      call.needed[1].padded(i, i < 2 ? windows : read_by_pool<adaptive>(windows.range, call, i, of_input[i], of_result[i]));
  }
  if (call.needed.size() > 1)
    for (Region& region : call.needed) region.loosen(Fit::loose);
}

template <bool adaptive> constexpr RegionRule kPool = {adaptive ? "bins" : "windows", narrow_pool<adaptive>};
template <bool adaptive>
constexpr RegionRule kPoolVjp = {adaptive ? "bins around it" : "windows around it", narrow_pool_vjp<adaptive>};
constexpr RegionRule kPoolVjpByPlaces = {"windows around it", narrow_pool_vjp<false, true>};

// A flop for each element of each window.
Cost cost_of_pooling(const Call& call, const ResultTypes& results) {
  const auto n = static_cast<double>(call.inputs[0].elements()), m = static_cast<double>(results.types[0].shape.elements());
  double window = 1;
  if (call.op.signature.letters().find('l') != std::string_view::npos && is_present(call.attributes, kPoolKernel))
    for (const std::int64_t size :
         spatial_attribute("pool", "sizes", call.attributes, kPoolKernel, call.inputs[0].rank() - 2, 1, 0))
      window *= static_cast<double>(size);
  return Cost{std::max(n, window * std::min(n, m)), n * static_cast<double>(bytes_of(call.inputs[0].dtype)) +
                                                        m * static_cast<double>(bytes_of(results.types[0].dtype))};
}

constexpr Definition pooling_definition(Infer infer, const RegionRule& regions, Kernel kernel, Vjp vjp = nullptr,
                                        Jvp jvp = nullptr, std::uint32_t keep = 0, const SmallerForm* smaller = nullptr) {
  Definition d;
  d.smaller = smaller;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.vjp = vjp;
  d.jvp = jvp;
  d.keep = keep;
  d.cost = cost_of_pooling;
  return d;
}

// The largest, and what is picked where it is.
template <unsigned x, bool adaptive> constexpr Definition definition_of_max() {
  using O = OperatorId;
  constexpr O reverse = adaptive ? O::adaptive_max_pool_vjp : O::max_pool_vjp,
              pick = adaptive ? O::adaptive_pick_max : O::pick_max;
  constexpr Infer infer = adaptive ? infer_sizes<0> : infer_pool;
  constexpr cpu::MaxPool what = x == 0 ? cpu::MaxPool::value : cpu::MaxPool::pick;
  return pooling_definition(x == 0 ? infer : infer_pick<infer>, kPool<adaptive>, max_kernel<what, adaptive>, max_vjp<x, reverse>,
                            max_jvp<x, pick>, keep_input(x), x == 0 && !adaptive ? &kPlaces : nullptr);
}

} // namespace

namespace definitions {

constinit const Definition max_pool = definition_of_max<0, false>();
constinit const Definition pick_max = definition_of_max<1, false>();
constinit const Definition max_pool_vjp = pooling_definition(infer_max_vjp, kPoolVjp<false>, max_vjp_kernel<false>);
constinit const Definition max_pool_places = pooling_definition(infer_pool_places, kPool<false>, pool_places_kernel);
constinit const Definition max_pool_vjp_by_places =
    pooling_definition(infer_sizes<kPoolCount>, kPoolVjpByPlaces, by_places_kernel);
constinit const Definition adaptive_max_pool = definition_of_max<0, true>();
constinit const Definition adaptive_pick_max = definition_of_max<1, true>();
constinit const Definition adaptive_max_pool_vjp = pooling_definition(infer_max_vjp, kPoolVjp<true>, max_vjp_kernel<true>);
constinit const Definition average_pool = pooling_definition(infer_pool, kPool<false>, average_kernel, average_vjp);
constinit const Definition average_pool_vjp = pooling_definition(infer_sizes<kPoolSizes>, kPoolVjp<false>, average_vjp_kernel);
constinit const Definition adaptive_average_pool = pooling_definition(infer_sizes<0>, kPool<true>, adaptive_kernel, adaptive_vjp);
constinit const Definition adaptive_average_pool_vjp = pooling_definition(infer_sizes<0>, kPoolVjp<true>, adaptive_vjp_kernel);

} // namespace definitions

} // namespace cairn::ops
