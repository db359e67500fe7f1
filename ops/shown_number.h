// Numbers in messages of operators, as programs write those that are no ordinary ones.
#pragma once

#include <cmath>
#include <string>

#include <fmt/format.h>

namespace cairn::ops {

inline std::string shown_number(double d) {
  if (std::isnan(d)) return "+nan.0";
  if (std::isinf(d)) return d > 0 ? "+inf.0" : "-inf.0";
  return fmt::format("{}", d);
}

} // namespace cairn::ops
