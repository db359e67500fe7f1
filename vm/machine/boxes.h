// Boxes of tiles (compiler/library/tile-boxes.scm): (starts . sizes), lists of numbers by axis. The library goes through so many
// of them that its own loops would take longer than the operators on small tiles.
#pragma once

#include "vm/bytecode/tensors.h"
#include "vm/machine/engine.h"

#include <span>

namespace cairn::machine::tensors {

// Whether it is one of these, from %same-box? to %parts-reached.
constexpr bool is_of_boxes(bytecode::TensorProcedure which) {
  return which >= bytecode::TensorProcedure::same_box && which <= bytecode::TensorProcedure::parts_reached;
}
// What it gives (owned). ProgramError for operands that are no boxes.
Value procedure_of_boxes(Engine& engine, bytecode::TensorProcedure which, std::span<const Value> operands);

} // namespace cairn::machine::tensors
