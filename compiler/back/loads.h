// Passes on A-normal form that save instructions: fields of pairs, globals and captured values are read once and where they are
// needed, loop variables are updated in place.
#pragma once

#include "compiler/back/anf.h"
#include "compiler/back/globals.h"

namespace cairn::compiler::back {

// A field or a global that was read before on every path is not read again; car and cdr of a pair that is not used otherwise come
// together, so that they become one uncons. Globals that are defined once are
// constants.
void share_loads(AnfFunction& function, const Globals& globals);

// Reads of captured values move into the one arm or in front of the first statement that needs them, never into a loop.
void sink_captures(AnfFunction& function);

// Updates of loop variables wait until nothing before the jump needs the old value, where nobody can tell.
void delay_updates(AnfFunction& function, const Unit& unit);

} // namespace cairn::compiler::back
