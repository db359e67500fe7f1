// The same loop compiled for several generations of processors, chosen when it is asked for. A loop is a struct with a static
// function `run` that is always inlined, so each copy is compiled as a whole for its generation, and no copy can be taken for
// another by the linker.
#pragma once

#include "ops/cpu/loops/elementwise.h"

namespace cairn::ops::cpu {

enum class Isa { base, avx2, avx512 };
Isa isa(); // of this processor

#define CAIRN_INLINE __attribute__((always_inline)) inline
#define CAIRN_AVX2 __attribute__((target("avx2,fma,bmi,bmi2,f16c")))
#define CAIRN_AVX512 __attribute__((target("avx2,fma,bmi,bmi2,f16c,avx512f,avx512vl,avx512bw,avx512dq,avx512cd")))

// An output that is one of the inputs is read and written at the same position only.
#if defined(__clang__)
#define CAIRN_EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define CAIRN_EACH _Pragma("GCC ivdep")
#endif

template <class Body> struct Compiled {
  static void base(void* out, const void* const* in, std::int64_t n, double p) { Body::run(out, in, n, p); }
  CAIRN_AVX2 static void avx2(void* out, const void* const* in, std::int64_t n, double p) { Body::run(out, in, n, p); }
  CAIRN_AVX512 static void avx512(void* out, const void* const* in, std::int64_t n, double p) { Body::run(out, in, n, p); }
  static Loop chosen() {
    switch (isa()) {
    case Isa::avx512:
      return avx512;
    case Isa::avx2:
      return avx2;
    default:
      return base;
    }
  }
};

} // namespace cairn::ops::cpu
