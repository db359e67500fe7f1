// From A-normal form with last uses to instructions: registers are chosen and code is written in one walk.
#pragma once

#include "compiler/back/anf.h"
#include "compiler/back/constants.h"

namespace cairn::compiler::back {

// Throws Failure (without sources) where a procedure is too large.
bytecode::Function emit_function(const AnfFunction& function, const Unit& unit, ConstantPool& constants);

} // namespace cairn::compiler::back
