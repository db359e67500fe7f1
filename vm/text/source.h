// Source texts and spans of them: what messages, modules and the compiler speak of.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::text {

struct Source {
  std::string name; // as the user wrote it
  std::string text; // empty when stripped
};

// A stretch of a source text: file index and byte range.
struct Span {
  std::uint32_t file = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const Span&) const = default;
};

} // namespace cairn::text
