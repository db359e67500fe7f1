// Bits beside tokens (coded.h) where each of these has few: eight lists at a time, by instructions that not every processor has.
#pragma once

#include "ops/cpu/lossy/coded.h"

namespace cairn::ops::cpu::lossy {

inline constexpr unsigned kNarrow = 7; // bits a list, so that eight fit behind seven that are pending
inline constexpr unsigned kNarrowValue = kNarrow + 3;

// Nothing, null, where the processor at hand has no such instructions. Lists are bytes, and `masks` says of each which bits it
// has: its lowest ones. There are whole eights.
struct Narrow {
  void (*put)(const std::uint8_t* masks, const std::uint8_t* lists, std::int64_t count, Bits* bits) = nullptr;
  // From bit number `bit` on, which moves; words begin at `last` or before.
  void (*take)(const std::uint8_t* masks, std::int64_t count, const std::uint8_t* bits, std::uint64_t last, std::uint64_t* bit,
               std::uint8_t* lists) = nullptr;

  static Narrow chosen();
};

} // namespace cairn::ops::cpu::lossy
