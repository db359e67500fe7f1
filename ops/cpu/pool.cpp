// See pool.h. Reverse rules gather: each place of the input asks the windows that hold it, so no two threads add to one place and sums are
// taken in one order. Which element of a window was the largest is found again, rather than kept.
#include "ops/cpu/pool.h"

#include "ops/cpu/places.h"

#include <algorithm>

namespace cairn::ops::cpu {

namespace {

// What the output at a place looks at.
Box window_of(const Pool& pool, const Sizes& at, const Sizes& in, const Sizes& out) {
  Box box{};
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    if (pool.bins) {
      box[i] = {at[i] * in[i] / out[i], ((at[i] + 1) * in[i] + out[i] - 1) / out[i]};
    } else {
      const std::int64_t first = at[i] * pool.windows.stride[i] - pool.windows.padding[i];
      box[i] = {std::max<std::int64_t>(0, first), std::min(in[i], first + pool.windows.kernel[i])};
    }
  }
  return box;
}

// Which outputs look at a place of the input.
Box windows_with(const Pool& pool, const Sizes& at, const Sizes& in, const Sizes& out) {
  Box box{};
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    if (pool.bins) {
      box[i] = {at[i] * out[i] / in[i], ((at[i] + 1) * out[i] + in[i] - 1) / in[i]};
    } else {
      const std::int64_t stride = pool.windows.stride[i], place = at[i] + pool.windows.padding[i];
      const std::int64_t before = place - pool.windows.kernel[i] + 1;
      box[i] = {before <= 0 ? 0 : (before + stride - 1) / stride, std::min(out[i], place / stride + 1)};
    }
  }
  return box;
}

double divisor(const Pool& pool, const Box& window) {
  double n = 1;
  for (std::size_t i = 0; i < kMostSpatial; ++i)
    n *= static_cast<double>(pool.bins || !pool.count_padding ? window[i].end - window[i].begin : pool.windows.kernel[i]);
  return n;
}

// The largest of a window, channel by channel, and which place that was: the first of equals; a NaN wins.
template <class T>
void best_of(const SpatialView& x, std::int64_t n, const Box& window, std::int64_t channel, std::int64_t count, T* best,
             std::int64_t* where) {
  std::int64_t index = 0;
  alignas(64) T staged[kBlock];
  each(window, [&](const Sizes& at) {
    load(kComputeOf<T>, staged, x.dtype, place(x, n, at, channel), x.channel_stride, count);
    if (index == 0) {
      std::copy_n(staged, count, best);
      std::fill_n(where, count, std::int64_t{0});
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        const bool better = !(staged[i] <= best[i]) && best[i] == best[i];
        best[i] = better ? staged[i] : best[i];
        where[i] = better ? index : where[i];
      }
    }
    ++index;
  });
}

template <class T> void max_forward(const Pool& pool, MaxPool what, const View& out, std::span<const View> in) {
  const SpatialView y(out), x(in.back()), t(in.front());
  over(y, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count) {
    alignas(64) T best[kBlock], staged[kBlock];
    std::int64_t where[kBlock];
    const Box window = window_of(pool, at, x.sizes, y.sizes);
    best_of(x, n, window, channel, count, best, where);
    if (what == MaxPool::pick) {
      std::int64_t index = 0;
      each(window, [&](const Sizes& from) {
        load(kComputeOf<T>, staged, t.dtype, place(t, n, from, channel), t.channel_stride, count);
        for (std::int64_t i = 0; i < count; ++i) best[i] = where[i] == index ? staged[i] : best[i];
        ++index;
      });
    }
    store(kComputeOf<T>, best, y.dtype, y.at(n, at[0], at[1], at[2], channel), y.channel_stride, count);
  });
}

template <class T> void max_backward(const Pool& pool, const View& out, const View& cotangent, const View& input) {
  const SpatialView dx(out), c(cotangent), x(input);
  over(dx, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count) {
    alignas(64) T sums[kBlock] = {}, best[kBlock], staged[kBlock];
    std::int64_t where[kBlock];
    each(windows_with(pool, at, x.sizes, c.sizes), [&](const Sizes& from) {
      const Box window = window_of(pool, from, x.sizes, c.sizes);
      best_of(x, n, window, channel, count, best, where);
      std::int64_t own = 0; // which place of the window this one is
      for (std::size_t i = 0; i < kMostSpatial; ++i) own = own * (window[i].end - window[i].begin) + at[i] - window[i].begin;
      load(kComputeOf<T>, staged, c.dtype, place(c, n, from, channel), c.channel_stride, count);
      for (std::int64_t i = 0; i < count; ++i) sums[i] += where[i] == own ? staged[i] : T(0);
    });
    store(kComputeOf<T>, sums, dx.dtype, dx.at(n, at[0], at[1], at[2], channel), dx.channel_stride, count);
  });
}

template <class T> void average(const Pool& pool, const View& out, const View& in, bool reverse) {
  const SpatialView to(out), from(in);
  const Sizes &large = reverse ? to.sizes : from.sizes, &small = reverse ? from.sizes : to.sizes;
  over(to, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count) {
    alignas(64) T sums[kBlock] = {}, staged[kBlock];
    const Box box = reverse ? windows_with(pool, at, large, small) : window_of(pool, at, large, small);
    each(box, [&](const Sizes& place_of) {
      const Box window = reverse ? window_of(pool, place_of, large, small) : box;
      const T factor = static_cast<T>(reverse ? 1 / divisor(pool, window) : 1);
      load(kComputeOf<T>, staged, from.dtype, place(from, n, place_of, channel), from.channel_stride, count);
      for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * staged[i];
    });
    const T factor = static_cast<T>(reverse ? 1 : 1 / divisor(pool, box));
    for (std::int64_t i = 0; i < count; ++i) sums[i] *= factor;
    store(kComputeOf<T>, sums, to.dtype, to.at(n, at[0], at[1], at[2], channel), to.channel_stride, count);
  });
}

} // namespace

void max_pool(const Pool& pool, MaxPool what, const View& out, std::span<const View> in) {
  if (compute_of(out.dtype) == Compute::f64)
    max_forward<double>(pool, what, out, in);
  else
    max_forward<float>(pool, what, out, in);
}

void max_pool_vjp(const Pool& pool, const View& out, const View& cotangent, const View& x) {
  if (compute_of(out.dtype) == Compute::f64)
    max_backward<double>(pool, out, cotangent, x);
  else
    max_backward<float>(pool, out, cotangent, x);
}

void average_pool(const Pool& pool, const View& out, const View& in) {
  if (compute_of(out.dtype) == Compute::f64)
    average<double>(pool, out, in, false);
  else
    average<float>(pool, out, in, false);
}

void average_pool_vjp(const Pool& pool, const View& out, const View& cotangent) {
  if (compute_of(out.dtype) == Compute::f64)
    average<double>(pool, out, cotangent, true);
  else
    average<float>(pool, out, cotangent, true);
}

} // namespace cairn::ops::cpu
