// Large pages for large pieces of memory: the system gives them and takes them back several times as fast as small ones. To give
// back 600 MB of small ones takes it 50 ms, in which nobody who was cancelled gets an answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

// Only advice: without it all is the same, slower.
inline void advise_large_pages(void* memory, std::int64_t bytes) {
  if (bytes >= 2 * kHugePage) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
}

} // namespace cairn::ops::cpu
