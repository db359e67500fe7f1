// See softmax.h: softmax of scaled and masked scores. Rows are gone over in whole blocks, where they lie or staged in float or
// double and filled up with elements that are masked; sums are taken by lanes. What is masked to the end of a row, half of all
// where nothing may look ahead, is only filled with zeros.
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/lanes.h"
#include "ops/cpu/normalize/softmax.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBlock = 2 * kLanes; // a loop over so many is made vectors, a shorter one is only unrolled

template <class T> struct Row {
  const T *x, *other; // other: mask, or cotangent
  T* out;             // may be x
  std::int64_t n;     // a multiple of kBlock
  T scale;
};

// What of the row is in blocks up to the last one that has an element which is not masked.
template <class T> CAIRN_INLINE std::int64_t open_part(const T* mask, std::int64_t n) {
  Pace pace;
  for (; n > 0; n -= kBlock) {
    unsigned open = 0;
    for (std::int64_t l = n - kBlock; l < n; ++l) open |= mask[l] == T(0) ? 1u : 0u;
    if (open != 0) break;
    pace.did(kBlock);
  }
  return n;
}

template <class T> struct Forward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Row<T> row = *static_cast<const Row<T>*>(out);
    constexpr T nothing = -std::numeric_limits<T>::infinity();
    const T *const x = row.x, *const mask = row.other, scale = row.scale;
    T* const y = row.out;
    const std::int64_t n = open_part(mask, row.n);
    alignas(64) T largest[kBlock];
    for (T& lane : largest) lane = nothing;
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          for (std::int64_t i = begin; i < end; i += kBlock) {
            CAIRN_EACH
            for (std::int64_t l = 0; l < kBlock; ++l) {
              const T score = x[i + l] * scale, open = mask[i + l] == T(0) ? score : nothing;
              y[i + l] = open;
              largest[l] = open > largest[l] ? open : largest[l];
            }
          }
        });
    for (std::int64_t half = kBlock / 2; half > 0; half /= 2) {
      CAIRN_EACH
      for (std::int64_t l = 0; l < half; ++l) largest[l] = largest[l + half] > largest[l] ? largest[l + half] : largest[l];
    }
    const T shift = largest[0] == nothing ? T(0) : largest[0];
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) y[i] = pointwise::exp(y[i] - shift);
        });
    alignas(64) T sums[kLanes] = {};
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { sums[l] += y[i]; });
    const T factor = 1 / sum_of(sums);
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) y[i] *= factor;
        });
    by_stretches(
        row.n - n, [&](std::int64_t begin, std::int64_t end)
                       __attribute__((always_inline)) { std::fill(y + n + begin, y + n + end, T(0)); });
  }
};

template <class T> struct Backward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Row<T> row = *static_cast<const Row<T>*>(out);
    const T *const y = row.x, *const c = row.other, scale = row.scale;
    T* const dx = row.out;
    const std::int64_t n = row.n;
    alignas(64) T lanes[kLanes] = {};
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] += c[i] * y[i]; });
    const T sum = sum_of(lanes);
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) dx[i] = scale * y[i] * (c[i] - sum);
        });
  }
};

// The lines of a tensor in whole blocks: where they lie, or staged.
template <class T> class Lines {
public:
  // beyond: what a staged line is filled up with.
  Lines(const View& v, unsigned line, T beyond)
      : groups_(v, line), beyond_(beyond), direct_(groups_.size() % kBlock == 0 && groups_.template beside<T>()) {}

  std::int64_t blocks() const { return (groups_.size() + kBlock - 1) / kBlock * kBlock; }
  const T* get(std::int64_t i, Array<T>& staged) const {
    if (direct_) return address(i);
    groups_.load(i, staged);
    staged.resize(static_cast<std::size_t>(blocks()), beyond_);
    return staged.data();
  }
  T* to(std::int64_t i, Array<T>& staged) const {
    if (direct_) return address(i);
    staged.resize(static_cast<std::size_t>(blocks()));
    return staged.data();
  }
  void put(std::int64_t i, const Array<T>& staged) const {
    if (!direct_) groups_.store(i, staged);
  }

private:
  T* address(std::int64_t i) const { return reinterpret_cast<T*>(groups_.address(i, 0)); }
  Groups groups_;
  T beyond_;
  bool direct_;
};

// x, and other where it is a tensor, row by row through the loop to out.
template <class T> void rows(const View& out, const View& x, const View& other, double scale, T beyond, Loop loop) {
  const unsigned line = line_along(-1, out.shape.rank());
  const Groups all(out, line);
  const Lines<T> from(x, line, T(0)), beside(other.weak ? x : other, line, beyond), to(out, line, T(0));
  parallel_for(all.count(), all.grain(), [&](std::int64_t begin, std::int64_t end) {
    Array<T> staged, staged_other, results;
    if (other.weak) {
      staged_other = filled(all.size(), static_cast<T>(other.number));
      staged_other.resize(static_cast<std::size_t>(from.blocks()), beyond);
    }
    for (std::int64_t i = begin; i < end; ++i) {
      Row<T> row{};
      row.x = from.get(i, staged);
      row.other = other.weak ? staged_other.data() : beside.get(i, staged_other);
      row.out = to.to(i, results);
      row.n = from.blocks();
      row.scale = static_cast<T>(scale);
      loop(&row, nullptr, 0, 0);
      to.put(i, results);
    }
  });
}

} // namespace

void masked_softmax(const KernelCall& call, double scale) {
  const View &out = call.outputs[0], &x = call.inputs[0], &mask = call.inputs[1];
  View over = mask; // stretched
  over.shape = out.shape;
  over.strides.fill(0);
  for (int i = 0; i < mask.shape.rank(); ++i)
    if (mask.shape[i] != 1)
      over.strides[static_cast<std::size_t>(i + out.shape.rank() - mask.shape.rank())] =
          mask.strides[static_cast<std::size_t>(i)];
  if (compute_of(out.dtype) == Compute::f64)
    rows<double>(out, x, over, scale, 1, Compiled<Forward<double>>::chosen());
  else
    rows<float>(out, x, over, scale, 1, Compiled<Forward<float>>::chosen());
}

void masked_softmax_vjp(const KernelCall& call, double scale) {
  const View &out = call.outputs[0], &c = call.inputs[0], &y = call.inputs[1];
  if (compute_of(out.dtype) == Compute::f64)
    rows<double>(out, y, c, scale, 0, Compiled<Backward<double>>::chosen());
  else
    rows<float>(out, y, c, scale, 0, Compiled<Backward<float>>::chosen());
}

} // namespace cairn::ops::cpu
