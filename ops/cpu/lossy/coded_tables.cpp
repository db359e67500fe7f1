// Frequencies of tokens, and how they are written: see coded.h. A table is how many tokens it has, u8, and for each its
// frequency: a byte below 128, else two, of which the first one has the upper bits and 128.
#include "ops/cpu/lossy/coded.h"

#include <algorithm>
#include <numeric>

namespace cairn::ops::cpu::lossy {

namespace {

// Each token that there is has at least 1; what rounding has left over or taken too much is the largest ones'.
void scale(const std::array<std::uint32_t, kTokens>& counts, std::array<std::uint16_t, kTokens>& frequencies) {
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  frequencies.fill(0);
  if (all == 0) return;
  std::int64_t left = kScale;
  for (unsigned t = 0; t < kTokens; ++t) {
    if (counts[t] == 0) continue;
    frequencies[t] = static_cast<std::uint16_t>(std::max<std::uint64_t>(1, (counts[t] * kScale + all / 2) / all));
    left -= frequencies[t];
  }
  while (left != 0) {
    std::uint16_t& largest = *std::max_element(frequencies.begin(), frequencies.end());
    const std::int64_t more = left > 0 ? left : std::max<std::int64_t>(left, -(largest / 4));
    largest = static_cast<std::uint16_t>(largest + more);
    left -= more;
  }
}

} // namespace

Frequencies frequencies_of(const Counts& counts) {
  Frequencies frequencies;
  for (unsigned context = 0; context < kContexts; ++context) scale(counts[context], frequencies[context]);
  return frequencies;
}

std::int64_t write_tables(const Frequencies& frequencies, std::uint8_t* const to) {
  std::uint8_t* at = to;
  for (const auto& table : frequencies) {
    unsigned tokens = kTokens;
    while (tokens != 0 && table[tokens - 1] == 0) --tokens;
    *at++ = static_cast<std::uint8_t>(tokens);
    for (unsigned t = 0; t < tokens; ++t) {
      if (table[t] >= 128) *at++ = static_cast<std::uint8_t>(128 | table[t] >> 8);
      *at++ = static_cast<std::uint8_t>(table[t]);
    }
  }
  return at - to;
}

bool read_tables(const std::uint8_t* from, std::int64_t bytes, Frequencies& frequencies) {
  const std::uint8_t* const end = from + bytes;
  for (auto& table : frequencies) {
    table.fill(0);
    if (from == end || *from > kTokens) return false;
    const unsigned tokens = *from++;
    unsigned all = 0;
    for (unsigned t = 0; t < tokens; ++t) {
      if (from == end) return false;
      unsigned frequency = *from++;
      if (frequency >= 128) {
        if (from == end) return false;
        frequency = (frequency & 127) << 8 | *from++;
      }
      all += frequency;
      if (all > kScale) return false;
      table[t] = static_cast<std::uint16_t>(frequency);
    }
    if (all != kScale && tokens != 0) return false;
  }
  return from == end;
}

} // namespace cairn::ops::cpu::lossy
