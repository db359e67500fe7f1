// How many rounds a test makes: what is drawn at random or repeated at every poll takes ten to thirty times as long under the
// sanitizers, where a quarter of the rounds finds what they are there to find.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAIRN_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAIRN_TEST_SANITIZED 1
#endif
#endif

namespace cairn::test {

#ifdef CAIRN_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Of `full` rounds, those that are made here; at least one.
constexpr int rounds(int full) { return kSanitized ? (full + 3) / 4 : full; }

// The step between polls that are tried: each of them, or every fourth.
constexpr int poll_step() { return kSanitized ? 4 : 1; }

} // namespace cairn::test
