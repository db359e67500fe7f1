// See give_up.cpp.
#pragma once

#include "compiler/core.h"

namespace cairn::compiler {

// The program is whole: nothing that is not in it names its definitions.
void give_up_definitions(Program& program);

} // namespace cairn::compiler
