// See processor.h.
#include "ops/cpu/device/processor.h"

#include <algorithm>

namespace cairn::ops::cpu {

namespace {

thread_local Isa newest = Isa::avx512; // that is wanted

} // namespace

AsIfOlder::AsIfOlder(Isa generation) { newest = generation; }
AsIfOlder::~AsIfOlder() { newest = Isa::avx512; }

Isa isa() {
  static const Isa found = [] {
    __builtin_cpu_init();
    // Whatever has these has f16c, for which Clang 14 has no test.
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
      return Isa::base;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
      return Isa::avx512;
    return Isa::avx2;
  }();
  return std::min(found, newest);
}

const char* refusal_of_processor() {
  if (kEveryGeneration || isa() >= kOnlyGeneration) return nullptr;
  return "this build has kernels for newer processors alone (CAIRN_GENERATIONS=native); ./tools/build makes one for every "
         "processor";
}

} // namespace cairn::ops::cpu
