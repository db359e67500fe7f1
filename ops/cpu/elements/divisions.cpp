// See divisions.h.
#include "ops/cpu/elements/divisions.h"

#include "ops/cpu/loops/isa.h"
#include "ops/scalar_types.h"

#include <cmath>

namespace cairn::ops::cpu {

namespace {

using pointwise::Integer;

enum class Division : std::uint8_t { quotient, remainder, modulo };

// Of the integers that 64 bits hold, one divided by -1 is none of them: it wraps.
template <Division which> Integer divided(Integer a, Integer b) {
  if (b.v == 0) return 0;
  if (b.v == -1) return which == Division::quotient ? -a : Integer(0);
  if (which == Division::quotient) return a.v / b.v;
  const std::int64_t left = a.v % b.v;
  return which == Division::modulo && left != 0 && (left < 0) != (b.v < 0) ? left + b.v : left;
}

template <Division which, class T> T divided(T a, T b) {
  if (which == Division::quotient) return std::trunc(a / b);
  const T left = std::fmod(a, b);
  return which == Division::modulo && left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

template <Division which, class T> struct DivisionLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    for (std::int64_t i = 0; i < n; ++i) o[i] = divided<which>(a[i], b[i]);
  }
};

template <Division which> void divide(const KernelCall& call) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  elementwise(call, compute,
              compute == Compute::f32   ? Compiled<DivisionLoop<which, float>>::chosen()
              : compute == Compute::f64 ? Compiled<DivisionLoop<which, double>>::chosen()
                                        : Compiled<DivisionLoop<which, Integer>>::chosen());
}

} // namespace

void quotient(const KernelCall& call) { divide<Division::quotient>(call); }
void remainder(const KernelCall& call) { divide<Division::remainder>(call); }
void modulo(const KernelCall& call) { divide<Division::modulo>(call); }

} // namespace cairn::ops::cpu
