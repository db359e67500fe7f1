// What kernels do along lines of all layouts: softmax, orders, the largest elements and running sums, against references that
// take one line of doubles at a time.
#include "ops/convert.h"
#include "ops/cpu/device/device.h"
#include "ops/operators/runtime.h"
#include "test/ops/testing.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;
using Numbers = std::vector<double>;
using Index = std::vector<std::int64_t>;

namespace {

std::int64_t product(const Index& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// The numbers as they are after rounding to a type.
Numbers rounded_to(Numbers x, DType type) {
  for (double& d : x)
    d = type == DType::f64   ? d
        : type == DType::f32 ? static_cast<double>(static_cast<float>(d))
                             : widened(rounded(static_cast<float>(d)));
  return x;
}

// The same tensor in memory of several layouts.
enum class Layout { row_major, turned, part };
Tensor laid_out(World& w, const Index& sizes, const Numbers& x, DType type, Layout layout) {
  const auto rank = sizes.size();
  if (layout == Layout::turned && rank > 1) { // first axis closest
    Index order(rank), back(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      order[i] = static_cast<std::int64_t>(rank - 1 - i);
      back[i] = order[i];
    }
    const Tensor turned =
        applied(w.rt, O::permute, {w.tensor(Shape{std::span<const std::int64_t>(sizes)}, x, type)}, with({list(order)}));
    return applied(w.rt, O::permute, {applied(w.rt, O::contiguous, {turned})}, with({list(back)}));
  }
  if (layout == Layout::part) { // of one with a larger last axis
    Index wide = sizes;
    wide.back() += 3;
    Numbers more(static_cast<std::size_t>(product(wide)), 77);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto n = static_cast<std::size_t>(sizes.back());
      more[i / n * (n + 3) + 1 + i % n] = x[i];
    }
    return applied(w.rt, O::narrow, {w.tensor(Shape{std::span<const std::int64_t>(wide)}, more, type)},
                   with({integer(static_cast<std::int64_t>(rank) - 1), integer(1), integer(sizes.back())}));
  }
  return w.tensor(Shape{std::span<const std::int64_t>(sizes)}, x, type);
}

// f(places of a line in a row-major tensor) for all lines along an axis.
void each_line(const Index& sizes, std::size_t axis, const std::function<void(const Index&)>& f) {
  const std::int64_t n = sizes[axis], step = product(Index(sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, sizes.end()));
  for (std::int64_t outer = 0; outer * n * step < product(sizes); ++outer)
    for (std::int64_t inner = 0; inner < step; ++inner) {
      Index places;
      for (std::int64_t i = 0; i < n; ++i) places.push_back((outer * n + i) * step + inner);
      f(places);
    }
}

double& at(Numbers& x, std::int64_t place) { return x[static_cast<std::size_t>(place)]; }
double at(const Numbers& x, std::int64_t place) { return x[static_cast<std::size_t>(place)]; }

Numbers softmax_of(O op, const Numbers& a, const Numbers& b, const Index& sizes, std::size_t axis) {
  Numbers out(a.size());
  each_line(sizes, axis, [&](const Index& line) {
    double largest = -kInfinity, sum = 0;
    for (const std::int64_t p : line) largest = std::max(largest, at(a, p));
    for (const std::int64_t p : line)
      sum += op == O::softmax_vjp ? at(a, p) * at(b, p) : op == O::log_softmax_vjp ? at(a, p) : std::exp(at(a, p) - largest);
    for (const std::int64_t p : line)
      at(out, p) = op == O::softmax       ? std::exp(at(a, p) - largest) / sum
                   : op == O::log_softmax ? at(a, p) - largest - std::log(sum)
                   : op == O::softmax_vjp ? at(b, p) * (at(a, p) - sum)
                                          : at(a, p) - std::exp(at(b, p)) * sum;
  });
  return out;
}

// -0 and NaNs count.
bool same_bits(const Numbers& a, const Numbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

bool before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

// Of a line, ascending or descending.
Index in_order(const Numbers& line, bool ascending) {
  Index places(line.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t i, std::int64_t j) {
    return ascending ? before(at(line, i), at(line, j)) : before(at(line, j), at(line, i));
  });
  return places;
}

Numbers with_ties(std::mt19937_64& random, std::int64_t n, bool special) {
  constexpr double kSpecial[] = {0.0, -0.0, kInfinity, -kInfinity, 1.0, -1.0, kNan};
  const std::uint64_t of = random() % 2 == 0 ? 7 : 6; // not always NaNs
  Numbers x;
  for (std::int64_t i = 0; i < n; ++i) {
    const double some = between(random, -100, 100);
    x.push_back(random() % 3 != 0 ? some : special ? kSpecial[random() % of] : std::floor(some / 10));
  }
  return x;
}

struct Orders {
  Numbers sorted, places, put_back, best, best_places, best_back;
};
Orders expected_orders(const Numbers& x, const Numbers& c, const Numbers& c_best, const Index& sizes, std::size_t axis,
                       std::int64_t count) {
  Orders all{x, x, x, {}, {}, Numbers(x.size(), 0)};
  Index few = sizes;
  few[axis] = count;
  all.best.resize(static_cast<std::size_t>(product(few)));
  all.best_places = all.best;
  std::vector<Index> of_best;
  each_line(few, axis, [&](const Index& line) { of_best.push_back(line); });
  std::size_t index = 0;
  each_line(sizes, axis, [&](const Index& line) {
    Numbers here;
    for (const std::int64_t p : line) here.push_back(at(x, p));
    const Index up = in_order(here, true), down = in_order(here, false);
    for (std::size_t k = 0; k < line.size(); ++k) {
      at(all.sorted, line[k]) = at(here, up[k]);
      at(all.places, line[k]) = static_cast<double>(up[k]);
      at(all.put_back, line[static_cast<std::size_t>(up[k])]) = at(c, line[k]);
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      const std::int64_t to = of_best[index][k];
      at(all.best, to) = at(here, down[k]);
      at(all.best_places, to) = static_cast<double>(down[k]);
      at(all.best_back, line[static_cast<std::size_t>(down[k])]) = at(c_best, to);
    }
    ++index;
  });
  return all;
}

void check_orders(World& w, const Index& sizes, std::size_t axis, std::int64_t count, DType type, Layout layout,
                  std::mt19937_64& random) {
  CAPTURE(sizes[axis]);
  CAPTURE(axis);
  CAPTURE(count);
  CAPTURE(static_cast<int>(type));
  CAPTURE(static_cast<int>(layout));
  const bool floating = is_floating(type);
  Numbers x = with_ties(random, product(sizes), floating);
  for (double& d : x) d = floating ? d : std::floor(d);
  if (floating) x = rounded_to(x, type);
  Index few = sizes;
  few[axis] = count;
  const Numbers c = rounded_to(numbers_between(random, product(sizes), -1, 1), type),
                c_best = rounded_to(numbers_between(random, product(few), -1, 1), type);
  const Orders expected = expected_orders(x, c, c_best, sizes, axis, count);
  const Tensor t = laid_out(w, sizes, x, type, layout);
  const Attributes along = with({integer(static_cast<std::int64_t>(axis))}),
                   best = with({integer(count), integer(static_cast<std::int64_t>(axis))});
  const auto numbers = [&](const Tensor& y) { return w.rt.read_numbers(y); };
  CHECK(same_bits(numbers(applied(w.rt, O::sort, {t}, along)), expected.sorted));
  CHECK(same_bits(numbers(applied(w.rt, O::argsort, {t}, along)), expected.places));
  const auto found = all_applied(w.rt, O::top_k, {t}, best);
  CHECK(same_bits(numbers(found[0]), expected.best));
  CHECK(same_bits(numbers(found[1]), expected.best_places));
  CHECK(same_bits(numbers(applied(w.rt, O::top_k_places, {t}, best)), expected.best_places));
  if (!floating) return;
  CHECK(same_bits(numbers(applied(w.rt, O::sort_vjp, {laid_out(w, sizes, c, type, layout), t}, along)), expected.put_back));
  const Tensor back = applied(w.rt, O::top_k_vjp, {laid_out(w, few, c_best, type, Layout::row_major), t}, best);
  CHECK(same_bits(numbers(back), expected.best_back));
}

} // namespace

TEST_CASE("softmax and its reverse rules along every axis of every layout") {
  World w;
  std::mt19937_64 random(11);
  for (const Index& sizes : {Index{7, 13, 37}, Index{5, 70, 9}, Index{35, 3, 8}, Index{1, 33, 300}, Index{9'001, 1, 9}})
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const DType type : {DType::f32, DType::f64, DType::bf16})
        for (const Layout layout : {Layout::row_major, Layout::turned, Layout::part})
          for (const O op : {O::softmax, O::log_softmax, O::softmax_vjp, O::log_softmax_vjp}) {
            CAPTURE(sizes[1]);
            CAPTURE(axis);
            CAPTURE(static_cast<int>(type));
            CAPTURE(static_cast<int>(layout));
            CAPTURE(static_cast<int>(op));
            const bool backward = op == O::softmax_vjp || op == O::log_softmax_vjp;
            const double n = static_cast<double>(sizes[axis]);
            const Numbers a = rounded_to(numbers_between(random, product(sizes), -3, 3), type);
            const Numbers b = rounded_to(op == O::softmax_vjp ? numbers_between(random, product(sizes), 0, 2 / n)
                                                              : numbers_between(random, product(sizes), -4, -2),
                                         type);
            std::vector<Tensor> in = {laid_out(w, sizes, a, type, layout)};
            if (backward) in.push_back(laid_out(w, sizes, b, type, layout));
            const Numbers y = w.rt.read_numbers(applied(w.rt, op, in, with({integer(static_cast<std::int64_t>(axis))}))),
                          expected = softmax_of(op, a, b, sizes, axis);
            double worst = 0; // of what terms of the sum allow
            for (std::size_t i = 0; i < y.size(); ++i) {
              const double size = op == O::log_softmax_vjp ? 3 + std::fabs(expected[i])
                                                           : std::fabs(expected[i]) + (op == O::softmax_vjp ? b[i] : 0);
              worst = std::max(worst, std::fabs(y[i] - expected[i]) / size);
            }
            CHECK(worst < (type == DType::f64 ? 1e-13 : type == DType::f32 ? 3e-5 : 5e-3));
          }
}

TEST_CASE("softmax across memory of what is not finite") {
  World w;
  const Index sizes = {3, 20};
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const O op : {O::softmax, O::log_softmax}) {
      Numbers x(60, 1);
      for (const std::size_t row : {0, 1, 2}) x[row * 20 + 4] = -kInfinity; // nothing
      x[20 + 5] = kNan;
      x[20 + 6] = kInfinity;
      x[20 + 7] = -kInfinity;
      const Numbers y =
          w.rt.read_numbers(applied(w.rt, op, {laid_out(w, sizes, x, type, Layout::row_major)}, with({integer(0)})));
      for (const std::size_t row : {0, 1, 2}) {
        for (const std::size_t column : {4, 5, 6}) CHECK(std::isnan(y[row * 20 + column]));
        CHECK(y[row * 20 + 8] == doctest::Approx(op == O::softmax ? 1.0 / 3 : -std::log(3.0)).epsilon(0.01));
      }
      CHECK(y[20 + 7] == (op == O::softmax ? 0 : -kInfinity));
      CHECK(y[7] == doctest::Approx(op == O::softmax ? 0.5 : -std::log(2.0)).epsilon(0.01));
    }
}

TEST_CASE("a masked softmax and its reverse rule, of rows of any length and layout and whatever is masked") {
  World w;
  std::mt19937_64 random(12);
  const double scale = 0.7;
  enum Masked { none, behind_row, drawn, all_but_last, all };
  for (const std::int64_t n : {1, 31, 32, 33, 64, 200})
    for (const DType type : {DType::f32, DType::f64, DType::bf16})
      for (const Layout layout : {Layout::row_major, Layout::turned, Layout::part})
        for (const Masked masked : {none, behind_row, drawn, all_but_last, all}) {
          CAPTURE(n);
          CAPTURE(static_cast<int>(type));
          CAPTURE(static_cast<int>(layout));
          CAPTURE(static_cast<int>(masked));
          constexpr std::int64_t rows = 9;
          const Index sizes = {2, rows, n};
          const auto is_masked = [&](std::int64_t row, std::int64_t i) {
            return masked == behind_row ? i > row * n / rows
                   : masked == drawn    ? random() % 3 == 0
                                        : masked == all || (masked == all_but_last && i + 1 != n);
          };
          Numbers x = rounded_to(numbers_between(random, product(sizes), -3, 3), type), mask(static_cast<std::size_t>(rows * n));
          for (std::int64_t i = 0; i < rows * n; ++i) at(mask, i) = is_masked(i / n, i % n) ? i % 2 == 0 ? -0.5 : kNan : 0;
          const auto left_out = [&](std::int64_t place) { return at(mask, place % (rows * n)) != 0; };
          for (std::int64_t i = 0; i < product(sizes); ++i) // what is left out may be anything
            if (left_out(i) && i % 3 == 0) at(x, i) = i % 2 == 0 ? kNan : kInfinity;
          // The first operand's memory becomes the result's where nobody else has it and it is not part of more.
          const auto also_over = [&](O op, const std::function<std::vector<Tensor>()>& operands) {
            Numbers result = w.rt.read_numbers(applied(w.rt, op, operands(), with({number(scale)})));
            std::vector<Tensor> unshared = operands();
            const void* const memory = unshared[0].storage.get();
            const bool consumed[] = {true, false};
            Tensor over;
            w.rt.apply(operator_of(op), unshared, consumed, with({number(scale)}), {&over, 1});
            CHECK((over.storage.get() == memory) == (layout != Layout::part));
            CHECK(same_bits(w.rt.read_numbers(over), result));
            return result;
          };
          const Numbers given = also_over(O::fused_softmax, [&] {
            return std::vector<Tensor>{laid_out(w, sizes, x, type, layout), laid_out(w, {rows, n}, mask, type, layout)};
          });
          const Numbers c = rounded_to(numbers_between(random, product(sizes), -1, 1), type);
          const Numbers slopes = also_over(O::fused_softmax_vjp, [&] {
            return std::vector<Tensor>{laid_out(w, sizes, c, type, layout), laid_out(w, sizes, given, type, layout)};
          });
          double worst = 0;
          bool zeros = true;
          each_line(sizes, 2, [&](const Index& line) {
            double largest = -kInfinity, sum = 0, common = 0;
            for (const std::int64_t p : line)
              if (!left_out(p)) largest = std::max(largest, at(x, p) * scale);
            for (const std::int64_t p : line)
              if (!left_out(p)) sum += std::exp(at(x, p) * scale - largest);
            for (const std::int64_t p : line) common += at(c, p) * at(given, p);
            for (const std::int64_t p : line) {
              if (left_out(p))
                zeros = zeros && at(given, p) == 0 && at(slopes, p) == 0;
              else
                worst = std::max(worst, std::fabs(at(given, p) - std::exp(at(x, p) * scale - largest) / sum));
              worst = std::max(worst, std::fabs(at(slopes, p) - scale * at(given, p) * (at(c, p) - common)));
            }
          });
          CHECK(zeros);
          CHECK(worst < (type == DType::f64 ? 1e-14 : type == DType::f32 ? 1e-6 : 5e-3));
        }
}

TEST_CASE("orders of lines of all lengths, with ties, zeros of both signs, NaNs and infinities") {
  World w;
  std::mt19937_64 random(12);
  for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i32, DType::i16, DType::i8}) {
    for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 127, 128, 129, 200, 1'000})
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, n / 4, n / 2, n})
        if (count <= n) check_orders(w, {3, n}, 1, count, type, Layout::row_major, random);
    check_orders(w, {70'000}, 0, 100, type, Layout::row_major, random);
  }
}

TEST_CASE("orders along every axis of every layout") {
  World w;
  std::mt19937_64 random(13);
  for (const Index& sizes : {Index{5, 7, 19}, Index{70, 3, 41}, Index{2, 131, 33}})
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::i64})
        for (const Layout layout : {Layout::row_major, Layout::turned, Layout::part})
          check_orders(w, sizes, axis, std::min<std::int64_t>(4, sizes[axis]), type, layout, random);
}

TEST_CASE("running sums along every axis of every layout") {
  World w;
  std::mt19937_64 random(14);
  for (const Index& sizes : {Index{5, 7, 19}, Index{70, 3, 41}, Index{2, 131, 33}, Index{1, 40, 700}})
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i8})
        for (const Layout layout : {Layout::row_major, Layout::turned, Layout::part})
          for (const bool reverse : {false, true}) {
            CAPTURE(sizes[1]);
            CAPTURE(axis);
            CAPTURE(static_cast<int>(type));
            CAPTURE(static_cast<int>(layout));
            Numbers x = numbers_between(random, product(sizes), -100, 100);
            for (double& d : x) d = is_floating(type) ? d : std::floor(d);
            if (is_floating(type)) x = rounded_to(x, type);
            if (is_floating(type)) x.front() = x.back() = -0.0;
            Numbers expected(x.size());
            each_line(sizes, axis, [&](const Index& line) {
              double sum = -0.0;
              for (std::size_t i = 0; i < line.size(); ++i) {
                const std::int64_t p = reverse ? line[line.size() - 1 - i] : line[i];
                at(expected, p) = sum += at(x, p);
              }
            });
            if (is_floating(type)) expected = rounded_to(expected, type);
            const Tensor y = applied(w.rt, reverse ? O::cumulative_sum_vjp : O::cumulative_sum,
                                     {laid_out(w, sizes, x, type, layout)}, with({integer(static_cast<std::int64_t>(axis))}));
            CHECK(same_bits(w.rt.read_numbers(y), expected));
          }
}

TEST_CASE("lines are the same on any number of threads") {
  std::vector<Numbers> seen;
  for (const unsigned threads : {1u, 3u}) {
    CountingLedger ledger;
    const auto cpu = make_cpu_device(ledger, threads);
    Runtime rt(*cpu);
    Attributes drawn = with({list({407, 501}), absent(), absent()});
    drawn.key = 5;
    Numbers all;
    for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
      const Tensor x = applied(rt, O::cast, {applied(rt, O::random_normal, {}, drawn)}, World::types(type));
      for (const std::int64_t axis : {0, 1}) {
        const auto add = [&](O op, std::vector<Tensor> in, const Attributes& attributes) {
          for (const Tensor& t : all_applied(rt, op, std::move(in), attributes))
            if (!t.empty())
              for (const double d : rt.read_numbers(t)) all.push_back(d);
        };
        for (const O op : {O::softmax, O::log_softmax, O::sort, O::argsort, O::cumulative_sum, O::cumulative_sum_vjp})
          add(op, {x}, with({integer(axis)}));
        for (const O op : {O::softmax_vjp, O::log_softmax_vjp, O::sort_vjp}) add(op, {x, x}, with({integer(axis)}));
        add(O::top_k, {x}, with({integer(7), integer(axis)}));
      }
    }
    seen.push_back(std::move(all));
  }
  CHECK(seen[0].size() > 0);
  CHECK(same_bits(seen[0], seen[1]));
}
