// See axes.h.
#include "ops/axes.h"

#include <fmt/format.h>

namespace cairn::ops::rules {

Mask axes_of(std::string_view who, const Attributes& attributes, int rank) {
  if (attributes.values.empty() || !attributes[0].present()) return (1u << rank) - 1;
  Mask mask = 0;
  for (const std::int64_t axis : attributes[0].list()) {
    const Mask bit = 1u << axis_in(who, axis, rank);
    if ((mask & bit) != 0) throw OperatorError(fmt::format("{}: axis {} is given twice", who, axis));
    mask |= bit;
  }
  return mask;
}

bool keeps_axes(const Attributes& attributes) {
  return attributes.values.size() > 1 && attributes[1].present() && attributes[1].integer() != 0;
}

} // namespace cairn::ops::rules
