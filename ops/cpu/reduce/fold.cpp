// See fold.h. If the closest axis goes, groups are folded block by block; if it stays, whole rows are folded into a stretch of
// columns. Large reductions to few elements are cut into pieces, which threads share. Blocks, rows and pieces depend on sizes
// alone, so results are the same for any number of threads.
#include "ops/cpu/reduce/fold.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/reduce/fold_axes.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace cairn::ops::cpu {

namespace {

class Folding {
public:
  Folding(const FoldKind& kind, const View& to, const View& from, double parameter, bool in_order)
      : kind_(kind), to_(to), from_(from), parameter_(parameter) {
    for (int i = 0; i < from.shape.rank(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool stays = to.shape[i] == from.shape[i];
      (stays ? kept_ : gone_).add(FoldAxis{from.shape[i], from.strides[k], stays ? to.strides[k] : 0}, stays || !in_order);
    }
    kept_.join();
    gone_.join();
    element_ = bytes_of(from.dtype);
    direct_ = from.dtype == (kind.element == Compute::f32 ? DType::f32 : kind.element == Compute::f64 ? DType::f64 : DType::i64);
  }

  void run() {
    if (kept_.elements == 0) return;
    if (kept_.last().from < gone_.last().from && kept_.last().size >= 8) return columns();
    rows_loop_ = kind_.rows();
    if (kept_.rank == 1 && gone_.rank == 1 && gone_.last().from == 1 && gone_.elements <= kFoldBlock / 8 && gone_.elements != 0 &&
        kept_.last().from == gone_.elements)
      short_rows();
    else
      groups();
  }

private:
  using Totals = std::unique_ptr<std::byte[]>;
  static constexpr std::int64_t kTasks = 16;
  static constexpr std::int64_t kLeastPiece = 64 << 10; // elements

  const char* data(std::int64_t at) const { return static_cast<const char*>(from_.data) + at * element_; }
  void load(std::byte* staged, const char* address, std::int64_t stride, std::int64_t n) const {
    cpu::load(kind_.element, staged, from_.dtype, address, stride, n);
  }
  // The results of n totals, at most kFoldBlock.
  void put(std::int64_t at, std::int64_t stride, const std::byte* totals, std::int64_t n) const {
    alignas(64) std::byte results[kFoldBlock * kResultBytes];
    kind_.results(results, totals, n, gone_.elements, parameter_);
    cpu::store(kind_.result, results, to_.dtype, static_cast<char*>(to_.data) + at * bytes_of(to_.dtype), stride, n);
  }
  Totals totals(std::int64_t n) const {
    return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(n * kind_.total_bytes));
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
          alignas(64) std::byte all[kMostOfTotal];
          add_elements(all, from, 0, gone_.elements);
          put(to, 1, all, 1);
        }
      });
      return;
    }
    const Totals parts = totals(n * pieces_);
    parallel_for(n * pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        std::int64_t from = 0, none = 0;
        kept_.add_offsets_of(task / pieces_, from, none);
        const std::int64_t piece = task % pieces_;
        add_elements(parts.get() + task * kind_.total_bytes, from, first_of(piece), first_of(piece + 1));
      }
    });
    for (std::int64_t i = 0; i < n; ++i) {
      std::byte* const all = parts.get() + i * pieces_ * kind_.total_bytes;
      for (std::int64_t piece = 1; piece < pieces_; ++piece) kind_.add(all, all + piece * kind_.total_bytes, 1);
      std::int64_t none = 0, to = 0;
      kept_.add_offsets_of(i, none, to);
      put(to, 1, all, 1);
    }
  }

  // The total of elements [begin, end) of a group, in the order of its axes.
  void add_elements(std::byte* all, std::int64_t base, std::int64_t begin, std::int64_t end) const {
    kind_.begin(all, 1);
    alignas(64) std::byte staged[kFoldBlock * kMostOfElement];
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
          add_blocks(all, data(from + i), blocks, kFoldBlock);
          i += blocks * kFoldBlock;
          left -= blocks;
          pace.did(blocks * kFoldBlock);
        }
      }
      while (i < row_end) {
        const std::int64_t n = std::min(row_end - i, kFoldBlock - filled);
        load(staged + filled * kind_.element_bytes, data(from + i * last.from), last.from, n);
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
  void add_blocks(std::byte* all, const void* x, std::int64_t blocks, std::int64_t n) const {
    const std::int64_t sizes[] = {n, 0};
    const void* const in[] = {x, sizes};
    rows_loop_(all, in, blocks, parameter_);
  }

  // Many short rows behind each other.
  void short_rows() {
    const std::int64_t n = gone_.elements, at_once = kFoldBlock / n;
    parallel_for(kept_.elements, kElementsInline / n, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::byte staged[kFoldBlock * kMostOfElement], totals[kFoldBlock * kMostOfTotal];
      for (std::int64_t i = begin; i < end; i += at_once) {
        const std::int64_t count = std::min(at_once, end - i), sizes[] = {n, 1};
        const void* in[] = {staged, sizes};
        if (direct_)
          in[0] = data(i * n);
        else
          load(staged, data(i * n), 1, count * n);
        rows_loop_(totals, in, count, parameter_);
        put(i * kept_.last().to, kept_.last().to, totals, count);
      }
    });
  }

  // --- the closest axis stays

  void columns() {
    start_loop_ = kind_.start();
    step_loop_ = kind_.step();
    steps_loop_ = kind_.steps();
    const std::int64_t blocks = (kept_.last().size - 1) / kFoldBlock + 1, units = kept_.rows() * blocks;
    const std::int64_t wide = std::min(kFoldBlock, kept_.last().size), of_unit = gone_.elements * wide;
    set_pieces(units, of_unit);
    pieces_ = std::min(pieces_, std::max<std::int64_t>(1, gone_.elements));
    const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / std::max<std::int64_t>(1, of_unit / pieces_));
    if (pieces_ == 1) {
      parallel_for_light(units, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
          alignas(64) std::byte totals[kFoldBlock * kMostOfTotal];
          add_rows(totals, unit, blocks, 0, gone_.elements);
          put_columns(unit, blocks, totals);
        }
      });
      return;
    }
    const Totals parts = totals(units * pieces_ * wide);
    const auto part = [&](std::int64_t task) { return parts.get() + task * wide * kind_.total_bytes; };
    parallel_for_light(units * pieces_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t piece = task % pieces_;
        add_rows(part(task), task / pieces_, blocks, first_of(piece), first_of(piece + 1));
      }
    });
    for (std::int64_t unit = 0; unit < units; ++unit) {
      std::byte* const all = part(unit * pieces_);
      for (std::int64_t piece = 1; piece < pieces_; ++piece) kind_.add(all, part(unit * pieces_ + piece), wide);
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

  // The totals of rows [begin, end) of a stretch.
  void add_rows(std::byte* totals, std::int64_t unit, std::int64_t blocks, std::int64_t begin, std::int64_t end) const {
    std::int64_t base = 0, none = 0;
    const std::int64_t n = stretch(unit, blocks, base, none), stride = kept_.last().from;
    kind_.begin(totals, n);
    alignas(64) std::byte staged[kRowsAtOnce][kFoldBlock * kMostOfElement], fields[kMostOfFields * kFoldBlock];
    const bool in_place = direct_ && stride == 1;
    Pace pace;
    const bool along_one_axis = gone_.rank == 1, one_after_another = along_one_axis && gone_.last().from == n;
    const auto row_at = [&](std::int64_t row) {
      if (along_one_axis) return data(base + row * gone_.last().from);
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
          if (!in_place) load(staged[r], address, stride, n);
        }
        if (in_place && !one_after_another) { // rows lie too far apart for the processor to foresee the next ones
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
      kind_.add_columns(totals, fields, n, stop - first);
    }
  }

  void put_columns(std::int64_t unit, std::int64_t blocks, const std::byte* totals) const {
    std::int64_t none = 0, to = 0;
    const std::int64_t n = stretch(unit, blocks, none, to);
    put(to, kept_.last().to, totals, n);
  }

  const FoldKind& kind_;
  const View &to_, &from_;
  const double parameter_;
  FoldAxes kept_, gone_;
  std::int64_t element_ = 0, pieces_ = 1; // bytes of an element; pieces of a group
  bool direct_ = false;                   // elements are of the type they are staged in
  Loop rows_loop_ = nullptr, start_loop_ = nullptr, step_loop_ = nullptr, steps_loop_ = nullptr; // of columns, or rows alone
};

} // namespace

void fold(const FoldKind& kind, const View& to, const View& from, double parameter, bool in_order) {
  Folding(kind, to, from, parameter, in_order).run();
}

} // namespace cairn::ops::cpu
