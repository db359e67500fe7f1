// What a lambda needs from around it, for closure conversion and lambda lifting.
#pragma once

#include "compiler/back/tree.h"


namespace cairn::compiler::back {

// A local procedure that is a function of the module (not a label).
struct LocalFunction {
  std::uint32_t index = 0; // of the function
  const Node* lambda = nullptr;
  Vector<VarId> lifted; // variables passed as extra arguments
  bool needs_closure = false;
};
using FunctionTable = Map<VarId, LocalFunction>;

// Variables that the lambdas use and do not bind, in order of first use. A use of a lifted procedure is a use of what it is
// passed; one of a procedure without captures needs nothing; `own` are the procedures' own names.
Vector<VarId> free_variables(const Vector<const Node*>& lambdas, const Vector<VarId>& own,
                                  const FunctionTable& functions);

} // namespace cairn::compiler::back
