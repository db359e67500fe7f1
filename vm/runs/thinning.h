// Lean tapes: what an operation keeps that can be computed again from what else is kept, at little cost, is let go of, and the
// sweep computes it again when it gets there. That is how activations and normalised tensors are recomputed from what is in front
// of them, and attention's weights from queries and keys (docs/design.md 5.9).
#pragma once

#include "vm/machine/engine.h"
#include "vm/tape/tape.h"

#include <cstddef>

namespace cairn::runs {

// Makes a tape lean, at that level; it may be lean at a lower one. It can be stopped and begun again.
void thin(machine::Engine& engine, tape::Tape& tape, std::size_t level);

} // namespace cairn::runs
