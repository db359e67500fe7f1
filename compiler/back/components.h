// Strongly connected components of recursive bindings, so that each letrec group is as small as it can be.
#pragma once

#include "compiler/back/tree.h"

namespace cairn::compiler::back {

// Appends the bindings of a letrec to `out`, one Binding a component, those that others refer to first.
void append_components(Vector<VarId> vars, Vector<Node*> inits, Vector<Binding>& out);

} // namespace cairn::compiler::back
