// Values as text. Iterative: values of any depth.
#pragma once

#include "vm/machine/environment.h"
#include "vm/value/charged.h"

#include <string>

namespace cairn::print {

enum class Style { display, write };

// The whole text of a value, in pieces, to environment.write. Taped numbers and bundles print as their primal; procedures as
// #<procedure>, capsules as #<capsule>.
void print(value::Value v, Style style, machine::Environment& environment);

// Text that is charged for as long as it is held.
struct KeptText {
  value::Charged charged;
  std::string text;
};
// The text of a value as `write` prints it, at most about `most` bytes, "..." where cut. Can be stopped, and go over the budget,
// if it may become long.
KeptText text_of(value::Value v, const machine::Environment& environment, std::size_t most);

// For messages: at most about `most` bytes, "..." where cut.
std::string abbreviated(value::Value v, const machine::Environment& environment, std::size_t most = 80);

} // namespace cairn::print
