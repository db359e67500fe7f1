// Waves, arcs, hyperbolic functions and powers of tensors against the C library, at all sizes of arguments and mixed within one
// tensor.
#include "test/ops/testing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

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

// The right answers are of more digits.
struct KnownFunction {
  std::string name;
  O op;
  long double (*right)(long double);
};
const KnownFunction kFunctions[] = {
    {"tan", O::tan, std::tan},       {"asin", O::asin, std::asin},    {"acos", O::acos, std::acos},
    {"atan", O::atan, std::atan},    {"sinh", O::sinh, std::sinh},    {"cosh", O::cosh, std::cosh},
    {"asinh", O::asinh, std::asinh}, {"acosh", O::acosh, std::acosh}, {"atanh", O::atanh, std::atanh},
    {"expm1", O::expm1, std::expm1},
};

double least_normal(DType type) {
  return type == DType::f64 ? std::numeric_limits<double>::min() : static_cast<double>(std::numeric_limits<float>::min());
}

// Rounded to the type, with a zero for what is not normal: so are results.
double rounded_to(long double right, DType type) {
  const double nearest = type == DType::f64 ? static_cast<double>(right) : static_cast<double>(static_cast<float>(right));
  return std::fabs(nearest) < least_normal(type) ? std::copysign(0.0, nearest) : nearest;
}

// How far a result is off; where there is nothing to round, it must be the same.
double off(double got, long double right, DType type) {
  const double nearest = rounded_to(right, type);
  const bool exact = std::isnan(nearest) || std::isinf(nearest) || nearest == 0;
  if (!exact) return type == DType::f64 ? places_off<double>(got, right) : places_off<float>(got, right);
  const bool same = std::isnan(nearest) ? std::isnan(got) : got == nearest && std::signbit(got) == std::signbit(nearest);
  return same ? 0 : kInfinity;
}

// Of all magnitudes and both signs, and near `about`.
std::vector<double> scattered(std::mt19937_64& random, std::int64_t n, DType type, double about) {
  const double reach = type == DType::f64 ? 700 : 86;
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) {
    const double side = (random() & 1) != 0 ? 1 : -1;
    out.push_back(i % 2 == 0 ? side * std::exp(between(random, -reach, reach))
                             : about + side * std::exp(between(random, -16, 3)));
  }
  return out;
}
std::vector<double> special_numbers(DType type) {
  const double largest =
      type == DType::f64 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
  std::vector<double> out;
  for (const double d : {0.0,
                         0.25,
                         0.5,
                         1.0,
                         2.0,
                         1e6,
                         1e7,
                         3e8,
                         88.5,
                         89.3,
                         89.5,
                         709.7,
                         710.3,
                         710.5,
                         20.0,
                         40.0,
                         8192.0,
                         268435456.0,
                         least_normal(type),
                         largest,
                         kInfinity}) {
    out.push_back(d);
    out.push_back(-d);
  }
  out.push_back(std::nan(""));
  return out;
}

std::vector<double> results(World& w, O op, const std::vector<double>& numbers, DType type) {
  return w.rt.read_numbers(applied(w.rt, op, {w.tensor({static_cast<std::int64_t>(numbers.size())}, numbers, type)}));
}
std::vector<double> as_type(World& w, const std::vector<double>& numbers, DType type) {
  return w.rt.read_numbers(w.tensor({static_cast<std::int64_t>(numbers.size())}, numbers, type));
}

} // namespace

TEST_CASE("tangents, arcs and hyperbolic functions are within two units of the last place, and exact where nothing is rounded") {
  World w;
  std::mt19937_64 random(8);
  for (const DType type : {DType::f64, DType::f32})
    for (const KnownFunction& f : kFunctions) {
      CAPTURE(f.name);
      for (const double about : {0.0, 0.5, 1.0, -1.0, 1e3, 88.0, 705.0}) {
        std::vector<double> numbers = scattered(random, 4000, type, about);
        for (const double d : special_numbers(type)) numbers.push_back(d);
        numbers = as_type(w, numbers, type);
        const std::vector<double> got = results(w, f.op, numbers, type);
        double worst = 0, where = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          const double there = off(got[i], f.right(numbers[i]), type);
          where = there > worst ? numbers[i] : where;
          worst = std::max(worst, there);
        }
        CAPTURE(where);
        CHECK(worst < 2);
      }
    }
}

TEST_CASE("the angle of a point is within two units of the last place, in all directions and on all axes") {
  World w;
  std::mt19937_64 random(9);
  for (const DType type : {DType::f64, DType::f32}) {
    std::vector<double> up = scattered(random, 8000, type, 0), along = scattered(random, 8000, type, 0);
    for (std::size_t i = 0; i < 4000; ++i) { // of one size
      up[i] = between(random, -1, 1);
      along[i] = between(random, -1, 1);
    }
    for (const double a : special_numbers(type))
      for (const double b : special_numbers(type)) {
        up.push_back(a);
        along.push_back(b);
      }
    const auto size = static_cast<std::int64_t>(up.size());
    const Tensor a = w.tensor({size}, up, type), b = w.tensor({size}, along, type);
    up = w.rt.read_numbers(a);
    along = w.rt.read_numbers(b);
    const std::vector<double> got = w.rt.read_numbers(applied(w.rt, O::atan2, {a, b}));
    for (std::size_t i = 0; i < up.size(); ++i) {
      CAPTURE(up[i]);
      CAPTURE(along[i]);
      CHECK(off(got[i], std::atan2(static_cast<long double>(up[i]), static_cast<long double>(along[i])), type) < 2);
    }
  }
}

TEST_CASE("a function's result depends neither on its neighbours nor on how many there are") {
  World w;
  std::mt19937_64 random(10);
  for (const DType type : {DType::f64, DType::f32})
    for (const KnownFunction& f : kFunctions) {
      CAPTURE(f.name);
      const std::vector<double> numbers = scattered(random, 131, type, 1), together = results(w, f.op, numbers, type);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double alone = results(w, f.op, {numbers[i]}, type)[0];
        CAPTURE(numbers[i]);
        CHECK((alone == together[i] || (std::isnan(alone) && std::isnan(together[i]))));
      }
    }
}

TEST_CASE("powers and angles depend neither on neighbours nor on how many there are") {
  World w;
  std::mt19937_64 random(11);
  for (const DType type : {DType::f64, DType::f32})
    for (const O op : {O::expt, O::atan2}) {
      const std::vector<double> a = scattered(random, 131, type, 1), b = numbers_between(random, 131, -3, 3);
      const auto applied_from = [&](std::size_t first, std::size_t last) {
        const auto part = [&](const std::vector<double>& v) {
          return w.tensor({static_cast<std::int64_t>(last - first)},
                          {v.begin() + static_cast<std::ptrdiff_t>(first), v.begin() + static_cast<std::ptrdiff_t>(last)}, type);
        };
        return w.rt.read_numbers(applied(w.rt, op, {part(a), part(b)}));
      };
      const std::vector<double> together = applied_from(0, a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double alone = applied_from(i, i + 1)[0];
        CAPTURE(a[i]);
        CAPTURE(b[i]);
        CHECK((alone == together[i] || (std::isnan(alone) && std::isnan(together[i]))));
      }
    }
}

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
    const double reach = type == DType::f64 ? 700 : 86;
    for (int i = 0; i < 10000; ++i) { // as large and small as results can be, of bases of all sizes and of those near 1
      const double near =
          i % 2 == 0 ? std::exp(between(random, -reach, reach)) : 1 + between(random, -1, 1) * std::exp(between(random, -12, 0));
      const double base = as_type(w, {near}, type)[0];
      bases.push_back(base);
      powers.push_back(base == 1 ? 1e300 : between(random, -reach, reach) / std::log(base));
    }
    for (const double a : {-2.0, -0.5, 3.0, 10.0})
      for (int b = -9; b <= 9; ++b) {
        bases.push_back(a);
        powers.push_back(b);
      }
    std::vector<double> special = {0.0,        -0.0,         1.0, -1.0, 0.5,  -0.5,  2.0, -2.0, 3.0, -3.0,
                                   16777217.0, 4294967296.0, 1e6, -1e6, 1e30, -1e30, end, -end, none};
    if (type == DType::f64) // the last that are no whole numbers, and the last that are odd
      special.insert(special.end(), {2251799813685248.5, 4503599627370495.5, 4503599627370497.0, 9007199254740991.0,
                                     9007199254740994.0, -9007199254740991.0, 1e300, -1e300});
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
      const double there = off(got[i], right, type);
      CHECK(there < kInfinity);
      worst = std::max(worst, there);
    }
    CHECK(worst < 2);
    std::vector<double> squares = w.rt.read_numbers(applied(w.rt, O::expt, {a, weak_number(2, true)}));
    for (std::size_t i = 0; i < base.size(); ++i) {
      const double square = rounded_to(
          type == DType::f64 ? base[i] * base[i] : static_cast<double>(static_cast<float>(base[i]) * static_cast<float>(base[i])),
          type);
      CHECK((squares[i] == square || (std::isnan(squares[i]) && std::isnan(square))));
    }
  }
}
