// Values as text. Iterative: values of any depth.
#pragma once

#include "vm/print/environment.h"

#include <string>

namespace cairn::print {

enum class Style { display, write };

// The whole text of a value, in pieces, to environment.write. Taped numbers and bundles print as their primal; procedures as
// #<procedure>, capsules as #<capsule>.
void print(value::Value v, Style style, Environment& environment);

// For messages: at most about `most` bytes, "..." where cut.
std::string abbreviated(value::Value v, const Environment& environment, std::size_t most = 80);

} // namespace cairn::print
