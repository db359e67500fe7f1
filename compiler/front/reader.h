// Text to data. Iterative: nesting is limited by memory only.
#pragma once

#include "compiler/core.h"

#include <string_view>
#include <vector>

namespace cairn::compiler {

// A complaint about a span, thrown inside the front; whoever owns the sources turns it into a Failure.
struct Complaint {
  Diagnostic diagnostic;
};
// The text breaks off: more of it may make it right.
struct Incomplete : Complaint {};
[[noreturn]] void complain(Span span, std::string message);

// All data in text[begin, end); spans count from the start of `text` and name `file`. Throws Complaint.
// The text must have passed check_text.
Vector<DatumPtr> read_all(std::string_view text, std::uint32_t file, std::size_t begin, std::size_t end);

// Refuses bytes that are not UTF-8 and control characters other than white space. Throws Complaint.
void check_text(std::string_view text, std::uint32_t file);

} // namespace cairn::compiler
