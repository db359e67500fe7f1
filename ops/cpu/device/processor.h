// Which generation of processors this one belongs to, and for which kernels have been compiled.
#pragma once

namespace cairn::ops::cpu {

enum class Isa { base, avx2, avx512 };
Isa isa(); // the newest that this processor belongs to

// While this is there, kernels that begin on this thread are those of an older generation, so that a test can compare them.
class AsIfOlder {
public:
  explicit AsIfOlder(Isa generation);
  ~AsIfOlder();
  AsIfOlder(const AsIfOlder&) = delete;
  AsIfOlder& operator=(const AsIfOlder&) = delete;
};

// A build is for every generation or, to be made in half the time, for that of the machine it is made on (CAIRN_GENERATIONS in
// CMakeLists.txt), and then has kernels for processors of that one and newer ones alone.
#ifdef CAIRN_ONLY_GENERATION
inline constexpr bool kEveryGeneration = false;
inline constexpr Isa kOnlyGeneration = Isa::CAIRN_ONLY_GENERATION;
#else
inline constexpr bool kEveryGeneration = true;
inline constexpr Isa kOnlyGeneration = Isa::base;
#endif
// nullptr, or why this build's kernels cannot run on this processor.
const char* refusal_of_processor();

} // namespace cairn::ops::cpu
