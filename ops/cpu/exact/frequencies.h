// Frequencies of symbols for a coder whose states are counted in so many parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn::ops::exact {

// Of counts that are `all` together, more than 0: in all `scale`. Each symbol that there is has at least 1; what rounding has
// left over or taken too much is the most frequent ones'.
template <std::size_t symbols>
void scale_counts(const std::array<std::uint32_t, symbols>& counts, std::uint64_t all, std::uint32_t scale,
                  std::array<std::uint16_t, symbols>& frequencies) {
  std::int64_t left = scale;
  for (std::size_t s = 0; s < symbols; ++s) {
    frequencies[s] =
        counts[s] == 0
            ? 0
            : static_cast<std::uint16_t>(std::max<std::uint64_t>(1, (std::uint64_t{counts[s]} * scale + all / 2) / all));
    left -= frequencies[s];
  }
  while (left != 0) {
    std::uint16_t& largest = *std::max_element(frequencies.begin(), frequencies.end());
    const std::int64_t more = left > 0 ? left : std::max<std::int64_t>(left, -(largest / 4));
    largest = static_cast<std::uint16_t>(largest + more);
    left -= more;
  }
}

} // namespace cairn::ops::exact
