// Sizes as people write them: "1000000", "64KiB", "1.5GiB", "10MB". Options of tools and of devices, and the text of schedules,
// are read by this one function.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace cairn::text {

struct Size {
  enum class Fault {
    none,
    number, // there is none in front of the unit, or a part of a byte
    unit,   // what stands behind the number is no unit
  };
  std::uint64_t bytes = 0; // UINT64_MAX: at least so many
  Fault fault = Fault::none;
  std::string_view unit; // what stands behind the number
};

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};

inline constexpr SizeUnit kSizeUnits[] = {
    {"", 1},
    {"b", 1},
    {"k", std::uint64_t{1} << 10},
    {"kib", std::uint64_t{1} << 10},
    {"kb", 1000},
    {"m", std::uint64_t{1} << 20},
    {"mib", std::uint64_t{1} << 20},
    {"mb", 1'000'000},
    {"g", std::uint64_t{1} << 30},
    {"gib", std::uint64_t{1} << 30},
    {"gb", 1'000'000'000},
    {"t", std::uint64_t{1} << 40},
    {"tib", std::uint64_t{1} << 40},
    {"tb", 1'000'000'000'000},
};

// A decimal number and a unit or none, in any case of letters. A whole number keeps all its digits.
inline Size parse_size(std::string_view text) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const std::size_t behind = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, behind), name = text.substr(behind);
  Size size{0, Size::Fault::number, name};
  const char* const end = number.data() + number.size();
  double parts = 0;
  const auto [stop, code] = std::from_chars(number.data(), end, parts, std::chars_format::fixed);
  if (code != std::errc{} || stop != end) return size;
  const SizeUnit* unit = nullptr;
  for (const SizeUnit& u : kSizeUnits)
    if (std::ranges::equal(u.name, name, {}, {}, small)) unit = &u;
  size.fault = Size::Fault::unit;
  if (unit == nullptr) return size;
  if (number.find('.') == std::string_view::npos) {
    std::uint64_t whole = 0;
    const bool fits = std::from_chars(number.data(), end, whole).ec == std::errc{};
    size.bytes = !fits || whole > UINT64_MAX / unit->bytes ? UINT64_MAX : whole * unit->bytes;
  } else {
    size.fault = Size::Fault::number;
    if (unit->bytes == 1) return size; // a part of a byte: a unit was meant
    const double bytes = parts * static_cast<double>(unit->bytes);
    size.bytes = bytes >= 0x1p64 ? UINT64_MAX : static_cast<std::uint64_t>(bytes);
  }
  size.fault = Size::Fault::none;
  return size;
}

} // namespace cairn::text
