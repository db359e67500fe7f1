// What the library's `tiled` (compiler/library/tiles.scm) tells the machine for reports, and asks it for them.
#pragma once

#include "vm/machine/engine.h"

#include <cstdint>
#include <span>

namespace cairn::machine::tensors {

// (%shown-operator name): the symbol by which programs know an operator that a recorded tensor names (owned).
Value shown_operator(Engine& engine, Value name);
// (%note-tiles steps border-bytes file-bytes place memory file): steps are (name . bytes) of operators that are computed as a
// whole, and of segments vectors #(names tiles tile-bytes work work-without-halos), work in flops; of a reduction over parts all
// three are 0. The place is that of the first operator, for calls whose own is lost. Memory and file: bytes that a derivative
// would take of them. Told to whoever asked for reports, and in hints; nothing hangs on it.
Value note_tiles(Engine& engine, std::span<const Value> operands);

} // namespace cairn::machine::tensors
