// See matmul.h. Our own loops, for what is too small for a library and where there is none: tiles of the result are computed from
// packed panels, each by one thread with its sums in one order.
#include "ops/cpu/matrices/matmul.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/matrices/gemm_loops.h"
#include "ops/cpu/matrices/product_library.h"
#include "ops/cpu/matrices/vector_loops.h"

#include <algorithm>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

using product::Matrix;
using product::Stack;

constexpr std::int64_t kProductsInTime = 4; // multiplications that take as long as an element elsewhere, at least
constexpr std::int64_t kTileRows = 10 * kRows, kTileColumns = 96, kDepth = 128; // packed, 200 KiB of stack in double

// `count` rows and `depth` columns of m as panels of `wide` rows, depth by depth, the missing rows of the last panel 0.
template <class T> void pack(Compute compute, T* to, const Matrix& m, std::int64_t count, std::int64_t depth, std::int64_t wide) {
  T staged[kDepth];
  for (std::int64_t panel = 0; panel < count; panel += wide, to += wide * depth) {
    const std::int64_t n = std::min(wide, count - panel);
    const Matrix from = m.from(panel, 0);
    if (n < wide) std::fill_n(to, wide * depth, T(0));
    if (from.column == 1 && from.row != 1) { // along the depth
      for (std::int64_t i = 0; i < n; ++i) {
        load(compute, staged, m.dtype, from.from(i, 0).data, from.column, depth);
        for (std::int64_t p = 0; p < depth; ++p) to[p * wide + i] = staged[p];
      }
    } else {
      for (std::int64_t p = 0; p < depth; ++p) load(compute, to + p * wide, m.dtype, from.from(0, p).data, from.row, n);
    }
  }
}

template <class T> struct Tile {
  alignas(64) T sums[kTileRows * kTileColumns];
  alignas(64) T a[kTileRows * kDepth];
  alignas(64) T b[kTileColumns * kDepth];

  void run(Compute compute, const Matrix& c, const Matrix& a_rows, const Matrix& b_columns, std::int64_t m, std::int64_t n,
           bool adds = false) {
    const std::int64_t k = a_rows.columns;
    const std::int64_t panels_a = (m - 1) / kRows + 1, panels_b = (n - 1) / kColumns<T> + 1;
    const std::int64_t wide = panels_b * kColumns<T>;
    std::fill_n(sums, panels_a * kRows * wide, T(0));
    if (adds)
      for (std::int64_t i = 0; i < m; ++i) load(compute, sums + i * wide, c.dtype, c.from(i, 0).data, c.column, n);
    const GemmLoop<T> loop = gemm_loop<T>();
    const Matrix b_rows = b_columns.transposed();
    Pace pace;
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      pack(compute, a, a_rows.from(0, p), m, depth, kRows);
      pack(compute, b, b_rows.from(0, p), n, depth, kColumns<T>);
      for (std::int64_t j = 0; j < panels_b; ++j)
        for (std::int64_t i = 0; i < panels_a; ++i)
          loop(depth, a + i * kRows * depth, b + j * kColumns<T> * depth, sums + i * kRows * wide + j * kColumns<T>, wide);
      pace.did(m * n * depth / kProductsInTime + depth);
    }
    for (std::int64_t i = 0; i < m; ++i) store(compute, sums + i * wide, c.dtype, c.from(i, 0).data, c.column, n);
  }
};

// Products of a few numbers: both operands are staged whole.
constexpr std::int64_t kFew = 256; // elements of each operand and of the result

// A matrix as rows without gaps.
template <class T> void stage_rows(Compute compute, T* to, const Matrix& m) {
  if (m.columns == 1) return load(compute, to, m.dtype, m.data, m.row, m.rows);
  if (m.column == 1 && m.row == m.columns) return load(compute, to, m.dtype, m.data, 1, m.rows * m.columns);
  for (std::int64_t i = 0; i < m.rows; ++i) load(compute, to + i * m.columns, m.dtype, m.from(i, 0).data, m.column, m.columns);
}

template <class T> void multiply_few(Compute compute, const Matrix& c, const Matrix& a, const Matrix& b) {
  const std::int64_t m = c.rows, n = c.columns, k = a.columns;
  T left[kFew], right[kFew], sums[kFew];
  stage_rows(compute, left, a);
  stage_rows(compute, right, b);
  std::fill_n(sums, m * n, T(0));
  if (n == 1) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t p = 0; p < k; ++p) sums[i] = sums[i] + left[i * k + p] * right[p];
    return store(compute, sums, c.dtype, c.data, c.row, m);
  }
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j) sums[i * n + j] = sums[i * n + j] + left[i * k + p] * right[p * n + j];
  if (c.column == 1 && c.row == n) return store(compute, sums, c.dtype, c.data, 1, m * n);
  for (std::int64_t i = 0; i < m; ++i) store(compute, sums + i * n, c.dtype, c.from(i, 0).data, c.column, n);
}

// Elements that need no conversion and lie beside each other along one of the axes.
template <class T> bool is_direct(const Matrix& m) {
  constexpr DType type = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  return std::is_floating_point_v<T> && m.dtype == type && (m.column == 1 || m.row == 1);
}

// y [m] = matrix [m, k] x [k].
template <class T> void times_vector(Compute compute, const Matrix& y, const Matrix& matrix, const Matrix& x) {
  constexpr std::int64_t kBlock = 256;
  const std::int64_t m = matrix.rows, k = matrix.columns;
  const bool direct = is_direct<T>(matrix), direct_vector = direct && x.dtype == matrix.dtype && x.row == 1;
  parallel_for(m, std::max<std::int64_t>(kBlock, kElementsInline / std::max<std::int64_t>(1, k)),
               [&](std::int64_t begin, std::int64_t end) {
                 alignas(64) T row[kBlock], vector[kBlock], sums[kBlock];
                 Pace pace;
                 for (std::int64_t i = begin; i < end; i += kBlock) {
                   const std::int64_t n = std::min(kBlock, end - i);
                   std::fill_n(sums, n, T(0));
                   for (std::int64_t p = 0; p < k; p += kBlock) {
                     const std::int64_t depth = std::min(kBlock, k - p);
                     pace.did(n * depth / 4 + depth);
                     const T* v = direct_vector ? reinterpret_cast<const T*>(x.from(p, 0).data) : vector;
                     if (!direct_vector) load(compute, vector, x.dtype, x.from(p, 0).data, x.row, depth);
                     if constexpr (std::is_floating_point_v<T>) {
                       if (direct) {
                         const bool rows = matrix.column == 1;
                         const auto loop = rows ? vector_loops<T>().rows : vector_loops<T>().columns;
                         loop(reinterpret_cast<const T*>(matrix.from(i, p).data), rows ? matrix.row : matrix.column, n, depth, v,
                              sums);
                         continue;
                       }
                     }
                     if (matrix.column == 1) {
                       for (std::int64_t j = 0; j < n; ++j) {
                         load(compute, row, matrix.dtype, matrix.from(i + j, p).data, 1, depth);
                         sums[j] = sums[j] + dot(row, v, depth);
                       }
                     } else {
                       for (std::int64_t q = 0; q < depth; ++q) {
                         load(compute, row, matrix.dtype, matrix.from(i, p + q).data, matrix.row, n);
                         for (std::int64_t j = 0; j < n; ++j) sums[j] = sums[j] + row[j] * v[q];
                       }
                     }
                   }
                   store(compute, sums, y.dtype, y.from(i, 0).data, y.row, n);
                 }
               });
}

// c = a b where both are vectors. False: their elements are not as the loop wants them.
template <class T> bool multiplied_outer(const Matrix& c, const Matrix& a, const Matrix& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a.columns != 1 || !is_direct<T>(c) || c.column != 1 || a.dtype != c.dtype || b.dtype != c.dtype || b.column != 1)
      return false;
    parallel_for(c.rows, std::max<std::int64_t>(1, kElementsInline / c.columns), [&](std::int64_t begin, std::int64_t end) {
      in_stretches(c.columns, [&](std::int64_t first, std::int64_t last) {
        vector_loops<T>().outer(reinterpret_cast<const T*>(a.from(begin, 0).data), a.row,
                                reinterpret_cast<const T*>(b.from(0, first).data),
                                reinterpret_cast<T*>(c.from(begin, first).data), c.row, end - begin, last - first);
      });
    });
    return true;
  }
  return false;
}

template <class T> void multiply(Compute compute, const View& c_view, const View& a_view, const View& b_view) {
  const Stack stack(c_view, a_view, b_view);
  const Matrix c(c_view), a(a_view), b(b_view);
  const std::int64_t m = c.rows, n = c.columns;
  if (stack.members == 1 && m * n <= kFew && m * a.columns <= kFew && a.columns * n <= kFew) {
    multiply_few<T>(compute, c, a, b);
    return;
  }
  if (m == 1 || n == 1) {
    for (std::int64_t member = 0; member < stack.members; ++member) {
      std::int64_t in_a = 0, in_b = 0, in_c = 0;
      stack.add_offsets(member, in_a, in_b, in_c);
      if (n == 1)
        times_vector<T>(compute, c.at(in_c), a.at(in_a), b.at(in_b));
      else
        times_vector<T>(compute, c.at(in_c).transposed(), b.at(in_b).transposed(), a.at(in_a).transposed());
    }
    return;
  }
  if (stack.members == 1 && multiplied_outer<T>(c, a, b)) return;
  if (product::multiplied_by_library(stack, c, a, b)) return;
  const std::int64_t tiles_m = (m - 1) / kTileRows + 1, tiles_n = (n - 1) / kTileColumns + 1;
  const std::int64_t of_tile = std::min(m, kTileRows) * std::min(n, kTileColumns) * std::max<std::int64_t>(1, a.columns);
  const std::int64_t grain = std::max<std::int64_t>(1, 16 * kElementsInline / of_tile);
  parallel_for(stack.members * tiles_m * tiles_n, grain, [&](std::int64_t begin, std::int64_t end) {
    Tile<T> tile;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t in_a = 0, in_b = 0, in_c = 0;
      stack.add_offsets(unit / (tiles_m * tiles_n), in_a, in_b, in_c);
      const std::int64_t i = unit / tiles_n % tiles_m * kTileRows, j = unit % tiles_n * kTileColumns;
      tile.run(compute, c.at(in_c).from(i, j), a.at(in_a).from(i, 0), b.at(in_b).from(0, j), std::min(kTileRows, m - i),
               std::min(kTileColumns, n - j));
    }
  });
}

template <class T> void multiply_alone(Compute compute, const Matrix& c, const Matrix& a, const Matrix& b, bool adds) {
  const std::int64_t m = c.rows, n = c.columns;
  if (!adds && m * n <= kFew && m * a.columns <= kFew && a.columns * n <= kFew) return multiply_few<T>(compute, c, a, b);
  if (!adds && n == 1) return times_vector<T>(compute, c, a, b);
  if (!adds && m == 1) return times_vector<T>(compute, c.transposed(), b.transposed(), a.transposed());
  if (product::multiplied_by_library(c, a, b, adds)) return;
  Tile<T> tile;
  for (std::int64_t i = 0; i < m; i += kTileRows)
    for (std::int64_t j = 0; j < n; j += kTileColumns)
      tile.run(compute, c.from(i, j), a.from(i, 0), b.from(0, j), std::min(kTileRows, m - i), std::min(kTileColumns, n - j),
               adds);
}

// A stack of matrices with one on the right is one matrix with more rows, if they lie behind each other.
bool joins_rows(const View& v) {
  const int axis = v.shape.rank() - 3;
  return v.shape[axis] == 1 || v.shape[axis + 1] == 1 ||
         v.strides[static_cast<std::size_t>(axis)] == v.strides[static_cast<std::size_t>(axis + 1)] * v.shape[axis + 1];
}

void join_rows(View& v) {
  const int axis = v.shape.rank() - 3;
  const View from = v;
  v.shape = Shape(from.shape.sizes().first(static_cast<std::size_t>(axis)));
  v.shape.push_back(from.shape[axis] * from.shape[axis + 1]);
  v.shape.push_back(from.shape[axis + 2]);
  v.strides[static_cast<std::size_t>(axis)] = from.strides[static_cast<std::size_t>(from.shape[axis + 1] == 1 ? axis : axis + 1)];
  v.strides[static_cast<std::size_t>(axis + 1)] = from.strides[static_cast<std::size_t>(axis + 2)];
}

} // namespace

void matmul(const View& c_given, const View& a_given, const View& b) {
  if (c_given.elements() == 0) return;
  View c = c_given, a = a_given;
  while (c.shape.rank() > 2 && b.shape.rank() == 2 && joins_rows(c) && joins_rows(a)) {
    join_rows(c);
    join_rows(a);
  }
  const Compute compute = compute_of(c.dtype);
  switch (compute) {
  case Compute::f32:
    return multiply<float>(compute, c, a, b);
  case Compute::f64:
    return multiply<double>(compute, c, a, b);
  default:
    return multiply<pointwise::Integer>(compute, c, a, b);
  }
}

void multiply_here(const product::Matrix& c, const product::Matrix& a, const product::Matrix& b, bool adds) {
  if (c.rows == 0 || c.columns == 0) return;
  const Workers::Installed alone(nullptr);
  if (c.dtype == DType::f64)
    multiply_alone<double>(Compute::f64, c, a, b, adds);
  else
    multiply_alone<float>(Compute::f32, c, a, b, adds);
}

} // namespace cairn::ops::cpu
