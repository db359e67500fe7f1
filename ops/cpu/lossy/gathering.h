// Numbers of steps one behind the other in one go, for the processors whose vectors can leave lanes out: StepLoop (loops.h) and
// Planes::gather (planes.h) together, without values between.
#pragma once

#include "ops/cpu/lossy/loops.h"

namespace cairn::ops::cpu::lossy {

// Of finite elements, as many as whole groups have. How many numbers there are; zeros follow up to a whole group.
using GatherSteps = std::int64_t (*)(const float* x, std::int64_t count, const ToSteps<float>* how, std::uint32_t* numbers,
                                     std::uint8_t* mask, Stepped* out);
// Null where the processor at hand has no such vectors.
GatherSteps gather_steps(bool is_signed);

} // namespace cairn::ops::cpu::lossy
