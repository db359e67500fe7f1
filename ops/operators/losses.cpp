// Losses: how far results are from targets, as one number.
#include "ops/cpu/reduce/losses.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

using namespace pointwise;

// --- means over the elements of two tensors

void infer_mean_loss(const Call& call, ResultTypes& results) {
  const Tensor &a = call.inputs[0], &b = call.inputs[1];
  if (!(a.shape == b.shape))
    throw OperatorError(
        fmt::format("{}: shapes {} and {} are not the same", shown_name(call.op), a.shape.text(), b.shape.text()));
  results[0].dtype = floating_of(promoted(a.dtype, b.dtype));
}

// (cotangent, a, ...): of the shape of a, of the type of the cotangent.
void infer_loss_vjp(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = call.inputs[1].shape;
}

template <OperatorId kernel> void mean_loss_vjp(const VjpCall& call) {
  for (unsigned i = 0; i < 2; ++i) {
    if (!rules::wanted(call, i)) continue;
    const Tensor made = call.runtime.apply(kernel, {call.cotangents[0], call.inputs[0], call.inputs[1]},
                                           rules::attributes({Attribute::of_integer(i)}));
    call.results[i] = rules::fit(call.runtime, made, call.inputs[i]);
  }
}

template <class F> void mean_loss_jvp(const JvpCall& call) {
  const Term &a = call.inputs[0], &b = call.inputs[1];
  const Term *ta = call.tangents[0], *tb = call.tangents[1];
  const Term by_a = ta != nullptr ? *ta * F::template slope_a<Term>(a, b) : Term(0.0);
  const Term by_b = tb != nullptr ? *tb * F::template slope_b<Term>(a, b) : Term(0.0);
  call.results[0] = apply(OperatorId::mean, {ta == nullptr ? by_b : tb == nullptr ? by_a : by_a + by_b});
}

// --- cross entropy

void infer_cross_entropy(const Call& call, ResultTypes& results) {
  const Tensor &logits = call.inputs[0], &classes = call.inputs[1];
  if (classes.shape == logits.shape && is_floating(classes.dtype))
    throw OperatorError(
        "cross-entropy-loss: the second operand has the shape of the logits: classes are indices, one for each row; "
        "probabilities, such as one-hot ones, are for soft-cross-entropy-loss");
  if (logits.rank() != 2 || classes.rank() != 1 || classes.shape[0] != logits.shape[0])
    throw OperatorError(fmt::format(
        "cross-entropy-loss: indices of shape {} do not go with logits of shape {}{}", classes.shape.text(), logits.shape.text(),
        logits.rank() > 2 ? fmt::format("; for more axes write (view logits '(-1 {})) and (view indices '(-1))",
                                        logits.shape[logits.rank() - 1])
                          : ""));
  if (is_floating(classes.dtype))
    throw OperatorError(fmt::format("cross-entropy-loss: indices are integers, not {}; (cast t 'i64) makes indices of them",
                                    name_of(classes.dtype)));
  results[0].dtype = floating_of(logits.dtype);
}

IndexBound among_classes(const Call& call) { return {1, call.inputs[0].shape[1]}; }
IndexBound among_classes_vjp(const Call& call) { return {2, call.inputs[1].shape[1]}; }

void cross_entropy_vjp_rule(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Tensor made = call.runtime.apply(OperatorId::cross_entropy_vjp, {call.cotangents[0], call.inputs[0], call.inputs[1]});
  call.results[0] = rules::fit(call.runtime, made, call.inputs[0]);
}

void cross_entropy_jvp(const JvpCall& call) {
  const Term &x = call.inputs[0], &t = *call.tangents[0];
  const Attributes last = rules::attributes({Attribute::of_list({1})}), column = rules::attributes({Attribute::of_list({-1, 1})});
  const Term chosen = apply(OperatorId::gather, {t, apply(OperatorId::view, {call.inputs[1]}, column)},
                            rules::attributes({Attribute::of_integer(1)}));
  const Term expected = apply(OperatorId::sum, {apply(OperatorId::softmax, {x}) * t}, last);
  call.results[0] = apply(OperatorId::mean, {expected - apply(OperatorId::sum, {chosen}, last)});
}

// Of the reverse rule: whole rows, and their classes.
void narrow_loss_rows(const RegionCall& call) {
  call.needed[1].within(0, call.box[0]);
  call.needed[2].within(0, call.box[0]);
}
constexpr RegionRule kRegionsOfRows = {"whole rows", narrow_loss_rows};

// Exponentials count as some twenty operations.
Cost cost_of_loss(const Call& call, const ResultTypes&) {
  Cost cost{0, 0};
  for (const Tensor& t : call.inputs) {
    const auto n = static_cast<double>(t.elements());
    cost.flops += 25 * n;
    cost.bytes += n * static_cast<double>(bytes_of(t.dtype));
  }
  return cost;
}

template <class F, OperatorId kernel> constexpr Definition mean_of() {
  return {.infer = infer_mean_loss,
          .regions = &regions::everything,
          .kernel = cpu::mean_loss<F>,
          .vjp = ops::mean_loss_vjp<kernel>,
          .jvp = mean_loss_jvp<F>,
          .keep = keep_input(0) | keep_input(1),
          .cost = cost_of_loss};
}

template <class F> constexpr Definition vjp_of() {
  return {.infer = infer_loss_vjp, .regions = &regions::pointwise_vjp, .kernel = cpu::mean_loss_vjp<F>};
}

} // namespace

namespace definitions {

constinit const Definition cross_entropy_loss = {.infer = infer_cross_entropy,
                                                 .regions = &regions::everything,
                                                 .kernel = cpu::cross_entropy,
                                                 .vjp = cross_entropy_vjp_rule,
                                                 .jvp = cross_entropy_jvp,
                                                 .keep = keep_input(0) | keep_input(1),
                                                 .indices = among_classes,
                                                 .cost = cost_of_loss};
constinit const Definition cross_entropy_vjp = {
    .infer = infer_loss_vjp, .regions = &kRegionsOfRows, .kernel = cpu::cross_entropy_vjp, .indices = among_classes_vjp};
constinit const Definition mean_squared_error = mean_of<SquaredError, OperatorId::mean_squared_error_vjp>();
constinit const Definition mean_squared_error_vjp = vjp_of<SquaredError>();
constinit const Definition binary_cross_entropy = mean_of<BinaryCrossEntropy, OperatorId::binary_cross_entropy_vjp>();
constinit const Definition binary_cross_entropy_vjp = vjp_of<BinaryCrossEntropy>();
constinit const Definition binary_cross_entropy_with_logits =
    mean_of<BinaryCrossEntropyWithLogits, OperatorId::binary_cross_entropy_with_logits_vjp>();
constinit const Definition binary_cross_entropy_with_logits_vjp = vjp_of<BinaryCrossEntropyWithLogits>();

} // namespace definitions

} // namespace cairn::ops
