// UTF-8, one code point at a time: for the printer, diagnostics, string primitives and the checks of untrusted files.
// Strict: overlong forms, surrogates and code points above 0x10FFFF are malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::text {

inline constexpr std::uint32_t kMalformed = 0xFFFFFFFF;

constexpr bool is_code_point(std::int64_t c) { return c >= 0 && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF); }

// The code point at `at`, which moves behind it. A malformed sequence gives kMalformed and moves on by one byte.
constexpr std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  unsigned more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < more) return kMalformed;
  std::uint32_t c = lead & (0x3Fu >> more);
  for (unsigned i = 0; i < more; ++i) {
    auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0) != 0x80) return kMalformed;
    c = c << 6 | (byte & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (c < kLeast[more] || !is_code_point(c)) return kMalformed;
  at += more;
  return c;
}

constexpr bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (next_code_point(text, at) == kMalformed) return false;
  return true;
}

inline void append_code_point(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | c >> (6 * more));
  while (more-- > 0) out += static_cast<char>(0x80 | ((c >> (6 * more)) & 0x3F));
}

// What must not reach a terminal as it is: controls, line separators, and marks that turn the direction of text.
constexpr bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

// For texts from outside that are only said to be UTF-8: U+FFFD stands for every malformed byte.
inline std::string repaired(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t c = next_code_point(text, at);
    append_code_point(out, c == kMalformed ? 0xFFFD : c);
  }
  return out;
}

} // namespace cairn::text
