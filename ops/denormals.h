// Denormal numbers are taken and given as zeros in kernels and sweeps: with them those are up to 300 times slower
// (docs/design.md 5.7).
#pragma once

#include <xmmintrin.h>

namespace cairn::ops {

// While one of these lives, for the thread that made it.
class FlushDenormals {
public:
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

private:
  unsigned saved_;
};

} // namespace cairn::ops
