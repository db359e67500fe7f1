// Convolutions and their gradient by what windows slide over, most of them where weights are large beside it, against sums of
// products written out: panels and tiles that are not whole, windows over edges and with holes, several chunks of channels, any
// layout.
#include "ops/cpu/device/device.h"
#include "ops/operators/runtime.h"
#include "test/ops/windows.h"

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

const std::vector<WindowCase>& window_cases() {
  static const std::vector<WindowCase> all = {
      {{1, 64, 7, 7}, {64, 3, 3}, {1}, {1}, {1}},
      {{2, 70, 5, 15}, {75, 3, 3}, {1}, {1}, {1}}, // no whole panel; tiles that overlap
      {{1, 96, 4, 14}, {64, 3, 5}, {1}, {0, 2}, {1}},
      {{1, 64, 9, 9}, {80, 3, 3}, {1}, {2, 4}, {2, 3}}, // holes, far over the edges
      {{1, 500, 3, 3}, {40, 3, 3}, {1}, {1}, {1}},      // chunks of channels, as doubles and as floats
      {{1, 40, 4, 2}, {900, 3, 3}, {1}, {1}, {1}},
      {{1, 128, 5, 5}, {128, 3, 3}, {1}, {1}, {1}, 2},
      {{2, 200, 29}, {150, 4}, {1}, {1}, {1}},                // one axis
      {{1, 60, 3, 4, 5}, {64, 3, 2, 3}, {1}, {1, 0, 1}, {1}}, // three axes
      {{1, 1200, 2, 3}, {200, 1, 1}, {1}, {0}, {1}},
      {{1, 20, 6, 6}, {200, 9, 9}, {1}, {4}, {1}},  // more rows than a window may have there: another way
      {{2, 32, 24, 24}, {32, 3, 3}, {1}, {1}, {1}}, // few weights: by a library, if there is one
      {{2, 40, 16, 18}, {24, 3, 3}, {1}, {1}, {1}}, // no whole blocks of channels there
      {{1, 64, 20, 20}, {64, 3, 3}, {2}, {1}, {1}},
      {{1, 64, 9, 9}, {64, 3, 3}, {2}, {1}, {1}}, // not at every place: another way
  };
  return all;
}

void check_near(const std::vector<double>& got, const std::vector<double>& right, DType type) {
  REQUIRE(got.size() == right.size());
  double largest = 0;
  for (const double d : right) largest = std::max(largest, std::fabs(d));
  std::size_t far = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - right[i]) <= largest * (type == DType::f64 ? 1e-13 : 1e-5))) ++far;
  CHECK(far == 0);
}

} // namespace

TEST_CASE("convolutions with many weights are what sums of products say") {
  World w;
  std::mt19937_64 random(12);
  for (const WindowCase& c : window_cases())
    for (const DType type : {DType::f64, DType::f32}) {
      const Sides s(c);
      CAPTURE(s.large.text());
      CAPTURE(s.weights.text());
      const Tensor x = w.tensor(s.large, numbers_between(random, s.large.elements(), -1, 1), type);
      const Tensor weights = w.tensor(s.weights, numbers_between(random, s.weights.elements(), -1, 1), type);
      const Tensor cotangent = w.tensor(s.small, numbers_between(random, s.small.elements(), -1, 1), type);
      const Tensor bias = w.tensor({s.small[1]}, numbers_between(random, s.small[1], -1, 1), type);
      const std::vector<double> xs = w.rt.read_numbers(x), ws = w.rt.read_numbers(weights), cs = w.rt.read_numbers(cotangent),
                                bs = w.rt.read_numbers(bias);
      std::vector<double> forward(cs.size(), 0), back(xs.size(), 0), with_bias;
      each_product(c, s, [&](std::size_t weight, std::size_t small, std::size_t large) {
        forward[small] += ws[weight] * xs[large];
        back[large] += ws[weight] * cs[small];
      });
      const std::size_t of_channel = cs.size() / static_cast<std::size_t>(s.small[0] * s.small[1]);
      for (std::size_t i = 0; i < forward.size(); ++i) with_bias.push_back(forward[i] + bs[i / of_channel % bs.size()]);
      for (const bool closest : {false, true}) {
        const Tensor from = closest ? with_channels_closest(w, x) : x,
                     of = closest ? with_channels_closest(w, cotangent) : cotangent;
        check_near(w.rt.read_numbers(applied(w.rt, O::convolve, {from, weights}, window_attributes(c))), forward, type);
        check_near(w.rt.read_numbers(applied(w.rt, O::convolve_add_tied, {from, weights, bias}, window_attributes(c))), with_bias,
                   type);
        check_near(w.rt.read_numbers(applied(w.rt, O::convolve_vjp_input, {of, weights},
                                             window_attributes(c, {list({s.large.begin() + 2, s.large.end()})}))),
                   back, type);
      }
    }
}

TEST_CASE("convolutions with many weights do not depend on the number of threads") {
  std::mt19937_64 random(13);
  const Shape of_x{2, 96, 7, 7}, of_weights{160, 96, 3, 3};
  const std::vector<double> x = numbers_between(random, of_x.elements(), -1, 1),
                            weights = numbers_between(random, of_weights.elements(), -1, 1);
  std::vector<std::vector<double>> results;
  for (const unsigned threads : {1u, 2u, 7u}) {
    CountingLedger ledger;
    const auto cpu = make_cpu_device(ledger, threads);
    Runtime rt(*cpu);
    const auto floats = [&](const Shape& shape, const std::vector<double>& numbers) {
      return applied(rt, O::cast, {rt.from_host(DType::f64, shape, *cpu, numbers.data())}, World::types(DType::f32));
    };
    results.push_back(
        rt.read_numbers(applied(rt, O::convolve, {floats(of_x, x), floats(of_weights, weights)}, with({absent(), list({1})}))));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

// Single pictures, and a few, are cut into bands of rows for the library: f32 against the loops that f64 takes, and the same bits
// whatever threads there are.
TEST_CASE("convolutions of one picture are those of f64 and do not depend on the number of threads") {
  const std::vector<WindowCase> cases = {
      {{1, 32, 48, 50}, {32, 3, 3}, {1}, {1}, {1}},
      {{1, 24, 65, 63}, {48, 5, 5}, {2}, {2}, {1}},          // steps over rows; no whole bands
      {{1, 40, 64, 60}, {40, 3, 5}, {2, 1}, {0, 1}, {3, 2}}, // holes
      {{1, 64, 121, 120}, {64, 1, 1}, {3, 2}, {1}, {1}},     // rows that no window looks at
      {{1, 32, 70, 40}, {40, 4, 4}, {4}, {3}, {1}},          // bands begin where windows do, not where the picture does
      {{1, 96, 40, 41}, {64, 3, 3}, {1}, {1}, {1}, 2},       // groups
      {{1, 64, 150, 150}, {64, 3, 3}, {1}, {1}, {1}, 64},    // each channel by itself
      {{1, 3, 201, 200}, {32, 3, 3}, {1}, {1}, {1}},         // weights by the library, too
      {{1, 3, 301, 300}, {32, 7, 7}, {2}, {3}, {1}},
      {{1, 4, 130, 130}, {40, 5, 5}, {1}, {4}, {2}},
      {{1, 2, 40000}, {40, 7}, {1}, {3}, {1}}, // one axis
      {{1, 48, 8000}, {48, 5}, {1}, {2}, {1}},
      {{1, 16, 13, 20, 21}, {32, 3, 3, 3}, {1}, {1}, {1}}, // three axes
      {{1, 2, 20, 30, 30}, {32, 3, 3, 3}, {1}, {1, 0, 1}, {1}},
      {{2, 3, 150, 140}, {32, 3, 3}, {1}, {1}, {1}},
      {{3, 32, 40, 39}, {32, 3, 3}, {1}, {1}, {1}},
      {{5, 48, 40, 39}, {48, 3, 3}, {2}, {1}, {1}},
      {{1, 64, 97, 90}, {64, 3, 3}, {1}, {1}, {1}}, // as many bands as there are
      {{1, 8, 7, 6000}, {64, 3, 3}, {1}, {1}, {1}}, // few rows
  };
  std::mt19937_64 random(19);
  for (const WindowCase& c : cases) {
    const Sides s(c);
    CAPTURE(s.large.text());
    CAPTURE(s.weights.text());
    const std::vector<double> xs = numbers_between(random, s.large.elements(), -1, 1),
                              ws = numbers_between(random, s.weights.elements(), -1, 1),
                              cs = numbers_between(random, s.small.elements(), -1, 1),
                              bs = numbers_between(random, s.small[1], -1, 1);
    const auto results = [&](DType type, unsigned threads) {
      CountingLedger ledger;
      const auto cpu = make_cpu_device(ledger, threads);
      Runtime rt(*cpu);
      const auto tensor = [&](const Shape& shape, const std::vector<double>& numbers) {
        return applied(rt, O::cast, {rt.from_host(DType::f64, shape, *cpu, numbers.data())}, World::types(type));
      };
      const Tensor x = tensor(s.large, xs), weights = tensor(s.weights, ws), of = tensor(s.small, cs),
                   bias = tensor({s.small[1]}, bs);
      return std::array<std::vector<double>, 4>{
          rt.read_numbers(applied(rt, O::convolve, {x, weights}, window_attributes(c))),
          rt.read_numbers(applied(rt, O::convolve_add_tied, {x, weights, bias}, window_attributes(c))),
          rt.read_numbers(applied(rt, O::convolve_vjp_input, {of, weights},
                                  window_attributes(c, {list({s.large.begin() + 2, s.large.end()})}))),
          rt.read_numbers(applied(rt, O::convolve_vjp_weights, {of, x},
                                  window_attributes(c, {list({s.weights.begin() + 2, s.weights.end()})})))};
    };
    const auto right = results(DType::f64, 2), one = results(DType::f32, 1);
    for (const unsigned threads : {2u, 5u}) CHECK(one == results(DType::f32, threads));
    for (std::size_t kind = 0; kind < right.size(); ++kind) {
      CAPTURE(kind);
      check_near(one[kind], right[kind], DType::f32);
    }
  }
}

// The library has weights in blocks of 16, 32, 48 or 64 channels, whatever suits the shapes: f32 against the loops that f64
// takes.
TEST_CASE("convolutions of any number of channels are those of f64") {
  World w;
  std::mt19937_64 random(17);
  for (const std::int64_t out : {48, 80, 96, 112, 144, 192})
    for (const std::int64_t in : {24, 48, 96})
      for (const std::int64_t window : {1, 3}) {
        CAPTURE(out);
        CAPTURE(in);
        CAPTURE(window);
        const Shape of_x{8, in, 8, 8}, of_weights{out, in, window, window}, of_y{8, out, 8, 8};
        std::array<std::vector<double>, 3> results[2];
        const std::vector<double> x = numbers_between(random, of_x.elements(), -1, 1),
                                  weights = numbers_between(random, of_weights.elements(), -1, 1),
                                  y = numbers_between(random, of_y.elements(), -1, 1);
        for (const DType type : {DType::f64, DType::f32}) {
          const Tensor from = w.tensor(of_x, x, type), by = w.tensor(of_weights, weights, type), of = w.tensor(of_y, y, type);
          const auto attributes = [&](const Attribute& sizes) {
            return with({absent(), list({window / 2}), absent(), absent(), sizes});
          };
          results[type == DType::f32] = {
              w.rt.read_numbers(applied(w.rt, O::convolve, {from, by}, with({absent(), list({window / 2})}))),
              w.rt.read_numbers(applied(w.rt, O::convolve_vjp_input, {of, by}, attributes(list({8, 8})))),
              w.rt.read_numbers(applied(w.rt, O::convolve_vjp_weights, {of, from}, attributes(list({window, window}))))};
        }
        for (std::size_t kind = 0; kind < 3; ++kind) {
          const std::vector<double>&right = results[0][kind], &got = results[1][kind];
          REQUIRE(right.size() == got.size());
          double error = 0;
          for (std::size_t i = 0; i < right.size(); ++i) error = std::max(error, std::fabs(right[i] - got[i]));
          CAPTURE(kind);
          CHECK(error < 1e-3);
        }
      }
}

TEST_CASE("convolutions of nothing are 0") {
  World w;
  for (const Shape& of_x : {Shape{1, 0, 4, 4}, Shape{1, 8, 0, 4}}) {
    const Tensor x = w.tensor(of_x, {}),
                 weights = w.tensor({32, of_x[1], 3, 3}, std::vector<double>(static_cast<std::size_t>(32 * of_x[1] * 9), 1));
    const std::vector<double> y = w.rt.read_numbers(applied(w.rt, O::convolve, {x, weights}, with({absent(), list({2})})));
    REQUIRE(!y.empty());
    CHECK(y == std::vector<double>(y.size(), 0));
  }
}
