// See pool.h. No two threads add to one position, and sums are taken in one order: reverse rules gather, each position of the
// input asking the windows that hold it, or one thread has all windows of some channels. Which element of a window was the
// largest is found again, or told by places that somebody kept.
#include "ops/cpu/spatial/pool.h"

#include "ops/cpu/loops/isa.h"
#include "ops/cpu/spatial/positions.h"
#include "ops/regions.h"

#include <algorithm>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kChannelsOfThread = 32;

template <class T> using WindowIndex = std::conditional_t<std::is_same_v<T, float>, std::int32_t, std::int64_t>; // in a window

// What the output at a position looks at.
Box window_of(const Pool& pool, const Sizes& at, const Sizes& in, const Sizes& out) {
  Box box{};
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    if (pool.bins) {
      const auto [begin, end] = bin(at[i], in[i], out[i]);
      box[i] = {begin, end};
    } else {
      const std::int64_t first = at[i] * pool.windows.stride[i] - pool.windows.padding[i];
      box[i] = {std::max<std::int64_t>(0, first), std::min(in[i], first + pool.windows.kernel[i])};
    }
  }
  return box;
}

// Which outputs look at a position of the input.
Box windows_with(const Pool& pool, const Sizes& at, const Sizes& in, const Sizes& out) {
  Box box{};
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    if (pool.bins) {
      const auto [begin, end] = bin(at[i], out[i], in[i]);
      box[i] = {begin, end};
    } else {
      const std::int64_t stride = pool.windows.stride[i], position = at[i] + pool.windows.padding[i];
      const std::int64_t before = position - pool.windows.kernel[i] + 1;
      box[i] = {before <= 0 ? 0 : (before + stride - 1) / stride, std::min(out[i], position / stride + 1)};
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

template <class T> bool is_direct(const SpatialView& v) {
  return v.channel_stride == 1 && v.dtype == (std::is_same_v<T, float> ? DType::f32 : DType::f64);
}

// Channels at a position: where they lie, or staged.
template <class T>
const T* channels_at(const SpatialView& v, std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count, T* staged) {
  const char* const from = address(v, n, at, channel);
  if (is_direct<T>(v)) return reinterpret_cast<const T*>(from);
  load(kComputeOf<T>, staged, v.dtype, from, v.channel_stride, count);
  return staged;
}

// What channels at a tap do to the largest so far: the first of equals; a NaN wins.
template <class T> struct Better {
  CAIRN_INLINE static void run(const T* from, T* best, std::int64_t count) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) best[i] = !(from[i] <= best[i]) && best[i] == best[i] ? from[i] : best[i];
  }
};
// And which tap that was.
template <class T> struct BetterAt {
  CAIRN_INLINE static void run(const T* from, T* best, WindowIndex<T>* where, WindowIndex<T> index, std::int64_t count) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const bool better = !(from[i] <= best[i]) && best[i] == best[i];
      best[i] = better ? from[i] : best[i];
      where[i] = better ? index : where[i];
    }
  }
};
// Adds to the tap that was the largest.
template <class T> struct AddWhere {
  CAIRN_INLINE static void run(const T* part, T* sums, const WindowIndex<T>* where, WindowIndex<T> index, std::int64_t count) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) sums[i] += where[i] == index ? part[i] : T(0);
  }
};
template <class T> struct PoolLoops {
  const decltype(Generations<Better<T>, const T*, T*, std::int64_t>::chosen()) better =
      Generations<Better<T>, const T*, T*, std::int64_t>::chosen();
  const decltype(Generations<BetterAt<T>, const T*, T*, WindowIndex<T>*, WindowIndex<T>, std::int64_t>::chosen()) better_at =
      Generations<BetterAt<T>, const T*, T*, WindowIndex<T>*, WindowIndex<T>, std::int64_t>::chosen();
  const decltype(Generations<AddWhere<T>, const T*, T*, const WindowIndex<T>*, WindowIndex<T>, std::int64_t>::chosen()) add =
      Generations<AddWhere<T>, const T*, T*, const WindowIndex<T>*, WindowIndex<T>, std::int64_t>::chosen();
};

// The largest of a window, channel by channel, and, unless `where` is null, which tap that was.
template <class T>
void best_of(const PoolLoops<T>& loops, const SpatialView& x, std::int64_t n, const Box& window, std::int64_t channel,
             std::int64_t count, Pace& pace, T* best, WindowIndex<T>* where) {
  WindowIndex<T> index = 0;
  alignas(64) T staged[kBlock];
  each(window, pace, [&](const Sizes& at) {
    const T* const from = channels_at(x, n, at, channel, count, staged);
    if (index == 0) {
      std::copy_n(from, count, best);
      if (where != nullptr) std::fill_n(where, count, 0);
    } else if (where == nullptr) {
      loops.better(from, best, count);
    } else {
      loops.better_at(from, best, where, index, count);
    }
    ++index;
  });
}

template <class T> void max_forward(const Pool& pool, MaxPool what, const View& out, std::span<const View> in) {
  const SpatialView y(out), x(in.back()), t(in.front());
  const PoolLoops<T> loops;
  over(y, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count, Pace& pace) {
    alignas(64) T best[kBlock], staged[kBlock];
    alignas(64) WindowIndex<T> where[kBlock];
    const Box window = window_of(pool, at, x.sizes, y.sizes);
    best_of<T>(loops, x, n, window, channel, count, pace, best, what == MaxPool::pick ? where : nullptr);
    if (what == MaxPool::pick) {
      WindowIndex<T> index = 0;
      each(window, pace, [&](const Sizes& from) {
        load(kComputeOf<T>, staged, t.dtype, address(t, n, from, channel), t.channel_stride, count);
        for (std::int64_t i = 0; i < count; ++i) best[i] = where[i] == index ? staged[i] : best[i];
        ++index;
      });
    }
    store(kComputeOf<T>, best, y.dtype, y.at(n, at[0], at[1], at[2], channel), y.channel_stride, count);
  });
}

// Where the largest of each window is: found again in x,
template <class T> struct FoundAgain {
  const SpatialView& x;
  const PoolLoops<T>& loops;
  void at(std::int64_t n, const Sizes&, const Box& window, std::int64_t channel, std::int64_t count, Pace& pace,
          WindowIndex<T>* where) const {
    alignas(64) T best[kBlock];
    best_of<T>(loops, x, n, window, channel, count, pace, best, where);
  }
};
// or told.
template <class T> struct Told {
  const SpatialView& places;
  void at(std::int64_t n, const Sizes& of, const Box&, std::int64_t channel, std::int64_t count, Pace&,
          WindowIndex<T>* where) const {
    const char* from = address(places, n, of, channel);
    for (std::int64_t i = 0; i < count; ++i, from += places.channel_stride)
      where[i] = static_cast<WindowIndex<T>>(static_cast<std::uint8_t>(*from));
  }
};

// Where elements can be added to in place: some channels of a member of the batch are one thread's, which goes over the windows.
template <class T, class Where>
void max_scattered(const Pool& pool, const PoolLoops<T>& loops, const SpatialView& dx, const SpatialView& c,
                   const Where& largest) {
  const std::int64_t blocks = (dx.channels - 1) / kChannelsOfThread + 1;
  parallel_for(dx.batch * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) T staged[kBlock];
    alignas(64) WindowIndex<T> where[kBlock];
    Pace pace;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t n = unit / blocks, channel = unit % blocks * kChannelsOfThread;
      const std::int64_t count = std::min(kChannelsOfThread, dx.channels - channel);
      const auto to = [&](const Sizes& at) { return reinterpret_cast<T*>(dx.at(n, at[0], at[1], at[2], channel)); };
      each(Box{Range{0, dx.sizes[0]}, Range{0, dx.sizes[1]}, Range{0, dx.sizes[2]}}, pace,
           [&](const Sizes& at) { std::fill_n(to(at), count, T(0)); });
      each(Box{Range{0, c.sizes[0]}, Range{0, c.sizes[1]}, Range{0, c.sizes[2]}}, pace, [&](const Sizes& from) {
        const Box window = window_of(pool, from, dx.sizes, c.sizes);
        largest.at(n, from, window, channel, count, pace, where);
        const T* const part = channels_at(c, n, from, channel, count, staged);
        WindowIndex<T> index = 0;
        each(window, pace, [&](const Sizes& at) {
          T* const sums = to(at);
          loops.add(part, sums, where, index, count);
          ++index;
        });
      });
    }
  });
}

template <class T, class Where>
void max_backward(const Pool& pool, const PoolLoops<T>& loops, const SpatialView& dx, const SpatialView& c,
                  const Where& largest) {
  if (is_direct<T>(dx)) return max_scattered<T>(pool, loops, dx, c, largest);
  over(dx, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count, Pace& pace) {
    alignas(64) T sums[kBlock] = {}, staged[kBlock];
    alignas(64) WindowIndex<T> where[kBlock];
    each(windows_with(pool, at, dx.sizes, c.sizes), pace, [&](const Sizes& from) {
      const Box window = window_of(pool, from, dx.sizes, c.sizes);
      largest.at(n, from, window, channel, count, pace, where);
      WindowIndex<T> own = 0; // which tap of the window this one is
      for (std::size_t i = 0; i < kMostSpatial; ++i)
        own = static_cast<WindowIndex<T>>(own * (window[i].end - window[i].begin) + at[i] - window[i].begin);
      load(kComputeOf<T>, staged, c.dtype, address(c, n, from, channel), c.channel_stride, count);
      for (std::int64_t i = 0; i < count; ++i) sums[i] += where[i] == own ? staged[i] : T(0);
    });
    store(kComputeOf<T>, sums, dx.dtype, dx.at(n, at[0], at[1], at[2], channel), dx.channel_stride, count);
  });
}

// `by` holds the places, or else x.
template <class T> void max_backward_by(const Pool& pool, const View& out, const View& cotangent, const View& by, bool places) {
  const SpatialView dx(out), c(cotangent), from(by);
  const PoolLoops<T> loops;
  if (places)
    max_backward<T>(pool, loops, dx, c, Told<T>{from});
  else
    max_backward<T>(pool, loops, dx, c, FoundAgain<T>{from, loops});
}

template <class T> void places_of(const Pool& pool, const View& out, const View& in) {
  const SpatialView y(out), x(in);
  const PoolLoops<T> loops;
  over(y, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count, Pace& pace) {
    alignas(64) WindowIndex<T> where[kBlock];
    FoundAgain<T>{x, loops}.at(n, at, window_of(pool, at, x.sizes, y.sizes), channel, count, pace, where);
    char* to = y.at(n, at[0], at[1], at[2], channel);
    for (std::int64_t i = 0; i < count; ++i, to += y.channel_stride) *to = static_cast<char>(static_cast<std::uint8_t>(where[i]));
  });
}

template <class T> void average(const Pool& pool, const View& out, const View& in, bool reverse) {
  const SpatialView to(out), from(in);
  const Sizes &large = reverse ? to.sizes : from.sizes, &small = reverse ? from.sizes : to.sizes;
  over(to, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count, Pace& pace) {
    alignas(64) T sums[kBlock] = {}, staged[kBlock];
    const Box box = reverse ? windows_with(pool, at, large, small) : window_of(pool, at, large, small);
    each(box, pace, [&](const Sizes& position) {
      const Box window = reverse ? window_of(pool, position, large, small) : box;
      const T factor = static_cast<T>(reverse ? 1 / divisor(pool, window) : 1);
      load(kComputeOf<T>, staged, from.dtype, address(from, n, position, channel), from.channel_stride, count);
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
    max_backward_by<double>(pool, out, cotangent, x, false);
  else
    max_backward_by<float>(pool, out, cotangent, x, false);
}

void max_pool_vjp_by_places(const Pool& pool, const View& out, const View& cotangent, const View& places) {
  if (compute_of(out.dtype) == Compute::f64)
    max_backward_by<double>(pool, out, cotangent, places, true);
  else
    max_backward_by<float>(pool, out, cotangent, places, true);
}

void max_pool_places(const Pool& pool, const View& out, const View& x) {
  if (compute_of(x.dtype) == Compute::f64)
    places_of<double>(pool, out, x);
  else
    places_of<float>(pool, out, x);
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
