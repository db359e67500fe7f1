// How the lanes of a vector of eight are ordered, by a mask of some of them: for instructions that move lanes by a list of
// places.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace cairn::ops::cpu::lossy {

// For each mask, a byte a lane.
struct Orders {
  std::array<std::uint64_t, 256> gathered{}; // the places of its bits, one behind the other from the first lane on
  std::array<std::uint64_t, 256> last{};     // the same up to the last lane
  std::array<std::uint64_t, 256> spread{};   // of each place how many bits are before it
  constexpr Orders() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned n = 0, end = 8u - static_cast<unsigned>(std::popcount(mask));
      for (unsigned place = 0; place < 8; ++place) {
        spread[mask] |= std::uint64_t{n} << 8 * place;
        if ((mask >> place & 1) == 0) continue;
        gathered[mask] |= std::uint64_t{place} << 8 * n++;
        last[mask] |= std::uint64_t{place} << 8 * end++;
      }
    }
  }
};
inline constexpr Orders kOrders;

} // namespace cairn::ops::cpu::lossy
