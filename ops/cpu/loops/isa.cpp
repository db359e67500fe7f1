// Which generation of processors this one belongs to.
#include "ops/cpu/loops/isa.h"

namespace cairn::ops::cpu {

Isa isa() {
  static const Isa found = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) return Isa::base;
    if (kForAvx512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
      return Isa::avx512;
    return kForAvx2 ? Isa::avx2 : Isa::base;
  }();
  return found;
}

} // namespace cairn::ops::cpu
