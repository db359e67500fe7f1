// The context of each element of some, by the tokens of their neighbours (coded.h).
#pragma once

#include "ops/cpu/loops/isa.h"
#include "ops/cpu/lossy/coded.h"

#include <cstring>

namespace cairn::ops::cpu::lossy {

// The least sum of tokens of each context but the first.
inline constexpr std::array<std::uint8_t, kContexts - 1> kFromSums = {1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 44, 54};

using Bytes __attribute__((vector_size(kTogether))) = std::uint8_t;

// Of kTogether elements, whose tokens begin there.
CAIRN_INLINE void find_contexts(const std::uint8_t* tokens, std::int64_t near, std::int64_t far, std::uint8_t* to) {
  Bytes beside, above;
  std::memcpy(&beside, tokens - near, sizeof beside);
  std::memcpy(&above, tokens - far, sizeof above);
  const Bytes sums = beside + above;
  Bytes contexts = {};
  for (const std::uint8_t from : kFromSums) contexts -= reinterpret_cast<Bytes>(sums >= from);
  std::memcpy(to, &contexts, sizeof contexts);
}

} // namespace cairn::ops::cpu::lossy
