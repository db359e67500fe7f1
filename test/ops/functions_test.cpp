// Sine, cosine and powers of tensors against the C library, at all sizes of arguments and mixed within one tensor.
#include "test/ops/testing.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

// In units of the last place of the right answer.
template <class T> double places_off(double got, long double right) {
  const T nearest = static_cast<T>(right);
  const long double place = std::nextafter(std::fabs(nearest), std::numeric_limits<T>::infinity()) - std::fabs(nearest);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - right) / place);
}

} // namespace

TEST_CASE("sine and cosine are within two units of the last place, wherever the argument is") {
  World w;
  std::mt19937_64 random(5);
  for (const DType type : {DType::f64, DType::f32}) {
    for (const double reach : {1e-3, 1.0, 100.0, 1e6, 1e9, 1e30}) {
      std::vector<double> numbers = numbers_between(random, 5000, -reach, reach);
      for (int n = -300; n < 300; ++n) numbers.push_back(n * (std::acos(-1.0) / 4)); // where one of them is nearly 0
      numbers.push_back(1e6);
      numbers.push_back(std::nextafter(1e6, 2e6));
      const Tensor x = w.tensor({static_cast<std::int64_t>(numbers.size())}, numbers, type);
      const std::vector<double> given = w.rt.read_numbers(x), sines = w.rt.read_numbers(applied(w.rt, O::sin, {x})),
                                cosines = w.rt.read_numbers(applied(w.rt, O::cos, {x}));
      double worst = 0;
      for (std::size_t i = 0; i < given.size(); ++i) {
        const long double s = std::sin(static_cast<long double>(given[i])), c = std::cos(static_cast<long double>(given[i]));
        const auto off = type == DType::f64 ? places_off<double> : places_off<float>;
        worst = std::max({worst, off(sines[i], s), off(cosines[i], c)});
      }
      CAPTURE(reach);
      CHECK(worst < 2);
    }
  }
}

TEST_CASE("sine and cosine of what is no angle, and of zeros") {
  World w;
  const double end = std::numeric_limits<double>::infinity();
  for (const DType type : {DType::f64, DType::f32}) {
    const Tensor x = w.tensor({5}, {end, -end, std::nan(""), 0.0, -0.0}, type);
    const std::vector<double> s = w.rt.read_numbers(applied(w.rt, O::sin, {x})),
                              c = w.rt.read_numbers(applied(w.rt, O::cos, {x}));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(std::isnan(s[i]));
      CHECK(std::isnan(c[i]));
    }
    CHECK(s[3] == 0);
    CHECK(!std::signbit(s[3]));
    CHECK(s[4] == 0);
    CHECK(std::signbit(s[4]));
    CHECK(c[3] == 1);
    CHECK(c[4] == 1);
  }
}

TEST_CASE("an element's sine does not depend on its neighbours") {
  World w;
  std::mt19937_64 random(6);
  for (const DType type : {DType::f64, DType::f32}) {
    std::vector<double> numbers = numbers_between(random, 999, -50, 50);
    const auto sines = [&] {
      return w.rt.read_numbers(applied(w.rt, O::sin, {w.tensor({static_cast<std::int64_t>(numbers.size())}, numbers, type)}));
    };
    const std::vector<double> alone = sines();
    for (std::size_t i = 0; i < numbers.size(); i += 100) numbers[i] = 1e20;
    const std::vector<double> mixed = sines();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (i % 100 != 0) CHECK(alone[i] == mixed[i]);
  }
}

TEST_CASE("powers are within two units of the last place, and as the C library has them where nothing is left to round") {
  World w;
  std::mt19937_64 random(7);
  const double end = std::numeric_limits<double>::infinity(), none = std::nan("");
  for (const DType type : {DType::f64, DType::f32}) {
    std::vector<double> bases, powers;
    for (int i = 0; i < 5000; ++i) {
      bases.push_back(std::exp(between(random, -8, 8)));
      powers.push_back(between(random, -8, 8));
    }
    for (const double a : {-2.0, -0.5, 3.0, 10.0})
      for (int b = -9; b <= 9; ++b) {
        bases.push_back(a);
        powers.push_back(b);
      }
    const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 16777217.0, 4294967296.0, end, -end, none};
    for (const double a : special)
      for (const double b : special) {
        bases.push_back(a);
        powers.push_back(b);
      }
    const auto size = static_cast<std::int64_t>(bases.size());
    const Tensor a = w.tensor({size}, bases, type), b = w.tensor({size}, powers, type);
    const std::vector<double> base = w.rt.read_numbers(a), power = w.rt.read_numbers(b),
                              got = w.rt.read_numbers(applied(w.rt, O::expt, {a, b}));
    double worst = 0;
    for (std::size_t i = 0; i < base.size(); ++i) {
      CAPTURE(base[i]);
      CAPTURE(power[i]);
      const long double right = std::pow(static_cast<long double>(base[i]), static_cast<long double>(power[i]));
      const double nearest = type == DType::f64 ? static_cast<double>(right) : static_cast<double>(static_cast<float>(right));
      if (std::isnan(nearest)) {
        CHECK(std::isnan(got[i]));
      } else if (std::isinf(nearest) || nearest == 0) {
        CHECK(got[i] == nearest);
        CHECK(std::signbit(got[i]) == std::signbit(nearest));
      } else {
        worst = std::max(worst, type == DType::f64 ? places_off<double>(got[i], right) : places_off<float>(got[i], right));
      }
    }
    CHECK(worst < 2);
    std::vector<double> squares = w.rt.read_numbers(applied(w.rt, O::expt, {a, weak_number(2, true)}));
    for (std::size_t i = 0; i < base.size(); ++i) {
      const double square =
          type == DType::f64 ? base[i] * base[i] : static_cast<double>(static_cast<float>(base[i]) * static_cast<float>(base[i]));
      CHECK((squares[i] == square || (std::isnan(squares[i]) && std::isnan(square))));
    }
  }
}
