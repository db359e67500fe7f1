// Reductions over axes, and the reverse of broadcasting.
#include "ops/operators/reductions.h"
#include "ops/convert.h"
#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/reduce/reduce.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

namespace rules {

Shape reduced(const Shape& shape, Mask mask, bool keep) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((mask >> i & 1) == 0)
      out.push_back(shape[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

void infer_reduction(const Call& call, ResultTypes& results) {
  const Shape& shape = call.inputs[0].shape;
  results[0].shape = reduced(shape, axes_of(shown_name(call.op), call.attributes, shape.rank()), keeps_axes(call.attributes));
  results[0].dtype = call.inputs[0].dtype;
}

void infer_floating_reduction(const Call& call, ResultTypes& results) {
  infer_reduction(call, results);
  results[0].dtype = floating_of(results[0].dtype);
}

void refuse_nothing(const Call& call, const ResultTypes& results, std::string_view what) {
  if (call.inputs[0].shape.elements() == 0 && results.types[0].shape.elements() != 0)
    throw OperatorError(
        fmt::format("{}: a tensor of shape {} has no {}", shown_name(call.op), call.inputs[0].shape.text(), what));
}

Tensor stretched(Runtime& runtime, const Tensor& cotangent, const Shape& shape, Mask mask) {
  const Tensor kept =
      runtime.apply(OperatorId::view, {cotangent}, rules::attributes({Attribute::of_list(reduced(shape, mask, true).sizes())}));
  return runtime.apply(OperatorId::expand, {kept}, rules::attributes({Attribute::of_list(shape.sizes())}));
}

Cost cost_of_reduction(const Call& call, const ResultTypes& results) {
  const auto n = static_cast<double>(call.inputs[0].shape.elements());
  return Cost{n,
              n * static_cast<double>(bytes_of(call.inputs[0].dtype)) +
                  static_cast<double>(results.types[0].shape.elements()) * static_cast<double>(bytes_of(results.types[0].dtype))};
}

} // namespace rules

namespace {

using namespace rules;

void infer_sum(const Call& call, ResultTypes& results) {
  infer_reduction(call, results);
  if (!is_floating(results[0].dtype)) results[0].dtype = DType::i64;
}

template <bool largest> void infer_extreme(const Call& call, ResultTypes& results) {
  infer_reduction(call, results);
  refuse_nothing(call, results, largest ? "maximum" : "minimum");
}

template <cpu::Reduction reduction> void reduce_kernel(const KernelCall& call) {
  const View& in = call.inputs[0];
  const Mask mask = axes_of("reduction", call.attributes, in.shape.rank());
  cpu::reduce(reduction, cpu::with_axes(call.outputs[0], in.shape, mask), in);
}

void sum_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Shape& shape = call.inputs[0].shape;
  call.results[0] = stretched(call.runtime, call.cotangents[0], shape, axes_of("sum", call.attributes, shape.rank()));
}

void mean_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Shape& shape = call.inputs[0].shape;
  const double count =
      static_cast<double>(shape.elements()) / static_cast<double>(std::max<std::int64_t>(1, call.outputs[0].shape.elements()));
  const Tensor part = call.runtime.apply(OperatorId::div, {call.cotangents[0], weak_number(count, false)});
  call.results[0] = stretched(call.runtime, part, shape, axes_of("mean", call.attributes, shape.rank()));
}

// --- max-over and min-over

void infer_mask(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  results[0].dtype = DType::u8;
}

constexpr std::int64_t kBlock = 512;

// 1 at the first of the largest, or smallest, elements along the reduced axes, in row-major order, else 0.
template <class T, class F> void mask_first(const KernelCall& call, Mask mask) {
  const View &in = call.inputs[0], &out = call.outputs[0];
  const int rank = in.shape.rank();
  std::array<int, kMostAxes> kept{}, gone{};
  int n_kept = 0, n_gone = 0;
  std::int64_t results = 1, reduced = 1;
  for (int i = 0; i < rank; ++i) {
    const bool goes = (mask >> i & 1) != 0;
    (goes ? gone[static_cast<std::size_t>(n_gone++)] : kept[static_cast<std::size_t>(n_kept++)]) = i;
    (goes ? reduced : results) *= in.shape[i];
  }
  auto offsets_of = [&](std::int64_t index, const std::array<int, kMostAxes>& axes, int n, std::int64_t& from, std::int64_t& to) {
    while (n-- > 0) {
      const int axis = axes[static_cast<std::size_t>(n)];
      from += index % in.shape[axis] * in.strides[static_cast<std::size_t>(axis)];
      to += index % in.shape[axis] * out.strides[static_cast<std::size_t>(axis)];
      index /= in.shape[axis];
    }
  };
  cpu::fill_elements(out, 0);
  const Compute compute = std::is_same_v<T, double> ? Compute::f64 : Compute::i64;
  // Rows along the last of the reduced axes, in blocks.
  const int along = n_gone > 0 ? gone[static_cast<std::size_t>(n_gone - 1)] : -1;
  const std::int64_t length = along >= 0 ? in.shape[along] : 1;
  const std::int64_t stride = along >= 0 ? in.strides[static_cast<std::size_t>(along)] : 1;
  const std::int64_t stride_out = along >= 0 ? out.strides[static_cast<std::size_t>(along)] : 1;
  cpu::parallel_for(results, std::max<std::int64_t>(1, cpu::kElementsInline / reduced),
                    [&](std::int64_t begin, std::int64_t end) {
                      T staged[kBlock];
                      cpu::Pace pace;
                      for (std::int64_t i = begin; i < end; ++i) {
                        std::int64_t from = 0, to = 0, best_to = 0;
                        offsets_of(i, kept, n_kept, from, to);
                        T best{};
                        for (std::int64_t row = 0; row < reduced; row += length) {
                          std::int64_t at = from, at_to = to;
                          offsets_of(row, gone, n_gone, at, at_to);
                          for (std::int64_t j = 0; j < length; j += kBlock) {
                            const std::int64_t n = std::min(kBlock, length - j);
                            pace.did(4 * n);
                            cpu::load(compute, staged, in.dtype,
                                      static_cast<const char*>(in.data) + (at + j * stride) * bytes_of(in.dtype), stride, n);
                            for (std::int64_t k = 0; k < n; ++k) {
                              const bool first = row == 0 && j == 0 && k == 0;
                              if (!first && pointwise::equal(F::template choice<T>(best, staged[k], T(1), T(0)), T(1))) continue;
                              best = staged[k];
                              best_to = at_to + (j + k) * stride_out;
                            }
                          }
                        }
                        out.as<std::uint8_t>()[best_to] = 1;
                      }
                    });
}

template <class F> void mask_kernel(const KernelCall& call) {
  const Mask mask = axes_of("reduction", call.attributes, call.inputs[0].shape.rank());
  if (is_floating(call.inputs[0].dtype))
    mask_first<double, F>(call, mask);
  else
    mask_first<pointwise::Integer, F>(call, mask);
}

template <OperatorId masking> void extreme_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Tensor& x = call.inputs[0];
  const Tensor mask = call.runtime.apply(masking, {x}, call.attributes);
  const Tensor over = stretched(call.runtime, call.cotangents[0], x.shape, axes_of("reduction", call.attributes, x.rank()));
  call.results[0] = call.runtime.apply(OperatorId::where, {mask, over, weak_number(0, true)});
}

template <OperatorId masking> void extreme_jvp(const JvpCall& call) {
  const Term mask = apply(masking, {call.inputs[0]}, call.attributes);
  call.results[0] = apply(OperatorId::sum, {where(mask, *call.tangents[0], 0.0)}, call.attributes);
}

// --- sum-to

void infer_sum_to(const Call& call, ResultTypes& results) {
  const Shape& from = call.inputs[0].shape;
  const Shape to{std::span<const std::int64_t>(call.attributes[0].list())};
  bool fits = to.rank() <= from.rank();
  for (int i = 0; fits && i < to.rank(); ++i) fits = to[i] == 1 || to[i] == from[i + from.rank() - to.rank()];
  if (!fits) throw OperatorError(fmt::format("sum-to: {} does not come from {} by stretching", from.text(), to.text()));
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = to;
}

Tensor view_sum_to(const Call& call, const ResultType& result) {
  if (!(call.inputs[0].shape.elements() == result.shape.elements())) return {};
  Tensor v = call.inputs[0]; // at most axes of size 1 in front go
  const int gone = v.rank() - result.shape.rank();
  v.strides.fill(0);
  for (int i = 0; i < result.shape.rank(); ++i)
    v.strides[static_cast<std::size_t>(i)] = call.inputs[0].strides[static_cast<std::size_t>(i + gone)];
  v.shape = result.shape;
  return v;
}

void sum_to_kernel(const KernelCall& call) {
  const View &in = call.inputs[0], &out = call.outputs[0];
  View with = out;
  with.shape = in.shape;
  with.strides.fill(0);
  const int added = in.shape.rank() - out.shape.rank();
  for (int i = 0; i < in.shape.rank(); ++i) {
    with.shape[i] = i < added ? 1 : out.shape[i - added];
    if (i >= added) with.strides[static_cast<std::size_t>(i)] = out.strides[static_cast<std::size_t>(i - added)];
  }
  cpu::reduce(cpu::Reduction::sum, with, in);
}

void sum_to_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0))
    call.results[0] = call.runtime.apply(OperatorId::expand, {call.cotangents[0]},
                                         rules::attributes({Attribute::of_list(call.inputs[0].shape.sizes())}));
}

void narrow_sum_to(const RegionCall& call) {
  Region& region = call.needed[0];
  const int added = region.box.rank() - call.box.rank();
  const Shape &from = call.call.inputs[0].shape, &to = call.results.types[0].shape;
  for (int i = added; i < from.rank(); ++i)
    if (to[i - added] == from[i]) region.within(i, call.box[i - added]);
}
constexpr RegionRule kRegionsOfSumTo = {"all along the axes reduced", narrow_sum_to};

constexpr Definition reduction_definition(Infer infer, Kernel kernel, Vjp vjp, const RegionRule& regions = regions::reduction) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.vjp = vjp;
  d.cost = cost_of_reduction;
  return d;
}

template <bool largest> constexpr Definition definition_of_extreme() {
  constexpr OperatorId masking = largest ? OperatorId::max_over_mask : OperatorId::min_over_mask;
  Definition d = reduction_definition(
      infer_extreme<largest>, reduce_kernel < largest ? cpu::Reduction::max : cpu::Reduction::min >, extreme_vjp<masking>);
  d.jvp = extreme_jvp<masking>;
  d.keep = keep_input(0);
  return d;
}

constexpr Definition definition_of_sum_to() {
  Definition d = reduction_definition(infer_sum_to, sum_to_kernel, sum_to_vjp, kRegionsOfSumTo);
  d.view = view_sum_to;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition sum = reduction_definition(infer_sum, reduce_kernel<cpu::Reduction::sum>, sum_vjp);
constinit const Definition mean = reduction_definition(infer_floating_reduction, reduce_kernel<cpu::Reduction::mean>, mean_vjp);
constinit const Definition max_over = definition_of_extreme<true>();
constinit const Definition min_over = definition_of_extreme<false>();
constinit const Definition max_over_mask =
    reduction_definition(infer_mask, mask_kernel<pointwise::Max>, nullptr, regions::reduction_mask);
constinit const Definition min_over_mask =
    reduction_definition(infer_mask, mask_kernel<pointwise::Min>, nullptr, regions::reduction_mask);
constinit const Definition sum_to = definition_of_sum_to();

} // namespace definitions

} // namespace cairn::ops
