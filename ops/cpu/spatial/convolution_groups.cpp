// See convolution_groups.h. A lane is a channel of the result (of weights: of the small side); what it reads from the other side,
// a channel of its own group, is brought to the same lane. Each element of a result is summed by one thread, tap after tap.
#include "ops/cpu/spatial/convolution_groups.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"

#include <algorithm>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kVector = 16;       // lanes that loops take at once
constexpr std::int64_t kMostLanes = 64;    // of a block
constexpr std::int64_t kSegment = 32;      // positions along the last axis that are summed at a time
constexpr std::int64_t kMostInGroup = 16;  // products of a group's channels on both sides
constexpr std::int64_t kMostWeights = 128; // taps times channels read for a lane, packed at once: of a row of the window at least
constexpr std::int64_t kLanesInTime = 4;   // that take as long as an element elsewhere, at least

// sums[x][l] += from[x][l] * weights[l], strides in elements.
template <class T> struct AddProducts {
  CAIRN_INLINE static void run(T* sums, std::int64_t stride, const T* from, std::int64_t from_stride, const T* weights,
                               std::int64_t count, std::int64_t lanes) {
    for (std::int64_t c = 0; c < lanes; c += kVector)
      for (std::int64_t x = 0; x < count; ++x) {
        T* const s = sums + x * stride + c;
        const T *const f = from + x * from_stride + c, *const w = weights + c;
        CAIRN_EACH
        for (std::int64_t l = 0; l < kVector; ++l) s[l] += f[l] * w[l];
      }
  }
};

// sums[l] += the sum of a[x][l] * b[x][l] over x.
template <class T> struct AddDots {
  CAIRN_INLINE static void run(T* sums, std::int64_t a_stride, const T* a, std::int64_t b_stride, const T* b, std::int64_t count,
                               std::int64_t lanes) {
    for (std::int64_t c = 0; c < lanes; c += kVector) {
      T row[kVector] = {};
      for (std::int64_t x = 0; x < count; ++x) {
        const T *const p = a + x * a_stride + c, *const q = b + x * b_stride + c;
        CAIRN_EACH
        for (std::int64_t l = 0; l < kVector; ++l) row[l] += p[l] * q[l];
      }
      for (std::int64_t l = 0; l < kVector; ++l) sums[c + l] += row[l];
    }
  }
};

// Of the two above.
template <class Body, class T>
using RowsLoop = Generations<Body, T*, std::int64_t, const T*, std::int64_t, const T*, std::int64_t, std::int64_t>;

// One side of a convolution, whose channels come to lanes.
template <class T> class Lanes {
public:
  // Lane l reads channel l / each * read + j of this side.
  Lanes(const SpatialView& view, std::int64_t each, std::int64_t read)
      : view_(view), each_(each), read_(read), type_is_own_(view.dtype == (std::is_same_v<T, float> ? DType::f32 : DType::f64)) {}

  // Lanes [first, first + lanes) from now on, and zeros up to `wide`.
  void block(std::int64_t first, std::int64_t lanes, std::int64_t wide) {
    lanes_ = lanes;
    wide_ = wide;
    channel_ = first / each_ * read_;
    channels_ = ((first + lanes - 1) / each_ + 1) * read_ - channel_;
    for (std::int64_t l = 0; l < lanes; ++l) from_[l] = (first + l) / each_ * read_ - channel_;
    direct_ = each_ == 1 && read_ == 1 && type_is_own_ && view_.channel_stride == 1 && lanes == wide;
  }
  // Channel j at positions x, x + step, ... along the last axis; the stride between them is stride().
  const T* at(std::int64_t n, std::int64_t d, std::int64_t h, std::int64_t x, std::int64_t step, std::int64_t count,
              std::int64_t j) {
    if (direct_) {
      stride_ = step * view_.strides[2];
      return reinterpret_cast<const T*>(view_.at(n, d, h, x, channel_));
    }
    stride_ = wide_;
    for (std::int64_t i = 0; i < count; ++i) {
      const char* const from = view_.at(n, d, h, x + i * step, channel_);
      T* const to = staged_ + i * wide_;
      const T* channels = reinterpret_cast<const T*>(from);
      if (!type_is_own_ || view_.channel_stride != 1) {
        load(kComputeOf<T>, channels_staged_, view_.dtype, from, view_.channel_stride, channels_);
        channels = channels_staged_;
      }
      for (std::int64_t l = 0; l < lanes_; ++l) to[l] = channels[from_[l] + j];
      std::fill(to + lanes_, to + wide_, T(0));
    }
    return staged_;
  }
  std::int64_t stride() const { return stride_; }

private:
  const SpatialView& view_;
  const std::int64_t each_, read_;
  const bool type_is_own_;
  bool direct_ = false;
  std::int64_t lanes_ = 0, wide_ = 0, channel_ = 0, channels_ = 0, stride_ = 0;
  std::int64_t from_[kMostLanes];
  alignas(64) T channels_staged_[kMostLanes * kMostInGroup];
  alignas(64) T staged_[kSegment * kMostLanes];
};

// Weights [channels of small, channels of large in a group, ...].
struct GroupWeights {
  const View& view;
  std::int64_t element;
  Sizes strides;
  explicit GroupWeights(const View& v) : view(v), element(bytes_of(v.dtype)), strides(SpatialView(v).strides) {}
  char* at(std::int64_t small, std::int64_t large, const Sizes& k) const {
    return static_cast<char*>(view.data) +
           (small * view.strides[0] + large * view.strides[1] + k[0] * strides[0] + k[1] * strides[1] + k[2] * strides[2]) *
               element;
  }
};

// Positions along the last axis that have something at a tap: from x on, every `step`, and there from `from` on, every
// `from_step`.
struct Along {
  std::int64_t x = 0, from = 0, step = 1, from_step = 1, count = 0;
};

std::int64_t above(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); } // a / b, rounded up

// Positions [begin, end) of small, in large of this size.
Along along_small(const Windows& w, std::int64_t k, std::int64_t begin, std::int64_t end, std::int64_t size) {
  const std::int64_t stride = w.stride[2], shift = k * w.dilation[2] - w.padding[2];
  Along a;
  a.from_step = stride;
  a.x = std::max(begin, above(-shift, stride));
  a.count = std::max<std::int64_t>(0, std::min(end, above(size - shift, stride)) - a.x);
  a.from = a.x * stride + shift;
  return a;
}
// Positions [begin, end) of large, in small of this size.
Along along_large(const Windows& w, std::int64_t k, std::int64_t begin, std::int64_t end, std::int64_t size) {
  const std::int64_t stride = w.stride[2], shift = k * w.dilation[2] - w.padding[2];
  Along a;
  a.step = stride;
  a.from = std::max<std::int64_t>(0, above(begin - shift, stride));
  a.x = a.from * stride + shift;
  a.count = std::max<std::int64_t>(0, std::min(size, above(end - shift, stride)) - a.from);
  return a;
}

// The position on the other side along an axis, or -1.
std::int64_t other_side(const Windows& w, bool to_large, std::size_t axis, std::int64_t at, std::int64_t k, std::int64_t size) {
  const std::int64_t shift = k * w.dilation[axis] - w.padding[axis];
  std::int64_t found = at * w.stride[axis] + shift;
  if (to_large) {
    const std::int64_t from = at - shift;
    found = from < 0 || from % w.stride[axis] != 0 ? -1 : from / w.stride[axis];
  }
  return found < size ? found : -1;
}

std::int64_t taps_of(const Sizes& kernel) { return kernel[0] * kernel[1] * kernel[2]; }
Sizes tap_of(std::int64_t tap, const Sizes& kernel) {
  return {tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1], tap % kernel[2]};
}
std::int64_t wide_of(std::int64_t lanes) { return (lanes + kVector - 1) / kVector * kVector; }

template <class T>
void over_rows(const Convolution& c, const View& to_view, const View& from_view, const View& weights_view, bool to_large,
               const View* bias) {
  const SpatialView to(to_view), from(from_view);
  const GroupWeights weights(weights_view);
  const Windows& w = c.windows;
  const Sizes& kernel = w.kernel;
  const std::int64_t each = to.channels / c.groups, read = from.channels / c.groups, taps = taps_of(kernel);
  const std::int64_t segments = (to.sizes[2] - 1) / kSegment + 1, rows = to.batch * to.sizes[0] * to.sizes[1] * segments;
  const std::int64_t blocks = (to.channels - 1) / kMostLanes + 1;
  const std::int64_t work = std::min(to.sizes[2], kSegment) * std::min(wide_of(to.channels), kMostLanes) * taps * read;
  const bool at_once = taps * read <= kMostWeights;
  const auto pack = [&](std::int64_t tap, std::int64_t count, std::int64_t first, std::int64_t lanes, std::int64_t wide, T* at) {
    for (std::int64_t t = tap; t < tap + count; ++t)
      for (std::int64_t j = 0; j < read; ++j, at += wide) {
        const Sizes k = tap_of(t, kernel);
        for (std::int64_t l = 0; l < lanes; ++l) {
          const std::int64_t channel = first + l, other = channel / each * read + j;
          load(kComputeOf<T>, at + l, weights_view.dtype,
               to_large ? weights.at(other, channel % each, k) : weights.at(channel, j, k), 1, 1);
        }
        std::fill(at + lanes, at + wide, T(0));
      }
  };
  parallel_for(
      blocks * rows, std::max<std::int64_t>(1, kLanesInTime * kElementsInline / work), [&](std::int64_t begin, std::int64_t end) {
        alignas(64) T packed[kMostWeights * kMostLanes], sums[kSegment * kMostLanes], added[kMostLanes] = {};
        Lanes<T> side(from, each, read);
        const auto loop = RowsLoop<AddProducts<T>, T>::chosen();
        std::int64_t packed_block = -1, first = 0, lanes = 0, wide = 0;
        Pace pace;
        for (std::int64_t unit = begin; unit < end; ++unit) {
          if (const std::int64_t block = unit / rows; block != packed_block) {
            packed_block = block;
            first = block * kMostLanes, lanes = std::min(kMostLanes, to.channels - first), wide = wide_of(lanes);
            side.block(first, lanes, wide);
            if (at_once) pack(0, taps, first, lanes, wide, packed);
            if (bias != nullptr)
              load(kComputeOf<T>, added, bias->dtype,
                   static_cast<const char*>(bias->data) + first * bias->strides[0] * bytes_of(bias->dtype), bias->strides[0],
                   lanes);
          }
          std::int64_t row = unit % rows;
          const std::int64_t x0 = row % segments * kSegment, x1 = std::min(x0 + kSegment, to.sizes[2]);
          row /= segments;
          const std::int64_t h = row % to.sizes[1], d = row / to.sizes[1] % to.sizes[0], n = row / to.sizes[1] / to.sizes[0];
          std::fill_n(sums, (x1 - x0) * wide, T(0));
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            const Sizes k = tap_of(tap, kernel);
            const std::int64_t k2 = k[2], fd = other_side(w, to_large, 0, d, k[0], from.sizes[0]),
                               fh = other_side(w, to_large, 1, h, k[1], from.sizes[1]);
            pace.did(2);
            if (fd < 0 || fh < 0) continue;
            if (!at_once && k2 == 0) {
              pack(tap, kernel[2], first, lanes, wide, packed);
              pace.did(kernel[2] * read * wide);
            }
            const Along a = to_large ? along_large(w, k2, x0, x1, from.sizes[2]) : along_small(w, k2, x0, x1, from.sizes[2]);
            if (a.count == 0) continue;
            for (std::int64_t j = 0; j < read; ++j) {
              const T* const values = side.at(n, fd, fh, a.from, a.from_step, a.count, j);
              loop(sums + (a.x - x0) * wide, a.step * wide, values, side.stride(),
                   packed + ((at_once ? tap : k2) * read + j) * wide, a.count, wide);
            }
            pace.did(a.count * wide * read / kLanesInTime);
          }
          for (std::int64_t x = x0; x < x1; ++x) {
            T* const sum = sums + (x - x0) * wide;
            if (bias != nullptr)
              for (std::int64_t l = 0; l < lanes; ++l) sum[l] += added[l];
            store(kComputeOf<T>, sum, to.dtype, to.at(n, d, h, x, first), to.channel_stride, lanes);
          }
        }
      });
}

template <class T>
void over_weights(const Convolution& c, const View& weights_view, const View& small_view, const View& large_view) {
  const SpatialView small(small_view), large(large_view);
  const GroupWeights weights(weights_view);
  const Windows& w = c.windows;
  const Sizes& kernel = w.kernel;
  const std::int64_t each = small.channels / c.groups, read = large.channels / c.groups, taps = taps_of(kernel);
  const std::int64_t blocks = (small.channels - 1) / kMostLanes + 1;
  const std::int64_t work =
      std::max<std::int64_t>(1, small.batch * small.positions()) * std::min(wide_of(small.channels), kMostLanes);
  parallel_for(blocks * taps * read, std::max<std::int64_t>(1, kLanesInTime * kElementsInline / work),
               [&](std::int64_t begin, std::int64_t end) {
                 alignas(64) T sums[kMostLanes];
                 Lanes<T> cotangents(small, 1, 1), values(large, each, read);
                 const auto loop = RowsLoop<AddDots<T>, T>::chosen();
                 Pace pace;
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const std::int64_t j = unit % read, tap = unit / read % taps, first = unit / read / taps * kMostLanes;
                   const Sizes k = tap_of(tap, kernel);
                   const std::int64_t lanes = std::min(kMostLanes, small.channels - first), wide = wide_of(lanes);
                   cotangents.block(first, lanes, wide);
                   values.block(first, lanes, wide);
                   std::fill_n(sums, wide, T(0));
                   for (std::int64_t n = 0; n < small.batch; ++n)
                     for (std::int64_t d = 0; d < small.sizes[0]; ++d) {
                       pace.did(1);
                       const std::int64_t fd = other_side(w, false, 0, d, k[0], large.sizes[0]);
                       if (fd < 0) continue;
                       for (std::int64_t h = 0; h < small.sizes[1]; ++h) {
                         pace.did(2);
                         const std::int64_t fh = other_side(w, false, 1, h, k[1], large.sizes[1]);
                         if (fh < 0) continue;
                         const Along all = along_small(w, k[2], 0, small.sizes[2], large.sizes[2]);
                         for (std::int64_t at = 0; at < all.count; at += kSegment) {
                           const std::int64_t count = std::min(kSegment, all.count - at);
                           const T* const a = cotangents.at(n, d, h, all.x + at, 1, count, 0);
                           const T* const b = values.at(n, fd, fh, all.from + at * all.from_step, all.from_step, count, j);
                           loop(sums, cotangents.stride(), a, values.stride(), b, count, wide);
                           pace.did(count * wide / kLanesInTime);
                         }
                       }
                     }
                   for (std::int64_t l = 0; l < lanes; ++l)
                     store(kComputeOf<T>, sums + l, weights_view.dtype, weights.at(first + l, j, k), 1, 1);
                 }
               });
}

bool by_groups(const Convolution& c, const View& small, const View& large) {
  if (c.groups == 1 || small.elements() == 0 || large.elements() == 0) return false;
  const std::int64_t each = small.shape[1] / c.groups, read = large.shape[1] / c.groups;
  return each * read <= kMostInGroup && c.windows.kernel[2] <= kMostWeights / std::max(each, read);
}

} // namespace

bool convolved_by_groups_to_small(const Convolution& c, const View& small, const View& large, const View& weights,
                                  const View* bias) {
  if (!by_groups(c, small, large)) return false;
  if (compute_of(small.dtype) == Compute::f64)
    over_rows<double>(c, small, large, weights, false, bias);
  else
    over_rows<float>(c, small, large, weights, false, bias);
  return true;
}

bool convolved_by_groups_to_large(const Convolution& c, const View& large, const View& small, const View& weights) {
  if (!by_groups(c, small, large)) return false;
  if (compute_of(large.dtype) == Compute::f64)
    over_rows<double>(c, large, small, weights, true, nullptr);
  else
    over_rows<float>(c, large, small, weights, true, nullptr);
  return true;
}

bool convolved_by_groups_to_weights(const Convolution& c, const View& weights, const View& small, const View& large) {
  if (!by_groups(c, small, large)) return false;
  if (compute_of(weights.dtype) == Compute::f64)
    over_weights<double>(c, weights, small, large);
  else
    over_weights<float>(c, weights, small, large);
  return true;
}

} // namespace cairn::ops::cpu
