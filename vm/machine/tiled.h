// What the library's `tiled` (compiler/library/tiles.scm) asks the machine about places in the program, and tells it for reports.
#pragma once

#include "vm/machine/engine.h"

#include <cstdint>
#include <span>

namespace cairn::machine::tensors {

// The instruction that the program is at, as a number of the program: its length does not hang on where the program's file is.
std::int64_t number_of_place(Engine& engine);
// (%text-of-place number): the text of such a place, "PROCEDURE at LOCATION" (owned); empty if there is none.
Value text_of_place(Engine& engine, Value number);
// (%shown-operator name): the symbol by which programs know an operator that a recorded tensor names (owned).
Value shown_operator(Engine& engine, Value name);
// (%note-tiles steps border-bytes file-bytes place): steps are names of operators that are computed as a whole, and of segments
// vectors #(names tiles tile-bytes work work-without-halos), work in flops; of a reduction over parts all three are 0. The place
// is that of the first operator, for calls whose own is lost. Told to whoever asked for reports; nothing hangs on it.
Value note_tiles(Engine& engine, std::span<const Value> operands);

} // namespace cairn::machine::tensors
