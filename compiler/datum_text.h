// Data as text: in messages of the front half and in listings of the program between the halves.
#pragma once

#include "compiler/core.h"

#include <string>

namespace cairn::compiler {

// As `write` would print it; cut after about `most` bytes with "...".
std::string datum_text(const Datum& d, std::size_t most = std::string::npos);

} // namespace cairn::compiler
