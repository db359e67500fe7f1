// The pointwise family: definitions made from the lists and structs of pointwise.h.
#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"

#include "ops/convert.h"
#include "ops/cpu/elements/divisions.h"
#include "ops/cpu/elements/pointwise.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

using namespace pointwise;

// --- shape rules

template <class T> bool holds(double number) { return static_cast<double>(converted<T>(number)) == number; }

// A number that elements of integers do not hold would become another one.
void check_held(std::string_view who, DType type, const Tensor& number) {
  if (!number.weak || !number.exact || is_floating(type)) return;
  bool held = true;
  switch (type) {
  case DType::u8:
    held = holds<std::uint8_t>(number.number);
    break;
  case DType::i8:
    held = holds<std::int8_t>(number.number);
    break;
  case DType::i16:
    held = holds<std::int16_t>(number.number);
    break;
  case DType::i32:
    held = holds<std::int32_t>(number.number);
    break;
  default:
    break;
  }
  if (!held)
    throw OperatorError(fmt::format("{}: {} does not fit elements of {}; cast the tensor to a wider type first", who,
                                    static_cast<std::int64_t>(number.number), name_of(type)));
}

DType type_of_both(const Tensor& a, const Tensor& b) {
  if (a.weak && b.weak) return DType::f32; // numbers alone: as new tensors
  if (a.weak) return promoted_with_number(b.dtype, a.exact);
  if (b.weak) return promoted_with_number(a.dtype, b.exact);
  return promoted(a.dtype, b.dtype);
}

template <bool closed> void infer_unary(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  if (!closed) results[0].dtype = floating_of(results[0].dtype);
}

template <bool closed> void infer_binary(const Call& call, ResultTypes& results) {
  results[0].shape = broadcast(shown_name(call.op), call.inputs[0].shape, call.inputs[1].shape);
  const DType type = type_of_both(call.inputs[0], call.inputs[1]);
  results[0].dtype = closed ? type : floating_of(type);
  if (!is_floating(results[0].dtype)) [[unlikely]]
    for (const Tensor& operand : call.inputs) check_held(shown_name(call.op), type, operand);
}

// That of no number is none: a program that says so has a mistake.
void infer_division(const Call& call, ResultTypes& results) {
  infer_binary<true>(call, results);
  if (call.inputs[1].weak && call.inputs[1].number == 0)
    throw OperatorError(fmt::format("{}: division by zero", shown_name(call.op)));
}

void infer_compare(const Call& call, ResultTypes& results) {
  results[0].shape = broadcast(shown_name(call.op), call.inputs[0].shape, call.inputs[1].shape);
  results[0].dtype = DType::u8;
}

void infer_where(const Call& call, ResultTypes& results) {
  const std::string_view who = shown_name(call.op);
  const Shape chosen = broadcast(who, call.inputs[1].shape, call.inputs[2].shape);
  results[0].shape = broadcast(who, call.inputs[0].shape, chosen);
  results[0].dtype = type_of_both(call.inputs[1], call.inputs[2]);
  for (const Tensor& operand : call.inputs.last(2)) check_held(who, results[0].dtype, operand);
}

// --- reverse rules

// What the kernel of the reverse rule is given for an operand that it does not look at.
Tensor unless_unused(unsigned needs, unsigned which, const Tensor& t) { return (needs & which) != 0 ? t : weak_number(0, true); }

// Functions whose slope is one of two numbers, as the operand is positive or not.
template <class F> constexpr bool kHasTwoSlopes = std::is_same_v<F, Relu> || std::is_same_v<F, LeakyRelu>;

template <class F, OperatorId kernel> void unary_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  if constexpr (kHasTwoSlopes<F>)
    if (call.smaller != nullptr) {
      const Tensor& like = F::needs == kValue ? call.outputs[0] : call.inputs[0];
      double otherwise = 0;
      if constexpr (std::is_same_v<F, LeakyRelu>) otherwise = rules::number_or(call.attributes, 0, F::kParameter);
      call.results[0] =
          rules::fit(call.runtime, rules::over_cotangent_by_bits(call, like, {.otherwise = otherwise}), call.inputs[0]);
      return;
    }
  call.results[0] = rules::fit(
      call.runtime,
      rules::over_cotangent(call, kernel,
                            {unless_unused(F::needs, kFirst, call.inputs[0]), unless_unused(F::needs, kValue, call.outputs[0])},
                            call.attributes),
      call.inputs[0]);
}

// last: the cotangent is not looked at again.
Tensor with_slope(const VjpCall& call, OperatorId kernel, unsigned needs, bool last) {
  if (kernel == OperatorId::add_vjp_a || kernel == OperatorId::add_vjp_b || kernel == OperatorId::sub_vjp_a)
    return call.cotangents[0];
  if (kernel == OperatorId::sub_vjp_b) return rules::over_cotangent(call, OperatorId::neg, {});
  const Tensor a = unless_unused(needs, kFirst, call.inputs[0]), b = unless_unused(needs, kSecond, call.inputs[1]),
               value = unless_unused(needs, kValue, call.outputs[0]);
  if (last) return rules::over_cotangent(call, kernel, {a, b, value});
  return call.runtime.apply(kernel, {call.cotangents[0], a, b, value});
}

void choice_vjp_by_bits(const VjpCall& call) {
  const Tensor like = rules::chosen_from(call);
  const bool both = rules::wanted(call, 1);
  if (rules::wanted(call, 0))
    call.results[0] = rules::fit(call.runtime, rules::over_cotangent_by_bits(call, like, {.last = !both}), call.inputs[0]);
  if (both)
    call.results[1] = rules::fit(call.runtime, rules::over_cotangent_by_bits(call, like, {.flipped = true}), call.inputs[1]);
}

template <class F, OperatorId kernel_a, OperatorId kernel_b> void binary_vjp(const VjpCall& call) {
  if constexpr (kChooses<F>)
    if (call.smaller != nullptr) return choice_vjp_by_bits(call);
  const bool both = rules::wanted(call, 1);
  if (rules::wanted(call, 0))
    call.results[0] = rules::fit(call.runtime, with_slope(call, kernel_a, F::needs_a, !both), call.inputs[0]);
  if (both) call.results[1] = rules::fit(call.runtime, with_slope(call, kernel_b, F::needs_b, true), call.inputs[1]);
}

void where_vjp(const VjpCall& call) {
  const Tensor zero = weak_number(0, true);
  auto part = [&](const Tensor& a, const Tensor& b, unsigned i) {
    call.results[i] = rules::fit(call.runtime, call.runtime.apply(OperatorId::where, {call.inputs[0], a, b}), call.inputs[i]);
  };
  if (rules::wanted(call, 1)) part(call.cotangents[0], zero, 1);
  if (rules::wanted(call, 2)) part(zero, call.cotangents[0], 2);
}

// --- forward rules. Where the slope is a choice between constants, the tangent itself is chosen, so that it keeps its type.

template <class F> Term tangent_of(const JvpCall& call, const Term& t) {
  const Term &x = call.inputs[0], &y = call.outputs[0];
  if constexpr (std::is_same_v<F, Abs>)
    return where(less(0.0, x), t, where(less(x, 0.0), -t, 0.0));
  else if constexpr (std::is_same_v<F, Relu>)
    return where(less(0.0, x), t, 0.0);
  else
    return t * F::template slope<Term>(x, y);
}

template <class F> void unary_jvp(const JvpCall& call) { call.results[0] = tangent_of<F>(call, *call.tangents[0]); }

template <class F> double parameter(const JvpCall& call) { return rules::number_or(call.attributes, 0, F::kParameter); }

void leaky_relu_jvp(const JvpCall& call) {
  const Term& t = *call.tangents[0];
  call.results[0] = where(less(0.0, call.inputs[0]), t, Term(parameter<LeakyRelu>(call)) * t);
}

void elu_jvp(const JvpCall& call) {
  const Term &t = *call.tangents[0], &x = call.inputs[0];
  call.results[0] = where(less(0.0, x), t, Term(parameter<Elu>(call)) * exp(x) * t);
}

template <class F> void binary_jvp(const JvpCall& call) {
  const Term &a = call.inputs[0], &b = call.inputs[1], &v = call.outputs[0];
  const Term *ta = call.tangents[0], *tb = call.tangents[1];
  if constexpr (kChooses<F>) {
    call.results[0] = F::template choice<Term>(a, b, ta != nullptr ? *ta : Term(0.0), tb != nullptr ? *tb : Term(0.0));
  } else if (ta != nullptr && tb != nullptr) {
    call.results[0] = *ta * F::template slope_a<Term>(a, b, v) + *tb * F::template slope_b<Term>(a, b, v);
  } else {
    call.results[0] = ta != nullptr ? *ta * F::template slope_a<Term>(a, b, v) : *tb * F::template slope_b<Term>(a, b, v);
  }
}

void where_jvp(const JvpCall& call) {
  const Term *ta = call.tangents[1], *tb = call.tangents[2];
  if (ta == nullptr && tb == nullptr) return;
  call.results[0] = where(call.inputs[0], ta != nullptr ? *ta : Term(0.0), tb != nullptr ? *tb : Term(0.0));
}

// --- cost: flops an element, in units of those that the table of costs is calibrated with, where an exponential in a softmax and
// what belongs to it are 25. They were measured on tensors that caches hold, beside sums, and rounded to a few sizes.

enum class Price : std::uint8_t { one = 1, exponential = 5, elementary = 10, composed = 25, power = 110 };

// Of a function, and of the kernel of its reverse rule, for each operand.
struct Prices {
  Price value = Price::one, slope = Price::one;
};
template <class F> constexpr Prices kPrices = {};
template <> constexpr Prices kPrices<Exp> = {Price::exponential};
template <> constexpr Prices kPrices<Sigmoid> = {Price::exponential};
template <> constexpr Prices kPrices<Elu> = {Price::exponential, Price::exponential};
template <> constexpr Prices kPrices<Log> = {Price::elementary};
template <> constexpr Prices kPrices<Log1p> = {Price::elementary};
template <> constexpr Prices kPrices<Expm1> = {Price::elementary};
template <> constexpr Prices kPrices<Asin> = {Price::elementary};
template <> constexpr Prices kPrices<Acos> = {Price::elementary};
template <> constexpr Prices kPrices<Atan> = {Price::elementary};
template <> constexpr Prices kPrices<Atan2> = {Price::elementary};
template <> constexpr Prices kPrices<Atanh> = {Price::elementary};
template <> constexpr Prices kPrices<Tanh> = {Price::elementary};
template <> constexpr Prices kPrices<Sinh> = {Price::elementary, Price::elementary};
template <> constexpr Prices kPrices<Cosh> = {Price::elementary, Price::elementary};
template <> constexpr Prices kPrices<Silu> = {Price::elementary, Price::elementary};
template <> constexpr Prices kPrices<Sin> = {Price::composed, Price::composed};
template <> constexpr Prices kPrices<Cos> = {Price::composed, Price::composed};
template <> constexpr Prices kPrices<Tan> = {Price::composed};
template <> constexpr Prices kPrices<Asinh> = {Price::composed};
template <> constexpr Prices kPrices<Acosh> = {Price::composed};
template <> constexpr Prices kPrices<Erf> = {Price::composed, Price::exponential};
template <> constexpr Prices kPrices<Softplus> = {Price::composed, Price::exponential};
template <> constexpr Prices kPrices<Gelu> = {Price::composed, Price::composed};
template <> constexpr Prices kPrices<GeluTanh> = {Price::composed, Price::composed};
template <> constexpr Prices kPrices<Expt> = {Price::power, Price::power};

template <Price price> Cost cost_of_elements(const Call& call, const ResultTypes& results) {
  const auto n = static_cast<double>(results.types[0].shape.elements());
  Cost cost{static_cast<double>(price) * n, n * static_cast<double>(bytes_of(results.types[0].dtype))};
  for (const Tensor& t : call.inputs)
    if (!t.weak) cost.bytes += static_cast<double>(t.elements()) * static_cast<double>(bytes_of(t.dtype));
  return cost;
}

// None where it is what all operators without a word of their own cost.
template <Price price> constexpr CostOf kCost = price == Price::one ? nullptr : cost_of_elements<price>;

// --- definitions

constexpr std::uint32_t kept(unsigned needs) {
  return ((needs & kFirst) != 0 ? keep_input(0) : 0) | ((needs & kSecond) != 0 ? keep_input(1) : 0) |
         ((needs & kValue) != 0 ? kKeepOutput : 0);
}

constexpr Definition pointwise_definition(Infer infer, Kernel kernel, CostOf cost = nullptr,
                                          const RegionRule& regions = regions::pointwise) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.cost = cost;
  d.may_overwrite = kKeepInputs;
  d.in_shared_layout = true;
  d.borrows = false;
  return d;
}

constexpr SmallerForm kPositiveBits = {"a bit an element", OperatorId::positive_bits, rules::has_positive_bits};
constexpr SmallerForm kMaxBits = {"a bit an element of the result", OperatorId::max_bits, rules::has_choice_bits};
constexpr SmallerForm kMinBits = {"a bit an element of the result", OperatorId::min_bits, rules::has_choice_bits};
template <class F> constexpr Definition with_smaller_form(Definition d) {
  if (kHasTwoSlopes<F>) d.smaller = &kPositiveBits;
  if (kChooses<F>) d.smaller = std::is_same_v<F, Max> ? &kMaxBits : &kMinBits;
  return d;
}

constexpr Definition reverse_definition(Kernel kernel, CostOf cost) {
  return pointwise_definition(rules::infer_same, kernel, cost, regions::pointwise_vjp);
}

constexpr Definition differentiable(Infer infer, Kernel kernel, CostOf cost, Vjp vjp, Jvp jvp, std::uint32_t keep,
                                    VjpMemory vjp_memory = VjpMemory::last_over) {
  Definition d = pointwise_definition(infer, kernel, cost);
  d.vjp = vjp;
  d.vjp_memory = vjp_memory;
  d.jvp = jvp;
  d.keep = keep;
  return d;
}

} // namespace

namespace definitions {

#define X(id, Struct, ...)                                                                                                       \
  constinit const Definition id = with_smaller_form<Struct>(                                                                     \
      differentiable(infer_unary<Struct::closed>, cpu::unary_kernel<Struct>, kCost<kPrices<Struct>.value>,                       \
                     unary_vjp<Struct, OperatorId::id##_vjp>, unary_jvp<Struct>, kept(Struct::needs)));                          \
  constinit const Definition id##_vjp = reverse_definition(cpu::unary_vjp_kernel<Struct>, kCost<kPrices<Struct>.slope>);
CAIRN_POINTWISE_UNARY(X)
#undef X

#define X(id, Struct, ...)                                                                                                       \
  constinit const Definition id = with_smaller_form<Struct>(                                                                     \
      differentiable(infer_unary<Struct::closed>, cpu::parameter_kernel<Struct>, kCost<kPrices<Struct>.value>,                   \
                     unary_vjp<Struct, OperatorId::id##_vjp>, id##_jvp, kept(Struct::needs)));                                   \
  constinit const Definition id##_vjp = reverse_definition(cpu::parameter_vjp_kernel<Struct>, kCost<kPrices<Struct>.slope>);
CAIRN_POINTWISE_PARAMETER(X)
#undef X

#define X(id, Struct, ...)                                                                                                       \
  constinit const Definition id = with_smaller_form<Struct>(differentiable(                                                      \
      infer_binary<Struct::closed>, cpu::binary_kernel<Struct>, kCost<kPrices<Struct>.value>,                                    \
      binary_vjp<Struct, OperatorId::id##_vjp_a, OperatorId::id##_vjp_b>, binary_jvp<Struct>,                                    \
      kept(Struct::needs_a | Struct::needs_b), std::is_same_v<Struct, Add> ? VjpMemory::shares : VjpMemory::last_over));         \
  constinit const Definition id##_vjp_a = reverse_definition(cpu::binary_vjp_a_kernel<Struct>, kCost<kPrices<Struct>.slope>);    \
  constinit const Definition id##_vjp_b = reverse_definition(cpu::binary_vjp_b_kernel<Struct>, kCost<kPrices<Struct>.slope>);
CAIRN_POINTWISE_BINARY(X)
#undef X

#define X(id, Struct, ...) constinit const Definition id = pointwise_definition(infer_compare, cpu::compare_kernel<Struct>);
CAIRN_POINTWISE_COMPARE(X)
#undef X

constinit const Definition quotient = pointwise_definition(infer_division, cpu::quotient);
constinit const Definition remainder = pointwise_definition(infer_division, cpu::remainder);
constinit const Definition modulo = pointwise_definition(infer_division, cpu::modulo);

constinit const Definition where =
    differentiable(infer_where, cpu::where_kernel, nullptr, where_vjp, where_jvp, keep_input(0), VjpMemory::own);

} // namespace definitions

} // namespace cairn::ops
