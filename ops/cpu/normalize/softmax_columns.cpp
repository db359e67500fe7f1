// See softmax.h: softmax of lines that go across memory, in panels of lines beside each other, so that vectors hold an element of
// each of many lines. Panels are staged in float or double, and kept if they fit into the caches; a longer one comes block by
// block, for each step anew.
#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/isa.h"
#include "ops/cpu/loops/panels.h"
#include "ops/cpu/normalize/softmax.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kRows = 32;               // of a block: it stays in the closest cache from step to step
constexpr std::int64_t kLeastColumns = 16;       // panels are multiples of it
constexpr std::int64_t kMostColumns = 256;       // and so wide at most
constexpr std::int64_t kPanelBytes = 1024 << 10; // of what is kept
constexpr std::int64_t kFewPanels = 8;           // rather narrow ones, so that threads find enough
constexpr std::int64_t kLeastNeighbours = 8;     // fewer lines make no vectors
constexpr std::int64_t kAhead = 8;               // rows; each is on a page of its own, where processors do not look ahead

template <class T> struct Tile {
  T* a;                   // the first operand, and the results
  const T* b;             // the second one, if there is one
  T *largest, *of_column; // of_column: sums of this block, or what results are made with
  double* sums;           // of all blocks
  std::int64_t rows, columns;
};

// What steps do at each element.
template <class T> struct Largest {
  CAIRN_INLINE static void at(T& a, T, T& largest, T&) { largest = a > largest ? a : largest; }
};
template <class T> struct Powers {
  CAIRN_INLINE static void at(T& a, T, T& largest, T& sum) {
    a = pointwise::exp(a - largest);
    sum += a;
  }
};
template <class T> struct SumOfPowers {
  CAIRN_INLINE static void at(T& a, T, T& largest, T& sum) { sum += pointwise::exp(a - largest); }
};
template <class T> struct Scaled {
  CAIRN_INLINE static void at(T& a, T, T&, T& factor) { a *= factor; }
};
template <class T> struct ScaledPowers {
  CAIRN_INLINE static void at(T& a, T, T& largest, T& factor) { a = pointwise::exp(a - largest) * factor; }
};
template <class T> struct Shifted {
  CAIRN_INLINE static void at(T& a, T, T&, T& shift) { a -= shift; }
};
template <class T> struct SumOfProducts {
  CAIRN_INLINE static void at(T& c, T y, T&, T& sum) { sum += c * y; }
};
template <class T> struct PlainSlopes {
  CAIRN_INLINE static void at(T& c, T y, T&, T& sum) { c = y * (c - sum); }
};
template <class T> struct SumOfTerms {
  CAIRN_INLINE static void at(T& c, T, T&, T& sum) { sum += c; }
};
template <class T> struct LogarithmSlopes {
  CAIRN_INLINE static void at(T& c, T y, T&, T& sum) { c -= pointwise::exp(y) * sum; }
};

template <class T, template <class> class Element, bool sums> struct Step {
  CAIRN_INLINE static void run(void* block_of_columns, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Tile<T>& block = *static_cast<const Tile<T>*>(block_of_columns);
    T *const largest = block.largest, *const of_column = block.of_column;
    double* const all = block.sums;
    const std::int64_t columns = block.columns;
    if (sums) std::fill_n(of_column, columns, T(0));
    for (std::int64_t r = 0; r < block.rows; ++r) {
      T* const a = block.a + r * columns;
      const T* const b = block.b + r * columns;
      CAIRN_EACH
      for (std::int64_t i = 0; i < columns; ++i) Element<T>::at(a[i], b[i], largest[i], of_column[i]);
    }
    if (sums) {
      CAIRN_EACH
      for (std::int64_t i = 0; i < columns; ++i) all[i] += static_cast<double>(of_column[i]);
    }
  }
};

template <class T> class Columns {
public:
  Columns(Softmax what, int axis, const View& out, std::span<const View> in)
      : what_(what), n_(out.shape[axis]), out_(out), in_(in), panels_(axis, {&out, &in.front(), &in.back()}) {
    backward_ = what == Softmax::plain_vjp || what == Softmax::logarithm_vjp;
    const View* const views[] = {&out, &in.front(), &in.back()};
    for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i] = panels_.along(i) * bytes_of(views[i]->dtype);
  }

  bool suited() const {
    return panels_.neighbours() >= kLeastNeighbours && panels_.across(0) == 1 && panels_.across(1) == 1 && panels_.across(2) == 1;
  }

  bool run() {
    const std::int64_t row = static_cast<std::int64_t>(sizeof(T)) * (backward_ ? 2 : 1);
    const auto whole = [](std::int64_t columns) { return (columns + kLeastColumns - 1) / kLeastColumns * kLeastColumns; };
    columns_ = std::clamp(kPanelBytes / (n_ * row) / kLeastColumns * kLeastColumns, kLeastColumns, kMostColumns);
    columns_ = std::min(columns_, whole(panels_.neighbours()));
    panels_.cut(columns_);
    while (columns_ > kLeastColumns && panels_.count() < kFewPanels) {
      columns_ = whole(columns_ / 2);
      panels_.cut(columns_);
    }
    kept_ = n_ * columns_ * row <= kPanelBytes;
    staged_rows_ = kept_ ? n_ : std::min(n_, kRows);
    std::atomic<bool> done = true;
    parallel_for(panels_.count(), std::max<std::int64_t>(1, kElementsInline / 8 / (n_ * columns_)),
                 [&](std::int64_t begin, std::int64_t end) {
                   const Scratch memory(staged_rows_ * columns_ * row);
                   if (memory.get() == nullptr)
                     done = false;
                   else
                     for (std::int64_t p = begin; p < end; ++p) Panel(*this, p, reinterpret_cast<T*>(memory.get())).run();
                 });
    return done;
  }

private:
  static constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;

  class Panel {
  public:
    Panel(const Columns& all, std::int64_t index, T* staged)
        : all_(all), here_(all.panels_[index]), a_(staged),
          b_(all.backward_ ? staged + all.staged_rows_ * all.columns_ : staged) {}

    void run() {
      switch (all_.what_) {
      case Softmax::plain:
      case Softmax::logarithm:
        return forward();
      case Softmax::plain_vjp:
        each_block<SumOfProducts, true>(true);
        std::copy_n(sums_, all_.columns_, of_column_);
        return each_block<PlainSlopes, false>(!all_.kept_, true);
      case Softmax::logarithm_vjp:
        each_block<SumOfTerms, true>(true);
        std::copy_n(sums_, all_.columns_, of_column_);
        return each_block<LogarithmSlopes, false>(!all_.kept_, true);
      }
    }

  private:
    void forward() {
      const bool again = !all_.kept_;
      std::fill_n(largest_, all_.columns_, -std::numeric_limits<T>::infinity());
      each_block<Largest, false>(true);
      if (all_.what_ == Softmax::plain) {
        again ? each_block<SumOfPowers, true>(true) : each_block<Powers, true>(false);
        for (std::int64_t i = 0; i < all_.columns_; ++i) of_column_[i] = 1 / static_cast<T>(sums_[i]);
        again ? each_block<ScaledPowers, false>(true, true) : each_block<Scaled, false>(false, true);
      } else {
        each_block<SumOfPowers, true>(again);
        for (std::int64_t i = 0; i < all_.columns_; ++i) of_column_[i] = largest_[i] + pointwise::log(static_cast<T>(sums_[i]));
        each_block<Shifted, false>(again, true);
      }
    }

    // The step for all rows, which are staged before it, and written after it.
    template <template <class> class Element, bool sums> void each_block(bool staging, bool writing = false) {
      const Loop loop = Compiled<Step<T, Element, sums>>::chosen();
      const std::int64_t columns = all_.columns_;
      Pace pace;
      for (std::int64_t r = 0; r < all_.n_; r += kRows) {
        const std::int64_t rows = std::min(kRows, all_.n_ - r), offset = all_.kept_ ? r * columns : 0;
        if (staging) {
          stage(1, r, rows, a_ + offset);
          if (all_.backward_) stage(2, r, rows, b_ + offset);
        }
        Tile<T> block{a_ + offset, b_ + offset, largest_, of_column_, sums_, rows, columns};
        loop(&block, nullptr, 0, 0);
        pace.did(rows * columns);
        if (writing)
          for (std::int64_t i = 0; i < rows; ++i)
            store(kCompute, a_ + offset + i * columns, all_.out_.dtype, row(0, r + i), 1, here_.lines);
      }
    }

    char* row(std::size_t view, std::int64_t r) const { return here_.at[view] + r * all_.steps_[view]; }

    void stage(std::size_t view, std::int64_t first, std::int64_t rows, T* to) const {
      const DType type = all_.in_[view - 1].dtype;
      const std::int64_t bytes = here_.lines * bytes_of(type);
      for (std::int64_t r = first; r < first + rows; ++r, to += all_.columns_) {
        const char* const ahead = row(view, std::min(r + kAhead, all_.n_ - 1));
        for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(ahead + at);
        load(kCompute, to, type, row(view, r), 1, here_.lines);
        std::fill(to + here_.lines, to + all_.columns_, T(0));
      }
    }

    const Columns& all_;
    const Panels::Panel here_;
    T *const a_, *const b_;
    alignas(64) T largest_[kMostColumns];
    alignas(64) T of_column_[kMostColumns];
    alignas(64) double sums_[kMostColumns] = {};
  };

  const Softmax what_;
  const std::int64_t n_;
  const View& out_;
  const std::span<const View> in_;
  Panels panels_;
  std::array<std::int64_t, 3> steps_{}; // bytes from row to row
  bool backward_ = false, kept_ = false;
  std::int64_t columns_ = 0, staged_rows_ = 0;
};

template <class T> bool columns(Softmax what, int axis, const View& out, std::span<const View> in) {
  Columns<T> all(what, axis, out, in);
  return all.suited() && all.run();
}

} // namespace

bool softmax_columns(Softmax what, int axis, const View& out, std::span<const View> in) {
  if (out.elements() == 0) return false;
  return compute_of(out.dtype) == Compute::f64 ? columns<double>(what, axis, out, in) : columns<float>(what, axis, out, in);
}

} // namespace cairn::ops::cpu
