// The primitives of primitives.def.
#pragma once

#include "vm/bytecode/instruction.h"
#include "vm/print/environment.h"

namespace cairn::print {

// Runs a primitive. `arguments` are borrowed, `count` is within the primitive's limits; numbers among them may be taped or
// bundles (environment.primal). Returns an owned value. Throws ProgramError, whose message names procedure and argument:
// "char-upcase: expected a character, got (1 2)".
value::Value run_primitive(bytecode::Primitive primitive, const value::Value* arguments, unsigned count,
                           Environment& environment);

} // namespace cairn::print
