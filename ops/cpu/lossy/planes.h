// Numbers as planes of bits, and those of a mask brought together and apart again: what a compiler makes no vectors of by itself.
#pragma once

#include <cstdint>

namespace cairn::ops::cpu::lossy {

// For the processor at hand. A *value* is a number and one, or 0 where there is none. Lists have room for kBehindNumbers more.
inline constexpr std::int64_t kBehindNumbers = 64, kBehindPlanes = 64;
struct Planes {
  // The numbers of values, in their order, and a bit a value that says where they were; values are whole groups. Numbers are
  // followed by zeros up to a whole group. How many there are is returned.
  std::int64_t (*gather)(const std::uint32_t* values, std::int64_t count, std::uint32_t* numbers, std::uint8_t* mask);
  // Values that stood one behind the other, to where bits say; zeros elsewhere.
  void (*spread)(const std::uint32_t* values, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to);
  // Whole groups, each with as many planes as its largest number needs, but at least `width` - kMostFewer: how many it has fewer
  // than `width` stands in two bits of `fewer`, and how many bytes all have is returned. There has to be room for
  // `width` planes of each, and for kBehindPlanes bytes more.
  std::int64_t (*pack)(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint64_t* fewer, std::uint8_t* to);
  void (*unpack)(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer, std::uint32_t* values);

  static Planes chosen();
};

} // namespace cairn::ops::cpu::lossy
