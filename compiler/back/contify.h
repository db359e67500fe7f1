// Which local procedures never escape, and which of them are only ever called in tail position of the expression that
// binds them: those become labels in their frame (loops and join points) and allocate nothing.
#pragma once

#include "compiler/back/tree.h"

namespace cairn::compiler::back {

struct LocalUse {
  bool lambda = false;  // bound to a lambda by let or letrec
  bool escapes = false; // used other than by calls it accepts
  bool label = false;
};

// One entry a variable. With `labels` false nothing is made a label.
Vector<LocalUse> classify_locals(const Tree& tree, bool labels);

} // namespace cairn::compiler::back
