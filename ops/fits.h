// Which numbers of a program elements of a type can hold. A number that they cannot would become another one: it is refused
// wherever a program gives one, by arithmetic, `fill`, `pad` and `list->tensor`, on all devices, before anything is computed.
#pragma once

#include "ops/dtype.h"

#include <string_view>

namespace cairn::ops {

// Taken towards 0, as whatever becomes an integer. Floating types hold all numbers.
bool fits(double number, DType type);
// OperatorError, which ends in the cure.
[[noreturn]] void refuse_number(std::string_view who, double number, DType type, std::string_view cure);
inline void check_fits(std::string_view who, double number, DType type, std::string_view cure) {
  if (!is_floating(type) && !fits(number, type)) refuse_number(who, number, type, cure);
}
inline constexpr std::string_view kCastFirst = "cast the tensor to a wider type first",
                                  kWiderType = "give a wider type of elements";

} // namespace cairn::ops
