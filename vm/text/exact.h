// The range of exact integers: 48 bits, two's complement, as a value holds them. What is beyond becomes a flonum.
#pragma once

#include <cstdint>

namespace cairn {

inline constexpr std::int64_t kMostInteger = (std::int64_t{1} << 47) - 1;
inline constexpr std::int64_t kLeastInteger = -kMostInteger - 1;
constexpr bool fits_integer(std::int64_t i) { return i >= kLeastInteger && i <= kMostInteger; }

} // namespace cairn
