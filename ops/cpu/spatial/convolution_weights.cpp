// See convolution_weights.h. A unit of the work is some vectors of channels of the large side and some tiles of the small side,
// with all taps of the window. It goes over the positions of the small side in chunks whose operands, packed, stay in the caches;
// what a chunk sums up is added to what those before it did, so no sum depends on how units are cut or on the threads.
#include "ops/cpu/spatial/convolution_weights.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/spatial/weight_loops.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPositions = 1024;         // of the small side in a chunk
constexpr std::int64_t kMostLines = kPositions;   // of one position each
constexpr std::int64_t kSumBytes = 384 << 10;     // of a unit
constexpr std::int64_t kMostTiles = 16;           // of a unit
constexpr std::int64_t kMostPrefetched = 32;      // lines of the cache of a row of the result
constexpr std::int64_t kWeightProductsInTime = 8; // multiplications that take as long as an element elsewhere, at least
constexpr double kMostElements = 1 << 19;         // of a packed panel, and of the sums of one tile

// Along one axis: where a window looks, in elements of the packed panel and of the operand.
struct Axis {
  std::int64_t step, tap;   // in the panel, from a position to the next, and within the window
  std::int64_t from, every; // in the operand, the panel's first element for position 0, and from one to the next
  std::int64_t kernel;

  Axis(const Windows& w, std::size_t i) : kernel(w.kernel[i]) {
    const bool single = kernel == 1; // only what is looked at is packed
    step = single ? 1 : w.stride[i];
    every = single ? w.stride[i] : 1;
    tap = single ? 1 : w.dilation[i];
    from = -w.padding[i];
  }
  std::int64_t length(std::int64_t positions) const { return (positions - 1) * step + (kernel - 1) * tap + 1; }
  std::int64_t in_operand(std::int64_t position, std::int64_t element) const {
    return from + (position * step + element) * every;
  }
};

template <class T> class WeightGradient {
public:
  WeightGradient(const Convolution& c, const View& weights, const View& small, const View& large)
      : groups_(c.groups), small_(small), large_(large), weights_(weights), deep_(c.windows, 0), high_(c.windows, 1),
        wide_(c.windows, 2) {
    rows_ = small_.channels / groups_;
    columns_ = large_.channels / groups_;
    lines_ = small_.batch * small_.sizes[0] * small_.sizes[1];
    segment_ = std::min(small_.sizes[2], kPositions);
    lines_of_chunk_ = std::min(lines_, kPositions / segment_);
    const std::int64_t pictures = std::min(lines_of_chunk_, (lines_of_chunk_ - 1) / small_.sizes[1] + 2);
    panel_wide_ = wide_.length(segment_);
    taps_ = deep_.kernel * high_.kernel * wide_.kernel;
    // Windows may reach as far as numbers do.
    const auto panel_high = static_cast<double>(lines_of_chunk_ * high_.step + pictures * high_.length(1));
    const double panel = panel_high * static_cast<double>(panel_wide_ * loops_.lanes);
    const double sums = static_cast<double>(taps_) * static_cast<double>(tile());
    possible_ = columns_ * 2 >= loops_.lanes && std::max(panel, sums) <= kMostElements;
    if (!possible_) return;
    panel_ = static_cast<std::int64_t>(panel);
    cut(Workers::current() != nullptr ? Workers::current()->threads() : 1);
  }

  bool possible() const { return possible_; }

  bool run() const {
    const double work = static_cast<double>(tiles_ * vectors_ * taps_ * tile()) * static_cast<double>(lines_ * small_.sizes[2]);
    const auto grain = static_cast<std::int64_t>(std::max(1.0, 16 * kElementsInline / std::max(work, 1.0)));
    std::atomic<bool> done = true;
    parallel_for(units_, grain, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t sums = tiles_ * vectors_ * taps_ * tile(), packed = tiles_ * lines_of_chunk_ * segment_ * loops_.rows;
      const Scratch memory((sums + panel_ + packed) * bytes);
      T* const at = reinterpret_cast<T*>(memory.get());
      if (at == nullptr)
        done = false;
      else
        for (std::int64_t unit = begin; unit < end; ++unit) run_unit(unit, at, at + sums, at + sums + panel_);
    });
    return done;
  }

private:
  // The larger a unit is, the less often operands are packed; but its sums should stay in the caches, and no thread should wait
  // long.
  void cut(std::int64_t threads) {
    const std::int64_t vectors = (columns_ - 1) / loops_.lanes + 1, tiles = (rows_ - 1) / loops_.rows + 1;
    tiles_ = std::min(tiles, kMostTiles);
    vectors_ = vectors;
    const auto count = [&] {
      parts_ = (tiles - 1) / tiles_ + 1;
      units_ = groups_ * parts_ * ((vectors - 1) / vectors_ + 1);
      return units_;
    };
    const auto fits = [&] {
      return tiles_ * vectors_ * taps_ * tile() * bytes <= kSumBytes && (count() % threads == 0 || units_ > 4 * threads);
    };
    while (!fits() && tiles_ * vectors_ > 1) {
      std::int64_t& larger = vectors_ > 1 ? vectors_ : tiles_;
      larger = (larger + 1) / 2;
    }
    count();
  }

  static constexpr std::int64_t bytes = sizeof(T);
  static constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;
  static constexpr DType kType = std::is_same_v<T, float> ? DType::f32 : DType::f64;

  std::int64_t tile() const { return loops_.rows * loops_.lanes; }

  void run_unit(std::int64_t unit, T* sums, T* panel, T* packed) const {
    const std::int64_t part = unit % parts_, group = unit / parts_ % groups_,
                       column = unit / parts_ / groups_ * vectors_ * loops_.lanes;
    const std::int64_t row = part * tiles_ * loops_.rows, m = std::min(tiles_ * loops_.rows, rows_ - row);
    const std::int64_t tiles = (m - 1) / loops_.rows + 1, n = std::min(vectors_ * loops_.lanes, columns_ - column);
    const std::int64_t of_vector = tiles * taps_ * tile();
    Pace pace;
    std::fill_n(sums, ((n - 1) / loops_.lanes + 1) * of_vector, T(0));
    for (std::int64_t first = 0; first < lines_; first += lines_of_chunk_) {
      const std::int64_t lines = std::min(lines_of_chunk_, lines_ - first);
      for (std::int64_t begin = 0; begin < small_.sizes[2]; begin += segment_) {
        const std::int64_t count = std::min(segment_, small_.sizes[2] - begin);
        pack_small(first, lines, begin, count, group * rows_ + row, m, packed);
        for (std::int64_t j = 0; j < n; j += loops_.lanes)
          for (std::int64_t k = 0; k < deep_.kernel; ++k) {
            std::int64_t line_at[kMostLines];
            pack_large(first, lines, begin, count, k, group * columns_ + column + j, std::min(loops_.lanes, n - j), panel,
                       line_at);
            pace.did(panel_);
            const bool last = first + lines == lines_ && begin + count == small_.sizes[2] && k + 1 == deep_.kernel;
            for (std::int64_t i = 0; i < tiles; ++i) {
              T* const of_tile = sums + j / loops_.lanes * of_vector + i * taps_ * tile();
              const std::int64_t out = group * rows_ + row + i * loops_.rows, outs = std::min(loops_.rows, m - i * loops_.rows);
              if (last) prefetch_rows(out, outs, column + j);
              add_products(lines, line_at, count, panel, packed + i * lines * count * loops_.rows,
                           of_tile + k * high_.kernel * wide_.kernel * tile());
              pace.did(lines * count * high_.kernel * wide_.kernel * tile() / kWeightProductsInTime);
              if (!last) continue;
              for (std::int64_t r = 0; r < outs; ++r)
                store_row(of_tile + r * loops_.lanes, out + r, column + j, std::min(loops_.lanes, n - j));
            }
          }
      }
    }
  }

  void add_products(std::int64_t lines, const std::int64_t* line_at, std::int64_t count, const T* panel, const T* packed,
                    T* sums) const {
    for (std::int64_t y = 0; y < high_.kernel; ++y)
      for (std::int64_t x = 0, taps; x < wide_.kernel; x += taps, sums += taps * tile()) {
        const std::int64_t left = wide_.kernel - x;
        taps = left == 4 ? 2 : std::min(left, kMostTaps);
        loops_.by_taps[taps - 1](line_at, lines, count, panel + (y * high_.tap * panel_wide_ + x * wide_.tap) * loops_.lanes,
                                 wide_.step * loops_.lanes, wide_.tap * loops_.lanes, packed, sums);
      }
  }

  // [tiles, lines, count, rows of a tile], missing rows 0.
  void pack_small(std::int64_t first, std::int64_t lines, std::int64_t begin, std::int64_t count, std::int64_t channel,
                  std::int64_t m, T* to) const {
    const std::int64_t whole = m / loops_.rows, next = lines * count * loops_.rows;
    for (std::int64_t line = first; line < first + lines; ++line, to += count * loops_.rows) {
      const std::int64_t high = line % small_.sizes[1], deep = line / small_.sizes[1] % small_.sizes[0];
      const auto pack_tiles = [&](std::int64_t tile, std::int64_t tiles, std::int64_t n) {
        pack(small_, line / small_.sizes[1] / small_.sizes[0], deep, high, begin, 1, channel + tile * loops_.rows, count, n,
             loops_.rows, loops_.copy_rows, to + tile * next, tiles, next);
      };
      pack_tiles(0, whole, loops_.rows);
      if (m % loops_.rows != 0) pack_tiles(whole, 1, m % loops_.rows);
    }
  }

  // The lines of `large` that windows at the lines of a chunk look at, each once for each picture, and where in the panel the
  // first is that belongs to each line of the chunk. Missing elements are 0.
  void pack_large(std::int64_t first, std::int64_t lines, std::int64_t begin, std::int64_t count, std::int64_t k,
                  std::int64_t channel, std::int64_t n, T* panel, std::int64_t* line_at) const {
    T* to = panel;
    for (std::int64_t i = 0; i < lines;) {
      const std::int64_t high = (first + i) % small_.sizes[1], picture = (first + i) / small_.sizes[1];
      const std::int64_t of_picture = std::min(lines - i, small_.sizes[1] - high);
      for (std::int64_t j = 0; j < of_picture; ++j) line_at[i + j] = to - panel + j * high_.step * panel_wide_ * loops_.lanes;
      i += of_picture;
      const std::int64_t z = deep_.in_operand(picture % small_.sizes[0], k * deep_.tap);
      for (std::int64_t line = 0; line < high_.length(of_picture); ++line, to += panel_wide_ * loops_.lanes) {
        const std::int64_t y = high_.in_operand(high, line);
        if (z < 0 || z >= large_.sizes[0] || y < 0 || y >= large_.sizes[1])
          std::fill_n(to, panel_wide_ * loops_.lanes, T(0));
        else
          pack_line(picture / small_.sizes[0], z, y, begin, wide_.length(count), channel, n, to);
      }
    }
  }
  void pack_line(std::int64_t picture, std::int64_t z, std::int64_t y, std::int64_t begin, std::int64_t length,
                 std::int64_t channel, std::int64_t n, T* to) const {
    std::int64_t inside = 0, end = length; // [inside, end) is in the operand
    while (inside < length && wide_.in_operand(begin, inside) < 0) ++inside;
    while (end > inside && wide_.in_operand(begin, end - 1) >= large_.sizes[2]) --end;
    std::fill_n(to, inside * loops_.lanes, T(0));
    if (inside < end)
      pack(large_, picture, z, y, wide_.in_operand(begin, inside), wide_.every, channel, end - inside, n, loops_.lanes,
           loops_.copy_lanes, to + inside * loops_.lanes, 1, 0);
    std::fill_n(to + end * loops_.lanes, (length - end) * loops_.lanes, T(0));
  }

  // [tiles, count, width], `next` elements from one tile to the next: n channels, for each of the tiles, of positions of a line,
  // from x on, `every` apart.
  void pack(const SpatialView& from, std::int64_t picture, std::int64_t z, std::int64_t y, std::int64_t x, std::int64_t every,
            std::int64_t channel, std::int64_t count, std::int64_t n, std::int64_t width, typename WeightLoops<T>::Copy copy,
            T* to, std::int64_t tiles, std::int64_t next) const {
    const char* data = from.at(picture, z, y, x, channel);
    const std::int64_t stride = every * from.strides[2];
    if (n == width && from.channel_stride == 1 && from.dtype == kType)
      return copy(reinterpret_cast<const T*>(data), stride, count, tiles, to, next);
    for (std::int64_t i = 0; i < count; ++i, to += width, data += stride * from.element)
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        load(kCompute, to + tile * next, from.dtype, data + tile * width * from.channel_stride * from.element,
             from.channel_stride, n);
        std::fill_n(to + tile * next + n, width - n, T(0));
      }
  }

  // Of one channel of the small side: n channels at each tap of the window, as the sums lie.
  void store_row(const T* sums, std::int64_t out, std::int64_t in, std::int64_t n) const {
    const bool plain = weights_.dtype == kType && n == loops_.lanes;
    for (std::int64_t z = 0; z < deep_.kernel; ++z)
      for (std::int64_t y = 0; y < high_.kernel; ++y)
        for (std::int64_t x = 0; x < wide_.kernel; ++x, sums += tile()) {
          char* const to = weights_.at(out, z, y, x, in);
          if (plain)
            loops_.spread_lanes(sums, reinterpret_cast<T*>(to), weights_.channel_stride);
          else
            store(kCompute, sums, weights_.dtype, to, weights_.channel_stride, n);
        }
  }

  // What is about to be written is in the caches of nobody.
  void prefetch_rows(std::int64_t out, std::int64_t rows, std::int64_t in) const {
    constexpr std::int64_t line = 64;
    const std::int64_t length = loops_.lanes * weights_.channel_stride * weights_.element;
    if (length > kMostPrefetched * line) return;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t at = 0; at < length; at += line) __builtin_prefetch(weights_.at(out + i, 0, 0, 0, in) + at, 1);
  }

  const WeightLoops<T>& loops_ = weight_loops<T>();
  std::int64_t groups_;
  SpatialView small_, large_, weights_; // of the weights, batch and channels are those of both sides
  Axis deep_, high_, wide_;
  std::int64_t rows_, columns_; // channels of a group
  std::int64_t lines_;          // of the small side: innermost axes, one after the other
  std::int64_t segment_;        // positions of a line that a chunk has at most
  std::int64_t lines_of_chunk_;
  bool possible_;
  std::int64_t panel_wide_, panel_ = 0;  // positions of a line in the panel, and elements of all
  std::int64_t taps_;                    // of the window
  std::int64_t tiles_ = 0, vectors_ = 0; // of a unit
  std::int64_t parts_ = 0, units_ = 0;   // units of all tiles, and all
};

} // namespace

bool convolved_to_weights(const Convolution& c, const View& weights, const View& small, const View& large) {
  if (weights.elements() == 0 || small.elements() == 0) return false;
  const auto by = [&](const auto& gradient) { return gradient.possible() && gradient.run(); };
  return compute_of(weights.dtype) == Compute::f64 ? by(WeightGradient<double>(c, weights, small, large))
                                                   : by(WeightGradient<float>(c, weights, small, large));
}

} // namespace cairn::ops::cpu
