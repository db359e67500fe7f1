// How many rounds a test makes: what is drawn at random or repeated at every poll takes ten to thirty times as long under the
// sanitizers, where a quarter of the rounds finds what they are there to find. CAIRN_TEST_ROUNDS=N in the environment asks for N
// times as many and for every poll (tools/soak rounds).
#pragma once

#include "ops/forbidden.h"

#include <algorithm>
#include <cstdlib>

namespace cairn::test {

inline constexpr bool kSanitized = ops::kForbids; // with the address sanitizer, that is

// N of CAIRN_TEST_ROUNDS; 0 if it is not set.
inline int asked_rounds() {
  static const int asked = [] {
    const char* text = std::getenv("CAIRN_TEST_ROUNDS");
    return text == nullptr ? 0 : std::clamp(std::atoi(text), 1, 1000);
  }();
  return asked;
}

// Of `full` rounds, those that are made here; at least one.
inline int rounds(int full) {
  if (asked_rounds() != 0) return full * asked_rounds();
  return kSanitized ? (full + 3) / 4 : full;
}

// The step between polls that are tried: each of them, or every fourth.
inline int poll_step() { return kSanitized && asked_rounds() == 0 ? 4 : 1; }

} // namespace cairn::test
