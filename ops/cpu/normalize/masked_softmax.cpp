// See softmax.h: softmax of scaled and masked scores. A row is staged in float or double; sums are taken by lanes.
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/lanes.h"
#include "ops/cpu/normalize/softmax.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cairn::ops::cpu {

namespace {

template <class T> struct Row {
  T* x;
  const T* other; // mask, or cotangent
  std::int64_t n;
  T scale;
};

template <class T> struct Forward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Row<T>& row = *static_cast<const Row<T>*>(out);
    constexpr T nothing = -std::numeric_limits<T>::infinity();
    T* const x = row.x;
    const T* const mask = row.other;
    const std::int64_t n = row.n;
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) x[i] = mask[i] == T(0) ? x[i] * row.scale : nothing;
        });
    alignas(64) T lanes[kLanes];
    for (T& lane : lanes) lane = nothing;
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l]; });
    T largest = nothing;
    for (const T lane : lanes) largest = lane > largest ? lane : largest;
    const T shift = largest == nothing ? T(0) : largest;
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) x[i] = pointwise::exp(x[i] - shift);
        });
    for (T& lane : lanes) lane = 0;
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] += x[i]; });
    const T sum = sum_of(lanes);
    // Nothing is left: all is masked, or what is not is without end.
    const bool masked = sum == T(0) && std::all_of(mask, mask + n, [](T m) { return m != T(0); });
    const T factor = masked ? T(0) : 1 / sum;
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) x[i] *= factor;
        });
  }
};

template <class T> struct Backward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Row<T>& row = *static_cast<const Row<T>*>(out);
    T* const y = row.x;
    const T* const c = row.other;
    const std::int64_t n = row.n;
    alignas(64) T lanes[kLanes] = {};
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] += c[i] * y[i]; });
    const T sum = sum_of(lanes);
    by_stretches(
        n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) y[i] = row.scale * y[i] * (c[i] - sum);
        });
  }
};

// x, and other where it is a tensor, row by row through the loop to out.
template <class T> void rows(const View& out, const View& x, const View& other, double scale, Loop loop) {
  const unsigned line = line_along(-1, out.shape.rank());
  const Groups from(x, line), beside(other.weak ? x : other, line), to(out, line);
  parallel_for(from.count(), from.grain(), [&](std::int64_t begin, std::int64_t end) {
    Array<T> staged, staged_other = filled(from.size(), static_cast<T>(other.number));
    for (std::int64_t i = begin; i < end; ++i) {
      from.load(i, staged);
      if (!other.weak) beside.load(i, staged_other);
      Row<T> row{staged.data(), staged_other.data(), from.size(), static_cast<T>(scale)};
      loop(&row, nullptr, 0, 0);
      to.store(i, staged);
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
    rows<double>(out, x, over, scale, Compiled<Forward<double>>::chosen());
  else
    rows<float>(out, x, over, scale, Compiled<Forward<float>>::chosen());
}

void masked_softmax_vjp(const KernelCall& call, double scale) {
  const View &out = call.outputs[0], &c = call.inputs[0], &y = call.inputs[1];
  if (compute_of(out.dtype) == Compute::f64)
    rows<double>(out, y, c, scale, Compiled<Backward<double>>::chosen());
  else
    rows<float>(out, y, c, scale, Compiled<Backward<float>>::chosen());
}

} // namespace cairn::ops::cpu
