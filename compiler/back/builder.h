// From tree to A-normal form: closure conversion, lambda lifting, labels, known calls.
#pragma once

#include "compiler/back/anf.h"
#include "compiler/back/contify.h"
#include "compiler/back/globals.h"

namespace cairn::compiler::back {

// A local procedure that never escapes gets its free variables as extra arguments if they are no more than this.
inline constexpr std::size_t kMostLifted = 6;

Unit build_unit(Tree& tree, const Globals& globals, Vector<LocalUse> locals, int level, Ground& ground);

} // namespace cairn::compiler::back
