// Pieces of a disassembly, for people who ask about one procedure or one expression.
#pragma once

#include <string>
#include <string_view>

namespace cairn::tools {

// Of the text of a session's last module, whose entry runs `code`: if that is a name, the last procedure called so; else, or if
// there is none, the procedures that `code` itself is made of.
std::string piece_of_listing(std::string_view listing, std::string_view code);

} // namespace cairn::tools
