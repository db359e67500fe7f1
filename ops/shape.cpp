// Checked arithmetic on sizes, broadcasting, axes.
#include "ops/shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (const std::int64_t size : sizes) push_back(size);
}

void Shape::push_back(std::int64_t size) {
  if (rank_ == kMostAxes) throw OperatorError(fmt::format("a tensor has at most {} axes", kMostAxes));
  if (size < 0) throw OperatorError(fmt::format("the size of an axis cannot be negative: {}", size));
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

std::int64_t Shape::checked_elements() const {
  std::int64_t product = 1;
  bool fits = true, none = false;
  for (const std::int64_t size : *this) {
    if (size == 0)
      none = true;
    else
      fits = !__builtin_mul_overflow(product, size, &product) && fits;
  }
  if (none) return 0;
  if (!fits) throw OperatorError(fmt::format("a tensor of shape {} would have too many elements", text()));
  return product;
}

std::string list_text(std::span<const std::int64_t> numbers) {
  std::string out = "(";
  for (const std::int64_t number : numbers) {
    if (out.size() > 1) out += ' ';
    out += std::to_string(number);
  }
  return out += ')';
}

std::string Shape::text() const { return list_text({begin(), end()}); }

Shape broadcast(std::string_view who, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    std::int64_t& size = out[i + shift];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) throw OperatorError(fmt::format("{}: shapes {} and {} do not go together", who, a.text(), b.text()));
    size = shorter[i];
  }
  return out;
}

int axis_in(std::string_view who, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw OperatorError(fmt::format("{}: there is no axis {} in a tensor of {} axes", who, axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

} // namespace cairn::ops
