// Convolutions written out, place by place: what tests compare kernels with.
#pragma once

#include "test/ops/testing.h"

namespace cairn::ops::test {

struct WindowCase {
  std::vector<std::int64_t> large, small_channels_and_kernel; // [batch, channels, sizes...], [channels, kernel...]
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
};

inline std::int64_t of(const std::vector<std::int64_t>& one_or_all, std::size_t axis) {
  return one_or_all[one_or_all.size() == 1 ? 0 : axis];
}

struct Sides {
  std::size_t axes;
  Shape large, small, weights;

  explicit Sides(const WindowCase& c) : axes(c.large.size() - 2) {
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

inline std::vector<std::int64_t> spatial(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (int i = 2; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  return sizes;
}

// f(weight, small, large): the numbers, in row-major order, of elements that are multiplied with each other.
template <class F> void each_product(const WindowCase& c, const Sides& s, F&& f) {
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
            f(static_cast<std::size_t>((o * columns + i) * of_kernel + k),
              static_cast<std::size_t>((n * s.small[1] + o) * of_small + from),
              static_cast<std::size_t>((n * s.large[1] + o / rows * columns + i) * of_large + to));
    });
    ++k;
  });
}

// By operands of convolve and of its reverse rules.
inline Attributes window_attributes(const WindowCase& c, std::vector<Attribute> more = {}) {
  std::vector<Attribute> all{list(c.stride), list(c.padding), list(c.dilation), integer(c.groups)};
  for (Attribute& a : more) all.push_back(std::move(a));
  return with(std::move(all));
}

// As rows, and with channels closest, as pools leave them.
inline Tensor with_channels_closest(World& w, const Tensor& t) {
  return applied(w.rt, OperatorId::max_pool, {t},
                 with({list(std::vector<std::int64_t>(static_cast<std::size_t>(t.shape.rank()) - 2, 1))}));
}

} // namespace cairn::ops::test
