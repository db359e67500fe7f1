// See attention.h. A unit of work is a tile of queries of one member of the batch, or for cotangents of keys and values a member,
// whose tiles are added in their order: what bits come out depends on shapes alone. Exponentials are not divided by their sum;
// what is multiplied by them has fewer elements, and is.
#include "ops/cpu/matrices/attention.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/loops/softmax_loops.h"
#include "ops/cpu/matrices/matmul.h"

#include <algorithm>
#include <array>
#include <new>

namespace cairn::ops::cpu {

namespace {

using product::Matrix;

constexpr std::int64_t kMostRows = 64, kLeastRows = 16;       // of a tile
constexpr std::int64_t kScoresOfTile = std::int64_t{1} << 19; // about, more only where a tile has kLeastRows
// Members of a batch that are enough work for threads; of fewer ones the tiles are dealt out to so many units together.
constexpr std::int64_t kLeastUnits = 8;

std::int64_t rounded(std::int64_t elements) { return (elements + 15) / 16 * 16; }

// sum of a b
template <class T> struct SumOfProducts {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    alignas(64) T lanes[kLanes] = {};
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] += a[i] * b[i]; });
    *static_cast<T*>(out) = sum_of(lanes);
  }
};

// out = a (b - c)
template <class T> struct Slopes {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    const T c = *static_cast<const T*>(in[2]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = a[i] * (b[i] - c);
  }
};

// Elements for one unit after the other; a piece of scratch, cut.
template <class T> class Room {
public:
  explicit Room(std::int64_t elements) : scratch_(elements * std::int64_t{sizeof(T)}) {
    if (scratch_.get() == nullptr) throw std::bad_alloc();
    next_ = reinterpret_cast<T*>(scratch_.get());
  }
  // A matrix of rows so far apart.
  Matrix matrix(std::int64_t rows, std::int64_t columns, std::int64_t wide) {
    Matrix m;
    m.data = reinterpret_cast<char*>(next_);
    m.dtype = std::is_same_v<T, float> ? DType::f32 : DType::f64;
    m.element = sizeof(T);
    m.rows = rows;
    m.columns = columns;
    m.row = wide;
    m.column = 1;
    next_ += rounded(rows * wide);
    return m;
  }

private:
  Scratch scratch_;
  T* next_;
};

template <class T> T* row_of(const Matrix& m, std::int64_t i) { return reinterpret_cast<T*>(m.data) + i * m.row; }

Matrix first_columns(Matrix m, std::int64_t columns) {
  m.columns = columns;
  return m;
}
Matrix some_rows(const Matrix& m, std::int64_t first, std::int64_t rows) {
  Matrix some = m.from(first, 0);
  some.rows = rows;
  return some;
}

template <class T> class Tiles {
public:
  Tiles(const Attention& attention, const View& out, const View& q, const View& k, const View& v)
      : attention_(attention), out_(out), q_(q), k_(k), v_(v) {
    const auto size = [](const View& of, int from_end) { return of.shape[of.shape.rank() - from_end]; };
    queries_ = size(q, 2);
    keys_ = size(k, 2);
    width_ = size(q, 1);
    width_of_v_ = size(v, 1);
    members_ = 1;
    for (int i = 0; i + 2 < out.shape.rank(); ++i) members_ *= out.shape[i];
    rows_ = std::clamp(kScoresOfTile / std::max<std::int64_t>(1, keys_) / kLeastRows * kLeastRows, kLeastRows, kMostRows);
    rows_ = std::min(rows_, queries_);
    tiles_ = queries_ == 0 ? 0 : (queries_ - 1) / rows_ + 1;
    // No power of two, as its lines would be in each other's way in a cache.
    wide_ = rounded(keys_) + 16;
  }

  void forward() const {
    const std::int64_t units = members_ * tiles_;
    parallel_for(units, grain(1), [&](std::int64_t begin, std::int64_t end) {
      Room<T> room(of_tile(1) + of_operands());
      Matrix scores = room.matrix(rows_, keys_, wide_), q = room.matrix(rows_, width_, width_),
             mean = room.matrix(rows_, width_of_v_, width_of_v_);
      const Operands staged = operands(room);
      Pace pace;
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t member = unit / tiles_, first = unit % tiles_ * rows_, rows = std::min(rows_, queries_ - first);
        const Operands keys = load_keys(member, staged, keys_seen(first, rows));
        scores.rows = q.rows = mean.rows = rows;
        load_queries(q, member, first);
        const Matrix seen = first_columns(scores, keys.k.rows);
        std::array<T, kMostRows> factors;
        exponentials_of(q, keys.k, seen, first, factors, pace);
        multiply_here(mean, seen, keys.v);
        store_rows(out_, mean, member, first, factors.data());
        pace.did(rows * width_of_v_);
      }
    });
  }

  // Here `out` is the cotangent of the result.
  void reverse(const AttentionParts& parts) const {
    const std::int64_t units_of_member =
        std::min(std::max<std::int64_t>(1, tiles_), (kLeastUnits - 1) / std::max<std::int64_t>(1, members_) + 1);
    const std::int64_t for_k = rounded(keys_ * width_), in_sums = for_k + rounded(keys_ * width_of_v_);
    // Sums are taken in the results, where those are like what is summed, by the first unit of a member; by others in scratch.
    const bool direct = is_sum(parts.k) && is_sum(parts.v), shared = units_of_member > 1;
    const std::int64_t in_scratch = shared ? units_of_member - (direct ? 1 : 0) : 0;
    Room<T> scratch(std::max<std::int64_t>(1, members_ * in_scratch * in_sums));
    const Matrix all = scratch.matrix(1, 0, 0);
    const auto sums_at = [&](const Matrix& base) {
      return Operands{sums_in(base, width_), sums_in(base.at(for_k), width_of_v_)};
    };
    const auto sums_of = [&](std::int64_t unit) {
      const std::int64_t member = unit / units_of_member, n = unit % units_of_member - (direct ? 1 : 0);
      if (n < 0) return Operands{member_of(parts.k, member), member_of(parts.v, member)};
      return sums_at(all.at((member * in_scratch + n) * in_sums));
    };
    parallel_for(members_ * units_of_member, grain(tiles_ / units_of_member), [&](std::int64_t begin, std::int64_t end) {
      const bool copied_out = !direct && !shared;
      Room<T> room(of_tile(2) + of_operands() + (copied_out ? in_sums : 0));
      Tile tile{room.matrix(rows_, keys_, wide_), room.matrix(rows_, keys_, wide_), room.matrix(rows_, width_, width_),
                room.matrix(rows_, width_of_v_, width_of_v_), room.matrix(rows_, width_, width_)};
      const Operands staged = operands(room);
      const Matrix rest = room.matrix(1, 0, 0);
      Pace pace;
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t member = unit / units_of_member;
        const Operands sums = copied_out ? sums_at(rest) : sums_of(unit);
        clear(sums.k, pace);
        clear(sums.v, pace);
        const Operands keys = load_keys(member, staged, keys_);
        for (std::int64_t i = unit % units_of_member; i < tiles_; i += units_of_member)
          reverse_tile(tile, keys, sums, parts.q, member, i * rows_, pace);
        if (copied_out) store_sums(sums, parts, member, pace);
      }
    });
    if (!shared) return;
    parallel_for(members_, 1, [&](std::int64_t begin, std::int64_t end) {
      Pace pace;
      for (std::int64_t member = begin; member < end; ++member) {
        const Operands sums = sums_of(member * units_of_member);
        for (std::int64_t n = 1; n < units_of_member; ++n) {
          const Operands more = sums_of(member * units_of_member + n);
          add(sums.k, more.k, pace);
          add(sums.v, more.v, pace);
        }
        if (!direct) store_sums(sums, parts, member, pace);
      }
    });
  }

private:
  static constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;
  static constexpr DType kType = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  struct Operands {
    Matrix k, v;
  };
  struct Tile {
    Matrix weights, slopes, q, c, part;
  };

  // Of units that have so many tiles each.
  std::int64_t grain(std::int64_t tiles) const {
    const double work = static_cast<double>(std::max<std::int64_t>(1, tiles)) * static_cast<double>(rows_) *
                        static_cast<double>(std::max<std::int64_t>(1, keys_)) * static_cast<double>(width_ + width_of_v_ + 16);
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(16.0 * static_cast<double>(kElementsInline) / std::max(1.0, work)));
  }
  std::int64_t of_tile(std::int64_t scores) const {
    return scores * rounded(rows_ * wide_) + 2 * rounded(rows_ * width_) + rounded(rows_ * width_of_v_);
  }

  // Keys and values of another type are copied.
  bool copied(const View& v) const { return v.dtype != kType; }
  std::int64_t of_operands() const {
    return (copied(k_) ? rounded(keys_ * width_) : 0) + (copied(v_) ? rounded(keys_ * width_of_v_) : 0);
  }
  Operands operands(Room<T>& room) const {
    Operands staged;
    if (copied(k_)) staged.k = room.matrix(keys_, width_, width_);
    if (copied(v_)) staged.v = room.matrix(keys_, width_of_v_, width_of_v_);
    return staged;
  }
  Operands load_keys(std::int64_t member, const Operands& staged, std::int64_t seen) const {
    const auto of = [&](const View& v, const Matrix& to) {
      const Matrix all = some_rows(member_of(v, member), 0, seen);
      if (!copied(v)) return all;
      for (std::int64_t i = 0; i < seen; ++i)
        load(kCompute, row_of<T>(to, i), all.dtype, all.from(i, 0).data, all.column, all.columns);
      return some_rows(to, 0, seen);
    };
    return {of(k_, staged.k), of(v_, staged.v)};
  }

  // Leading axes of size 1, or missing, are stretched to those of the result.
  Matrix member_of(const View& v, std::int64_t member) const {
    std::int64_t at = 0;
    const int missing = out_.shape.rank() - v.shape.rank();
    for (int i = out_.shape.rank() - 2; i-- > 0;) {
      const std::int64_t size = out_.shape[i];
      if (i >= missing && v.shape[i - missing] != 1) at += member % size * v.strides[static_cast<std::size_t>(i - missing)];
      member /= size;
    }
    return Matrix(v).at(at);
  }

  std::int64_t keys_seen(std::int64_t first, std::int64_t rows) const {
    return attention_.causal ? std::min(keys_, first + rows) : keys_;
  }

  // Rows of q from `first` on, times the scale.
  void load_queries(const Matrix& to, std::int64_t member, std::int64_t first) const {
    load_rows(to, q_, member, first);
    const T scale = static_cast<T>(attention_.scale);
    for (std::int64_t i = 0; i < to.rows; ++i)
      for (std::int64_t j = 0; j < width_; ++j) row_of<T>(to, i)[j] *= scale;
  }
  void load_rows(const Matrix& to, const View& from, std::int64_t member, std::int64_t first) const {
    const Matrix rows = some_rows(member_of(from, member), first, to.rows);
    for (std::int64_t i = 0; i < to.rows; ++i)
      load(kCompute, row_of<T>(to, i), rows.dtype, rows.from(i, 0).data, rows.column, rows.columns);
  }
  // Each row times its factor.
  void store_rows(const View& to, const Matrix& from, std::int64_t member, std::int64_t first, const T* factors) const {
    const Matrix rows = some_rows(member_of(to, member), first, from.rows);
    for (std::int64_t i = 0; i < from.rows; ++i) {
      T* const row = row_of<T>(from, i);
      for (std::int64_t j = 0; j < from.columns; ++j) row[j] *= factors[i];
      store(kCompute, row, rows.dtype, rows.from(i, 0).data, rows.column, rows.columns);
    }
  }

  // Exponentials of scores, less the largest of each row, 0 where a row does not see; and what makes weights of them.
  void exponentials_of(const Matrix& q, const Matrix& k, const Matrix& scores, std::int64_t first,
                       std::array<T, kMostRows>& factors, Pace& pace) const {
    multiply_here(scores, q, k.transposed());
    for (std::int64_t i = 0; i < scores.rows; ++i) {
      T* const row = row_of<T>(scores, i);
      const std::int64_t seen = seen_of(scores, first + i);
      const T largest = folded<Largest<T>>(row, seen);
      exponentials(row, row, largest, T(1), seen);
      std::fill(row + seen, row + scores.columns, T(0));
      factors[static_cast<std::size_t>(i)] = scores.columns == 0 ? T(0) : 1 / folded<Sum<T>>(row, seen);
      pace.did(scores.columns);
    }
  }
  std::int64_t seen_of(const Matrix& scores, std::int64_t row) const {
    return attention_.causal ? std::min(scores.columns, row + 1) : scores.columns;
  }

  // With w the weights, w = e f, what is multiplied by exponentials e is c f: of v e' (c f), of scores w (c v' - sum of w c v').
  void reverse_tile(Tile& tile, const Operands& all, const Operands& sums, const View& of_q, std::int64_t member,
                    std::int64_t first, Pace& pace) const {
    const std::int64_t rows = std::min(rows_, queries_ - first), seen_by_tile = keys_seen(first, rows);
    const Operands keys{some_rows(all.k, 0, seen_by_tile), some_rows(all.v, 0, seen_by_tile)};
    tile.weights.rows = tile.slopes.rows = tile.q.rows = tile.c.rows = tile.part.rows = rows;
    const Matrix weights = first_columns(tile.weights, seen_by_tile), slopes = first_columns(tile.slopes, seen_by_tile);
    std::array<T, kMostRows> factors;
    load_queries(tile.q, member, first);
    exponentials_of(tile.q, keys.k, weights, first, factors, pace);
    load_rows(tile.c, out_, member, first);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < width_of_v_; ++j) row_of<T>(tile.c, i)[j] *= factors[static_cast<std::size_t>(i)];

    multiply_here(some_rows(sums.v, 0, seen_by_tile), weights.transposed(), tile.c, true);
    multiply_here(slopes, tile.c, keys.v.transposed());
    for (std::int64_t i = 0; i < rows; ++i) {
      T *const e = row_of<T>(weights, i), *const s = row_of<T>(slopes, i);
      const std::int64_t seen = seen_of(weights, first + i);
      T mean{};
      const void* const both[] = {e, s};
      Compiled<SumOfProducts<T>>::chosen()(&mean, both, seen, 0);
      mean *= factors[static_cast<std::size_t>(i)];
      const void* const in[] = {e, s, &mean};
      Compiled<Slopes<T>>::chosen()(s, in, seen, 0);
      std::fill(s + seen, s + slopes.columns, T(0));
      pace.did(slopes.columns);
    }
    multiply_here(some_rows(sums.k, 0, seen_by_tile), slopes.transposed(), tile.q, true);
    multiply_here(tile.part, slopes, keys.k);
    std::fill_n(factors.begin(), rows, static_cast<T>(attention_.scale));
    store_rows(of_q, tile.part, member, first, factors.data());
    pace.did(rows * (width_ + width_of_v_));
  }

  // Sums can be taken where the result lies.
  bool is_sum(const View& v) const {
    const int rank = v.shape.rank();
    return v.dtype == kType && (v.shape[rank - 1] == 1 || v.strides[static_cast<std::size_t>(rank - 1)] == 1);
  }
  void clear(const Matrix& m, Pace& pace) const {
    for (std::int64_t i = 0; i < m.rows; ++i) {
      std::fill_n(row_of<T>(m, i), m.columns, T(0));
      pace.did(m.columns);
    }
  }
  Matrix sums_in(Matrix base, std::int64_t columns) const {
    base.rows = keys_;
    base.columns = base.row = columns;
    return base;
  }
  void add(const Matrix& to, const Matrix& more, Pace& pace) const {
    for (std::int64_t i = 0; i < to.rows; ++i) {
      T* const row = row_of<T>(to, i);
      const T* const other = row_of<T>(more, i);
      for (std::int64_t j = 0; j < to.columns; ++j) row[j] += other[j];
      pace.did(to.columns);
    }
  }
  void store_sums(const Operands& sums, const AttentionParts& parts, std::int64_t member, Pace& pace) const {
    const auto store_all = [&](const View& to, const Matrix& from) {
      const Matrix result = member_of(to, member);
      for (std::int64_t i = 0; i < from.rows; ++i) {
        store(kCompute, row_of<T>(from, i), result.dtype, result.from(i, 0).data, result.column, result.columns);
        pace.did(from.columns);
      }
    };
    store_all(parts.k, sums.k);
    store_all(parts.v, sums.v);
  }

  const Attention& attention_;
  const View &out_, &q_, &k_, &v_;
  std::int64_t queries_, keys_, width_, width_of_v_, members_, rows_, tiles_, wide_;
};

} // namespace

void attend(const Attention& attention, const View& out, const View& q, const View& k, const View& v) {
  if (out.elements() == 0) return;
  if (compute_of(out.dtype) == Compute::f64)
    Tiles<double>(attention, out, q, k, v).forward();
  else
    Tiles<float>(attention, out, q, k, v).forward();
}

void attend_vjp(const Attention& attention, const AttentionParts& parts, const View& c, const View& q, const View& k,
                const View& v) {
  if (compute_of(parts.q.dtype) == Compute::f64)
    Tiles<double>(attention, c, q, k, v).reverse(parts);
  else
    Tiles<float>(attention, c, q, k, v).reverse(parts);
}

} // namespace cairn::ops::cpu
