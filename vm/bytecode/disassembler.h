// Readable, stable text of a module, with source lines as comments where they are known.
#pragma once

#include "vm/bytecode/module.h"

#include <string>

namespace cairn::bytecode {

std::string disassemble(const Module& module);

// The instruction at a word of a function alone.
std::string disassemble_one(const Module& module, std::uint32_t function, std::size_t pc);

} // namespace cairn::bytecode
