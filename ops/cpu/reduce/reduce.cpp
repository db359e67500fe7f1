// See reduce.h.
#include "ops/cpu/reduce/reduce.h"

#include "ops/cpu/loops/copy.h"
#include "ops/cpu/reduce/folds.h"

#include <limits>

namespace cairn::ops::cpu {

namespace {

template <class Better> void extremes(const View& to, const View& from) {
  if (!is_floating(from.dtype)) return fold<Extremes<std::int64_t, Better>>(to, from);
  if (compute_of(from.dtype) == Compute::f32) return fold<Extremes<float, Better>>(to, from);
  fold<Extremes<double, Better>>(to, from);
}

} // namespace

void reduce(Reduction reduction, const View& to, const View& from) {
  const std::int64_t n = to.elements();
  if (n == 0) return;
  if (from.elements() == 0) return fill_elements(to, reduction == Reduction::mean ? std::numeric_limits<double>::quiet_NaN() : 0);
  switch (reduction) {
  case Reduction::max:
    return extremes<Larger>(to, from);
  case Reduction::min:
    return extremes<Smaller>(to, from);
  case Reduction::sum:
    if (!is_floating(from.dtype)) return fold<IntegerSums>(to, from);
    return fold_floating<Sums>(to, from, 1);
  case Reduction::mean:
    return fold_floating<Sums>(to, from, static_cast<double>(from.elements()) / static_cast<double>(n));
  }
}

} // namespace cairn::ops::cpu
