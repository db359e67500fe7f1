// Classes of sizes, four to each doubling from 64 bytes on: 64, 80, 96, 112, 128, 160, ...
#pragma once

#include <bit>
#include <cstdint>

namespace cairn::ops::cpu {

inline constexpr std::uint32_t kSizeClasses = 4 * 48;

constexpr std::int64_t bytes_of_class(std::uint32_t size_class) {
  return static_cast<std::int64_t>(4 + size_class % 4) << (4 + size_class / 4);
}

// The least class that has room for so many bytes; beyond the last for more than any has.
constexpr std::uint32_t class_for(std::int64_t bytes) {
  if (bytes <= 64) return 0;
  const auto last = static_cast<std::uint64_t>(bytes) - 1;
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(last)) - 7; // 65..128: 0
  const auto quarter = static_cast<std::uint32_t>(last >> (doubling + 4)) & 3;
  return 4 * doubling + quarter + 1;
}

} // namespace cairn::ops::cpu
