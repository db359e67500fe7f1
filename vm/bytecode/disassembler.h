// Readable, stable text of a module, with source lines as comments where they are known.
#pragma once

#include "vm/bytecode/module.h"

#include <string>

namespace cairn::bytecode {

std::string disassemble(const Module& module);

} // namespace cairn::bytecode
