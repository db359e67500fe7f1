// What rules of optimisers are made of. Each has a slope by each operand, a formula that serves terms and tensors: the forward
// and the reverse rule follow.
#include "ops/cpu/elements/updates.h"
#include "ops/operators/definitions.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"

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

// --- formulas. A number stands on the right, as two numbers make no tensor.

// A tensor in a formula.
struct Made {
  Runtime* runtime;
  Tensor tensor;
};
Made applied(OperatorId op, const Made& a, const Made& b) { return {a.runtime, a.runtime->apply(op, {a.tensor, b.tensor})}; }
Made operator+(const Made& a, double b) {
  return {a.runtime, a.runtime->apply(OperatorId::add, {a.tensor, weak_number(b, false)})};
}
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

template <class F> constexpr Definition update(Kernel kernel) {
  Definition d;
  d.infer = infer_update;
  d.kernel = kernel;
  d.vjp = update_vjp<F>;
  d.jvp = update_jvp<F>;
  for (unsigned i = 0; i < F::operands; ++i) d.keep |= keep_input(i);
  d.may_overwrite = true;
  d.slices = Slices::pointwise;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition weighted_sum = update<WeightedSum>(cpu::weighted_sum);
constinit const Definition weighted_square_sum = update<WeightedSquareSum>(cpu::weighted_square_sum);
constinit const Definition adam_step = update<AdamStep>(cpu::adam_step);

} // namespace definitions

} // namespace cairn::ops
