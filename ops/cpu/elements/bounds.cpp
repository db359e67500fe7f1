// See bounds.h. Most often all are there: a block at a time, all of it is looked at without a branch.
#include "ops/cpu/elements/bounds.h"

#include "ops/cpu/elements/index_walks.h"
#include "ops/cpu/loops/isa.h"

#include <algorithm>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

template <class Index> struct AnyBeyond {
  // The sign of what is outside: that of the index, or that of how far it is below the last one.
  CAIRN_INLINE static void run(const Index* indices, std::int64_t n, std::int64_t size, bool* beyond) {
    using Wide = std::conditional_t<sizeof(Index) == 8, std::uint64_t, std::uint32_t>;
    using Signed = std::make_signed_t<Wide>;
    constexpr std::int64_t kMost = static_cast<std::int64_t>(static_cast<Wide>(~Wide{0}) >> 1);
    const auto last = static_cast<Wide>(std::min(size - 1, kMost));
    Wide all = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<Wide>(static_cast<Signed>(indices[i]));
      all |= index | (last - index);
    }
    *beyond = static_cast<Signed>(all) < 0;
  }
};

} // namespace

std::int64_t first_beyond(DType type, const void* indices, std::int64_t n, std::int64_t size) {
  constexpr std::int64_t kBlock = 4 << 10;
  std::int64_t found = n;
  by_index_type(type, [&](auto zero) {
    using Index = decltype(zero);
    const auto* const all = static_cast<const Index*>(indices);
    const auto any_beyond = Generations<AnyBeyond<Index>, const Index*, std::int64_t, std::int64_t, bool*>::chosen();
    for (std::int64_t at = 0; at < n && found == n; at += kBlock) {
      const std::int64_t end = std::min(n, at + kBlock);
      bool beyond = false;
      any_beyond(all + at, end - at, size, &beyond);
      if (!beyond) continue;
      const auto outside = [&](Index index) { return index < 0 || static_cast<std::int64_t>(index) >= size; };
      found = std::find_if(all + at, all + end, outside) - all;
    }
  });
  return found;
}

} // namespace cairn::ops::cpu
