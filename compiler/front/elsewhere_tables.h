// The tables of names from elsewhere, by subject. What Cairn has under the same name is in none of them.
#pragma once

#include "compiler/front/elsewhere.h"

namespace cairn::compiler {

// What more than one of them says.
inline constexpr std::string_view kRandom =
    "write (random-real) or (random-integer n); the tools' option --seed chooses the numbers";
inline constexpr std::string_view kLoop = "a loop is 'do', 'for-each' or a named 'let' that calls itself";

std::span<const Elsewhere> elsewhere_in_languages();
std::span<const Elsewhere> elsewhere_in_tensors();
std::span<const Elsewhere> elsewhere_in_networks();
std::span<const Elsewhere> elsewhere_in_data();

} // namespace cairn::compiler
