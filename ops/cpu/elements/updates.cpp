// See updates.h.
#include "ops/cpu/elements/updates.h"

#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/isa.h"

#include <array>
#include <cmath>

namespace cairn::ops::cpu {

namespace {

template <class T, bool squared> struct WeightedSum {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]), *s = static_cast<const T*>(in[2]),
               *t = static_cast<const T*>(in[3]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = s[i] * a[i] + t[i] * (squared ? b[i] * b[i] : b[i]);
  }
};

template <class T> struct AddDeviations {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *sum = static_cast<const T*>(in[0]), *term = static_cast<const T*>(in[1]), *x = static_cast<const T*>(in[2]),
               *mean = static_cast<const T*>(in[3]), *factor = static_cast<const T*>(in[4]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = (sum[i] + term[i]) + factor[i] * (x[i] - mean[i]);
  }
};

template <class T> struct AdamStep {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *x = static_cast<const T*>(in[0]), *mean = static_cast<const T*>(in[1]), *squares = static_cast<const T*>(in[2]),
               *kept = static_cast<const T*>(in[3]), *rate = static_cast<const T*>(in[4]), *root = static_cast<const T*>(in[5]);
    const T epsilon = static_cast<T>(kAdamEpsilon);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i)
      o[i] = kept[i] * x[i] - rate[i] * (mean[i] / (std::sqrt(squares[i]) / root[i] + epsilon));
  }
};

// What a number of an update is, where it is one for all elements.
enum AdamNumber : std::uint8_t { kMeanKept, kMeanAdded, kSquaresKept, kSquaresAdded, kKept, kRate, kRoot, kAdamNumbers };

template <class T> struct AdamParts { T *x, *mean, *squares; };

template <class T> struct AdamUpdate {
  // `in`: x, mean, squares, cotangent, numbers.
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    const auto& to = *static_cast<const AdamParts<T>*>(out);
    T *const new_x = to.x, *const new_mean = to.mean, *const new_squares = to.squares;
    const auto *x = static_cast<const T*>(in[0]), *mean = static_cast<const T*>(in[1]), *squares = static_cast<const T*>(in[2]),
               *cotangent = static_cast<const T*>(in[3]), *number = static_cast<const T*>(in[4]);
    const T a = number[kMeanKept], b = number[kMeanAdded], c = number[kSquaresKept], d = number[kSquaresAdded],
            kept = number[kKept], rate = number[kRate], root = number[kRoot], epsilon = static_cast<T>(kAdamEpsilon);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      const T m = a * mean[i] + b * cotangent[i], s = c * squares[i] + d * (cotangent[i] * cotangent[i]);
      new_x[i] = kept * x[i] - rate * (m / (std::sqrt(s) / root + epsilon));
      new_mean[i] = m;
      new_squares[i] = s;
    }
  }
};

// Operands of one type, in the layout of the results, which is dense; by numbers. The rest is done by the three operations.
template <class T> bool updated_at_once(const KernelCall& call) {
  std::array<T, kAdamNumbers> numbers{};
  for (unsigned k = 0; k < kAdamNumbers; ++k) {
    const View& number = call.inputs[4 + k];
    if (!number.weak) return false;
    numbers[k] = static_cast<T>(number.number);
  }
  const View& x = call.outputs[0];
  for (unsigned k = 0; k < 7; ++k) {
    const View& v = k < 4 ? call.inputs[k] : call.outputs[k - 4];
    if (v.weak || v.dtype != x.dtype || !(v.shape == x.shape) || v.strides != x.strides) return false;
  }
  const auto loop = Compiled<AdamUpdate<T>>::chosen();
  parallel_for(x.elements(), kElementsInline, [&](std::int64_t begin, std::int64_t end) {
    const auto at = [&](const View& v) { return static_cast<T*>(v.data) + begin; };
    const AdamParts<T> to{at(x), at(call.outputs[1]), at(call.outputs[2])};
    const void* const in[] = {at(call.inputs[0]), at(call.inputs[1]), at(call.inputs[2]), at(call.inputs[3]), numbers.data()};
    loop(const_cast<AdamParts<T>*>(&to), in, end - begin, 0);
  });
  return true;
}

template <class OfFloat, class OfDouble> void update(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute, compute == Compute::f32 ? Compiled<OfFloat>::chosen() : Compiled<OfDouble>::chosen());
}

} // namespace

void weighted_sum(const KernelCall& call) { update<WeightedSum<float, false>, WeightedSum<double, false>>(call); }
void weighted_square_sum(const KernelCall& call) { update<WeightedSum<float, true>, WeightedSum<double, true>>(call); }
void add_deviations(const KernelCall& call) { update<AddDeviations<float>, AddDeviations<double>>(call); }
void adam_step(const KernelCall& call) { update<AdamStep<float>, AdamStep<double>>(call); }

void adam_update(const KernelCall& call) {
  const DType type = call.outputs[0].dtype;
  if (type == DType::f32 ? updated_at_once<float>(call) : type == DType::f64 && updated_at_once<double>(call)) return;
  const std::span<const View> in = call.inputs, out = call.outputs;
  const View to_mean[] = {in[1], in[3], in[4], in[5]}, to_squares[] = {in[2], in[3], in[6], in[7]},
             to_x[] = {in[0], out[1], out[2], in[8], in[9], in[10]};
  weighted_sum({to_mean, out.subspan(1, 1), call.attributes});
  weighted_square_sum({to_squares, out.subspan(2, 1), call.attributes});
  adam_step({to_x, out.first(1), call.attributes});
}

} // namespace cairn::ops::cpu
