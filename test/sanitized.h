// How many rounds a test makes: what is drawn at random or repeated at every poll takes ten to thirty times as long under the
// sanitizers, where a quarter of the rounds finds what they are there to find.
#pragma once

#include "ops/forbidden.h"

namespace cairn::test {

inline constexpr bool kSanitized = ops::kForbids; // with the address sanitizer, that is

// Of `full` rounds, those that are made here; at least one.
constexpr int rounds(int full) { return kSanitized ? (full + 3) / 4 : full; }

// The step between polls that are tried: each of them, or every fourth.
constexpr int poll_step() { return kSanitized ? 4 : 1; }

} // namespace cairn::test
