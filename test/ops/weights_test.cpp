// The weights' gradient of convolutions against a sum over places, window by window, written out here: windows that reach over
// edges, channels that fill no vector, lines longer than a chunk, many small pictures, any layout, any type.
#include "test/ops/testing.h"

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

struct Case {
  std::vector<std::int64_t> large, small_channels_and_kernel; // [batch, channels, sizes...], [channels, kernel...]
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
};

std::int64_t of(const std::vector<std::int64_t>& one_or_all, std::size_t axis) {
  return one_or_all[one_or_all.size() == 1 ? 0 : axis];
}

struct Sides {
  std::size_t axes;
  Shape large, small, weights;

  explicit Sides(const Case& c) : axes(c.large.size() - 2) {
    for (const std::int64_t n : c.large) large.push_back(n);
    small.push_back(c.large[0]);
    small.push_back(c.small_channels_and_kernel[0]);
    weights.push_back(c.small_channels_and_kernel[0]);
    weights.push_back(c.large[1] / c.groups);
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t k = c.small_channels_and_kernel[i + 1];
      weights.push_back(k);
      small.push_back((c.large[i + 2] + 2 * of(c.padding, i) - of(c.dilation, i) * (k - 1) - 1) / of(c.stride, i) + 1);
    }
  }
};

// Calls with each index of a shape, innermost last.
template <class F> void each(const std::vector<std::int64_t>& sizes, F&& visit) {
  std::vector<std::int64_t> at(sizes.size(), 0);
  for (;;) {
    visit(at);
    std::size_t i = sizes.size();
    while (i > 0 && ++at[i - 1] == sizes[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

std::vector<std::int64_t> spatial(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (int i = 2; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  return sizes;
}

std::vector<double> expected(const Case& c, const Sides& s, const std::vector<double>& cotangent, const std::vector<double>& x) {
  std::vector<double> sums(static_cast<std::size_t>(s.weights.elements()), 0);
  const std::int64_t rows = s.small[1] / c.groups, columns = s.weights[1];
  const auto inside = [](const std::vector<std::int64_t>& at, const Shape& shape) {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::int64_t size = shape[static_cast<int>(i) + 2];
      if (at[i] < 0 || at[i] >= size) return std::int64_t{-1};
      index = index * size + at[i];
    }
    return index;
  };
  const std::int64_t of_small = s.small.elements() / (s.small[0] * s.small[1]),
                     of_large = s.large.elements() / (s.large[0] * s.large[1]);
  const std::int64_t of_kernel = s.weights.elements() / (s.weights[0] * s.weights[1]);
  std::int64_t k = 0;
  each(spatial(s.weights), [&](const auto& in_window) {
    each(spatial(s.small), [&](const auto& place) {
      std::vector<std::int64_t> seen(place.size());
      for (std::size_t i = 0; i < place.size(); ++i)
        seen[i] = place[i] * of(c.stride, i) - of(c.padding, i) + in_window[i] * of(c.dilation, i);
      const std::int64_t to = inside(seen, s.large), from = inside(place, s.small);
      if (to < 0) return;
      for (std::int64_t n = 0; n < s.small[0]; ++n)
        for (std::int64_t o = 0; o < s.small[1]; ++o)
          for (std::int64_t i = 0; i < columns; ++i)
            sums[static_cast<std::size_t>((o * columns + i) * of_kernel + k)] +=
                cotangent[static_cast<std::size_t>((n * s.small[1] + o) * of_small + from)] *
                x[static_cast<std::size_t>((n * s.large[1] + o / rows * columns + i) * of_large + to)];
    });
    ++k;
  });
  return sums;
}

} // namespace

TEST_CASE("the weights' gradient of convolutions is what a sum over places says") {
  World w;
  std::mt19937_64 random(11);
  const std::vector<Case> cases = {
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
  for (const Case& c : cases)
    for (const DType type : {DType::f64, DType::f32, DType::bf16}) {
      const Sides s(c);
      CAPTURE(s.large.text());
      CAPTURE(s.weights.text());
      const Tensor x = w.tensor(s.large, numbers_between(random, s.large.elements(), -1, 1), type);
      const Tensor cotangent = w.tensor(s.small, numbers_between(random, s.small.elements(), -1, 1), type);
      std::vector<std::int64_t> kernel(c.small_channels_and_kernel.begin() + 1, c.small_channels_and_kernel.end());
      const Attributes attributes = with({list(c.stride), list(c.padding), list(c.dilation), integer(c.groups), list(kernel)});
      const std::vector<double> right = expected(c, s, w.rt.read_numbers(cotangent), w.rt.read_numbers(x));
      double largest = 0;
      for (const double d : right) largest = std::max(largest, std::fabs(d));
      const double tolerance = largest * (type == DType::f64 ? 1e-13 : type == DType::f32 ? 1e-5 : 1e-2);
      // As rows, and with channels closest, as pools leave them.
      const auto closest = [&](const Tensor& t) {
        return applied(w.rt, O::max_pool, {t}, with({list(std::vector<std::int64_t>(s.axes, 1))}));
      };
      for (const bool turned : {false, true}) {
        const Tensor got = applied(w.rt, O::convolve_vjp_weights,
                                   {turned ? closest(cotangent) : cotangent, turned ? closest(x) : x}, attributes);
        REQUIRE(got.shape == s.weights);
        const std::vector<double> numbers = w.rt.read_numbers(got);
        double error = 0;
        for (std::size_t i = 0; i < right.size(); ++i) error = std::max(error, std::fabs(numbers[i] - right[i]));
        CHECK(error <= tolerance);
      }
    }
}
