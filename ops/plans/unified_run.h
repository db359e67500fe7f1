// A recorded run in unified memory.
#pragma once

#include "ops/plans/simulator.h"

namespace cairn::ops::plans {

Simulated simulate_unified(const AccessPlan& run, const AccessPlan& plan, Policy policy, const Memory& memory, Ending ending);

} // namespace cairn::ops::plans
