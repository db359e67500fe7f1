// Under AddressSanitizer, memory that waits in the heap's own lists is marked, so that whoever uses an object after its end is found. In other
// builds nothing of this is there.
#pragma once

#include <cstddef>

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

namespace cairn::value {

#ifdef CAIRN_ADDRESS_SANITIZER
inline constexpr bool kForbids = true;
inline void forbid(void* from, std::size_t bytes) { __asan_poison_memory_region(from, bytes); }
inline void permit(void* from, std::size_t bytes) { __asan_unpoison_memory_region(from, bytes); }
#else
inline constexpr bool kForbids = false;
inline void forbid(void* /*from*/, std::size_t /*bytes*/) {}
inline void permit(void* /*from*/, std::size_t /*bytes*/) {}
#endif

} // namespace cairn::value
