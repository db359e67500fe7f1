// Reductions over any axes of a tensor of any layout, made from what a kind of reduction does with a few elements. A kind is a
// struct of
//   Element    what elements are staged in: float, double, or an integer of 64 bits
//   Result     what groups are reduced to: double, or an integer of 64 bits
//   Total      of some elements; Total() of none; add(const Total&), of those that follow
//   block(Total&, const Element* x, n, parameter): adds n > 0 elements beside each other, at most kFoldBlock
//   Field, kFields, start(Field*, x, parameter), step(Field*, x, row, parameter): of one column, up to kFoldRows rows
//   total(const Field*, rows): of such a column
//   result(const Total&, elements of the group, parameter); and, if there is a faster one of several, results(const Total*,
//   count, Result*)
// where block, start and step are always inlined: the loops around them are compiled for several generations of processors.
//
// What is made of a kind is a table of these loops and of a few others over totals (FoldKind); how a tensor is walked over is
// the same for all kinds, and compiled once (fold.cpp).
#pragma once

#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"

#include <algorithm>
#include <type_traits>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kFoldBlock = 512;
inline constexpr std::int64_t kFoldRows = 64;
inline constexpr int kRowsAtOnce = 4;

template <> inline constexpr Compute kComputeOf<std::int64_t> = Compute::i64;
template <> inline constexpr Compute kComputeOf<std::uint64_t> = Compute::i64;

// Rows of n elements behind each other; in[1] points to n and step. Where step is 1, the total of row r becomes out[r]; where it
// is 0, that of all is added to out[0].
template <class K> struct FoldRows {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t rows, double parameter) {
    auto* totals = static_cast<typename K::Total*>(out);
    const auto* x = static_cast<const typename K::Element*>(in[0]);
    const auto* sizes = static_cast<const std::int64_t*>(in[1]);
    const std::int64_t n = sizes[0], step = sizes[1];
    if (step == 0) {
      for (std::int64_t r = 0; r < rows; ++r) K::block(totals[0], x + r * n, n, parameter);
      return;
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      typename K::Total total;
      K::block(total, x + r * n, n, parameter);
      totals[r] = total;
    }
  }
};

// out: Field[kFields][kFoldBlock] of n columns, which take so many rows; in[rows] points to the number of the first.
template <class K, int rows, bool fresh> struct FoldColumns {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double parameter) {
    using Field = typename K::Field;
    using Element = typename K::Element;
    auto* fields = static_cast<Field*>(out);
    const Element* x[rows];
    for (int r = 0; r < rows; ++r) x[r] = static_cast<const Element*>(in[r]);
    const std::int64_t first = *static_cast<const std::int64_t*>(in[rows]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      Field s[K::kFields];
      if constexpr (fresh)
        K::start(s, x[0][i], parameter);
      else
        for (int k = 0; k < K::kFields; ++k) s[k] = fields[k * kFoldBlock + i];
#pragma GCC unroll 4
      for (int r = fresh ? 1 : 0; r < rows; ++r) K::step(s, x[r][i], first + r, parameter);
      for (int k = 0; k < K::kFields; ++k) fields[k * kFoldBlock + i] = s[k];
    }
  }
};

// A kind as the walk knows it: totals and fields are bytes of these sizes.
struct FoldKind {
  Compute element, result;
  std::int64_t element_bytes, total_bytes;
  Loop (*rows)();                         // FoldRows
  Loop (*start)(), (*step)(), (*steps)(); // FoldColumns: of the first row, of one more, of kRowsAtOnce more
  void (*begin)(void* totals, std::int64_t count);
  void (*add)(void* totals, const void* others, std::int64_t count); // to each total the other's
  void (*add_columns)(void* totals, const void* fields, std::int64_t columns, std::int64_t rows);
  void (*results)(void* out, const void* totals, std::int64_t count, std::int64_t elements, double parameter);
};
inline constexpr std::int64_t kMostOfElement = 8, kMostOfTotal = 40, kMostOfFields = 32, kResultBytes = 8;

template <class K> struct FoldTotals {
  using Total = typename K::Total;
  using Field = typename K::Field;
  using Result = typename K::Result;
  // They lie in bytes that nobody constructs or destroys.
  static_assert(std::is_trivially_copyable_v<Total> && alignof(Total) <= alignof(double) && sizeof(Total) <= kMostOfTotal);
  static_assert(K::kFields * sizeof(Field) <= kMostOfFields && sizeof(typename K::Element) <= kMostOfElement);
  static_assert(sizeof(Result) == kResultBytes);

  static void begin(void* totals, std::int64_t count) { std::fill_n(static_cast<Total*>(totals), count, Total()); }
  static void add(void* totals, const void* others, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<Total*>(totals)[i].add(static_cast<const Total*>(others)[i]);
  }
  static void add_columns(void* totals, const void* fields, std::int64_t columns, std::int64_t rows) {
    for (std::int64_t j = 0; j < columns; ++j) {
      Field s[K::kFields];
      for (int k = 0; k < K::kFields; ++k) s[k] = static_cast<const Field*>(fields)[k * kFoldBlock + j];
      static_cast<Total*>(totals)[j].add(K::total(s, rows));
    }
  }
  static void results(void* out, const void* totals, std::int64_t count, std::int64_t elements, double parameter) {
    const auto* const from = static_cast<const Total*>(totals);
    auto* const to = static_cast<Result*>(out);
    if constexpr (requires { K::results(from, count, to); })
      K::results(from, count, to);
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = K::result(from[i], elements, parameter);
  }
};

template <class K>
inline constexpr FoldKind kFoldKind = {
    kComputeOf<typename K::Element>,
    kComputeOf<typename K::Result>,
    sizeof(typename K::Element),
    sizeof(typename K::Total),
    Compiled<FoldRows<K>>::chosen,
    Compiled<FoldColumns<K, 1, true>>::chosen,
    Compiled<FoldColumns<K, 1, false>>::chosen,
    Compiled<FoldColumns<K, kRowsAtOnce, false>>::chosen,
    FoldTotals<K>::begin,
    FoldTotals<K>::add,
    FoldTotals<K>::add_columns,
    FoldTotals<K>::results,
};

// `to` has an axis for each axis of `from`, of size 1 where it goes. In order: elements of a group are taken in row-major order.
void fold(const FoldKind& kind, const View& to, const View& from, double parameter, bool in_order);

template <class K> void fold(const View& to, const View& from, double parameter = 0, bool in_order = false) {
  fold(kFoldKind<K>, to, from, parameter, in_order);
}

// K<float> or K<double>, by the type that elements of a floating type are computed in, or integers as double.
template <template <class> class K> void fold_floating(const View& to, const View& from, double parameter = 0) {
  if (compute_of(from.dtype) == Compute::f32)
    fold<K<float>>(to, from, parameter);
  else
    fold<K<double>>(to, from, parameter);
}

} // namespace cairn::ops::cpu
