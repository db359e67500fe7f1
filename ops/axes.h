// The operands "lb" that every reduction starts with, as attributes: which axes go, and whether they are kept with size 1. The
// same for shape rules and for the kernels of every device.
#pragma once

#include "ops/operator.h"

#include <string_view>

namespace cairn::ops::rules {

using Mask = unsigned; // a bit for each axis that is reduced

// All of them if none are given. OperatorError, in the name of `who`, if there is no such axis or one is given twice.
Mask axes_of(std::string_view who, const Attributes& attributes, int rank);
bool keeps_axes(const Attributes& attributes);

} // namespace cairn::ops::rules
