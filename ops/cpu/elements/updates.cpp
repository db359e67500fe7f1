// See updates.h.
#include "ops/cpu/elements/updates.h"

#include "ops/cpu/loops/isa.h"

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

template <class OfFloat, class OfDouble> void update(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute, compute == Compute::f32 ? Compiled<OfFloat>::chosen() : Compiled<OfDouble>::chosen());
}

} // namespace

void weighted_sum(const KernelCall& call) { update<WeightedSum<float, false>, WeightedSum<double, false>>(call); }
void weighted_square_sum(const KernelCall& call) { update<WeightedSum<float, true>, WeightedSum<double, true>>(call); }
void adam_step(const KernelCall& call) { update<AdamStep<float>, AdamStep<double>>(call); }

} // namespace cairn::ops::cpu
