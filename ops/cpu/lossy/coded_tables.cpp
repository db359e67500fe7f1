// Frequencies of tokens, and how they are written: see coded.h. A table is how many tokens it has, u8, and for each its
// frequency: a byte below 128, else two, of which the first one has the upper bits and 128.
#include "ops/cpu/exact/frequencies.h"
#include "ops/cpu/lossy/coded.h"

#include <numeric>

namespace cairn::ops::cpu::lossy {

Frequencies frequencies_of(const Counts& counts) {
  Frequencies frequencies{};
  for (unsigned context = 0; context < kContexts; ++context) {
    const std::uint64_t all = std::accumulate(counts[context].begin(), counts[context].end(), std::uint64_t{0});
    if (all != 0) exact::scale_counts(counts[context], all, kScale, frequencies[context]);
  }
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
