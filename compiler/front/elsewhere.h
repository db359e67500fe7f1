// Names that people bring from other languages and libraries, and what is written in Cairn instead.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace cairn::compiler {

// `instead` ends the sentence "'NAME' does not exist in Cairn: ...". Procedures and forms that it advises stand between single
// quotes or behind a parenthesis; a test looks each of them up.
struct Elsewhere {
  std::string_view name;
  std::string_view instead;
};

std::array<std::span<const Elsewhere>, 4> names_elsewhere(); // by subject

// What to write instead of an unbound name; empty if nothing is known of it. Names may carry those of their modules: np.zeros.
std::string_view instead_of(std::string_view name);

} // namespace cairn::compiler
