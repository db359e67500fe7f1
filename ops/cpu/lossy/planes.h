// Numbers as planes of bits, and those of a mask brought together and apart again: what a compiler makes no vectors of by itself.
#pragma once

#include <cstdint>

namespace cairn::ops::cpu::lossy {

// For the processor at hand. Lists of numbers have room for a whole group behind their end.
struct Planes {
  // Of numbers those whose bit is set, in their order; how many, which are followed by zeros up to a whole group.
  std::int64_t (*gather)(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to);
  // The same back: the others are undefined.
  void (*spread)(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to);
  // Whole groups.
  void (*pack)(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint8_t* to);
  void (*unpack)(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint32_t* numbers);

  static Planes chosen();
};

} // namespace cairn::ops::cpu::lossy
