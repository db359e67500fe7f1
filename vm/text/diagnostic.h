// Located messages: FILE:LINE:COLUMN: error: ..., the line, a caret. Shared by compiler, loader and machine.
#pragma once

#include "vm/text/source.h"

#include <string>
#include <string_view>

namespace cairn::text {

// At most about `most` bytes of a text that may hold anything, "..." where it is cut; what could upset a terminal or is not
// to be seen is an escape, \x200b;.
std::string shortened(std::string_view text, std::size_t most);

// The same of the name of a file, a procedure or a place, which stays on its line.
inline constexpr std::size_t kMostNameBytes = 1000;
std::string shown_name(std::string_view name, std::size_t most = kMostNameBytes);

struct Position {
  unsigned line = 1;   // from 1
  unsigned column = 1; // from 1, in code points
};
Position position_of(std::string_view source, std::uint32_t offset);

// "FILE:LINE:COLUMN: SEVERITY: MESSAGE\n" + the line + a caret line. Control characters of the line and such as nobody sees
// are shown as escapes, tabs kept; very long lines are cut around the caret, very long messages at their end. Without source text
// (stripped) only the first line, without position if that is unknown.
std::string render(const Source* source, const Span* span, std::string_view severity, std::string_view message);

} // namespace cairn::text
