// Products of matrices from the module cairn_math, if there is one.
#pragma once

#include "ops/libraries/math.h"

namespace cairn::ops::cpu {

// Loaded at the first call; null: there is none, and there will be none.
const cairn_math* math_library();

} // namespace cairn::ops::cpu
