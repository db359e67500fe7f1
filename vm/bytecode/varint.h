// Numbers of which most are small, as digits of seven bits, the lowest first: each is a byte whose eighth bit says that more
// follow. Each number has one form, the shortest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cairn::bytecode {

inline constexpr std::size_t kLongestVarint = 10; // bytes

// `put` gets them one after the other, as std::uint8_t.
template <class Put> constexpr void write_varint(std::uint64_t v, Put&& put) {
  for (; v >= 0x80; v >>= 7) put(static_cast<std::uint8_t>(v | 0x80));
  put(static_cast<std::uint8_t>(v));
}

// A number that is read, byte by byte. Where it is in no form, nothing more is to be added.
class Varint {
public:
  enum class State { more, whole, too_large, too_long };
  constexpr State add(std::uint8_t byte) {
    if (shift_ == 63 && byte > 1) return State::too_large;
    value_ |= (std::uint64_t{byte} & 0x7F) << shift_;
    if (byte < 0x80) return byte == 0 && shift_ != 0 ? State::too_long : State::whole;
    shift_ += 7;
    return State::more;
  }
  constexpr std::uint64_t value() const { return value_; }
  constexpr bool empty() const { return shift_ == 0; }

private:
  std::uint64_t value_ = 0;
  unsigned shift_ = 0;
};

// What begins these eight bytes, the first one the lowest, at once: up to 56 bits.
struct ShortVarint {
  std::uint64_t value = 0;
  unsigned bytes = 0; // none: it goes on behind them
  bool shortest = true;
};

[[gnu::always_inline]] inline ShortVarint short_varint(std::uint64_t eight) {
  const std::uint64_t ends = ~eight & 0x8080808080808080u;
  if (ends == 0) [[unlikely]]
    return {};
  const unsigned digits = static_cast<unsigned>(std::countr_zero(ends)) / 8 + 1;
  std::uint64_t w = eight & (ends ^ (ends - 1)); // these digits alone
  const bool shortest = digits == 1 || w >> (digits - 1) * 8 != 0;
  w = (w & 0x007F007F007F007Fu) | (w & 0x7F007F007F007F00u) >> 1;
  w = (w & 0x00003FFF00003FFFu) | (w & 0x3FFF00003FFF0000u) >> 2;
  return {(w & 0x0FFFFFFFu) | (w & 0x0FFFFFFF00000000u) >> 4, digits, shortest};
}

} // namespace cairn::bytecode
