// See reduce.h. If the closest axis is reduced, elements are staged in blocks and each block is reduced by lanes; if it stays,
// whole rows are reduced into a block of accumulators. Large reductions to few elements are cut into pieces, at most kPieces,
// which threads share.
#include "ops/cpu/reduce.h"

#include "ops/cpu/copy.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/sum_loops.h"
#include "ops/cpu/workers.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cairn::ops::cpu {

namespace {

using pointwise::Integer;

constexpr std::int64_t kBlock = kSumBlock;
constexpr std::int64_t kLanes = kSumLanes;
constexpr std::int64_t kPieces = 16;
constexpr std::int64_t kLeastPiece = 64 << 10; // elements

// The sum of many block sums, with what is lost by rounding carried along.
struct Sum {
  template <class T> struct Total {
    T sum = T(0), lost = T(0);
    void add(T x) {
      if constexpr (std::is_same_v<T, double>) {
        const T y = x - lost, t = sum + y;
        if (t - t == 0) lost = (t - sum) - y; // not where it is infinite or a NaN
        sum = t;
      } else {
        sum = sum + x;
      }
    }
    void add(const Total& other) {
      add(other.sum);
      if constexpr (std::is_same_v<T, double>)
        if (sum - sum == 0) add(-other.lost);
    }
    T value() const { return sum; }
  };
  template <class T> static T both(T a, T b) { return a + b; }
};

template <class F> struct Extreme {
  template <class T> struct Total {
    T best{};
    bool any = false;
    void add(T x) {
      best = any ? both(best, x) : x;
      any = true;
    }
    void add(const Total& other) {
      if (other.any) add(other.best);
    }
    T value() const { return best; }
  };
  template <class T> static T both(T a, T b) { return F::template value<T>(a, b); }
};

using Maximum = Extreme<pointwise::Max>;
using Minimum = Extreme<pointwise::Min>;

// Of n > 0 elements.
template <class Op, class T> T reduced(const T* x, std::int64_t n) {
  if (n < 2 * kLanes) {
    T all = x[0];
    for (std::int64_t i = 1; i < n; ++i) all = Op::both(all, x[i]);
    return all;
  }
  T lanes[kLanes];
  for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = x[l];
  std::int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = Op::both(lanes[l], x[i + l]);
  for (std::int64_t l = 0; l < n - i; ++l) lanes[l] = Op::both(lanes[l], x[i + l]);
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2)
    for (std::int64_t l = 0; l < width; ++l) lanes[l] = Op::both(lanes[l], lanes[l + width]);
  return lanes[0];
}

struct Axis {
  std::int64_t size = 1, from = 0, to = 0; // strides
};

// Axes, the farthest of `from` first, joined where they lie behind each other.
struct Axes {
  std::array<Axis, kMostAxes> at{};
  std::size_t rank = 0;
  std::int64_t elements = 1;

  void add(const Axis& axis) {
    elements *= axis.size;
    if (axis.size == 1) return;
    std::size_t place = rank++;
    for (; place > 0 && at[place - 1].from < axis.from; --place) at[place] = at[place - 1];
    at[place] = axis;
  }
  void join() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rank; ++i) {
      const Axis& axis = at[i];
      if (at[kept].from == axis.from * axis.size && at[kept].to == axis.to * axis.size)
        at[kept] = Axis{at[kept].size * axis.size, axis.from, axis.to};
      else
        at[++kept] = axis;
    }
    rank = kept + 1; // one of size 1 where there is none
  }
  const Axis& last() const { return at[rank - 1]; }
  std::int64_t rows() const { return elements / last().size; }
  // Of the row with this number; rows lie along the last axis.
  void place(std::int64_t row, std::int64_t& from, std::int64_t& to) const {
    for (std::size_t i = rank - 1; i-- > 0;) {
      from += row % at[i].size * at[i].from;
      to += row % at[i].size * at[i].to;
      row /= at[i].size;
    }
  }
};

template <class Op, class T> class Reducer {
public:
  using Total = typename Op::template Total<T>;

  Reducer(Compute compute, const View& to, const View& from) : compute_(compute), to_(to), from_(from) {
    for (int i = 0; i < from.shape.rank(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool stays = to.shape[i] == from.shape[i];
      (stays ? kept_ : gone_).add(Axis{from.shape[i], from.strides[k], stays ? to.strides[k] : 0});
    }
    kept_.join();
    gone_.join();
    element_ = bytes_of(from.dtype);
    direct_ = from.dtype == DType::f64 || from.dtype == DType::i64;
    sums_f32_ = std::is_same_v<Op, Sum> && from.dtype == DType::f32;
  }

  // divisor: of means, else 1.
  void run(double divisor) {
    divisor_ = divisor;
    const bool by_rows = kept_.last().from < gone_.last().from && kept_.last().size >= 8;
    pieces_ = std::clamp<std::int64_t>(gone_.elements / kLeastPiece, 1, kPieces);
    if (by_rows)
      rows();
    else if (short_rows())
      whole_rows();
    else
      elements();
  }

private:
  const char* data(std::int64_t at) const { return static_cast<const char*>(from_.data) + at * element_; }

  void finish(std::int64_t at, T value) {
    char* place = static_cast<char*>(to_.data) + at * bytes_of(to_.dtype);
    if constexpr (std::is_same_v<T, double>) value = value / divisor_;
    store(compute_, &value, to_.dtype, place, 1, 1);
  }

  // --- the closest axis goes

  void elements() {
    const std::int64_t n = kept_.elements;
    if (n >= kPieces || pieces_ == 1) {
      const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / std::max<std::int64_t>(1, gone_.elements));
      parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          std::int64_t from = 0, to = 0;
          place_kept(i, from, to);
          finish(to, total(from, 0, gone_.elements).value());
        }
      });
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t from = 0, to = 0;
      place_kept(i, from, to);
      std::array<Total, kPieces> parts;
      parallel_for(pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p)
          parts[static_cast<std::size_t>(p)] = total(from, first_of(p, gone_.elements), first_of(p + 1, gone_.elements));
      });
      Total all;
      for (std::int64_t p = 0; p < pieces_; ++p) all.add(parts[static_cast<std::size_t>(p)]);
      finish(to, all.value());
    }
  }

  std::int64_t first_of(std::int64_t piece, std::int64_t count) const {
    return count / pieces_ * piece + std::min(piece, count % pieces_);
  }

  void place_kept(std::int64_t i, std::int64_t& from, std::int64_t& to) const {
    const Axis& last = kept_.last();
    kept_.place(i / last.size, from, to);
    from += i % last.size * last.from;
    to += i % last.size * last.to;
  }

  // Of the reduced elements [begin, end), counted in the order of their axes.
  Total total(std::int64_t base, std::int64_t begin, std::int64_t end) const {
    Total all;
    alignas(64) T staged[kBlock];
    std::int64_t filled = 0;
    const Axis& last = gone_.last();
    while (begin < end) {
      std::int64_t from = base, none = 0;
      gone_.place(begin / last.size, from, none);
      std::int64_t i = begin % last.size;
      const std::int64_t row_end = std::min(last.size, i + end - begin);
      begin += row_end - i;
      if constexpr (std::is_same_v<T, double>) {
        double sums[kLanes];
        while (sums_f32_ && last.from == 1 && filled == 0 && row_end - i >= kBlock) {
          const std::int64_t blocks = std::min((row_end - i) / kBlock, kLanes);
          sum_blocks(sums, reinterpret_cast<const float*>(data(from + i)), blocks);
          for (std::int64_t block = 0; block < blocks; ++block) all.add(sums[block]);
          i += blocks * kBlock;
        }
      }
      while (i < row_end) {
        const std::int64_t n = std::min(row_end - i, kBlock - filled);
        const char* place = data(from + i * last.from);
        i += n;
        if (direct_ && last.from == 1 && n == kBlock) {
          all.add(reduced<Op>(reinterpret_cast<const T*>(place), n));
          continue;
        }
        load(compute_, staged + filled, from_.dtype, place, last.from, n);
        filled += n;
        if (filled == kBlock) {
          all.add(reduced<Op>(staged, filled));
          filled = 0;
        }
      }
    }
    if (filled != 0) all.add(reduced<Op>(staged, filled));
    return all;
  }

  // --- many short rows behind each other, each of which goes whole

  bool short_rows() const {
    return kept_.rank == 1 && gone_.rank == 1 && gone_.last().from == 1 && gone_.elements <= kBlock / 8 &&
           kept_.last().from == gone_.elements;
  }

  void whole_rows() {
    const std::int64_t n = gone_.elements, at_once = kBlock / n;
    parallel_for(kept_.elements, kElementsInline / n, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) T staged[kBlock], results[kBlock];
      for (std::int64_t i = begin; i < end; i += at_once) {
        const std::int64_t count = std::min(at_once, end - i);
        load(compute_, staged, from_.dtype, data(i * n), 1, count * n);
        for (std::int64_t row = 0; row < count; ++row) {
          const T all = reduced<Op>(staged + row * n, n);
          if constexpr (std::is_same_v<T, double>)
            results[row] = all / divisor_;
          else
            results[row] = all;
        }
        const std::int64_t stride = kept_.last().to;
        store(compute_, results, to_.dtype, static_cast<char*>(to_.data) + i * stride * bytes_of(to_.dtype), stride, count);
      }
    });
  }

  // --- the closest axis stays

  struct Accumulators {
    Total totals[kBlock];
  };

  void rows() {
    const Axis& last = kept_.last();
    const std::int64_t blocks = (last.size - 1) / kBlock + 1;
    const std::int64_t units = kept_.rows() * blocks;
    const std::int64_t wide = std::min(kBlock, last.size);
    if (units >= kPieces || gone_.elements * wide < 2 * kLeastPiece) {
      const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / (std::max<std::int64_t>(1, gone_.elements) * wide));
      parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
          Accumulators sums;
          accumulate(unit, blocks, 0, gone_.elements, sums);
          finish_block(unit, blocks, sums);
        }
      });
      return;
    }
    pieces_ = std::clamp<std::int64_t>(gone_.elements * wide / kLeastPiece, 1, kPieces);
    for (std::int64_t unit = 0; unit < units; ++unit) {
      std::array<Accumulators, kPieces> parts;
      parallel_for(pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p)
          accumulate(unit, blocks, first_of(p, gone_.elements), first_of(p + 1, gone_.elements),
                     parts[static_cast<std::size_t>(p)]);
      });
      for (std::size_t p = 1; p < static_cast<std::size_t>(pieces_); ++p)
        for (std::int64_t j = 0; j < wide; ++j) parts[0].totals[j].add(parts[p].totals[j]);
      finish_block(unit, blocks, parts[0]);
    }
  }

  // A stretch of kBlock columns of a row of results.
  std::int64_t columns(std::int64_t unit, std::int64_t blocks, std::int64_t& from, std::int64_t& to) const {
    const Axis& last = kept_.last();
    kept_.place(unit / blocks, from, to);
    const std::int64_t first = unit % blocks * kBlock;
    from += first * last.from;
    to += first * last.to;
    return std::min(kBlock, last.size - first);
  }

  void accumulate(std::int64_t unit, std::int64_t blocks, std::int64_t begin, std::int64_t end, Accumulators& sums) const {
    std::int64_t base = 0, none = 0;
    const std::int64_t n = columns(unit, blocks, base, none);
    const std::int64_t stride = kept_.last().from;
    alignas(64) T staged[kBlock];
    alignas(64) T some[kBlock]; // of up to kLanes rows
    const Axis& last = gone_.last();
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t stop = std::min(end, row + kLanes);
      for (bool fresh = true; row < stop; ++row, fresh = false) {
        std::int64_t from = base;
        gone_.place(row / last.size, from, none);
        const char* place = data(from + row % last.size * last.from);
        const T* x = staged;
        if constexpr (std::is_same_v<T, double>)
          if (sums_f32_ && stride == 1 && !fresh) {
            add_row(some, reinterpret_cast<const float*>(place), n);
            continue;
          }
        if (direct_ && stride == 1)
          x = reinterpret_cast<const T*>(place);
        else
          load(compute_, fresh ? some : staged, from_.dtype, place, stride, n);
        if (fresh) {
          if (x != staged) std::copy_n(x, n, some);
        } else {
          for (std::int64_t j = 0; j < n; ++j) some[j] = Op::both(some[j], x[j]);
        }
      }
      for (std::int64_t j = 0; j < n; ++j) sums.totals[j].add(some[j]);
    }
  }

  void finish_block(std::int64_t unit, std::int64_t blocks, const Accumulators& sums) {
    std::int64_t none = 0, to = 0;
    const std::int64_t n = columns(unit, blocks, none, to);
    for (std::int64_t j = 0; j < n; ++j) finish(to + j * kept_.last().to, sums.totals[j].value());
  }

  const Compute compute_;
  const View &to_, &from_;
  Axes kept_, gone_;
  std::int64_t element_ = 0, pieces_ = 1;
  double divisor_ = 1;
  bool direct_ = false; // elements are of the type computed in
  bool sums_f32_ = false;
};

template <class Op> void run(const View& to, const View& from, bool integers, double divisor) {
  if (integers)
    Reducer<Op, Integer>(Compute::i64, to, from).run(1);
  else
    Reducer<Op, double>(Compute::f64, to, from).run(divisor);
}

} // namespace

void reduce(Reduction reduction, const View& to, const View& from) {
  const std::int64_t n = to.elements();
  if (n == 0) return;
  if (from.elements() == 0) return fill_elements(to, reduction == Reduction::mean ? std::numeric_limits<double>::quiet_NaN() : 0);
  const double count = static_cast<double>(from.elements() / n);
  const bool integers = !is_floating(from.dtype) && reduction != Reduction::mean;
  switch (reduction) {
  case Reduction::max:
    return run<Maximum>(to, from, integers, 1);
  case Reduction::min:
    return run<Minimum>(to, from, integers, 1);
  case Reduction::sum:
  case Reduction::mean:
    return run<Sum>(to, from, integers, reduction == Reduction::mean ? count : 1);
  }
}

} // namespace cairn::ops::cpu
