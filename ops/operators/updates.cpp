// What rules of optimisers, and derivatives by tiles, are made of. Each has a slope by each operand, a formula that serves terms
// and tensors: the forward and the reverse rule follow.
#include "ops/cpu/elements/updates.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"

#include <algorithm>
#include <optional>

namespace cairn::ops {

namespace {

// --- shape rule: all operands are broadcast, and numbers have no type

void infer_update(const Call& call, ResultTypes& results) {
  std::optional<DType> type;
  bool exact = true;
  for (const Tensor& t : call.inputs) {
    results[0].shape = broadcast(shown_name(call.op), results[0].shape, t.shape);
    if (t.weak)
      exact = exact && t.exact;
    else
      type = type ? promoted(*type, t.dtype) : t.dtype;
  }
  results[0].dtype = floating_of(type ? promoted_with_number(*type, exact) : DType::f32);
}

// --- formulas. The operators take a tensor and a number, never two numbers, so a number is always the right operand.

// A tensor in a formula.
struct Made {
  Runtime* runtime;
  Tensor tensor;
};
Made applied(OperatorId op, const Made& a, const Made& b) { return {a.runtime, a.runtime->apply(op, {a.tensor, b.tensor})}; }
Made operator+(const Made& a, double b) {
  return {a.runtime, a.runtime->apply(OperatorId::add, {a.tensor, weak_number(b, false)})};
}
Made operator+(const Made& a, const Made& b) { return applied(OperatorId::add, a, b); }
Made operator-(const Made& a, const Made& b) { return applied(OperatorId::sub, a, b); }
Made operator*(const Made& a, double b) {
  return {a.runtime, a.runtime->apply(OperatorId::mul, {a.tensor, weak_number(b, false)})};
}
Made operator*(const Made& a, const Made& b) { return applied(OperatorId::mul, a, b); }
Made operator/(const Made& a, const Made& b) { return applied(OperatorId::div, a, b); }
Made operator-(const Made& a) { return {a.runtime, a.runtime->apply(OperatorId::neg, {a.tensor})}; }
Made sqrt(const Made& a) { return {a.runtime, a.runtime->apply(OperatorId::sqrt, {a.tensor})}; }

// `part` times the slope by operand i.
struct WeightedSum {
  static constexpr unsigned operands = 4;
  template <class N, class In> static N with_slope(const N& part, unsigned i, const In& in) {
    constexpr unsigned factor[operands] = {2, 3, 0, 1};
    return part * in(factor[i]);
  }
};

struct WeightedSquareSum {
  static constexpr unsigned operands = 4;
  template <class N, class In> static N with_slope(const N& part, unsigned i, const In& in) {
    switch (i) {
    case 0:
      return part * in(2);
    case 1:
      return part * in(1) * in(3) * 2.0;
    case 2:
      return part * in(0);
    default:
      return part * in(1) * in(1);
    }
  }
};

struct AddDeviations {
  static constexpr unsigned operands = 5;
  template <class N, class In> static N with_slope(const N& part, unsigned i, const In& in) {
    switch (i) {
    case 2:
      return part * in(4);
    case 3:
      return -(part * in(4));
    case 4:
      return part * (in(2) - in(3));
    default:
      return part;
    }
  }
};

struct AdamStep {
  static constexpr unsigned operands = 6;
  template <class N, class In> static N with_slope(const N& part, unsigned i, const In& in) {
    if (i == 0) return part * in(3);
    if (i == 3) return part * in(0);
    const N root = sqrt(in(2)), divisor = root / in(5) + cpu::kAdamEpsilon;
    if (i == 1) return -(part / divisor * in(4));
    const N by_rate = part * (in(1) / divisor);
    if (i == 4) return -by_rate;
    const N by_divisor = by_rate / divisor * in(4);
    return i == 2 ? by_divisor / root / in(5) * 0.5 : -(by_divisor * root / in(5) / in(5));
  }
};

template <class F> void update_vjp(const VjpCall& call) {
  const auto in = [&](unsigned i) { return Made{&call.runtime, call.inputs[i]}; };
  for (unsigned i = 0; i < F::operands; ++i)
    if (rules::wanted(call, i))
      call.results[i] =
          rules::fit(call.runtime, F::with_slope(Made{&call.runtime, call.cotangents[0]}, i, in).tensor, call.inputs[i]);
}

template <class F> void update_jvp(const JvpCall& call) {
  const auto in = [&](unsigned i) -> const Term& { return call.inputs[i]; };
  std::optional<Term> sum;
  for (unsigned i = 0; i < F::operands; ++i)
    if (call.tangents[i] != nullptr) {
      const Term part = F::with_slope(*call.tangents[i], i, in);
      sum = sum ? *sum + part : part;
    }
  if (sum) call.results[0] = *sum;
}

// --- adam-update: the two sums, and adam-step of them. Its operands are those of the three, each once.

void infer_adam_update(const Call& call, ResultTypes& results) {
  infer_update(call, results);
  results.count = 3;
  results[1] = results[2] = results[0];
}

constexpr std::array<unsigned, WeightedSum::operands> kOfMean = {1, 3, 4, 5};
constexpr std::array<unsigned, WeightedSquareSum::operands> kOfSquares = {2, 3, 6, 7};
// Mean and squares of the step are what the sums give: behind the operands.
constexpr std::array<unsigned, AdamStep::operands> kOfStep = {0, 11, 12, 8, 9, 10};
constexpr unsigned kNewMean = 11, kNewSquares = 12, kAdamOperands = 11;

// Each result is made of what its formula has.
void narrow_adam_update(const RegionCall& call) {
  regions::pointwise.narrow(call);
  if (call.result == 0) return;
  const auto& of = call.result == 1 ? kOfMean : kOfSquares;
  for (unsigned i = 0; i < kAdamOperands; ++i)
    if (std::ranges::find(of, i) == of.end()) call.needed[i].unseen();
}
constexpr RegionRule kRegionsOfAdam = {"its place", narrow_adam_update};

// Adds slopes of one of the three by its operands, times `part`, to what there is by operand of the update, new mean and squares.
template <class F, class N, class In, std::size_t n>
void add_slopes(const N& part, const std::array<unsigned, n>& operands, std::span<const bool> wanted, const In& in,
                std::span<std::optional<N>> sums) {
  const auto operand = [&](unsigned i) { return in(operands[i]); };
  for (unsigned i = 0; i < n; ++i) {
    if (operands[i] < kAdamOperands && !wanted[operands[i]]) continue;
    std::optional<N>& sum = sums[operands[i]];
    N slope = F::with_slope(part, i, operand);
    sum = sum ? *sum + slope : slope;
  }
}

void adam_update_vjp(const VjpCall& call) {
  Runtime& runtime = call.runtime;
  const auto given = [&](unsigned i) { return Made{&runtime, call.inputs[i]}; };
  const auto sum_of = [&](OperatorId op, const std::array<unsigned, 4>& of) {
    return runtime.apply(op, {call.inputs[of[0]], call.inputs[of[1]], call.inputs[of[2]], call.inputs[of[3]]});
  };
  std::array<std::optional<Made>, kAdamOperands + 2> sums;
  for (unsigned i = 1; i < call.cotangents.size(); ++i)
    if (!call.cotangents[i].empty()) sums[i == 1 ? kNewMean : kNewSquares] = Made{&runtime, call.cotangents[i]};
  if (!call.cotangents[0].empty()) {
    const Made mean{&runtime, sum_of(OperatorId::weighted_sum, kOfMean)},
        squares{&runtime, sum_of(OperatorId::weighted_square_sum, kOfSquares)};
    add_slopes<AdamStep>(
        Made{&runtime, call.cotangents[0]}, kOfStep, call.wanted,
        [&](unsigned i) { return i == kNewMean      ? mean
                                 : i == kNewSquares ? squares
                                                    : given(i); },
        std::span<std::optional<Made>>(sums));
  }
  const auto of_sums = std::span<std::optional<Made>>(sums);
  if (sums[kNewMean]) add_slopes<WeightedSum>(*sums[kNewMean], kOfMean, call.wanted, given, of_sums);
  if (sums[kNewSquares]) add_slopes<WeightedSquareSum>(*sums[kNewSquares], kOfSquares, call.wanted, given, of_sums);
  for (unsigned i = 0; i < kAdamOperands; ++i)
    if (call.wanted[i] && sums[i]) call.results[i] = rules::fit(runtime, sums[i]->tensor, call.inputs[i]);
}

void adam_update_jvp(const JvpCall& call) {
  const auto sum_of = [&](OperatorId op, const std::array<unsigned, 4>& of) {
    return apply(op, {call.inputs[of[0]], call.inputs[of[1]], call.inputs[of[2]], call.inputs[of[3]]});
  };
  // Who asks for the first result alone has no other ones.
  const bool all = call.outputs.size() == 3;
  const Term new_mean = all ? call.outputs[1] : sum_of(OperatorId::weighted_sum, kOfMean),
             new_squares = all ? call.outputs[2] : sum_of(OperatorId::weighted_square_sum, kOfSquares);
  const auto in = [&](unsigned i) -> const Term& {
    return i == kNewMean ? new_mean : i == kNewSquares ? new_squares : call.inputs[i];
  };
  std::optional<Term> mean, squares, x;
  const auto add = [&]<class F>(std::optional<Term>& sum, const auto& operands, F) {
    for (unsigned i = 0; i < operands.size(); ++i) {
      const unsigned k = operands[i];
      const Term* const tangent = k == kNewMean      ? (mean ? &*mean : nullptr)
                                  : k == kNewSquares ? (squares ? &*squares : nullptr)
                                                     : call.tangents[k];
      if (tangent == nullptr) continue;
      const Term part = F::with_slope(*tangent, i, [&](unsigned j) -> const Term& { return in(operands[j]); });
      sum = sum ? *sum + part : part;
    }
  };
  add(mean, kOfMean, WeightedSum{});
  add(squares, kOfSquares, WeightedSquareSum{});
  add(x, kOfStep, AdamStep{});
  if (x) call.results[0] = *x;
  if (all && mean) call.results[1] = *mean;
  if (all && squares) call.results[2] = *squares;
}

constexpr Definition adam_update_definition() {
  Definition d;
  d.infer = infer_adam_update;
  d.regions = &kRegionsOfAdam;
  d.kernel = cpu::adam_update;
  d.vjp = adam_update_vjp;
  d.jvp = adam_update_jvp;
  for (unsigned i = 0; i < kAdamOperands; ++i) d.keep |= keep_input(i);
  d.may_overwrite = kKeepInputs;
  d.each_over_its_own = true;
  d.in_shared_layout = true;
  d.borrows = false;
  return d;
}

template <class F> constexpr Definition update(Kernel kernel) {
  Definition d;
  d.infer = infer_update;
  d.regions = &regions::pointwise;
  d.kernel = kernel;
  d.vjp = update_vjp<F>;
  d.jvp = update_jvp<F>;
  for (unsigned i = 0; i < F::operands; ++i) d.keep |= keep_input(i);
  d.may_overwrite = kKeepInputs;
  d.in_shared_layout = true;
  d.borrows = false;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition weighted_sum = update<WeightedSum>(cpu::weighted_sum);
constinit const Definition weighted_square_sum = update<WeightedSquareSum>(cpu::weighted_square_sum);
constinit const Definition add_deviations = update<AddDeviations>(cpu::add_deviations);
constinit const Definition adam_update = adam_update_definition();
constinit const Definition adam_step = update<AdamStep>(cpu::adam_step);

} // namespace definitions

} // namespace cairn::ops
