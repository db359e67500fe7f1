// Arithmetic and predicates on literals, exactly as the machine does them.
#pragma once

#include "compiler/back/tree.h"

namespace cairn::compiler::back {

// The value of `op` on literals; nothing where it would be an error, is not worth knowing, or could differ in any bit.
// `operands` are in the order of the instruction.
DatumPtr fold(Opcode op, const Vector<const Datum*>& operands);

} // namespace cairn::compiler::back
