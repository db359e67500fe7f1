// Reductions beside sums and extremes: products, norms, logsumexp, variances, indices of extremes; and softmax of scaled and
// masked scores.
#include "ops/cpu/reduce/statistics.h"
#include "ops/cpu/normalize/softmax.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include "ops/norm_powers.h"
#include "ops/operators/directions.h"
#include "ops/operators/reductions.h"

#include <fmt/format.h>

#include <limits>

namespace cairn::ops {

namespace {

using namespace rules;

// Of a kernel: the mask by the shape before the reduction.
Mask mask_of(const KernelCall& call, unsigned operand) {
  return axes_of("reduction", call.attributes, call.inputs[operand].shape.rank());
}

// The operands "lb" alone, and those with the axes kept.
Attributes axes_alone(const Attributes& attributes, bool keep) {
  Attributes out;
  out.values.resize(2);
  if (!attributes.values.empty()) out.values[0] = attributes[0];
  out.values[1] = Attribute::of_flag(keep || keeps_axes(attributes));
  return out;
}
Term sum(const Term& t, const JvpCall& call) { return apply(OperatorId::sum, {t}, axes_alone(call.attributes, false)); }

// (cotangent, x[, y]): of the shape of x, of the type of the cotangent.
void infer_group_vjp(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = call.inputs[1].shape;
}

template <OperatorId kernel, bool with_value> void reduction_vjp(const VjpCall& call) {
  if (!wanted(call, 0)) return;
  const Tensor &c = call.cotangents[0], &x = call.inputs[0];
  const Tensor made = with_value ? call.runtime.apply(kernel, {c, x, call.outputs[0]}, call.attributes)
                                 : call.runtime.apply(kernel, {c, x}, call.attributes);
  call.results[0] = fit(call.runtime, made, x);
}

// --- prod

void infer_prod(const Call& call, ResultTypes& results) {
  infer_reduction(call, results);
  if (!is_floating(results[0].dtype)) results[0].dtype = DType::i64;
}

void prod_kernel(const KernelCall& call) { cpu::prod(call, mask_of(call, 0)); }
void prod_along_kernel(const KernelCall& call) { cpu::prod_along(call, mask_of(call, 0)); }
void prod_vjp_kernel(const KernelCall& call) {
  cpu::prod_vjp(call, mask_of(call, 1), static_cast<unsigned>(integer_or(call.attributes, 2, 0)));
}

void infer_prod_along(const Call& call, ResultTypes& results) {
  check_directions(call);
  infer_floating_reduction(call, results);
  for (const Tensor& t : call.inputs) results[0].dtype = promoted(results[0].dtype, t.dtype);
}

// Of prod, and of its derivatives along directions.
void prod_vjp_rule(const VjpCall& call) {
  for (unsigned i = 0; i < call.inputs.size(); ++i) {
    if (!wanted(call, i)) continue;
    Attributes attributes = call.attributes;
    attributes.values.resize(2);
    attributes.values.push_back(Attribute::of_integer(i));
    call.results[i] = fit(call.runtime, with_cotangent(call, OperatorId::prod_vjp, attributes), call.inputs[i]);
  }
}

void prod_jvp(const JvpCall& call) { along_directions(call, OperatorId::prod_along); }

// --- norm

double power_of_norm(const Attributes& attributes) { return number_or(attributes, 2, 2); }

void infer_norm(const Call& call, ResultTypes& results) {
  infer_floating_reduction(call, results);
  const double p = power_of_norm(call.attributes);
  if (!(p >= 1) || p - p != 0) throw OperatorError(fmt::format("norm: p is a number from 1 on, not {}", p));
}

void norm_kernel(const KernelCall& call) { cpu::norm(call, mask_of(call, 0), power_of_norm(call.attributes)); }
void norm_vjp_kernel(const KernelCall& call) { cpu::norm_vjp(call, mask_of(call, 1), power_of_norm(call.attributes)); }

// Of the type of t.
Term constant_like(const Term& t, double number) { return where(less(t, t), t, number); }

// A power of two for each norm, by which it and its elements, and products of these and tangents, come into the range of the
// type; 1 where norms are neither large nor small. What a type does not have, infinity and 0 in its place, is never chosen.
Term scale_of(const Term& norm) {
  const Term one = constant_like(norm, 1.0);
  Term scale = one;
  const auto bring = [&](double beyond, double by) {
    scale = scale * where(less(beyond, norm), 1 / by, where(less(norm, 1 / beyond), by, one));
  };
  bring(0x1p40, 0x1p64), bring(0x1p80, 0x1p60), bring(0x1p300, 0x1p500), bring(0x1p700, 0x1p380);
  return scale;
}

Term least_power(const Term& norm) {
  const Term least = constant_like(norm, kLeastNormPower<double>); // a float does not have it
  return where(equal(least, 0.0), kLeastNormPower<float>, least);
}
// 1 where a norm is differentiated by powers of elements.
Term by_powers(const Term& norm, double p) {
  return by_powers_of_norm<Term>(pow(norm, p - 1), least_power(norm), constant_like(norm, 1.0), constant_like(norm, 0.0));
}

// The same norm, with the axes kept.
Attributes axes_alone_of_norm(const Attributes& attributes) {
  Attributes kept = axes_alone(attributes, true);
  kept.values.push_back(Attribute::of_number(power_of_norm(attributes)));
  return kept;
}

void norm_jvp(const JvpCall& call) {
  const Term &x = call.inputs[0], &t = *call.tangents[0], &y = call.outputs[0];
  const double p = power_of_norm(call.attributes);
  // What is not chosen must be finite too, since it has derivatives of its own.
  const Term there = where(equal(y, 0.0), 1.0, y), all = apply(OperatorId::norm, {x}, axes_alone_of_norm(call.attributes));
  if (p == 2) {
    const Term scale = scale_of(all);
    call.results[0] =
        where(equal(y, 0.0), 0.0, sum(x * scale * t, call) / (there * sum(scale, call))); // of one number for each norm
    return;
  }
  const Term kept = where(equal(all, 0.0), 1.0, all), powers = by_powers(y, p);
  const Term of_elements =
      sum(sign(x) * pow(where(by_powers(all, p), abs(x), 1.0), p - 1) * t, call) / pow(where(powers, there, 1.0), p - 1);
  const Term of_quotients = sum(where(equal(x, 0.0), 0.0, sign(x) * pow(abs(x) / kept, p - 1)) * t, call);
  call.results[0] = where(equal(y, 0.0), 0.0, where(powers, of_elements, of_quotients));
}

// --- logsumexp

void logsumexp_kernel(const KernelCall& call) { cpu::logsumexp(call, mask_of(call, 0)); }
void logsumexp_vjp_kernel(const KernelCall& call) { cpu::logsumexp_vjp(call, mask_of(call, 1)); }

void logsumexp_jvp(const JvpCall& call) {
  const Term& x = call.inputs[0];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Term y = apply(OperatorId::logsumexp, {x}, axes_alone(call.attributes, true));
  const Term less_of_all = x - where(less(-kInfinity, y), y, 0.0); // what is nothing is also nothing beside nothing
  call.results[0] = sum(exp(where(equal(x, kInfinity), 0.0, less_of_all)) * *call.tangents[0], call);
}

// --- variance

double correction_of(const Attributes& attributes) { return static_cast<double>(integer_or(attributes, 2, 0)); }

void variance_kernel(const KernelCall& call) { cpu::variance(call, mask_of(call, 0), correction_of(call.attributes)); }
void variance_vjp_kernel(const KernelCall& call) { cpu::variance_vjp(call, mask_of(call, 1), correction_of(call.attributes)); }

void variance_jvp(const JvpCall& call) {
  const Term& x = call.inputs[0];
  const double correction = correction_of(call.attributes);
  const Term mean = apply(OperatorId::mean, {x}, axes_alone(call.attributes, true));
  const Term moved = (x - mean) * *call.tangents[0];
  if (correction == 0) {
    call.results[0] = Term(2.0) * apply(OperatorId::mean, {moved}, axes_alone(call.attributes, false));
    return;
  }
  const Term count = sum(where(less(x, x), x, 1.0), call); // terms have no shapes to look at
  call.results[0] = Term(2.0) * sum(moved, call) / max(count - Term(correction), 0.0);
}

// --- indices of extremes

Mask mask_of_line(const Attributes& attributes, const Shape& shape, std::string_view who) {
  if (attributes.values.empty() || !attributes[0].present()) return (1u << shape.rank()) - 1;
  return 1u << axis_in(who, attributes[0].integer(), shape.rank());
}

void infer_place(const Call& call, ResultTypes& results) {
  const Shape& shape = call.inputs[0].shape;
  results[0].dtype = DType::i64;
  results[0].shape = reduced(shape, mask_of_line(call.attributes, shape, shown_name(call.op)), keeps_axes(call.attributes));
  refuse_nothing(call, results, call.op.id == OperatorId::argmax ? "largest element" : "smallest element");
}

void narrow_place(const RegionCall& call) {
  const Attributes& attributes = call.call.attributes;
  regions::narrow_unreduced(call.needed[0], call.box, mask_of_line(attributes, call.call.inputs[0].shape, "argmax"),
                            keeps_axes(attributes));
  call.needed[0].loosen(Fit::loose);
}
constexpr RegionRule kRegionsOfPlace = {"all along the axis", narrow_place};

template <bool largest> void place_kernel(const KernelCall& call) {
  cpu::index_of_extreme(call, mask_of_line(call.attributes, call.inputs[0].shape, "argmax"), largest);
}

// --- softmax of scaled and masked scores

void infer_fused(const Call& call, ResultTypes& results) {
  const Shape &scores = call.inputs[0].shape, &mask = call.inputs[1].shape;
  const std::string_view who = shown_name(call.op);
  if (scores.rank() == 0) throw OperatorError(fmt::format("{}: a tensor of shape () has no axis", who));
  infer_same(call, results);
  results[0].dtype = floating_of(results[0].dtype);
  if (!(broadcast(who, scores, mask) == scores))
    throw OperatorError(
        fmt::format("{}: a mask of shape {} does not stretch to scores of shape {}", who, mask.text(), scores.text()));
}

void fused_kernel(const KernelCall& call) { cpu::masked_softmax(call, call.attributes[0].number()); }
void fused_vjp_kernel(const KernelCall& call) { cpu::masked_softmax_vjp(call, call.attributes[0].number()); }

void fused_vjp(const VjpCall& call) {
  if (!wanted(call, 0)) return;
  const Tensor made = over_cotangent(call, OperatorId::fused_softmax_vjp, {call.outputs[0]}, call.attributes);
  call.results[0] = fit(call.runtime, made, call.inputs[0]);
}

void fused_jvp(const JvpCall& call) {
  const Term &y = call.outputs[0], moved = Term(call.attributes[0].number()) * *call.tangents[0];
  call.results[0] =
      y * (moved - apply(OperatorId::sum, {y * moved}, attributes({Attribute::of_list({-1}), Attribute::of_flag(true)})));
}

// Exponentials count as some twenty operations.
Cost cost_of_exponentials(const Call& call, const ResultTypes& results) {
  Cost cost = cost_of_reduction(call, results);
  cost.flops *= 25;
  return cost;
}

// The mask is stretched over the scores.
void narrow_fused(const RegionCall& call) {
  Box box = call.box;
  const int last = box.rank() - 1;
  box[last] = {0, call.call.inputs[0].shape[last]};
  for (Region& region : call.needed) {
    region.stretched(region.box.rank(), box, box.rank());
    if (box[last].size() < 2) region.loosen(Fit::loose); // that of one score is 1
  }
}
constexpr RegionRule kRegionsOfFused = {"all along the last axis", narrow_fused};

constexpr Definition reduction(Infer infer, Kernel kernel, Vjp vjp = nullptr, Jvp jvp = nullptr, std::uint32_t keep = 0) {
  Definition d;
  d.infer = infer;
  d.regions = &regions::reduction;
  d.kernel = kernel;
  d.vjp = vjp;
  d.jvp = jvp;
  d.keep = keep;
  d.cost = cost_of_reduction;
  return d;
}

constexpr Definition with_exponentials(Definition d) {
  d.cost = cost_of_exponentials;
  return d;
}

constexpr Definition with_regions(Definition d, const RegionRule& regions) {
  d.regions = &regions;
  return d;
}

// Scores are the largest tensors that there are, and weights and cotangents lie in their memory: kernels read a row before they
// write it, and no rule asks for scores.
constexpr Definition over_scores(Definition d) {
  d.may_overwrite = keep_input(0);
  d.vjp_memory = VjpMemory::first_over;
  return d;
}

constexpr std::uint32_t kBoth = keep_input(0) | kKeepOutput;

} // namespace

namespace definitions {

constinit const Definition prod = reduction(infer_prod, prod_kernel, prod_vjp_rule, prod_jvp, keep_input(0));
constinit const Definition prod_along = reduction(infer_prod_along, prod_along_kernel, prod_vjp_rule, prod_jvp, kKeepInputs);
constinit const Definition prod_vjp = {.infer = infer_group_vjp, .regions = &regions::reduction_vjp, .kernel = prod_vjp_kernel};
constinit const Definition norm = reduction(infer_norm, norm_kernel, reduction_vjp<OperatorId::norm_vjp, true>, norm_jvp, kBoth);
constinit const Definition norm_vjp = {
    .infer = infer_group_vjp, .regions = &regions::reduction_vjp_at_place, .kernel = norm_vjp_kernel};
constinit const Definition logsumexp = with_exponentials(
    reduction(infer_floating_reduction, logsumexp_kernel, reduction_vjp<OperatorId::logsumexp_vjp, true>, logsumexp_jvp, kBoth));
constinit const Definition logsumexp_vjp = {
    .infer = infer_group_vjp, .regions = &regions::reduction_vjp_at_place, .kernel = logsumexp_vjp_kernel};
constinit const Definition variance = reduction(infer_floating_reduction, variance_kernel,
                                                reduction_vjp<OperatorId::variance_vjp, false>, variance_jvp, keep_input(0));
constinit const Definition variance_vjp = {
    .infer = infer_group_vjp, .regions = &regions::reduction_vjp, .kernel = variance_vjp_kernel};
constinit const Definition argmax = with_regions(reduction(infer_place, place_kernel<true>), kRegionsOfPlace);
constinit const Definition argmin = with_regions(reduction(infer_place, place_kernel<false>), kRegionsOfPlace);
constinit const Definition fused_softmax = with_regions(
    over_scores(with_exponentials(reduction(infer_fused, fused_kernel, fused_vjp, fused_jvp, kKeepOutput))), kRegionsOfFused);
constinit const Definition fused_softmax_vjp = {
    .infer = infer_same, .regions = &kRegionsOfFused, .kernel = fused_vjp_kernel, .may_overwrite = keep_input(0)};

} // namespace definitions

} // namespace cairn::ops
