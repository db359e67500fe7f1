// The registry: every operator with its definition, found by its number.
#pragma once

#include "ops/operator.h"

#include <span>

namespace cairn::ops {

const Operator& operator_of(OperatorId id);
// Those that programs may call.
std::span<const Operator> all_operators();
// Is every attribute of the kind that the signature says, and none missing that must be there? So are those that programs give,
// and so must be those that rules make: they are saved with what a tape keeps, and read back.
bool well_formed(const Operator& op, const Attributes& attributes);
// The call that makes, of what the reverse rule of `op` asks for (kept_whole), what it can do with instead; op.smaller is there.
// Who makes it has the attributes of the operator, unless it takes none. The tensors and the attributes are those given.
Call call_for_smaller(const Operator& op, std::span<const Tensor> whole, const Attributes& attributes, Device* device);

} // namespace cairn::ops
