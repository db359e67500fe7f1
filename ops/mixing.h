// Scrambles numbers: every bit of the input changes half of those of the result, and no two inputs have one result. What comes
// out is written into files and into results of programs, so it is the same everywhere and for ever.
#pragma once

#include <cstdint>

namespace cairn::ops {

// What the state of SplitMix64 grows by: 2^64 divided by the golden ratio, and odd.
inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
  v = (v ^ v >> 27) * 0x94D049BB133111EBu;
  return v ^ v >> 31;
}

// What SplitMix64 draws from that state.
constexpr std::uint64_t next_mixed(std::uint64_t state) { return mixed(state + kGolden); }

} // namespace cairn::ops
