// Which library procedures may be called with a frame kept although the call is in tail position, so that an error inside can be
// reported at the user's call: those that never end in a call of something unknown. Calls that a user's loop may run through
// stay proper tail calls.
#pragma once

#include "compiler/back/globals.h"

namespace cairn::compiler::back {

// Their globals.
Set<std::uint32_t> ends_in_library(const Tree& tree, const Globals& globals);

} // namespace cairn::compiler::back
