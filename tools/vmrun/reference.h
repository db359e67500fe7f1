// The reference at a terminal: what is said of a name, and which names a word belongs to. Its text, docs/reference/reference.txt,
// is part of the program; entries begin with a line `= NAME ...`, then come texts and, indented, an example.
#pragma once

#include <string>
#include <string_view>

namespace cairn::tools {

std::string_view reference_text();

// The entry of a name without its first line; empty if there is none.
std::string_view described(std::string_view name);

// A line for each entry whose names or texts have the word, in any case: those with it in a name come first. Empty if there is
// none.
std::string apropos(std::string_view word);

} // namespace cairn::tools
