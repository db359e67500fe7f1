// Lean tapes: what an operation keeps that can be computed again from what else is kept, at little cost, is let go of, and the
// sweep computes it again when it gets there. That is how activations and normalised tensors are recomputed from what is in front
// of them, and attention's weights from queries and keys (docs/design.md 5.9).
#pragma once

#include "vm/machine/engine.h"
#include "vm/tape/derived.h"

#include <cstdint>
#include <span>

namespace cairn::runs {

// What an operation on a tape was modelled to take beside its step, in ticks (vm/schedule/cost_table.h); where nobody models it,
// what moving its operands and results takes.
std::uint64_t cost_of(const schedule::CostTable& costs, const tape::TensorRecord& record, std::span<const ops::Tensor> inputs,
                      std::span<const ops::Tensor> outputs);

// What a lean tape does not keep of a record, once it has been added to `derived`: takes the elements out of these lists of its
// tensors. Whether there was any.
bool let_go(const tape::Derived& derived, const tape::TensorRecord& record, std::span<ops::Tensor> inputs,
            std::span<ops::Tensor> outputs);

// Makes a tape lean. It can be stopped and begun again.
void thin(machine::Engine& engine, tape::Tape& tape);

} // namespace cairn::runs
