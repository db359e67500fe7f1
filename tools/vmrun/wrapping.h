// Tensors as the loop shows them on a terminal: rows that are wider than it go on below, under their first element.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::tools {

// A value as `write` prints it, with line breaks in the tensors of it where a line would be longer than so many columns.
std::string wrapped_tensors(std::string_view text, std::size_t columns);

} // namespace cairn::tools
