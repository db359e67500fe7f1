// Who else holds the tensors of a value: for the message about an update in place that cannot be.
#pragma once

#include "vm/machine/engine.h"

#include <string>

namespace cairn::runs {

// ": the definition of NAME", ": a variable of PROCEDURE at LOCATION, ..."; empty where it is not known. Definitions and the
// variables of waiting procedures are looked through.
std::string holder_of(machine::Engine& engine, value::Value v);

} // namespace cairn::runs
