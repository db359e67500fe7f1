// See fits.h.
#include "ops/fits.h"

#include "ops/operator.h"

#include <fmt/format.h>

#include <cmath>

namespace cairn::ops {

namespace {

// As the language writes it.
std::string text_of(double number) {
  if (std::isnan(number)) return "+nan.0";
  if (std::isinf(number)) return number > 0 ? "+inf.0" : "-inf.0";
  return fmt::format("{}", number);
}

} // namespace

bool fits(double number, DType type) {
  if (is_floating(type)) return true;
  const bool is_signed = type != DType::u8;
  const double beyond = std::ldexp(1.0, static_cast<int>(8 * bytes_of(type)) - (is_signed ? 1 : 0));
  const double whole = std::trunc(number);
  return whole >= (is_signed ? -beyond : 0) && whole < beyond;
}

void refuse_number(std::string_view who, double number, DType type, std::string_view cure) {
  throw OperatorError(fmt::format("{}: {} does not fit elements of {}; {}", who, text_of(number), name_of(type), cure));
}

} // namespace cairn::ops
