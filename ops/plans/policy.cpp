// See policy.h.
#include "ops/plans/policy.h"

namespace cairn::ops::plans {

std::string_view name_of(Policy policy) {
  switch (policy) {
  case Policy::planned:
    return "planned";
  case Policy::planned_on_demand:
    return "planned on demand";
  case Policy::waiting:
    return "waiting";
  case Policy::demand:
    return "demand";
  case Policy::unified:
    return "unified";
  case Policy::unified_prefetched:
    return "unified, prefetched";
  default:
    return "unified, planned";
  }
}

} // namespace cairn::ops::plans
