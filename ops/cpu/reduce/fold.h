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
// If the closest axis goes, groups are folded block by block; if it stays, whole rows are folded into a stretch of columns.
// Large reductions to few elements are cut into pieces, which threads share. Blocks, rows and pieces depend on sizes alone, so
// results are the same for any number of threads.
#pragma once

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"
#include "ops/cpu/reduce/fold_axes.h"

#include <algorithm>
#include <type_traits>
#include <vector>

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

template <class K> class Folding {
public:
  using Element = typename K::Element;
  using Result = typename K::Result;
  using Total = typename K::Total;
  using Field = typename K::Field;

  // `to` has an axis for each axis of `from`, of size 1 where it goes. In order: elements of a group are taken in row-major
  // order.
  Folding(const View& to, const View& from, double parameter, bool in_order) : to_(to), from_(from), parameter_(parameter) {
    for (int i = 0; i < from.shape.rank(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool stays = to.shape[i] == from.shape[i];
      (stays ? kept_ : gone_).add(FoldAxis{from.shape[i], from.strides[k], stays ? to.strides[k] : 0}, stays || !in_order);
    }
    kept_.join();
    gone_.join();
    element_ = bytes_of(from.dtype);
    direct_ = from.dtype == (std::is_same_v<Element, float>    ? DType::f32
                             : std::is_same_v<Element, double> ? DType::f64
                                                               : DType::i64);
  }

  void run() {
    if (kept_.elements == 0) return;
    if (kept_.last().from < gone_.last().from && kept_.last().size >= 8)
      columns();
    else if (kept_.rank == 1 && gone_.rank == 1 && gone_.last().from == 1 && gone_.elements <= kFoldBlock / 8 &&
             gone_.elements != 0 && kept_.last().from == gone_.elements)
      short_rows();
    else
      groups();
  }

private:
  static constexpr std::int64_t kTasks = 16;
  static constexpr std::int64_t kLeastPiece = 64 << 10; // elements

  const char* data(std::int64_t at) const { return static_cast<const char*>(from_.data) + at * element_; }
  Result result(const Total& total) const { return K::result(total, gone_.elements, parameter_); }
  void put(std::int64_t at, const Result* results, std::int64_t stride, std::int64_t n) const {
    cpu::store(kComputeOf<Result>, results, to_.dtype, static_cast<char*>(to_.data) + at * bytes_of(to_.dtype), stride, n);
  }
  void put(std::int64_t at, const Total& total) const {
    const Result value = result(total);
    put(at, &value, 1, 1);
  }

  // Of the group's elements: cut where there are too few tasks for the threads otherwise.
  void set_pieces(std::int64_t tasks, std::int64_t elements_of_task) {
    pieces_ = std::clamp<std::int64_t>(std::min((kTasks - 1) / tasks + 1, elements_of_task / kLeastPiece), 1, kTasks);
  }
  std::int64_t first_of(std::int64_t piece) const {
    return gone_.elements / pieces_ * piece + std::min(piece, gone_.elements % pieces_);
  }

  // --- the closest axis goes

  void groups() {
    const std::int64_t n = kept_.elements;
    set_pieces(n, gone_.elements);
    if (pieces_ == 1) {
      const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / std::max<std::int64_t>(1, gone_.elements));
      parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          std::int64_t from = 0, to = 0;
          kept_.add_offsets_of(i, from, to);
          Total all;
          add_elements(all, from, 0, gone_.elements);
          put(to, all);
        }
      });
      return;
    }
    std::vector<Total> parts(static_cast<std::size_t>(n * pieces_));
    parallel_for(n * pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        std::int64_t from = 0, none = 0;
        kept_.add_offsets_of(task / pieces_, from, none);
        const std::int64_t piece = task % pieces_;
        add_elements(parts[static_cast<std::size_t>(task)], from, first_of(piece), first_of(piece + 1));
      }
    });
    for (std::int64_t i = 0; i < n; ++i) {
      Total* const all = &parts[static_cast<std::size_t>(i * pieces_)];
      for (std::int64_t piece = 1; piece < pieces_; ++piece) all[0].add(all[piece]);
      std::int64_t none = 0, to = 0;
      kept_.add_offsets_of(i, none, to);
      put(to, all[0]);
    }
  }

  // Elements [begin, end) of a group, in the order of its axes.
  void add_elements(Total& all, std::int64_t base, std::int64_t begin, std::int64_t end) const {
    alignas(64) Element staged[kFoldBlock];
    std::int64_t filled = 0;
    Pace pace;
    const FoldAxis& last = gone_.last();
    while (begin < end) {
      std::int64_t from = base, none = 0;
      gone_.add_offsets_of_row(begin / last.size, from, none);
      std::int64_t i = begin % last.size;
      const std::int64_t row_end = std::min(last.size, i + end - begin);
      begin += row_end - i;
      if (direct_ && last.from == 1 && filled == 0 && row_end - i >= kFoldBlock) {
        for (std::int64_t left = (row_end - i) / kFoldBlock; left > 0;) {
          const std::int64_t blocks = std::min(left, Pace::kBetween / kFoldBlock);
          add_blocks(all, reinterpret_cast<const Element*>(data(from + i)), blocks, kFoldBlock);
          i += blocks * kFoldBlock;
          left -= blocks;
          pace.did(blocks * kFoldBlock);
        }
      }
      while (i < row_end) {
        const std::int64_t n = std::min(row_end - i, kFoldBlock - filled);
        load(kComputeOf<Element>, staged + filled, from_.dtype, data(from + i * last.from), last.from, n);
        i += n;
        filled += n;
        pace.did(n);
        if (filled == kFoldBlock) {
          add_blocks(all, staged, 1, filled);
          filled = 0;
        }
      }
    }
    if (filled != 0) add_blocks(all, staged, 1, filled);
  }
  void add_blocks(Total& all, const Element* x, std::int64_t blocks, std::int64_t n) const {
    const std::int64_t sizes[] = {n, 0};
    const void* const in[] = {x, sizes};
    rows_loop_(&all, in, blocks, parameter_);
  }

  // Many short rows behind each other.
  void short_rows() {
    const std::int64_t n = gone_.elements, at_once = kFoldBlock / n;
    parallel_for(kept_.elements, kElementsInline / n, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) Element staged[kFoldBlock];
      Total totals[kFoldBlock];
      Result results[kFoldBlock];
      for (std::int64_t i = begin; i < end; i += at_once) {
        const std::int64_t count = std::min(at_once, end - i), sizes[] = {n, 1};
        const void* in[] = {staged, sizes};
        if (direct_)
          in[0] = data(i * n);
        else
          load(kComputeOf<Element>, staged, from_.dtype, data(i * n), 1, count * n);
        rows_loop_(totals, in, count, parameter_);
        if constexpr (requires { K::results(totals, count, results); })
          K::results(totals, count, results);
        else
          for (std::int64_t row = 0; row < count; ++row) results[row] = result(totals[row]);
        put(i * kept_.last().to, results, kept_.last().to, count);
      }
    });
  }

  // --- the closest axis stays

  void columns() {
    const std::int64_t blocks = (kept_.last().size - 1) / kFoldBlock + 1, units = kept_.rows() * blocks;
    const std::int64_t wide = std::min(kFoldBlock, kept_.last().size), of_unit = gone_.elements * wide;
    set_pieces(units, of_unit);
    pieces_ = std::min(pieces_, std::max<std::int64_t>(1, gone_.elements));
    const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / std::max<std::int64_t>(1, of_unit / pieces_));
    if (pieces_ == 1) {
      parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
          Total totals[kFoldBlock];
          add_rows(totals, unit, blocks, 0, gone_.elements);
          put_columns(unit, blocks, totals);
        }
      });
      return;
    }
    std::vector<Total> parts(static_cast<std::size_t>(units * pieces_ * wide));
    const auto part = [&](std::int64_t task) { return &parts[static_cast<std::size_t>(task * wide)]; };
    parallel_for(units * pieces_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t piece = task % pieces_;
        add_rows(part(task), task / pieces_, blocks, first_of(piece), first_of(piece + 1));
      }
    });
    for (std::int64_t unit = 0; unit < units; ++unit) {
      Total* const all = part(unit * pieces_);
      for (std::int64_t piece = 1; piece < pieces_; ++piece)
        for (std::int64_t j = 0; j < wide; ++j) all[j].add(all[piece * wide + j]);
      put_columns(unit, blocks, all);
    }
  }

  // A stretch of columns of a row of results: where it is, and how many.
  std::int64_t stretch(std::int64_t unit, std::int64_t blocks, std::int64_t& from, std::int64_t& to) const {
    kept_.add_offsets_of_row(unit / blocks, from, to);
    const std::int64_t first = unit % blocks * kFoldBlock;
    from += first * kept_.last().from;
    to += first * kept_.last().to;
    return std::min(kFoldBlock, kept_.last().size - first);
  }

  void add_rows(Total* totals, std::int64_t unit, std::int64_t blocks, std::int64_t begin, std::int64_t end) const {
    std::int64_t base = 0, none = 0;
    const std::int64_t n = stretch(unit, blocks, base, none), stride = kept_.last().from;
    alignas(64) Element staged[kRowsAtOnce][kFoldBlock];
    alignas(64) Field fields[K::kFields * kFoldBlock];
    const bool in_place = direct_ && stride == 1;
    Pace pace;
    const auto row_at = [&](std::int64_t row) {
      std::int64_t from = base;
      gone_.add_offsets_of_row(row / gone_.last().size, from, none);
      return data(from + row % gone_.last().size * gone_.last().from);
    };
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t first = row, stop = std::min(end, row + kFoldRows);
      while (row < stop) {
        const int at_once = row != first && stop - row >= kRowsAtOnce ? kRowsAtOnce : 1;
        const void* in[kRowsAtOnce + 1];
        for (int r = 0; r < at_once; ++r) {
          const char* const address = row_at(row + r);
          in[r] = in_place ? address : static_cast<const void*>(staged[r]);
          if (!in_place) load(kComputeOf<Element>, staged[r], from_.dtype, address, stride, n);
        }
        if (in_place) { // rows lie too far apart for the processor to foresee the next ones
          for (std::int64_t next = row + at_once; next < std::min(end, row + at_once + kRowsAtOnce); ++next) {
            const char* const address = row_at(next);
            for (std::int64_t byte = 0; byte < n * element_; byte += 64) __builtin_prefetch(address + byte);
          }
        }
        const std::int64_t number = row - first;
        in[at_once] = &number;
        (row == first ? start_loop_ : at_once == 1 ? step_loop_ : steps_loop_)(fields, in, n, parameter_);
        row += at_once;
      }
      pace.did((stop - first) * n);
      for (std::int64_t j = 0; j < n; ++j) {
        Field s[K::kFields];
        for (int k = 0; k < K::kFields; ++k) s[k] = fields[k * kFoldBlock + j];
        totals[j].add(K::total(s, stop - first));
      }
    }
  }

  void put_columns(std::int64_t unit, std::int64_t blocks, const Total* totals) const {
    std::int64_t none = 0, to = 0;
    const std::int64_t n = stretch(unit, blocks, none, to);
    Result results[kFoldBlock];
    for (std::int64_t j = 0; j < n; ++j) results[j] = result(totals[j]);
    put(to, results, kept_.last().to, n);
  }

  const View &to_, &from_;
  const double parameter_;
  FoldAxes kept_, gone_;
  std::int64_t element_ = 0, pieces_ = 1;
  bool direct_ = false; // elements are of the type they are staged in
  const Loop rows_loop_ = Compiled<FoldRows<K>>::chosen();
  const Loop start_loop_ = Compiled<FoldColumns<K, 1, true>>::chosen(), step_loop_ = Compiled<FoldColumns<K, 1, false>>::chosen(),
             steps_loop_ = Compiled<FoldColumns<K, kRowsAtOnce, false>>::chosen();
};

template <class K> void fold(const View& to, const View& from, double parameter = 0, bool in_order = false) {
  Folding<K>(to, from, parameter, in_order).run();
}

// K<float> or K<double>, by the type that elements of a floating type are computed in, or integers as double.
template <template <class> class K> void fold_floating(const View& to, const View& from, double parameter = 0) {
  if (compute_of(from.dtype) == Compute::f32)
    fold<K<float>>(to, from, parameter);
  else
    fold<K<double>>(to, from, parameter);
}

} // namespace cairn::ops::cpu
