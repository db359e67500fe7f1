// What rules of reductions share: shapes and views with and without them.
#pragma once

#include "ops/axes.h"
#include "ops/operators/definitions.h"
#include "ops/operators/runtime.h"

namespace cairn::ops::rules {

// The operand's shape with the axes of the mask of size 1, or gone.
Shape reduced(const Shape& shape, Mask mask, bool keep);
void infer_reduction(const Call& call, ResultTypes& results);
// infer_reduction, with a result of floating type.
void infer_floating_reduction(const Call& call, ResultTypes& results);
// Refuses a reduction of no elements, which has no result; `what` names it.
void refuse_nothing(const Call& call, const ResultTypes& results, std::string_view what);
// A cotangent of the result, stretched over the operand: nothing is copied.
Tensor stretched(Runtime& runtime, const Tensor& cotangent, const Shape& shape, Mask mask);
// A flop for each element that goes in.
Cost cost_of_reduction(const Call& call, const ResultTypes& results);

} // namespace cairn::ops::rules
