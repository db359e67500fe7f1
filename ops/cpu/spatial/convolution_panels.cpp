// See convolution_panels.h. The result's gradient by what is large is the convolution of the cotangent with windows turned by
// half a circle, so both are one: from `x`, to `y`. Lines of x are packed channel by channel, with the padding, so that the
// positions of a tile lie side by side. A unit of the work is a panel of weights, two vectors of channels of y wide, and some
// lines of y. Sums go over channels in chunks, over rows of the window, channels and columns of the window: in one order, however
// units are cut.
#include "ops/cpu/spatial/convolution_panels.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/spatial/convolution_library.h"
#include "ops/cpu/spatial/panel_loops.h"
#include "ops/squares.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPanelBytes = 448 << 10;  // of a chunk of channels, in the second cache
constexpr std::int64_t kMostRows = 64;           // of a window: depths times heights
constexpr std::int64_t kMostWindowTaps = 512;    // of a window
constexpr std::int64_t kPanelProductsInTime = 8; // multiplications that take as long as an element elsewhere, at least
constexpr double kMostPacked = 1 << 24;          // elements of x, with their padding
constexpr double kLeastForThreads = 1 << 19;     // multiplications

template <class T> class ByPanels {
public:
  ByPanels(const Convolution& c, bool turned, const View& y, const View& x, const View& weights, const View* bias)
      : groups_(c.groups), turned_(turned), y_(y), x_(x), weights_(weights), bias_(bias), kernel_(c.windows.kernel),
        dilation_(c.windows.dilation), padding_(c.windows.padding) {
    outs_ = y_.channels / groups_;
    depth_ = x_.channels / groups_;
    taps_ = kernel_[0] * kernel_[1] * kernel_[2];
    possible_ = outs_ * 8 >= loops_.channels && kernel_[0] * kernel_[1] <= kMostRows && taps_ <= kMostWindowTaps &&
                y_.batch > 0 && y_.positions() > 0 && depth_ > 0 && x_.positions() > 0;
    for (std::size_t i = 0; i < kMostSpatial; ++i) {
      if (turned_) padding_[i] = dilation_[i] * (kernel_[i] - 1) - padding_[i];
      possible_ = possible_ && c.windows.stride[i] == 1 && padding_[i] >= 0;
    }
    wide_ = x_.sizes[2] + 2 * padding_[2];
    lines_ = y_.batch * y_.sizes[0] * y_.sizes[1];
    const double packed =
        static_cast<double>(x_.batch * x_.sizes[0] * x_.sizes[1]) * static_cast<double>(x_.channels) * static_cast<double>(wide_);
    work_ =
        static_cast<double>(lines_ * y_.sizes[2] * outs_) * static_cast<double>(depth_ * taps_) * static_cast<double>(groups_);
    const bool worth =
        work_ < kLeastForLibrary || (outs_ * 2 >= loops_.channels && weights.elements() >= y.elements() + x.elements());
    possible_ = possible_ && packed <= kMostPacked && worth;
  }
  bool possible() const { return possible_; }

  bool run() {
    const std::int64_t lines = x_.batch * x_.sizes[0] * x_.sizes[1], of_line = x_.channels * wide_;
    const Scratch packed(lines * of_line * bytes);
    if (packed.get() == nullptr) return false;
    T* const to = reinterpret_cast<T*>(packed.get());
    parallel_for(lines, std::max<std::int64_t>(1, kElementsInline / of_line), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) pack_line(line, to + line * of_line);
    });
    packed_ = to;
    cut();
    std::atomic<bool> done = true;
    parallel_for(groups_ * panels_ * parts_, work_ < kLeastForThreads ? groups_ * panels_ : 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t summed = chunks_ == 1 ? tile_ : ((lines_ - 1) / parts_ + 1) * tiles_ * tile_;
                   const Scratch memory((chunk_ * taps_ + summed) * loops_.channels * bytes);
                   T* const at = reinterpret_cast<T*>(memory.get());
                   if (at == nullptr)
                     done = false;
                   else
                     for (std::int64_t unit = begin; unit < end; ++unit)
                       run_unit(unit, at, at + chunk_ * taps_ * loops_.channels);
                 });
    return done;
  }

private:
  static constexpr std::int64_t bytes = sizeof(T);
  static constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;
  static constexpr DType kType = std::is_same_v<T, float> ? DType::f32 : DType::f64;

  void cut() {
    const bool shared = work_ >= kLeastForThreads && Workers::current() != nullptr;
    const std::int64_t threads = shared ? Workers::current()->threads() : 1;
    panels_ = (outs_ - 1) / loops_.channels + 1;
    parts_ = 1;
    while (groups_ * panels_ * parts_ % threads != 0 && groups_ * panels_ * parts_ < 4 * threads && parts_ < lines_) ++parts_;
    const std::int64_t most = std::max<std::int64_t>(1, kPanelBytes / (taps_ * loops_.channels * bytes));
    chunks_ = (depth_ - 1) / most + 1;
    chunk_ = (depth_ - 1) / chunks_ + 1;
    const std::int64_t wide = y_.sizes[2];
    tiles_ = (wide - 1) / loops_.positions + 1;
    tile_ = (wide - 1) / tiles_ + 1; // the last one overlaps the one before it
  }

  void pack_line(std::int64_t line, T* to) const {
    const char* const from = x_.at(line / x_.sizes[1] / x_.sizes[0], line / x_.sizes[1] % x_.sizes[0], line % x_.sizes[1], 0);
    const std::int64_t pad = padding_[2], n = x_.sizes[2];
    if (pad != 0) std::fill_n(to, x_.channels * wide_, T(0));
    if (x_.dtype == kType && x_.channel_stride == 1)
      across_rows(reinterpret_cast<const T*>(from), x_.strides[2], n, x_.channels,
                  [at = to + pad - wide_, this]() mutable { return at += wide_; });
    else
      for (std::int64_t i = 0; i < x_.channels; ++i)
        load(kCompute, to + i * wide_ + pad, x_.dtype, from + i * x_.channel_stride * x_.element, x_.strides[2], n);
  }

  // [rows of the window, chunk, columns of the window, channels of y]
  void pack_weights(std::int64_t group, std::int64_t out, std::int64_t outs, std::int64_t first, std::int64_t count,
                    T* to) const {
    const std::int64_t columns = kernel_[2], across = loops_.channels;
    const T* const from = static_cast<const T*>(weights_.data);
    if (outs < across) std::fill_n(to, count * taps_ * across, T(0));
    std::int64_t offsets[kMostWindowTaps]; // of channel 0
    for (std::int64_t k = 0; k < taps_; ++k) {
      const std::int64_t there = turned_ ? taps_ - 1 - k : k;
      offsets[k] = (there / columns * count * columns + there % columns) * across;
    }
    if (turned_) { // [channels of x, channels of y, taps]
      for (std::int64_t i = 0; i < count; ++i) {
        const T* const rows = from + ((group * depth_ + first + i) * outs_ + out) * taps_;
        for (std::int64_t k = 0; k < outs * taps_; k += 64 / bytes) __builtin_prefetch(rows + 2 * outs_ * taps_ + k);
        across_rows(rows, taps_, outs, taps_, [&, k = 0]() mutable { return to + i * columns * across + offsets[k++]; });
      }
      return;
    }
    across_rows(from + ((group * outs_ + out) * depth_ + first) * taps_, depth_ * taps_, outs, count * taps_,
                [&, channel = to, k = std::int64_t(0)]() mutable {
                  T* const at = channel + offsets[k];
                  if (++k == taps_) {
                    k = 0;
                    channel += columns * across;
                  }
                  return at;
                });
  }

  void run_unit(std::int64_t unit, T* panel, T* sums) const {
    const std::int64_t group = unit % groups_, out = unit / groups_ % panels_ * loops_.channels, part = unit / groups_ / panels_;
    const std::int64_t outs = std::min(loops_.channels, outs_ - out), begin = lines_ * part / parts_,
                       end = lines_ * (part + 1) / parts_;
    Pace pace;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const std::int64_t first = chunk * chunk_, count = std::min(chunk_, depth_ - first);
      if (count <= 0) continue;
      const bool last = first + count == depth_;
      pack_weights(group, out, outs, first, count, panel);
      for (std::int64_t line = begin; line < end; ++line) {
        const T* x[kMostRows];
        const T* w[kMostRows];
        const std::int64_t rows = rows_of_window(line, group * depth_ + first, count, panel, x, w);
        T* of_tile = chunks_ == 1 ? sums : sums + (line - begin) * tiles_ * tile_ * loops_.channels;
        for (std::int64_t tile = 0; tile < tiles_; ++tile) {
          const std::int64_t at = std::min(tile * tile_, y_.sizes[2] - tile_);
          const T* here[kMostRows];
          for (std::int64_t r = 0; r < rows; ++r) here[r] = x[r] + at;
          loops_.by_positions[tile_](here, w, rows, count, wide_, kernel_[2], dilation_[2], chunk == 0, of_tile);
          if (last) put(line, at, group * outs_ + out, outs, of_tile);
          if (chunks_ != 1) of_tile += tile_ * loops_.channels;
          pace.did(tile_ * loops_.channels * count * rows * kernel_[2] / kPanelProductsInTime + tile_ * loops_.channels);
        }
      }
    }
  }

  // Where the rows of the window of a line of y are, those that are not in the padding.
  std::int64_t rows_of_window(std::int64_t line, std::int64_t channel, std::int64_t count, const T* panel, const T** x,
                              const T** w) const {
    const std::int64_t n = line / y_.sizes[1] / y_.sizes[0], d = line / y_.sizes[1] % y_.sizes[0], h = line % y_.sizes[1];
    std::int64_t rows = 0;
    for (std::int64_t kd = 0; kd < kernel_[0]; ++kd)
      for (std::int64_t kh = 0; kh < kernel_[1]; ++kh) {
        const std::int64_t from_d = d - padding_[0] + kd * dilation_[0], from_h = h - padding_[1] + kh * dilation_[1];
        if (from_d < 0 || from_d >= x_.sizes[0] || from_h < 0 || from_h >= x_.sizes[1]) continue;
        x[rows] = packed_ + (((n * x_.sizes[0] + from_d) * x_.sizes[1] + from_h) * x_.channels + channel) * wide_;
        w[rows] = panel + (kd * kernel_[1] + kh) * count * kernel_[2] * loops_.channels;
        ++rows;
      }
    return rows;
  }

  void put(std::int64_t line, std::int64_t at, std::int64_t channel, std::int64_t outs, T* sums) const {
    if (bias_ != nullptr) {
      T added[kMostAcross];
      load(kCompute, added, bias_->dtype,
           static_cast<const char*>(bias_->data) + channel * bias_->strides[0] * bytes_of(bias_->dtype), bias_->strides[0], outs);
      for (std::int64_t p = 0; p < tile_; ++p)
        for (std::int64_t o = 0; o < outs; ++o) sums[p * loops_.channels + o] += added[o];
    }
    const std::int64_t n = line / y_.sizes[1] / y_.sizes[0], d = line / y_.sizes[1] % y_.sizes[0], h = line % y_.sizes[1];
    for (std::int64_t p = 0; p < tile_; ++p) {
      char* const to = y_.at(n, d, h, at + p, channel);
      if (y_.dtype == kType && y_.channel_stride == 1)
        std::copy_n(sums + p * loops_.channels, outs, reinterpret_cast<T*>(to));
      else
        store(kCompute, sums + p * loops_.channels, y_.dtype, to, y_.channel_stride, outs);
    }
  }

  static constexpr std::int64_t kMostAcross = 2 * 64 / sizeof(T);
  const std::int64_t groups_;
  const bool turned_;
  const SpatialView y_, x_;
  const View& weights_;
  const View* const bias_;
  const Sizes kernel_, dilation_;
  Sizes padding_;
  const PanelLoops<T>& loops_ = panel_loops<T>();
  std::int64_t outs_ = 0, depth_ = 0, taps_ = 0, wide_ = 0, lines_ = 0;
  std::int64_t panels_ = 0, parts_ = 0, chunks_ = 0, chunk_ = 0, tiles_ = 0, tile_ = 0;
  const T* packed_ = nullptr;
  double work_ = 0; // multiplications
  bool possible_ = false;
};

bool dense(const View& v) {
  std::int64_t stride = 1;
  for (int i = v.shape.rank(); i-- > 0; stride *= v.shape[i])
    if (v.shape[i] != 1 && v.strides[static_cast<std::size_t>(i)] != stride) return false;
  return true;
}

bool convolved(const Convolution& c, bool turned, const View& y, const View& x, const View& weights, const View* bias) {
  if (!dense(weights) || weights.dtype != y.dtype) return false;
  if (y.dtype == DType::f32) {
    ByPanels<float> panels(c, turned, y, x, weights, bias);
    return panels.possible() && panels.run();
  }
  if (y.dtype == DType::f64) {
    ByPanels<double> panels(c, turned, y, x, weights, bias);
    return panels.possible() && panels.run();
  }
  return false;
}

} // namespace

bool convolved_by_panels_to_small(const Convolution& c, const View& small, const View& large, const View& weights,
                                  const View* bias) {
  return convolved(c, false, small, large, weights, bias);
}

bool convolved_by_panels_to_large(const Convolution& c, const View& large, const View& small, const View& weights) {
  return convolved(c, true, large, small, weights, nullptr);
}

} // namespace cairn::ops::cpu
