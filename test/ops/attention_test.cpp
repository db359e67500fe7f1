// Attention beside the composition of other operators that it stands for: sizes beyond a tile, types, what is infinite or no
// number.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

#include <algorithm>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

struct Sizes {
  Shape q, k, v;
};

Tensor product(World& w, const Tensor& a, const Tensor& b) { return applied(w.rt, O::matmul, {a, b}); }
Tensor times(World& w, const Tensor& a, const Tensor& b) { return applied(w.rt, O::mul, {a, b}); }
Tensor times(World& w, const Tensor& a, double b) { return times(w, a, weak_number(b, false)); }
Tensor transposed(World& w, const Tensor& t) { return applied(w.rt, O::transpose, {t}, with({absent(), absent()})); }

Tensor weights(World& w, const Tensor& q, const Tensor& k, double scale, bool causal) {
  Tensor scores = product(w, times(w, q, scale), transposed(w, k));
  if (causal) {
    const Tensor ones =
        w.tensor({q.shape[q.rank() - 2], k.shape[k.rank() - 2]},
                 std::vector<double>(static_cast<std::size_t>(q.shape[q.rank() - 2] * k.shape[k.rank() - 2]), 1.0));
    scores = applied(w.rt, O::where,
                     {applied(w.rt, O::lower_triangle, {ones}, with({absent()})), scores, weak_number(-kInfinity, false)});
  }
  return applied(w.rt, O::softmax, {scores}, with({absent()}));
}

Attributes attributes(double scale, bool causal) { return with({number(scale), integer(causal ? 1 : 0)}); }

void check_near(World& w, const Tensor& got, const Tensor& expected, double tolerance) {
  REQUIRE(got.shape == expected.shape);
  const std::vector<double> a = w.rt.read_numbers(got), b = w.rt.read_numbers(expected);
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(std::isnan(a[i]) == std::isnan(b[i]));
    if (std::isnan(b[i])) continue;
    most = std::max(most, std::fabs(a[i] - b[i]));
    size = std::max(size, std::fabs(b[i]));
  }
  CHECK(most <= tolerance * size);
}

template <class F> void each_size(F&& f) {
  const Sizes all[] = {{{1, 1}, {1, 1}, {1, 1}},
                       {{3, 4}, {5, 4}, {5, 2}},
                       {{1, 33}, {300, 33}, {300, 31}},
                       {{128, 8}, {128, 8}, {128, 8}},
                       {{129, 17}, {130, 17}, {130, 9}},
                       {{300, 64}, {200, 64}, {200, 48}},
                       {{200, 64}, {300, 64}, {300, 64}},
                       {{9, 2, 50, 6}, {9, 2, 50, 6}, {9, 2, 50, 6}},
                       {{2, 3, 140, 5}, {3, 20, 5}, {1, 1, 20, 7}},
                       {{20, 3}, {9000, 3}, {9000, 2}}};
  for (const Sizes& sizes : all)
    for (const bool causal : {false, true}) {
      const std::string shapes = sizes.q.text() + sizes.k.text() + sizes.v.text();
      CAPTURE(shapes);
      CAPTURE(causal);
      f(sizes, causal);
    }
}

Tensor drawn(World& w, std::mt19937_64& random, const Shape& shape, DType type) {
  return w.tensor(shape, numbers_between(random, shape.elements(), -2, 2), type);
}

} // namespace

TEST_CASE("attention is softmax of products, times values, in every type and beyond a tile") {
  World w;
  std::mt19937_64 random(5);
  const std::pair<DType, double> types[] = {{DType::f64, 1e-14}, {DType::f32, 1e-5}, {DType::bf16, 8e-3}};
  each_size([&](const Sizes& sizes, bool causal) {
    for (const auto& [type, tolerance] : types) {
      const Tensor q = drawn(w, random, sizes.q, type), k = drawn(w, random, sizes.k, type), v = drawn(w, random, sizes.v, type);
      const Tensor y = applied(w.rt, O::attend, {q, k, v}, attributes(.6, causal));
      CHECK(y.dtype == type);
      CHECK(y.contiguous());
      const auto exact = [&](const Tensor& t) { return w.rt.cast(t, DType::f64); };
      check_near(w, y, product(w, weights(w, exact(q), exact(k), .6, causal), exact(v)), tolerance);
    }
  });
}

TEST_CASE("the reverse rule of attention is that of softmax of products, times values") {
  World w;
  std::mt19937_64 random(6);
  const std::pair<DType, double> types[] = {{DType::f64, 1e-13}, {DType::f32, 1e-5}, {DType::bf16, 8e-3}};
  each_size([&](const Sizes& sizes, bool causal) {
    for (const auto& [type, tolerance] : types) {
      const Tensor q = drawn(w, random, sizes.q, type), k = drawn(w, random, sizes.k, type), v = drawn(w, random, sizes.v, type);
      const Tensor y = applied(w.rt, O::attend, {q, k, v}, attributes(.6, causal)), c = drawn(w, random, y.shape, type);
      const auto parts = all_applied(w.rt, O::attend_vjp, {c, q, k, v}, attributes(.6, causal));
      const auto exact = [&](const Tensor& t) { return w.rt.cast(t, DType::f64); };
      const Tensor p = weights(w, exact(q), exact(k), .6, causal), of_p = product(w, exact(c), transposed(w, exact(v)));
      const Tensor moved = times(w, p, of_p);
      const Tensor mean = applied(w.rt, O::sum, {moved}, with({list({-1}), integer(1)}));
      const Tensor slopes = times(w, applied(w.rt, O::sub, {moved, times(w, p, mean)}), .6);
      const auto like = [&](const Tensor& t, const Tensor& part) {
        return applied(w.rt, O::expand, {t}, with({list(std::vector<std::int64_t>(part.shape.begin(), part.shape.end()))}));
      };
      check_near(w, parts[0], like(product(w, slopes, exact(k)), parts[0]), tolerance);
      check_near(w, parts[1], like(product(w, transposed(w, slopes), exact(q)), parts[1]), tolerance);
      check_near(w, parts[2], like(product(w, transposed(w, p), exact(c)), parts[2]), tolerance);
    }
  });
}

TEST_CASE("attention of integers and of mixed types has the type of a quotient") {
  World w;
  const Tensor a = w.tensor({2, 1}, {1, 2}, DType::i32), b = w.tensor({2, 1}, {1, 2}, DType::bf16);
  CHECK(applied(w.rt, O::attend, {a, a, a}, attributes(1, false)).dtype == DType::f64);
  CHECK(applied(w.rt, O::attend, {b, w.rt.cast(b, DType::f32), b}, attributes(1, false)).dtype == DType::f32);
  const std::vector<double> y = w.rt.read_numbers(applied(w.rt, O::attend, {a, a, a}, attributes(0, true)));
  CHECK(y == std::vector<double>{1, 1.5});
}

TEST_CASE("attention without queries, keys, widths or members") {
  World w;
  const auto zeros = [&](const Shape& shape) {
    return w.tensor(shape, std::vector<double>(static_cast<std::size_t>(shape.elements())));
  };
  for (const bool causal : {false, true}) {
    const Sizes all[] = {{{0, 3}, {4, 3}, {4, 2}},
                         {{2, 3}, {0, 3}, {0, 2}},
                         {{2, 0}, {4, 0}, {4, 2}},
                         {{2, 3}, {4, 3}, {4, 0}},
                         {{0, 2, 3}, {0, 4, 3}, {0, 4, 2}}};
    for (const Sizes& s : all) {
      const Tensor y = applied(w.rt, O::attend, {zeros(s.q), zeros(s.k), zeros(s.v)}, attributes(1, causal));
      CHECK(w.rt.read_numbers(y) == std::vector<double>(static_cast<std::size_t>(y.elements())));
      const auto parts = all_applied(w.rt, O::attend_vjp, {y, zeros(s.q), zeros(s.k), zeros(s.v)}, attributes(1, causal));
      CHECK(parts[0].shape == s.q);
      CHECK(parts[1].shape == s.k);
      CHECK(parts[2].shape == s.v);
      for (const Tensor& part : parts)
        CHECK(w.rt.read_numbers(part) == std::vector<double>(static_cast<std::size_t>(part.elements())));
    }
  }
  const Tensor even = applied(w.rt, O::attend, {zeros({1, 0}), zeros({2, 0}), w.tensor({2, 1}, {1, 3})}, attributes(1, false));
  CHECK(w.rt.read_numbers(even) == std::vector<double>{2});
}

TEST_CASE("attention where scores are infinite or no numbers is like the composition") {
  World w;
  for (const double odd : {kInfinity, -kInfinity, kNan})
    for (const bool causal : {false, true})
      for (int at = 0; at < 6; ++at) {
        std::vector<double> numbers = {1, .5, -1, 2, .25, 3};
        numbers[static_cast<std::size_t>(at)] = odd;
        const Tensor odd_one = w.tensor({3, 2}, numbers), v = w.tensor({3, 2}, {1, 2, 3, 4, 5, 6});
        for (const bool in_keys : {false, true}) {
          const Tensor &q = in_keys ? v : odd_one, &k = in_keys ? odd_one : v;
          check_near(w, applied(w.rt, O::attend, {q, k, v}, attributes(.5, causal)), product(w, weights(w, q, k, .5, causal), v),
                     1e-14);
        }
      }
}

TEST_CASE("attention: shapes that do not go together") {
  World w;
  const Tensor a = w.tensor({2, 3}, std::vector<double>(6)), b = w.tensor({3, 2}, std::vector<double>(6)),
               c = w.tensor({2}, {1, 2}), d = w.tensor({3, 2, 3}, std::vector<double>(18)),
               e = w.tensor({2, 2, 3}, std::vector<double>(12));
  CHECK(error(w, O::attend, {a, b, b}, {number(1), absent()}) ==
        "attend: queries of shape (2 3), keys of shape (3 2) and values of shape (3 2) do not go together");
  CHECK(error(w, O::attend, {a, a, b}, {number(1), absent()}).find("do not go together") != std::string::npos);
  CHECK(error(w, O::attend, {b, b, c}, {number(1), absent()}).find("do not go together") != std::string::npos);
  CHECK(error(w, O::attend, {d, e, e}, {number(1), absent()}) ==
        "attend: queries of shape (3 2 3), keys of shape (2 2 3) and values of shape (2 2 3) do not go together");
  CHECK(error(w, O::attend, {d, a, e}, {number(1), absent()}).find("do not go together") != std::string::npos);
}
