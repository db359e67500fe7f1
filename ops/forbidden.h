// Under AddressSanitizer, memory that waits in lists of our own is marked, so that whoever uses an object or a tensor after its
// end is found. In other builds nothing of this is there.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define CAIRN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAIRN_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef CAIRN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace cairn::ops {

#ifdef CAIRN_ADDRESS_SANITIZER
inline constexpr bool kForbids = true;
inline void forbid(void* from, std::int64_t bytes) { __asan_poison_memory_region(from, static_cast<std::size_t>(bytes)); }
inline void permit(void* from, std::int64_t bytes) { __asan_unpoison_memory_region(from, static_cast<std::size_t>(bytes)); }
#else
inline constexpr bool kForbids = false;
inline void forbid(void* /*from*/, std::int64_t /*bytes*/) {}
inline void permit(void* /*from*/, std::int64_t /*bytes*/) {}
#endif

} // namespace cairn::ops
