// See copy.h. Between layouts that are transposed to each other, tiles are moved that fit into the nearest cache.
#include "ops/cpu/loops/copy.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kTile = 32;

struct Axis {
  std::int64_t size = 1, to = 0, from = 0; // strides
};

// Axes longer than 1, outermost in `to` first, joined where both sides allow it.
struct Axes {
  std::array<Axis, kMostAxes> at{};
  std::size_t rank = 0;

  Axes(const View& to, const View& from) {
    for (int i = 0; i < to.shape.rank(); ++i) {
      if (to.shape[i] == 1) continue;
      const Axis axis{to.shape[i], to.strides[static_cast<std::size_t>(i)], from.strides[static_cast<std::size_t>(i)]};
      std::size_t index = rank++;
      for (; index > 0 && at[index - 1].to < axis.to; --index) at[index] = at[index - 1];
      at[index] = axis;
    }
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rank; ++i) {
      const Axis& axis = at[i];
      if (at[kept].to == axis.to * axis.size && at[kept].from == axis.from * axis.size)
        at[kept] = Axis{at[kept].size * axis.size, axis.to, axis.from};
      else
        at[++kept] = axis;
    }
    if (rank == 0) at[0] = Axis{1, 1, 1};
    rank = kept + 1;
  }
};

template <class T> void copy_row(T* to, std::int64_t to_stride, const T* from, std::int64_t from_stride, std::int64_t n) {
  if (to_stride == 1 && from_stride == 1)
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  else if (to_stride == 1 && from_stride == 0 && *from == 0)
    std::memset(to, 0, static_cast<std::size_t>(n) * sizeof(T)); // wider than a loop's stores
  else if (to_stride == 1 && from_stride == 0)
    std::fill_n(to, n, *from);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
}

template <class T> void copy_of_size(const View& to, const View& from) {
  Axes axes(to, from);
  const std::size_t last = axes.rank - 1;
  // The axis along which the source is closest goes beside the last one, for tiles.
  std::size_t beside = last;
  if (axes.at[last].from != 1)
    for (std::size_t i = 0; i < last; ++i)
      if (axes.at[i].from == 1) beside = i;
  const bool tiled = beside != last;
  const Axis inner = axes.at[last];
  const Axis across = tiled ? axes.at[beside] : Axis{};
  std::array<Axis, kMostAxes> outer{};
  std::size_t n_outer = 0;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < last; ++i)
    if (i != beside) {
      outer[n_outer++] = axes.at[i];
      rows *= axes.at[i].size;
    }
  const std::int64_t piece = tiled ? kTile : 8 << 10; // of the inner axis
  const std::int64_t pieces = (inner.size - 1) / piece + 1;
  const std::int64_t elements_of_unit = std::min(piece, inner.size) * across.size;
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / elements_of_unit);
  parallel_for_light(rows * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    Pace pace;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      T* out = to.as<T>();
      const T* in = from.as<T>();
      std::int64_t row = unit / pieces;
      for (std::size_t i = n_outer; i-- > 0;) {
        out += row % outer[i].size * outer[i].to;
        in += row % outer[i].size * outer[i].from;
        row /= outer[i].size;
      }
      const std::int64_t first = unit % pieces * piece, n = std::min(piece, inner.size - first);
      out += first * inner.to;
      in += first * inner.from;
      for (std::int64_t tile = 0; tile < across.size; tile += kTile) {
        for (std::int64_t j = tile; j < std::min(tile + kTile, across.size); ++j)
          copy_row(out + j * across.to, inner.to, in + j * across.from, inner.from, n);
        pace.did(kTile * n);
      }
    }
  });
}

} // namespace

void copy_elements(const View& to, const View& from) {
  if (to.elements() == 0) return;
  Meter::poll_current(); // kernels copy many small parts
  if (to.dtype != from.dtype) {
    static const Attributes none;
    const KernelCall call{std::span(&from, 1), std::span(&to, 1), none};
    elementwise(call, compute_of(from.dtype), nullptr);
    return;
  }
  switch (bytes_of(to.dtype)) {
  case 1:
    return copy_of_size<std::uint8_t>(to, from);
  case 2:
    return copy_of_size<std::uint16_t>(to, from);
  case 4:
    return copy_of_size<std::uint32_t>(to, from);
  default:
    return copy_of_size<std::uint64_t>(to, from);
  }
}

View narrowed(View v, int axis, std::int64_t first, std::int64_t count) {
  v.data = static_cast<char*>(v.data) + first * v.strides[static_cast<std::size_t>(axis)] * bytes_of(v.dtype);
  v.shape[axis] = count;
  return v;
}

void fill_elements(const View& to, double number) {
  View given;
  given.weak = true;
  given.number = number;
  alignas(8) char element[8];
  View converted;
  converted.dtype = to.dtype;
  converted.data = element;
  static const Attributes none;
  const KernelCall call{std::span(&given, 1), std::span(&converted, 1), none};
  elementwise(call, Compute::f64, nullptr); // which holds any number
  View everywhere = to;
  everywhere.data = element;
  everywhere.strides.fill(0);
  copy_elements(to, everywhere);
}

} // namespace cairn::ops::cpu
