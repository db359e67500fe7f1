// The weights' gradient of convolutions against a sum over places, window by window, written out here: windows that reach over
// edges, channels that fill no vector, lines longer than a chunk, many small pictures, any layout, any type.
#include "test/ops/windows.h"

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

std::vector<double> expected(const WindowCase& c, const Sides& s, const std::vector<double>& cotangent,
                             const std::vector<double>& x) {
  std::vector<double> sums(static_cast<std::size_t>(s.weights.elements()), 0);
  each_product(c, s,
               [&](std::size_t weight, std::size_t small, std::size_t large) { sums[weight] += cotangent[small] * x[large]; });
  return sums;
}

} // namespace

TEST_CASE("the weights' gradient of convolutions is what a sum over places says") {
  World w;
  std::mt19937_64 random(11);
  const std::vector<WindowCase> cases = {
      {{2, 16, 9, 10}, {8, 3, 3}, {1}, {1}, {1}},
      {{3, 19, 7, 5}, {13, 3, 2}, {2, 1}, {0, 1}, {1}},      // no whole tile, no whole vector
      {{1, 40, 6, 6}, {9, 1, 1}, {2}, {0}, {1}},             // windows of one place, not at every place
      {{2, 32, 12, 11}, {24, 3, 3}, {1, 2}, {2, 3}, {2, 3}}, // windows with holes, far over the edges
      {{40, 16, 2, 3}, {8, 2, 3}, {1}, {1}, {1}},            // many pictures in a chunk
      {{2, 16, 2500}, {11, 4}, {1}, {2}, {1}},               // lines of several chunks
      {{1, 16, 2300}, {8, 5}, {2}, {0}, {3}},
      {{2, 17, 4, 5, 6}, {10, 3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1}}, // three axes
      {{2, 48, 6, 7}, {20, 3, 3}, {1}, {1}, {1}, 2},
      {{2, 16, 5, 5}, {8, 7, 7}, {1}, {3}, {1}},             // a window larger than the picture
      {{1, 600, 3, 3}, {300, 3, 3}, {1}, {1}, {1}},          // several units each way
      {{1, 16, 2, 2}, {8, 3, 3}, {1}, {1 << 30}, {1 << 30}}, // windows that reach as far as they can
      {{1, 16, 3, 2}, {8, 1, 3}, {1 << 30, 1}, {0, 1 << 30}, {1, 1 << 30}},
      {{2, 3, 9, 9}, {8, 3, 3}, {1}, {1}, {1}}, // too few channels for a vector
  };
  for (const WindowCase& c : cases)
    for (const DType type : {DType::f64, DType::f32, DType::bf16}) {
      const Sides s(c);
      CAPTURE(s.large.text());
      CAPTURE(s.weights.text());
      const Tensor x = w.tensor(s.large, numbers_between(random, s.large.elements(), -1, 1), type);
      const Tensor cotangent = w.tensor(s.small, numbers_between(random, s.small.elements(), -1, 1), type);
      std::vector<std::int64_t> kernel(c.small_channels_and_kernel.begin() + 1, c.small_channels_and_kernel.end());
      const Attributes attributes = window_attributes(c, {list(kernel)});
      const std::vector<double> right = expected(c, s, w.rt.read_numbers(cotangent), w.rt.read_numbers(x));
      double largest = 0;
      for (const double d : right) largest = std::max(largest, std::fabs(d));
      const double tolerance = largest * (type == DType::f64 ? 1e-13 : type == DType::f32 ? 1e-5 : 1e-2);
      for (const bool turned : {false, true}) {
        const Tensor got = applied(
            w.rt, O::convolve_vjp_weights,
            {turned ? with_channels_closest(w, cotangent) : cotangent, turned ? with_channels_closest(w, x) : x}, attributes);
        REQUIRE(got.shape == s.weights);
        const std::vector<double> numbers = w.rt.read_numbers(got);
        double error = 0;
        for (std::size_t i = 0; i < right.size(); ++i) error = std::max(error, std::fabs(numbers[i] - right[i]));
        CHECK(error <= tolerance);
      }
    }
}
