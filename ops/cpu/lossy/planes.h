// Numbers as planes of bits, and those of a mask brought together and apart again: what a compiler makes no vectors of by itself.
#pragma once

#include <cstdint>

namespace cairn::ops::cpu::lossy {

// For the processor at hand. Lists of numbers have room for a whole group behind their end.
struct Planes {
  // Flags, bytes of 0 and 1, as bits; whole groups.
  void (*mask_of)(const std::uint8_t* flags, std::int64_t count, std::uint8_t* mask);
  // Of numbers those whose bit is set, in their order; how many, which are followed by zeros up to a whole group.
  std::int64_t (*gather)(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to);
  // The same back: the others are undefined.
  void (*spread)(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to);
  // Whole groups, each with as many planes as its largest number needs, but at least `width` - kMostFewer: how many it has fewer
  // than `width` stands in two bits of `fewer`, and how many bytes all have is returned. There has to be room for `width` planes
  // of each.
  std::int64_t (*pack)(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint64_t* fewer, std::uint8_t* to);
  void (*unpack)(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer, std::uint32_t* numbers);

  static Planes chosen();
};

} // namespace cairn::ops::cpu::lossy
