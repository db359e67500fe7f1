// Pointwise functions and reductions at the ends of the numbers: infinities, the largest, denormals, zeros. Values and
// derivatives are what they tend to, wherever that is a number, in both modes; a denormal is a zero.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;
using Wide = long double; // squares of doubles do not overflow in it

namespace {

constexpr Wide kEnd = std::numeric_limits<Wide>::infinity(), kNone = std::numeric_limits<Wide>::quiet_NaN();
constexpr Wide kPi = 3.14159265358979323846264338327950288L;

// Value and derivative where both have limits, kNone elsewhere.
struct Function {
  O op;
  std::string name;
  std::function<Wide(Wide)> value, slope;
};

Wide tending(Wide x, Wide down, Wide up, const std::function<Wide(Wide)>& f) { return x < -2000 ? down : x > 2000 ? up : f(x); }
Wide normal_below(Wide x) { return std::erfc(-x / std::sqrt(Wide(2))) / 2; }
Wide logistic(Wide x) { return 1 / (1 + std::exp(-x)); }

std::vector<Function> functions() {
  const auto constant = [](Wide c) { return [c](Wide) { return c; }; };
  const auto within = [](Wide low, Wide high, std::function<Wide(Wide)> f) {
    return [=](Wide x) { return x >= low && x <= high ? f(x) : kNone; };
  };
  const Wide c = std::sqrt(2 / kPi), cubic = 0.044715L;
  const auto bent = [=](Wide x) { return std::tanh(c * (x + cubic * x * x * x)); };
  const auto gelu_tanh_slope = [=](Wide x) {
    const Wide t = bent(x);
    return (1 + t) / 2 + x * (1 - t * t) * c * (1 + 3 * cubic * x * x) / 2;
  };
  std::vector<Function> all = {
      {O::neg, "-", [](Wide x) { return -x; }, constant(-1)},
      {O::abs, "abs", [](Wide x) { return std::fabs(x); }, [](Wide x) { return Wide(x > 0) - Wide(x < 0); }},
      {O::sqrt, "sqrt", within(0, kEnd, [](Wide x) { return std::sqrt(x); }),
       within(1e-30L, kEnd, [](Wide x) { return 1 / (2 * std::sqrt(x)); })},
      {O::exp, "exp", [](Wide x) { return std::exp(x); }, [](Wide x) { return std::exp(x); }},
      {O::log, "log", within(1e-30L, kEnd, [](Wide x) { return std::log(x); }),
       within(1e-30L, kEnd, [](Wide x) { return 1 / x; })},
      {O::sin, "sin", within(-1, 1, [](Wide x) { return std::sin(x); }), within(-1, 1, [](Wide x) { return std::cos(x); })},
      {O::cos, "cos", within(-1, 1, [](Wide x) { return std::cos(x); }), within(-1, 1, [](Wide x) { return -std::sin(x); })},
      {O::tan, "tan", within(-1, 1, [](Wide x) { return std::tan(x); }), within(-1, 1, [](Wide) { return Wide(1); })},
      {O::asin, "asin", within(-1, 1, [](Wide x) { return std::asin(x); }),
       within(-0.5L, 0.5L, [](Wide x) { return 1 / std::sqrt(1 - x * x); })},
      {O::acos, "acos", within(-1, 1, [](Wide x) { return std::acos(x); }),
       within(-0.5L, 0.5L, [](Wide x) { return -1 / std::sqrt(1 - x * x); })},
      {O::atan, "atan", [](Wide x) { return std::atan(x); }, [](Wide x) { return 1 / (1 + x * x); }},
      {O::tanh, "tanh", [](Wide x) { return std::tanh(x); },
       [](Wide x) { return tending(x, 0, 0, [](Wide y) { return 1 - std::tanh(y) * std::tanh(y); }); }},
      {O::sigmoid, "sigmoid", logistic,
       [](Wide x) { return tending(x, 0, 0, [](Wide y) { return logistic(y) * logistic(-y); }); }},
      {O::relu, "ReLU", [](Wide x) { return x > 0 ? x : 0; }, [](Wide x) { return Wide(x > 0); }},
      {O::gelu, "GeLU", [](Wide x) { return tending(x, 0, x, [](Wide y) { return y * normal_below(y); }); },
       [](Wide x) {
         return tending(x, 0, 1, [](Wide y) { return normal_below(y) + y * std::exp(-y * y / 2) / std::sqrt(2 * kPi); });
       }},
      {O::silu, "SiLU", [](Wide x) { return tending(x, 0, x, [](Wide y) { return y * logistic(y); }); },
       [](Wide x) { return tending(x, 0, 1, [](Wide y) { return logistic(y) * (1 + y * logistic(-y)); }); }},
      {O::softplus, "softplus", [](Wide x) { return tending(x, 0, x, [](Wide y) { return std::log1p(std::exp(y)); }); },
       logistic},
      {O::square, "square", [](Wide x) { return x * x; }, [](Wide x) { return 2 * x; }},
      {O::erf, "erf", [](Wide x) { return std::erf(x); }, [](Wide x) { return 2 / std::sqrt(kPi) * std::exp(-x * x); }},
      {O::sinh, "sinh", [](Wide x) { return std::sinh(x); }, [](Wide x) { return std::cosh(x); }},
      {O::cosh, "cosh", [](Wide x) { return std::cosh(x); }, [](Wide x) { return std::sinh(x); }},
      {O::asinh, "asinh", [](Wide x) { return std::asinh(x); }, [](Wide x) { return 1 / std::sqrt(x * x + 1); }},
      {O::acosh, "acosh", within(1, kEnd, [](Wide x) { return std::acosh(x); }),
       within(2, kEnd, [](Wide x) { return 1 / std::sqrt(x * x - 1); })},
      {O::atanh, "atanh", within(-0.9L, 0.9L, [](Wide x) { return std::atanh(x); }),
       within(-0.9L, 0.9L, [](Wide x) { return 1 / (1 - x * x); })},
      {O::log1p, "log1p", within(-0.9L, kEnd, [](Wide x) { return std::log1p(x); }),
       within(-0.9L, kEnd, [](Wide x) { return 1 / (1 + x); })},
      {O::expm1, "expm1", [](Wide x) { return std::expm1(x); }, [](Wide x) { return std::exp(x); }},
      {O::gelu_tanh, "GeLU-tanh", [=](Wide x) { return tending(x, 0, x, [=](Wide y) { return y * (1 + bent(y)) / 2; }); },
       [=](Wide x) { return tending(x, 0, 1, gelu_tanh_slope); }},
      {O::leaky_relu, "LeakyReLU", [](Wide x) { return x > 0 ? x : 0.01L * x; },
       [](Wide x) { return x > 0   ? Wide(1)
                           : x < 0 ? 0.01L
                                   : kNone; }},
      {O::elu, "ELU", [](Wide x) { return x > 0 ? x : std::expm1(x); }, [](Wide x) { return x > 0 ? Wide(1) : std::exp(x); }},
      {O::sign, "sign", [](Wide x) { return Wide(x > 0) - Wide(x < 0); }, constant(0)},
      {O::floor, "floor", [](Wide x) { return std::floor(x); }, constant(0)},
      {O::ceiling, "ceiling", [](Wide x) { return std::ceil(x); }, constant(0)},
      {O::truncate, "truncate", [](Wide x) { return std::trunc(x); }, constant(0)},
      {O::round, "round", [](Wide x) { return std::nearbyint(x); }, constant(0)},
  };
  return all;
}

struct TypeRange {
  DType type;
  double least, largest, denormal; // least: that is normal
};
const TypeRange kRanges[] = {{DType::f64, std::numeric_limits<double>::min(), std::numeric_limits<double>::max(), 1e-310},
                             {DType::f32, static_cast<double>(std::numeric_limits<float>::min()),
                              static_cast<double>(std::numeric_limits<float>::max()), 1e-40}};

std::vector<double> ends(const TypeRange& range) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> out;
  for (const double d :
       {0.0, range.denormal, range.least, std::sqrt(range.least) / 8, std::sqrt(range.largest) * 8, std::cbrt(range.largest) * 8,
        range.largest / 16, range.largest, infinity, 20.0, 39.0, 63.0, 65.0, 100.0, 1000.0, 1e9, 2e9, 1e18}) {
    out.push_back(d);
    out.push_back(-d);
  }
  return out;
}

// Denormals count as zeros, before and after. What is beyond the largest has no place.
void check_end(const TypeRange& range, double got, Wide expected) {
  if (expected != expected) return;
  if (std::fabs(expected) > static_cast<Wide>(range.largest)) {
    CHECK(got == (expected > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()));
    return;
  }
  CHECK(std::isfinite(got));
  CHECK(std::fabs(got - expected) <=
        2e-6L * std::fabs(expected) + 4 * static_cast<Wide>(range.least) + (range.type == DType::f32 ? 1e-7L : 1e-16L));
}

// The derivative of an operator by one operand, in reverse and in forward mode; cotangents and tangents are 1.
struct Slopes {
  std::vector<double> reverse, forward;
};
Slopes slopes(World& w, O id, const std::vector<Tensor>& inputs, std::size_t by, const Attributes& attributes = {}) {
  const Operator& op = operator_of(id);
  const Tensor y = applied(w.rt, id, inputs, attributes);
  const auto ones = [&](const Tensor& like) {
    return w.tensor(like.shape, std::vector<double>(static_cast<std::size_t>(like.elements()), 1.0), like.dtype);
  };
  bool wanted[4] = {};
  wanted[by] = true;
  std::vector<Tensor> results(inputs.size());
  const Tensor cotangent = ones(y);
  op.vjp(VjpCall{w.rt, op, inputs, std::span<const Tensor>(&y, 1), std::span<const Tensor>(&cotangent, 1), attributes,
                 std::span<const bool>(wanted, inputs.size()), results});
  Slopes out;
  out.reverse = w.rt.read_numbers(results[by]);
  Values values(w.rt);
  {
    Duals duals(&values);
    std::vector<Term> terms;
    std::vector<std::uint64_t> handles;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      terms.push_back(
          duals.term(values.term(inputs[i]), i == by ? std::optional<Term>(values.term(ones(inputs[i]))) : std::nullopt));
      handles.push_back(terms.back().handle());
    }
    const Term made(duals, duals.apply(id, handles, attributes));
    out.forward = w.rt.read_numbers(values.tensor(*duals.tangent(made)));
  }
  if (out.forward.size() == 1) out.forward.resize(out.reverse.size(), out.forward[0]); // the same everywhere
  return out;
}

} // namespace

TEST_CASE("values and derivatives are what they tend to at the ends of the numbers, wherever that is a number") {
  World w;
  const std::vector<Function> all = functions();
  for (const TypeRange& range : kRanges)
    for (const Function& f : all) {
      CAPTURE(f.name);
      const std::vector<double> given = ends(range);
      const Tensor x = w.tensor({static_cast<std::int64_t>(given.size())}, given, range.type);
      const std::vector<double> at = w.rt.read_numbers(x), values = w.rt.read_numbers(applied(w.rt, f.op, {x}));
      const Slopes d = slopes(w, f.op, {x}, 0);
      for (std::size_t i = 0; i < at.size(); ++i) {
        CAPTURE(given[i]);
        const Wide there = std::fabs(given[i]) < range.least ? std::copysign(Wide(0), Wide(given[i])) : static_cast<Wide>(at[i]);
        check_end(range, values[i], f.value(there));
        check_end(range, d.reverse[i], f.slope(there));
        check_end(range, d.forward[i], f.slope(there));
      }
    }
}

TEST_CASE("every function of one operand is looked at there") {
  const std::vector<Function> all = functions();
  const auto known = [&](O id) {
    for (const Function& f : all)
      if (f.op == id) return true;
    return false;
  };
#define X(id, Struct, ...) CHECK_MESSAGE(known(O::id), #id);
  CAIRN_POINTWISE_UNARY(X)
  CAIRN_POINTWISE_PARAMETER(X)
#undef X
}

TEST_CASE("second derivatives of what goes from 0 to x are 0 far away") {
  World w;
  for (const TypeRange& range : kRanges)
    for (const O op : {O::gelu, O::gelu_tanh, O::silu})
      for (const double far :
           {range.largest / 4, -range.largest / 4, std::cbrt(range.largest) * 4, -std::cbrt(range.largest) * 4}) {
        CAPTURE(operator_of(op).name);
        CAPTURE(far);
        const Tensor x = w.tensor({1}, {far}, range.type), one = w.tensor({1}, {1}, range.type);
        Values values(w.rt);
        Duals inner(&values), outer(&inner);
        const Term lifted = outer.term(inner.term(values.term(x), values.term(one)), inner.term(values.term(one), std::nullopt));
        const std::uint64_t handle = lifted.handle();
        const Term y(outer, outer.apply(op, {&handle, 1}, {}));
        const std::optional<Term> second = inner.tangent(*outer.tangent(y));
        CHECK((!second || w.rt.read_numbers(values.tensor(*second))[0] == 0));
      }
}

TEST_CASE("derivatives of powers, quotients and angles at the ends") {
  World w;
  for (const TypeRange& range : kRanges) {
    const double huge = range.largest / 64, tiny = range.least * 64, infinity = std::numeric_limits<double>::infinity();
    const auto check = [&](O op, std::size_t by, double a, double b, Wide expected) {
      CAPTURE(operator_of(op).name);
      CAPTURE(a);
      CAPTURE(b);
      CAPTURE(by);
      const Slopes d = slopes(w, op, {w.tensor({1}, {a}, range.type), w.tensor({1}, {b}, range.type)}, by);
      for (const double got : {d.reverse[0], d.forward[0]}) {
        if (expected == 0)
          CHECK(got == 0);
        else
          CHECK(std::fabs(got / expected - 1) < 1e-5L);
      }
    };
    check(O::expt, 1, infinity, -1, 0);
    check(O::expt, 1, 0, 2, 0);
    check(O::div, 1, 3, infinity, 0);
    check(O::atan2, 0, huge, huge, 1 / (2 * Wide(huge)) < Wide(range.least) ? 0 : 1 / (2 * Wide(huge)));
    const double large = std::sqrt(range.largest) * 4, small = std::sqrt(range.least) / 4;
    for (const double a : {large, -large, small, -small})
      for (const double b : {large, -large, small, -small, 1.0}) {
        const Wide squares = Wide(a) * a + Wide(b) * b, by_a = b / squares, by_b = -a / squares;
        if (std::fabs(by_a) > 8 * Wide(range.least)) check(O::atan2, 0, a, b, by_a);
        if (std::fabs(by_b) > 8 * Wide(range.least)) check(O::atan2, 1, a, b, by_b);
      }
    for (const double end : {infinity, -infinity}) {
      check(O::atan2, 0, end, 2, 0);
      check(O::atan2, 1, end, 2, 0);
      check(O::atan2, 0, 2, end, 0);
      check(O::atan2, 1, 2, end, 0);
    }
    check(O::atan2, 0, 0, tiny, 1 / Wide(tiny));
  }
}

TEST_CASE("the logarithm of a sum: what is infinitely little has derivative 0, also where there is nothing else") {
  World w;
  const double none = -std::numeric_limits<double>::infinity(), all = -none;
  for (const TypeRange& range : kRanges) {
    const auto derivatives = [&](std::vector<double> numbers) {
      const auto n = static_cast<std::int64_t>(numbers.size());
      const Slopes d = slopes(w, O::logsumexp, {w.tensor({n}, numbers, range.type)}, 0);
      return d.reverse;
    };
    const auto forward = [&](std::vector<double> numbers) { // along ones: the sum of the derivatives
      const auto n = static_cast<std::int64_t>(numbers.size());
      return slopes(w, O::logsumexp, {w.tensor({n}, numbers, range.type)}, 0).forward[0];
    };
    CHECK(derivatives({none, none, none}) == std::vector<double>{0, 0, 0});
    CHECK(derivatives({none}) == std::vector<double>{0});
    CHECK(derivatives({none, 3, none}) == std::vector<double>{0, 1, 0});
    CHECK(derivatives({1, all, 2}) == std::vector<double>{0, 1, 0});
    CHECK(forward({none, none, none}) == 0);
    CHECK(forward({none, 3, none}) == 1);
    CHECK(forward({1, all, 2}) == 1);
  }
}
