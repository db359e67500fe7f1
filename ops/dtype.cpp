// Names and promotion of types of elements.
#include "ops/dtype.h"

#include <algorithm>

namespace cairn::ops {

namespace {

struct Row {
  std::string_view name, other;
};

constexpr Row kRows[] = {
#define X(name, other, type, bytes) Row{#name, other},
    CAIRN_DTYPES(X)
#undef X
};
static_assert(std::size(kRows) == kDTypes);
#define X(name, other, type, bytes) static_assert(sizeof(type) == bytes);
CAIRN_DTYPES(X)
#undef X

const Row& row(DType type) { return kRows[static_cast<std::size_t>(type)]; }

} // namespace

std::string_view name_of(DType type) { return row(type).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes; ++i)
    if (!name.empty() && (kRows[i].name == name || kRows[i].other == name)) return static_cast<DType>(i);
  return std::nullopt;
}

DType promoted(DType a, DType b) {
  if (a == b) return a;
  if (!is_floating(a) && !is_floating(b)) {
    if (std::max(a, b) == DType::i8) return DType::i16; // u8 with i8
    return std::max(a, b);
  }
  if (is_floating(a) && is_floating(b)) return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
  const DType floating = is_floating(a) ? a : b;
  const std::int64_t integer_bytes = bytes_of(is_floating(a) ? b : a);
  if (floating == DType::bf16) return integer_bytes == 1 ? DType::bf16 : DType::f32;
  return floating == DType::f32 && integer_bytes <= 2 ? DType::f32 : DType::f64;
}

DType promoted_with_number(DType tensor, bool exact) { return is_floating(tensor) || exact ? tensor : DType::f64; }

DType floating_of(DType type) {
  if (is_floating(type)) return type;
  return bytes_of(type) <= 2 ? DType::f32 : DType::f64;
}

} // namespace cairn::ops
