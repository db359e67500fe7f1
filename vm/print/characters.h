// Classes and cases of characters, from rules of our own: nothing depends on the locale of the process. Case mapping covers Latin
// (through Extended-A), Greek and Cyrillic, one code point to one code point.
#pragma once

#include <cstdint>

namespace cairn::print {

std::uint32_t upcase(std::uint32_t c);
std::uint32_t downcase(std::uint32_t c);
bool is_alphabetic(std::uint32_t c);
bool is_numeric(std::uint32_t c); // decimal digits of ASCII, those that numbers are written with
bool is_whitespace(std::uint32_t c);
// Equal for characters that differ in case only.
inline std::uint32_t fold_case(std::uint32_t c) { return downcase(upcase(c)); }

} // namespace cairn::print
