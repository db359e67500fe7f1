// Elements along an axis in order, the largest of them, and their running sums.
#include "ops/cpu/lines/running_sum.h"
#include "ops/cpu/lines/sort.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

// The axis is operand `at` of those that are no tensors; the last if it is not given.
int axis_of(std::string_view who, const Attributes& attributes, std::size_t at, const Shape& shape) {
  return axis_in(who, rules::integer_or(attributes, at, -1), shape.rank());
}

// --- cumulative-sum

void infer_cumulative(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  if (!is_floating(results[0].dtype)) results[0].dtype = DType::i64;
  axis_of(shown_name(call.op), call.attributes, 0, results[0].shape);
}

template <bool reverse> void cumulative_kernel(const KernelCall& call) {
  const View& out = call.outputs[0];
  cpu::running_sum(axis_of("cumulative-sum", call.attributes, 0, out.shape), reverse, out, call.inputs[0]);
}

void cumulative_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0))
    call.results[0] = call.runtime.apply(OperatorId::cumulative_sum_vjp, {call.cotangents[0]}, call.attributes);
}

template <bool reverse> void narrow_cumulative(const RegionCall& call) {
  const int axis = axis_of("cumulative-sum", call.call.attributes, 0, call.call.inputs[0].shape);
  Box box = call.box;
  if (reverse)
    box[axis].end = call.call.inputs[0].shape[axis];
  else
    box[axis].begin = 0;
  regions::narrow_but(call.needed[0], box, 0);
}
constexpr RegionRule kUpToEach = {"up to its place along the axis", narrow_cumulative<false>};
constexpr RegionRule kFromEach = {"from its place on along the axis", narrow_cumulative<true>};

// --- order

void infer_put_back(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = call.inputs[1].shape;
}

// Elements of the tangent from the indices.
Term gathered(const Term& t, const Term& indices, std::int64_t axis) {
  return apply(OperatorId::gather, {t, indices}, rules::attributes({Attribute::of_integer(axis)}));
}

// --- sort and argsort

template <bool indices> void infer_sort(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  axis_of(shown_name(call.op), call.attributes, 0, results[0].shape);
  if (indices) results[0].dtype = DType::i64;
}

template <bool indices> void sort_kernel(const KernelCall& call) {
  const int axis = axis_of("sort", call.attributes, 0, call.inputs[0].shape);
  (indices ? cpu::argsort : cpu::sort)(axis, call.outputs[0], call.inputs[0]);
}

void sort_vjp_kernel(const KernelCall& call) {
  cpu::sort_vjp(axis_of("sort", call.attributes, 0, call.inputs[1].shape), call.outputs[0], call.inputs[0], call.inputs[1]);
}

void sort_vjp_rule(const VjpCall& call) {
  if (rules::wanted(call, 0))
    call.results[0] = call.runtime.apply(OperatorId::sort_vjp, {call.cotangents[0], call.inputs[0]}, call.attributes);
}

void sort_jvp(const JvpCall& call) {
  const Term indices = apply(OperatorId::argsort, {call.inputs[0]}, call.attributes);
  call.results[0] = gathered(*call.tangents[0], indices, rules::integer_or(call.attributes, 0, -1));
}

// --- top-k

void infer_top_k(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  const Shape& shape = call.inputs[0].shape;
  const int axis = axis_of(shown_name(call.op), call.attributes, 1, shape);
  const std::int64_t count = call.attributes[0].integer();
  if (count < 0 || count > shape[axis])
    throw OperatorError(
        fmt::format("top-k: there are no {} elements along axis {} of a tensor of shape {}", count, axis, shape.text()));
  results[0].shape[axis] = count;
  results.count = 2;
  results[1].dtype = DType::i64;
  results[1].shape = results[0].shape;
}

void infer_places(const Call& call, ResultTypes& results) {
  infer_top_k(call, results);
  results.count = 1;
  results[0].dtype = DType::i64;
}

int axis_of_top_k(const KernelCall& call, const View& x) { return axis_of("top-k", call.attributes, 1, x.shape); }

void top_k_kernel(const KernelCall& call) {
  cpu::largest(axis_of_top_k(call, call.inputs[0]), &call.outputs[0], call.outputs[1], call.inputs[0]);
}

void places_kernel(const KernelCall& call) {
  cpu::largest(axis_of_top_k(call, call.inputs[0]), nullptr, call.outputs[0], call.inputs[0]);
}

void top_k_vjp_kernel(const KernelCall& call) {
  cpu::largest_vjp(axis_of_top_k(call, call.inputs[1]), call.outputs[0], call.inputs[0], call.inputs[1]);
}

void top_k_vjp_rule(const VjpCall& call) {
  if (rules::wanted(call, 0))
    call.results[0] = call.runtime.apply(OperatorId::top_k_vjp, {call.cotangents[0], call.inputs[0]}, call.attributes);
}

// An algebra gives the first of several results alone, so the indices come from an operator of their own.
void top_k_jvp(const JvpCall& call) {
  const Term indices = apply(OperatorId::top_k_places, {call.inputs[0]}, call.attributes);
  call.results[0] = gathered(*call.tangents[0], indices, rules::integer_or(call.attributes, 1, -1));
}

// Comparisons: as many for each element as its line has doublings, about.
Cost cost_of_sort(const Call& call, const ResultTypes&) {
  const auto n = static_cast<double>(call.inputs[0].shape.elements());
  return Cost{20 * n, 2 * n * static_cast<double>(bytes_of(call.inputs[0].dtype))};
}

} // namespace

namespace definitions {

constinit const Definition cumulative_sum = {
    .infer = infer_cumulative, .regions = &kUpToEach, .kernel = cumulative_kernel<false>, .vjp = cumulative_vjp};
constinit const Definition cumulative_sum_vjp = {
    .infer = infer_cumulative, .regions = &kFromEach, .kernel = cumulative_kernel<true>};
constinit const Definition sort = {.infer = infer_sort<false>,
                                   .regions = &regions::order,
                                   .kernel = sort_kernel<false>,
                                   .vjp = sort_vjp_rule,
                                   .jvp = sort_jvp,
                                   .keep = keep_input(0),
                                   .cost = cost_of_sort};
constinit const Definition sort_vjp = {.infer = infer_put_back, .regions = &regions::order, .kernel = sort_vjp_kernel};
constinit const Definition argsort = {
    .infer = infer_sort<true>, .regions = &regions::order, .kernel = sort_kernel<true>, .cost = cost_of_sort};
constinit const Definition top_k = {.infer = infer_top_k,
                                    .regions = &regions::order_by_second,
                                    .kernel = top_k_kernel,
                                    .vjp = top_k_vjp_rule,
                                    .jvp = top_k_jvp,
                                    .keep = keep_input(0),
                                    .cost = cost_of_sort};
constinit const Definition top_k_vjp = {
    .infer = infer_put_back, .regions = &regions::order_by_second, .kernel = top_k_vjp_kernel};
constinit const Definition top_k_places = {.infer = infer_places, .regions = &regions::order_by_second, .kernel = places_kernel};

} // namespace definitions

} // namespace cairn::ops
