// See convolution.h. Every convolution is a product of matrices one of which is gathered from windows while it is packed: nothing
// is unfolded into memory. Tiles of the result are computed by one thread each, with their sums in one order.
#include "ops/cpu/spatial/convolution.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/matrices/gemm_loops.h"
#include "ops/cpu/matrices/matmul.h"
#include "ops/cpu/spatial/convolution_groups.h"
#include "ops/cpu/spatial/convolution_library.h"
#include "ops/cpu/spatial/convolution_panels.h"
#include "ops/cpu/spatial/convolution_weights.h"

#include <algorithm>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kProductsInTime = 4; // multiplications that take as long as an element elsewhere, at least
constexpr std::int64_t kTileRows = 10 * kRows, kTileColumns = 96, kDepth = 128; // packed, 200 KiB of stack in double

// Weights as a matrix for each tap of a window: strides in elements.
struct Weights {
  char* data;
  DType dtype;
  std::int64_t element, out, in; // strides
  Sizes strides{0, 0, 0};

  explicit Weights(const View& v) : data(static_cast<char*>(v.data)), dtype(v.dtype), element(bytes_of(v.dtype)) {
    const SpatialView spatial(v);
    out = spatial.batch_stride;
    in = spatial.channel_stride;
    strides = spatial.strides;
  }
  char* at(std::int64_t o, std::int64_t i, const Sizes& k) const {
    return data + (o * out + i * in + k[0] * strides[0] + k[1] * strides[1] + k[2] * strides[2]) * element;
  }
};

struct Position {
  std::int64_t n;
  Sizes at;
};

Position position(std::int64_t index, const Sizes& sizes) {
  Position p;
  for (std::size_t i = kMostSpatial; i-- > 0;) {
    p.at[i] = index % sizes[i];
    index /= sizes[i];
  }
  p.n = index;
  return p;
}

Sizes tap_at(std::int64_t index, const Sizes& kernel) { return position(index, kernel).at; }

// Where a tap of the window at a position of `small` is in `large`.
bool forward(const Windows& w, const Sizes& small, const Sizes& k, const Sizes& sizes, Sizes& large) {
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    large[i] = small[i] * w.stride[i] - w.padding[i] + k[i] * w.dilation[i];
    if (large[i] < 0 || large[i] >= sizes[i]) return false;
  }
  return true;
}

// Which window has a position of `large` at this tap, if any.
bool backward(const Windows& w, const Sizes& large, const Sizes& k, const Sizes& sizes, Sizes& small) {
  for (std::size_t i = 0; i < kMostSpatial; ++i) {
    const std::int64_t from = large[i] + w.padding[i] - k[i] * w.dilation[i];
    if (from < 0 || from % w.stride[i] != 0) return false;
    small[i] = from / w.stride[i];
    if (small[i] >= sizes[i]) return false;
  }
  return true;
}

template <class T> constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;

template <class T> struct Tile {
  alignas(64) T sums[kTileRows * kTileColumns];
  alignas(64) T a[kTileRows * kDepth];
  alignas(64) T b[kTileColumns * kDepth];
  alignas(64) T staged[kDepth];
  const GemmLoop<T> loop = gemm_loop<T>();
  std::int64_t rows = 0, panels_a = 0, panels_b = 0, wide = 0;

  void start(std::int64_t m, std::int64_t n) {
    rows = m;
    panels_a = (m - 1) / kRows + 1;
    panels_b = (n - 1) / kColumns<T> + 1;
    wide = panels_b * kColumns<T>;
    std::fill_n(sums, panels_a * kRows * wide, T(0));
  }
  // Row i of a: elements beside each other along the depth, or zeros.
  void row_of_a(std::int64_t i, std::int64_t depth, DType type, const char* from, std::int64_t stride) {
    T* to = a + i / kRows * kRows * depth + i % kRows;
    if (from == nullptr) {
      for (std::int64_t p = 0; p < depth; ++p) to[p * kRows] = T(0);
      return;
    }
    load(kCompute<T>, staged, type, from, stride, depth);
    for (std::int64_t p = 0; p < depth; ++p) to[p * kRows] = staged[p];
  }
  // Row p of a panel matrix, `count` elements, across panels of `panel` elements each.
  void row_across(T* to, std::int64_t panel, std::int64_t p, std::int64_t depth, std::int64_t count, DType type, const char* from,
                  std::int64_t stride) {
    for (std::int64_t j = 0; j < count; j += panel) {
      T* const packed = to + j * depth + p * panel;
      const std::int64_t n = std::min(panel, count - j);
      if (n < panel || from == nullptr) std::fill_n(packed, panel, T(0));
      if (from != nullptr) load(kCompute<T>, packed, type, from + j * stride * bytes_of(type), stride, n);
    }
  }
  void multiply(std::int64_t depth) {
    for (std::int64_t i = rows; i < panels_a * kRows; ++i) row_of_a(i, depth, DType::f32, nullptr, 0);
    multiply_packed(depth);
  }
  void multiply_packed(std::int64_t depth) {
    for (std::int64_t j = 0; j < panels_b; ++j)
      for (std::int64_t i = 0; i < panels_a; ++i)
        loop(depth, a + i * kRows * depth, b + j * kColumns<T> * depth, sums + i * kRows * wide + j * kColumns<T>, wide);
  }
};

using Find = bool (*)(const Windows&, const Sizes&, const Sizes&, const Sizes&, Sizes&);

// Products over positions of `to`: its rows are those of `from` that windows lead to, times weights.
template <class T>
void over_positions(const Convolution& c, const View& to_view, const View& from_view, const View& weights_view, Find find,
                    bool to_large, const View* bias) {
  const SpatialView to(to_view), from(from_view);
  const Weights weights(weights_view);
  const Sizes& kernel = c.windows.kernel;
  const std::int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const std::int64_t rows = to.batch * to.positions(), columns = to.channels / c.groups, depth = from.channels / c.groups;
  if (rows == 0 || columns == 0) return;
  const std::int64_t tiles_m = (rows - 1) / kTileRows + 1, tiles_n = (columns - 1) / kTileColumns + 1;
  const std::int64_t work = std::min(rows, kTileRows) * std::min(columns, kTileColumns) * std::max<std::int64_t>(1, depth * taps);
  parallel_for(tiles_m * tiles_n * c.groups, std::max<std::int64_t>(1, 16 * kElementsInline / work),
               [&](std::int64_t begin, std::int64_t end) {
                 Tile<T> tile;
                 const char* sources[kTileRows];
                 Position targets[kTileRows];
                 Pace pace;
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const std::int64_t group = unit % c.groups, column = unit / c.groups % tiles_n * kTileColumns;
                   const std::int64_t row = unit / c.groups / tiles_n * kTileRows;
                   const std::int64_t m = std::min(kTileRows, rows - row), n = std::min(kTileColumns, columns - column);
                   tile.start(m, n);
                   for (std::int64_t i = 0; i < m; ++i) targets[i] = position(row + i, to.sizes);
                   for (std::int64_t tap = 0; tap < taps; ++tap) {
                     const Sizes k = tap_at(tap, kernel);
                     bool any = false;
                     for (std::int64_t i = 0; i < m; ++i) {
                       Sizes at;
                       const bool there = find(c.windows, targets[i].at, k, from.sizes, at);
                       sources[i] = there ? from.at(targets[i].n, at[0], at[1], at[2], group * depth) : nullptr;
                       any = any || there;
                     }
                     pace.did(8 * m);
                     if (!any) continue;
                     for (std::int64_t p = 0; p < depth; p += kDepth) {
                       const std::int64_t deep = std::min(kDepth, depth - p);
                       for (std::int64_t i = 0; i < m; ++i)
                         tile.row_of_a(i, deep, from.dtype,
                                       sources[i] == nullptr ? nullptr : sources[i] + p * from.channel_stride * from.element,
                                       from.channel_stride);
                       for (std::int64_t q = 0; q < deep; ++q) {
                         if (to_large) // weights [channels of from, channels of to in the group]
                           tile.row_across(tile.b, kColumns<T>, q, deep, n, weights.dtype,
                                           weights.at(group * depth + p + q, column, k), weights.in);
                         else
                           tile.row_across(tile.b, kColumns<T>, q, deep, n, weights.dtype,
                                           weights.at(group * columns + column, p + q, k), weights.out);
                       }
                       tile.multiply(deep);
                       pace.did(m * n * deep / kProductsInTime + (m + n) * deep);
                     }
                   }
                   const std::int64_t channel = group * columns + column;
                   if (bias != nullptr) {
                     T added[kTileColumns];
                     load(kCompute<T>, added, bias->dtype,
                          static_cast<const char*>(bias->data) + channel * bias->strides[0] * bytes_of(bias->dtype),
                          bias->strides[0], n);
                     for (std::int64_t i = 0; i < m; ++i)
                       for (std::int64_t j = 0; j < n; ++j) tile.sums[i * tile.wide + j] += added[j];
                   }
                   for (std::int64_t i = 0; i < m; ++i) {
                     const Sizes& at = targets[i].at;
                     store(kCompute<T>, tile.sums + i * tile.wide, to.dtype, to.at(targets[i].n, at[0], at[1], at[2], channel),
                           to.channel_stride, n);
                   }
                 }
               });
}

// Weights: for each tap of a window, the product of both sides over all positions.
template <class T>
void over_taps(const Convolution& c, const View& weights_view, const View& small_view, const View& large_view) {
  const SpatialView small(small_view), large(large_view);
  const Weights weights(weights_view);
  const Sizes& kernel = c.windows.kernel;
  const std::int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const std::int64_t rows = small.channels / c.groups, columns = large.channels / c.groups;
  const std::int64_t depth = small.batch * small.positions();
  if (rows == 0 || columns == 0) return;
  const std::int64_t tiles_m = (rows - 1) / kTileRows + 1, tiles_n = (columns - 1) / kTileColumns + 1;
  const std::int64_t work = std::min(rows, kTileRows) * std::min(columns, kTileColumns) * std::max<std::int64_t>(1, depth);
  parallel_for(tiles_m * tiles_n * c.groups * taps, std::max<std::int64_t>(1, 16 * kElementsInline / work),
               [&](std::int64_t begin, std::int64_t end) {
                 Tile<T> tile;
                 Pace pace;
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const Sizes k = tap_at(unit % taps, kernel);
                   const std::int64_t tile_index = unit / taps;
                   const std::int64_t group = tile_index % c.groups, column = tile_index / c.groups % tiles_n * kTileColumns;
                   const std::int64_t row = tile_index / c.groups / tiles_n * kTileRows;
                   const std::int64_t m = std::min(kTileRows, rows - row), n = std::min(kTileColumns, columns - column);
                   tile.start(m, n);
                   for (std::int64_t p = 0; p < depth; p += kDepth) {
                     const std::int64_t deep = std::min(kDepth, depth - p);
                     for (std::int64_t q = 0; q < deep; ++q) {
                       const Position from = position(p + q, small.sizes);
                       Sizes at;
                       const bool there = forward(c.windows, from.at, k, large.sizes, at);
                       tile.row_across(tile.a, kRows, q, deep, m, small.dtype,
                                       small.at(from.n, from.at[0], from.at[1], from.at[2], group * rows + row),
                                       small.channel_stride);
                       tile.row_across(tile.b, kColumns<T>, q, deep, n, large.dtype,
                                       there ? large.at(from.n, at[0], at[1], at[2], group * columns + column) : nullptr,
                                       large.channel_stride);
                     }
                     tile.multiply_packed(deep);
                     pace.did(m * n * deep / kProductsInTime + (m + n) * deep);
                   }
                   for (std::int64_t i = 0; i < m; ++i)
                     store(kCompute<T>, tile.sums + i * tile.wide, weights.dtype, weights.at(group * rows + row + i, column, k),
                           weights.in, n);
                 }
               });
}

// Windows of one tap at every position are a product of matrices: rows are positions, which have to lie behind each other.
bool is_product(const Convolution& c) {
  const Windows& w = c.windows;
  bool product = c.groups == 1;
  for (std::size_t i = 0; i < kMostSpatial; ++i) product = product && w.kernel[i] == 1 && w.stride[i] == 1 && w.padding[i] == 0;
  return product;
}

View matrix(const View& like, std::int64_t rows, std::int64_t columns) {
  View m = like;
  m.shape = Shape{rows, columns};
  m.strides = {columns, 1};
  return m;
}

View transposed(View m) {
  m.shape = Shape{m.shape[1], m.shape[0]};
  std::swap(m.strides[0], m.strides[1]);
  return m;
}

bool is_rows(const View& v) {
  std::int64_t stride = v.shape[1];
  if (v.shape[1] != 1 && v.strides[1] != 1) return false;
  for (int i = v.shape.rank(); i-- > 0;) {
    if (i == 1) continue;
    if (v.shape[i] != 1 && v.strides[static_cast<std::size_t>(i)] != stride) return false;
    stride *= v.shape[i];
  }
  return true;
}

struct Product {
  bool possible;
  View small, large, weights;

  Product(const Convolution& c, const View& s, const View& l, const View& w)
      : possible(is_product(c) && is_rows(s) && is_rows(l) && w.strides[1] == 1 && w.strides[0] == w.shape[1] &&
                 s.elements() != 0 && l.elements() != 0) {
    if (!possible) return;
    small = matrix(s, s.elements() / s.shape[1], s.shape[1]);
    large = matrix(l, l.elements() / l.shape[1], l.shape[1]);
    weights = matrix(w, w.shape[0], w.shape[1]);
  }
};

// Each channel by itself: libraries are good at that. Other thin groups they multiply as matrices, behind copies of the windows.
bool is_alone(const Convolution& c, const View& small, const View& large) {
  return small.shape[1] == c.groups && large.shape[1] == c.groups;
}

} // namespace

void convolve_to_small(const Convolution& c, const View& small, const View& large, const View& weights, const View* bias) {
  if (const Product p(c, small, large, weights); p.possible && bias == nullptr)
    return matmul(p.small, p.large, transposed(p.weights));
  if (convolved_by_panels_to_small(c, small, large, weights, bias)) return;
  if (!is_alone(c, small, large) && convolved_by_groups_to_small(c, small, large, weights, bias)) return;
  if (convolved_by_library(CAIRN_MATH_TO_SMALL, c, small, large, weights, bias)) return;
  if (convolved_by_groups_to_small(c, small, large, weights, bias)) return;
  if (compute_of(small.dtype) == Compute::f64)
    over_positions<double>(c, small, large, weights, forward, false, bias);
  else
    over_positions<float>(c, small, large, weights, forward, false, bias);
}

void convolve_to_large(const Convolution& c, const View& large, const View& small, const View& weights) {
  if (const Product p(c, small, large, weights); p.possible) return matmul(p.large, p.small, p.weights);
  if (convolved_by_panels_to_large(c, large, small, weights)) return;
  if (!is_alone(c, small, large) && convolved_by_groups_to_large(c, large, small, weights)) return;
  if (convolved_by_library(CAIRN_MATH_TO_LARGE, c, small, large, weights, nullptr)) return;
  if (convolved_by_groups_to_large(c, large, small, weights)) return;
  if (compute_of(large.dtype) == Compute::f64)
    over_positions<double>(c, large, small, weights, backward, true, nullptr);
  else
    over_positions<float>(c, large, small, weights, backward, true, nullptr);
}

void convolve_to_weights(const Convolution& c, const View& weights, const View& small, const View& large) {
  if (const Product p(c, small, large, weights); p.possible) return matmul(p.weights, transposed(p.small), p.large);
  if (convolved_to_weights(c, weights, small, large)) return;
  if (!is_alone(c, small, large) && convolved_by_groups_to_weights(c, weights, small, large)) return;
  if (convolved_by_library(CAIRN_MATH_TO_WEIGHTS, c, small, large, weights, nullptr)) return;
  if (convolved_by_groups_to_weights(c, weights, small, large)) return;
  if (compute_of(weights.dtype) == Compute::f64)
    over_taps<double>(c, weights, small, large);
  else
    over_taps<float>(c, weights, small, large);
}

} // namespace cairn::ops::cpu
