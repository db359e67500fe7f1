// How messages show paths.
#pragma once

#include <string>
#include <string_view>

namespace cairn::machine {

// What would reach a terminal as a command does not, and a long one is cut.
std::string shown_path(std::string_view path);

} // namespace cairn::machine
