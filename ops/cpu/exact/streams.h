// Bytes that are coded by how frequent each is, for blocks of an exact encoding.
//
//   stream  u8 kind | as it is: the bytes; constant: one byte; coded: table | u16 count of words | four states, u32 each | words,
//           u16 each. Of no bytes it is nothing.
//   table   the first byte that there is and the last, u8 each, and the frequencies of these and all between: one below 128 is a
//           byte, other ones are two, of which the first has the upper bits and 128; behind a zero stands how many more follow.
//
// A coded stream is an asymmetric numeral system (rANS): four states take turns, and one that falls below kLeastState takes a
// word.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace cairn::ops::exact {

inline constexpr unsigned kScaleBits = 11, kScale = 1U << kScaleBits; // what frequencies add up to

using Frequencies = std::array<std::uint16_t, 256>;

// How a byte goes into a state x: to x / frequency * kScale + first + x % frequency, where first is the sum of the frequencies of
// lesser bytes. To divide is to multiply by an inverse, which is exact for all states.
struct Put {
  std::uint32_t last; // greater states give a word away before
  std::uint32_t inverse, added;
  std::uint16_t rest, shift;
};

union Tables {
  std::array<Put, 256> puts;
  // By the lowest bits of a state: frequency, 12 bits | how far these bits are behind the first ones of the byte, 12 bits | byte.
  std::array<std::uint32_t, kScale> takes;
};

// Writes the stream of these bytes: where it ends; null: it would go beyond `end`.
std::uint8_t* write_stream(Tables& tables, const std::uint8_t* bytes, std::int64_t count, std::uint8_t* to, std::uint8_t* end);
// Reads one of so many bytes: where it ends; null: there is none. May write three bytes more.
const std::uint8_t* read_stream(Tables& tables, const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* bytes,
                                std::int64_t count);

// The logarithm of n to the base of 2, in 1/256, rounded down; of 0 it is 0. The same on every machine.
constexpr std::uint32_t logarithm(std::uint32_t n) {
  if (n == 0) return 0;
  auto log = static_cast<std::uint32_t>(std::bit_width(n)) - 1;
  std::uint64_t x = std::uint64_t{n} << (31 - log); // from 1 to 2, in 2^-31
  for (int bit = 0; bit < 8; ++bit) {
    x = x * x >> 31;
    const std::uint64_t more = x >> 32;
    log = log << 1 | static_cast<std::uint32_t>(more);
    x >>= more;
  }
  return log;
}

} // namespace cairn::ops::exact
