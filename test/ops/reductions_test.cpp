// Reductions and their reverse rules against sums written out here, over any axes of tensors of any layout, in sizes that reach
// every way of folding: blocks and what is left of them, short rows, columns by single rows and by several, pieces for threads.
#include "ops/cpu/device/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "test/ops/testing.h"

#include <algorithm>
#include <limits>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

struct ReductionCase {
  Shape shape;
  std::vector<std::int64_t> order; // of axes: the operand is a permuted view of a tensor whose shape is permuted back
  std::vector<std::int64_t> gone;
};

const std::vector<ReductionCase>& reduction_cases() {
  static const std::vector<ReductionCase> all = {
      {{1}, {0}, {0}},
      {{17}, {0}, {0}},
      {{513}, {0}, {0}},
      {{3, 70}, {0, 1}, {1}},
      {{3, 70}, {0, 1}, {0}},
      {{300, 7}, {0, 1}, {1}},  // short rows
      {{131, 9}, {0, 1}, {0}},  // columns: more than twice 64 rows
      {{6, 1100}, {0, 1}, {0}}, // several stretches of columns
      {{1100, 6}, {1, 0}, {0}}, // the closest axis goes, by a view
      {{40, 600}, {1, 0}, {1}}, // columns, by a view
      {{5, 6, 70}, {0, 1, 2}, {0, 2}},
      {{5, 6, 70}, {2, 0, 1}, {1}},
      {{5, 6, 70}, {2, 0, 1}, {0, 2}},
      {{5, 6, 70}, {1, 2, 0}, {0, 1, 2}},
      {{300, 700}, {0, 1}, {0, 1}}, // pieces of one group
      {{700, 300}, {0, 1}, {0}},    // pieces of columns
      {{2, 90000}, {0, 1}, {1}},    // pieces of several groups
      {{200, 3, 300}, {1, 0, 2}, {0, 2}},
  };
  return all;
}

std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// The operand as a view of `like`'s axes in another order, with these numbers in row-major order.
Tensor laid(World& w, const ReductionCase& c, const std::vector<double>& numbers, DType type) {
  const Tensor plain = w.tensor(c.shape, numbers, type);
  std::vector<std::int64_t> back(c.order.size());
  for (std::size_t i = 0; i < back.size(); ++i) back[static_cast<std::size_t>(c.order[i])] = static_cast<std::int64_t>(i);
  const Tensor there = applied(w.rt, O::contiguous, {applied(w.rt, O::permute, {plain}, with({list(back)}))});
  return applied(w.rt, O::permute, {there}, with({list(c.order)}));
}

// The numbers of each group in row-major order, and of each element the group it is in.
struct Grouped {
  std::vector<std::vector<double>> groups;
  std::vector<std::size_t> group_of;

  Grouped(const ReductionCase& c, const std::vector<double>& numbers) : group_of(numbers.size()) {
    const std::vector<std::int64_t> sizes = sizes_of(c.shape);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::size_t rest = i, group = 0, stride = 1;
      for (std::size_t axis = sizes.size(); axis-- > 0; rest /= static_cast<std::size_t>(sizes[axis])) {
        const auto size = static_cast<std::size_t>(sizes[axis]);
        if (std::find(c.gone.begin(), c.gone.end(), static_cast<std::int64_t>(axis)) != c.gone.end()) continue;
        group += rest % size * stride;
        stride *= size;
      }
      group_of[i] = group;
      if (groups.size() <= group) groups.resize(group + 1);
      groups[group].push_back(numbers[i]);
    }
  }
  template <class F> std::vector<double> map(F&& f) const {
    std::vector<double> out;
    for (const auto& group : groups) out.push_back(static_cast<double>(f(group)));
    return out;
  }
};

using Group = std::vector<double>;
long double sum_of(const Group& g) {
  long double sum = 0;
  for (const double x : g) sum += x;
  return sum;
}
long double mean_of(const Group& g) { return sum_of(g) / static_cast<long double>(g.size()); }
long double norm_of(const Group& g, double p) {
  long double sum = 0;
  for (const double x : g) sum += std::pow(std::fabs(static_cast<long double>(x)), static_cast<long double>(p));
  return std::pow(sum, 1 / static_cast<long double>(p));
}
long double variance_of(const Group& g) {
  const long double mean = mean_of(g);
  long double sum = 0;
  for (const double x : g) sum += (x - mean) * (x - mean);
  return sum / static_cast<long double>(g.size());
}
long double logsumexp_of(const Group& g) {
  long double largest = -kInfinity, sum = 0;
  for (const double x : g) largest = std::max<long double>(largest, x);
  for (const double x : g) sum += std::exp(x - largest);
  return largest + std::log(sum);
}
double place_of(const Group& g, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < g.size(); ++i)
    if (g[best] == g[best] && (g[i] != g[i] || (largest ? g[i] > g[best] : g[i] < g[best]))) best = i;
  return static_cast<double>(best);
}

double tolerance(DType type) { return type == DType::f64 ? 1e-12 : type == DType::f32 ? 1e-6 : 1e-2; }

void check_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  double scale = 0;
  for (const double x : expected) scale = std::max(scale, std::fabs(x));
  std::size_t far = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - expected[i]) <= tolerance * scale)) ++far;
  CHECK(far == 0);
}

std::vector<double> rounded(World& w, const Shape& shape, const std::vector<double>& numbers, DType type) {
  return w.rt.read_numbers(w.tensor(shape, numbers, type));
}

} // namespace

TEST_CASE("reductions of every size and layout") {
  World w;
  std::mt19937_64 random(7);
  for (const DType type : {DType::f64, DType::f32, DType::bf16})
    for (const ReductionCase& c : reduction_cases()) {
      CAPTURE(c.shape.text());
      CAPTURE(static_cast<int>(type));
      if (type == DType::bf16 && c.shape.elements() > 20000) continue;
      const std::vector<double> x = rounded(w, c.shape, numbers_between(random, c.shape.elements(), 1, 3), type);
      const Tensor t = laid(w, c, x, type);
      const Grouped g(c, x);
      const auto reduced = [&](O op, std::vector<Attribute> more = {}) {
        std::vector<Attribute> attributes{list(c.gone), absent()};
        for (Attribute& a : more) attributes.push_back(std::move(a));
        return w.rt.read_numbers(applied(w.rt, op, {t}, with(std::move(attributes))));
      };
      const double near = tolerance(type);
      check_close(reduced(O::sum), g.map(sum_of), near);
      check_close(reduced(O::mean), g.map(mean_of), near);
      check_close(reduced(O::norm), g.map([](const Group& e) { return norm_of(e, 2); }), near);
      check_close(reduced(O::norm, {number(1)}), g.map([](const Group& e) { return norm_of(e, 1); }), near);
      check_close(reduced(O::norm, {number(3)}), g.map([](const Group& e) { return norm_of(e, 3); }), near);
      check_close(reduced(O::variance), g.map(variance_of), near);
      check_close(reduced(O::logsumexp), g.map(logsumexp_of), near);
      CHECK(reduced(O::max_over) == g.map([](const Group& e) { return *std::max_element(e.begin(), e.end()); }));
      CHECK(reduced(O::min_over) == g.map([](const Group& e) { return *std::min_element(e.begin(), e.end()); }));
    }
}

TEST_CASE("products of every layout") {
  World w;
  std::mt19937_64 random(8);
  for (const DType type : {DType::f64, DType::f32, DType::i32})
    for (const ReductionCase& c : reduction_cases()) {
      if (c.shape.elements() > 2000) continue;
      CAPTURE(c.shape.text());
      std::vector<double> x(static_cast<std::size_t>(c.shape.elements()));
      // Whole numbers whose products fit: few are not 1.
      for (double& e : x) e = random() % 16 == 0 ? (random() % 2 == 0 ? -1 : 2) : 1;
      const Grouped g(c, x);
      const auto product = [](const Group& e) {
        long double all = 1;
        for (const double one : e) all *= one;
        return all;
      };
      const std::vector<double> expected = g.map(product);
      bool fits = true;
      for (const double e : expected) fits = fits && std::fabs(e) < (type == DType::i32 ? 0x1p62 : 0x1p100);
      if (!fits) continue;
      const Tensor t = laid(w, c, x, type);
      CHECK(w.rt.read_numbers(applied(w.rt, O::prod, {t}, with({list(c.gone), absent()}))) == expected);
    }
}

TEST_CASE("places of extremes are those of the first, in row-major order") {
  World w;
  std::mt19937_64 random(9);
  for (const DType type : {DType::f64, DType::f32, DType::i32})
    for (const ReductionCase& c : reduction_cases()) {
      if (c.gone.size() != 1 && c.gone.size() != static_cast<std::size_t>(c.shape.rank())) continue;
      for (const bool nans : {false, true}) {
        if (nans && type == DType::i32) continue;
        CAPTURE(c.shape.text());
        std::vector<double> x(static_cast<std::size_t>(c.shape.elements()));
        for (double& e : x) e = static_cast<double>(random() % 50) - 25; // many equals
        if (nans)
          for (std::size_t i = 0; i < 3; ++i) x[random() % x.size()] = kNan;
        const Tensor t = laid(w, c, x, type);
        const Grouped g(c, x);
        const Attribute axis = c.gone.size() == 1 && c.shape.rank() > 1 ? integer(c.gone[0]) : absent();
        for (const bool largest : {true, false}) {
          const Tensor places = applied(w.rt, largest ? O::argmax : O::argmin, {t}, with({axis, absent()}));
          CHECK(w.rt.read_numbers(places) == g.map([&](const Group& e) { return place_of(e, largest); }));
        }
      }
    }
}

TEST_CASE("reverse rules of reductions of every layout") {
  World w;
  std::mt19937_64 random(10);
  for (const DType type : {DType::f64, DType::f32})
    for (const ReductionCase& c : reduction_cases()) {
      if (c.shape.elements() > 20000) continue;
      CAPTURE(c.shape.text());
      std::vector<double> x = rounded(w, c.shape, numbers_between(random, c.shape.elements(), -2, 2), type);
      x[0] = 0;
      const Tensor t = laid(w, c, x, type);
      const Grouped g(c, x);
      std::vector<double> cotangents = rounded(w, Shape{static_cast<std::int64_t>(g.groups.size())},
                                               numbers_between(random, static_cast<std::int64_t>(g.groups.size()), -1, 1), type);
      const auto check = [&](O op, std::vector<Attribute> more, auto&& slope) { // slope(x, group)
        std::vector<Attribute> attributes{list(c.gone), integer(1)};
        for (Attribute& a : more) attributes.push_back(std::move(a));
        const Attributes given = with(std::move(attributes));
        const Tensor y = applied(w.rt, op, {t}, given);
        const Tensor cotangent =
            applied(w.rt, O::view, {w.tensor(Shape{static_cast<std::int64_t>(cotangents.size())}, cotangents, type)},
                    with({list(sizes_of(y.shape))}));
        const bool wanted = true;
        Tensor result;
        operator_of(op).vjp(VjpCall{w.rt, operator_of(op), std::span<const Tensor>(&t, 1), std::span<const Tensor>(&y, 1),
                                    std::span<const Tensor>(&cotangent, 1), given, std::span<const bool>(&wanted, 1),
                                    std::span<Tensor>(&result, 1)});
        std::vector<double> expected(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
          expected[i] =
              cotangents[g.group_of[i]] * static_cast<double>(slope(static_cast<long double>(x[i]), g.groups[g.group_of[i]]));
        check_close(w.rt.read_numbers(result), expected, type == DType::f64 ? 1e-12 : 3e-6);
      };
      check(O::norm, {}, [](long double e, const Group& all) {
        const long double n = norm_of(all, 2);
        return n == 0 ? 0 : e / n;
      });
      check(O::norm, {number(3)}, [](long double e, const Group& all) {
        const long double n = norm_of(all, 3);
        return n == 0 ? 0 : std::copysign(e * e, e) / (n * n);
      });
      check(O::logsumexp, {}, [](long double e, const Group& all) { return std::exp(e - logsumexp_of(all)); });
      check(O::variance, {},
            [](long double e, const Group& all) { return 2 * (e - mean_of(all)) / static_cast<long double>(all.size()); });
    }
}

TEST_CASE("infinities and NaNs in reductions") {
  World w;
  for (const DType type : {DType::f64, DType::f32})
    for (const std::int64_t n : {3, 40, 600}) // of a row, and of columns
      for (const bool columns : {false, true}) {
        const auto reduced = [&](O op, double odd, double other) {
          std::vector<double> x(static_cast<std::size_t>(n * 10), 1);
          const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(columns ? i * 10 + 4 : 4 * n + i); };
          x[at(n / 2)] = odd;
          x[at(n - 1)] = other;
          const Tensor t = w.tensor(columns ? Shape{n, 10} : Shape{10, n}, x, type);
          const std::vector<double> all = w.rt.read_numbers(applied(w.rt, op, {t}, with({list({columns ? 0 : 1}), absent()})));
          for (std::size_t i = 0; i < all.size(); ++i)
            if (i != 4) CHECK(std::isfinite(all[i]));
          return all[4];
        };
        CHECK(reduced(O::sum, kInfinity, 1) == kInfinity);
        CHECK(std::isnan(reduced(O::sum, kInfinity, -kInfinity)));
        CHECK(std::isnan(reduced(O::mean, kNan, 1)));
        CHECK(std::isnan(reduced(O::max_over, kNan, kInfinity)));
        CHECK(std::isnan(reduced(O::min_over, 5, kNan)));
        CHECK(reduced(O::max_over, -kInfinity, 1) == 1);
        CHECK(reduced(O::norm, kInfinity, 1) == kInfinity);
        CHECK(std::isnan(reduced(O::variance, kInfinity, 1)));
        CHECK(reduced(O::logsumexp, kInfinity, 1) == kInfinity);
        CHECK(reduced(O::logsumexp, kInfinity, kInfinity) == kInfinity);
        CHECK(std::isnan(reduced(O::logsumexp, kInfinity, kNan)));
        CHECK(reduced(O::logsumexp, -kInfinity, -kInfinity) == doctest::Approx(1 + std::log(static_cast<double>(n - 2))));
      }
}

TEST_CASE("a variance is exact where the mean is large beside it") {
  World w;
  for (const bool columns : {false, true}) {
    std::vector<double> x;
    for (int i = 0; i < 5000; ++i) x.push_back(4096 + i % 2);
    std::vector<double> both;
    for (const double e : x)
      for (int k = 0; k < 8; ++k) both.push_back(e);
    const Tensor t = columns ? w.tensor({5000, 8}, both, DType::f32) : w.tensor({1, 5000}, x, DType::f32);
    for (const double v : w.rt.read_numbers(applied(w.rt, O::variance, {t}, with({list({columns ? 0 : 1}), absent()}))))
      CHECK(v == 0.25);
  }
}

TEST_CASE("reductions do not depend on the number of threads") {
  std::mt19937_64 random(11);
  const std::vector<double> x = numbers_between(random, 600 * 700, -1, 1);
  std::vector<std::vector<double>> results;
  for (const unsigned threads : {1u, 3u}) {
    CountingLedger ledger;
    const auto cpu = make_cpu_device(ledger, threads);
    Runtime rt(*cpu);
    std::vector<double> all;
    const Tensor t = rt.from_host(DType::f64, {600, 700}, *cpu, x.data());
    for (const auto& axes : {std::vector<std::int64_t>{0}, {1}, {0, 1}})
      for (const O op : {O::sum, O::mean, O::norm, O::variance, O::logsumexp, O::prod, O::max_over})
        for (const double e : rt.read_numbers(applied(rt, op, {t}, with({list(axes), absent()})))) all.push_back(e);
    results.push_back(all);
  }
  CHECK(results[0] == results[1]);
}
