// The same loop compiled for several generations of processors, chosen when it is asked for. A loop is a struct with a static
// function `run` that is always inlined, so each copy is compiled as a whole for its generation, and no copy can be taken for
// another by the linker.
#pragma once

#include "ops/cpu/device/processor.h"
#include "ops/cpu/loops/elementwise.h"

#include <type_traits>

namespace cairn::ops::cpu {

// Calls f for the generation whose code is to run here; f is compiled for the generations of this build alone.
template <class F> auto by_generation(F&& f) {
  if constexpr (!kEveryGeneration) {
    return f.template operator()<kOnlyGeneration>();
  } else {
    switch (isa()) {
    case Isa::avx512:
      return f.template operator()<Isa::avx512>();
    case Isa::avx2:
      return f.template operator()<Isa::avx2>();
    default:
      return f.template operator()<Isa::base>();
    }
  }
}

// One of three types.
template <Isa generation, class Base, class Avx2, class Avx512>
using Of = std::conditional_t<generation == Isa::avx512, Avx512, std::conditional_t<generation == Isa::avx2, Avx2, Base>>;

#define CAIRN_INLINE __attribute__((always_inline)) inline
#define CAIRN_AVX2 __attribute__((target("avx2,fma,bmi,bmi2,f16c")))
#define CAIRN_AVX512 __attribute__((target("avx2,fma,bmi,bmi2,f16c,avx512f,avx512vl,avx512bw,avx512dq,avx512cd")))

// An output that is one of the inputs is read and written at the same position only.
#if defined(__clang__)
#define CAIRN_EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define CAIRN_EACH _Pragma("GCC ivdep")
#endif

// A loop of any operands.
template <class Body, class... A> struct Generations {
  static void base(A... a) { Body::run(a...); }
  CAIRN_AVX2 static void avx2(A... a) { Body::run(a...); }
  CAIRN_AVX512 static void avx512(A... a) { Body::run(a...); }
  static auto chosen() {
    return by_generation([]<Isa generation>() -> void (*)(A...) {
      if constexpr (generation == Isa::avx512)
        return avx512;
      else if constexpr (generation == Isa::avx2)
        return avx2;
      else
        return base;
    });
  }
};

// A loop over elements.
template <class Body> using Compiled = Generations<Body, void*, const void* const*, std::int64_t, double>;

} // namespace cairn::ops::cpu
