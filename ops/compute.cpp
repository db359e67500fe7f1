// See compute.h.
#include "ops/compute.h"

#include <cmath>

namespace cairn::ops {

Compute compute_of(DType type) {
  if (type == DType::f64) return Compute::f64;
  return is_floating(type) ? Compute::f32 : Compute::i64;
}

Compute compared_in(const View& a, const View& b) {
  if (!a.weak && !b.weak) return compute_of(promoted(a.dtype, b.dtype));
  const View& tensor = a.weak ? b : a;
  const double number = a.weak ? a.number : b.number;
  return compute_of(promoted_with_number(tensor.weak ? DType::f64 : tensor.dtype, number == std::floor(number)));
}

} // namespace cairn::ops
