// From tree to A-normal form: closure conversion, lambda lifting, labels, known calls.
#pragma once

#include "compiler/back/anf.h"
#include "compiler/back/contify.h"
#include "compiler/back/globals.h"

namespace cairn::compiler::back {

// A local procedure that never escapes gets its free variables as extra arguments if they are no more than this.
inline constexpr std::size_t kMostLifted = 6;

// Functions and groups are added to `unit`, which is empty but for what earlier texts left.
Unit build_unit(Tree& tree, const Globals& globals, std::vector<LocalUse> locals, int level, Unit unit);

} // namespace cairn::compiler::back
