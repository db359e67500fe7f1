// Softmax and its logarithm along one axis.
#include "ops/cpu/normalize/softmax.h"
#include "ops/convert.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

int axis_of(std::string_view who, const Attributes& attributes, const Shape& shape) {
  if (shape.rank() == 0) throw OperatorError(fmt::format("{}: a tensor of shape {} has no axis", who, shape.text()));
  return attributes.values.empty() || !attributes[0].present() ? shape.rank() - 1
                                                               : axis_in(who, attributes[0].integer(), shape.rank());
}

void infer_softmax(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  results[0].dtype = floating_of(results[0].dtype);
  axis_of(shown_name(call.op), call.attributes, results[0].shape);
}

template <cpu::Softmax what> void softmax_kernel(const KernelCall& call) {
  cpu::softmax(what, axis_of("softmax", call.attributes, call.outputs[0].shape), call.outputs[0], call.inputs);
}

template <OperatorId kernel> void softmax_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  call.results[0] = rules::fit(call.runtime, call.runtime.apply(kernel, {call.cotangents[0], call.outputs[0]}, call.attributes),
                               call.inputs[0]);
}

// The sum along the axis, which is kept.
Term summed(const Term& t, const Attributes& attributes) {
  const std::int64_t axis = attributes.values.empty() || !attributes[0].present() ? -1 : attributes[0].integer();
  return apply(OperatorId::sum, {t}, rules::attributes({Attribute::of_list({axis}), Attribute::of_flag(true)}));
}

void softmax_jvp(const JvpCall& call) {
  const Term &t = *call.tangents[0], &y = call.outputs[0];
  call.results[0] = y * (t - summed(y * t, call.attributes));
}

void log_softmax_jvp(const JvpCall& call) {
  const Term &t = *call.tangents[0], &y = call.outputs[0];
  call.results[0] = t - summed(exp(y) * t, call.attributes);
}

// The reverse rule of the logarithm, c - exp(y) times the sum of c.
void narrow_logarithm_vjp(const RegionCall& call) {
  const int axis = axis_of(shown_name(call.call.op), call.call.attributes, call.call.inputs[0].shape);
  regions::narrow_but(call.needed[0], call.box, 1u << axis);
  regions::narrow_but(call.needed[1], call.box, 0);
}
constexpr RegionRule kRegionsOfLogarithmVjp = {"all along the axis, and its place", narrow_logarithm_vjp};

// Exponentials count as some twenty operations.
Cost cost_of_softmax(const Call& call, const ResultTypes& results) {
  const auto n = static_cast<double>(results.types[0].shape.elements());
  return Cost{25 * n, n * static_cast<double>(bytes_of(call.inputs[0].dtype) + bytes_of(results.types[0].dtype))};
}

constexpr Definition softmax_definition(Kernel kernel, Vjp vjp, Jvp jvp, std::uint32_t keep,
                                        const RegionRule& regions = regions::line) {
  Definition d;
  d.infer = infer_softmax;
  d.regions = &regions;
  d.kernel = kernel;
  d.vjp = vjp;
  d.jvp = jvp;
  d.keep = keep;
  d.cost = cost_of_softmax;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition softmax =
    softmax_definition(softmax_kernel<cpu::Softmax::plain>, ops::softmax_vjp<OperatorId::softmax_vjp>, softmax_jvp, kKeepOutput);
constinit const Definition log_softmax = softmax_definition(
    softmax_kernel<cpu::Softmax::logarithm>, ops::softmax_vjp<OperatorId::log_softmax_vjp>, log_softmax_jvp, kKeepOutput);
constinit const Definition softmax_vjp = softmax_definition(softmax_kernel<cpu::Softmax::plain_vjp>, nullptr, nullptr, 0);
constinit const Definition log_softmax_vjp =
    softmax_definition(softmax_kernel<cpu::Softmax::logarithm_vjp>, nullptr, nullptr, 0, kRegionsOfLogarithmVjp);

} // namespace definitions

} // namespace cairn::ops
