// See narrow.h.
#include "ops/cpu/lossy/narrow.h"

#include "ops/cpu/loops/isa.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cairn::ops::cpu::lossy {

#if defined(__x86_64__)

namespace {

#define CAIRN_BIT_LISTS __attribute__((target("bmi,bmi2,popcnt")))

struct BitLists {
  CAIRN_BIT_LISTS static std::uint64_t eight_at(const std::uint8_t* from) {
    std::uint64_t eight;
    std::memcpy(&eight, from, sizeof eight);
    return eight;
  }

  CAIRN_BIT_LISTS static void put(const std::uint8_t* masks, const std::uint8_t* lists, std::int64_t count, Bits* bits) {
    std::uint8_t* at = bits->end;
    std::uint64_t pending = bits->pending;
    unsigned n = bits->pending_bits;
    for (std::int64_t i = 0; i < count; i += 8) {
      const std::uint64_t mask = eight_at(masks + i);
      pending |= _pext_u64(eight_at(lists + i), mask) << n;
      n += static_cast<unsigned>(_mm_popcnt_u64(mask));
      std::memcpy(at, &pending, sizeof pending);
      at += n / 8;
      pending >>= n / 8 * 8;
      n %= 8;
    }
    *bits = {bits->begin, at, pending, n};
  }

  CAIRN_BIT_LISTS static void take(const std::uint8_t* masks, std::int64_t count, const std::uint8_t* bits, std::uint64_t last,
                                   std::uint64_t* bit, std::uint8_t* lists) {
    std::uint64_t at = *bit;
    for (std::int64_t i = 0; i < count; i += 8) {
      const std::uint64_t mask = eight_at(masks + i);
      const std::uint64_t eight = _pdep_u64(eight_at(bits + std::min(at / 8, last)) >> at % 8, mask);
      std::memcpy(lists + i, &eight, sizeof eight);
      at += static_cast<std::uint64_t>(_mm_popcnt_u64(mask));
    }
    *bit = at;
  }
};

} // namespace

// Processors before those of the newest generation may have the instructions and take hundreds of cycles for them.
Narrow Narrow::chosen() {
  return by_generation([]<Isa generation>() -> Narrow {
    if constexpr (generation == Isa::avx512)
      return {BitLists::put, BitLists::take};
    else
      return {};
  });
}

#else

Narrow Narrow::chosen() { return {}; }

#endif

} // namespace cairn::ops::cpu::lossy
