// The numbers of operators by name: a row of operators.def, of internal.def or of pointwise_list.h has one. Only sources that
// name operators include this file; what handles any operator knows OperatorId as a number (operator.h), so a new row leaves it
// as it is.
#pragma once

#include "ops/operator.h"
#include "ops/pointwise_list.h"

namespace cairn::ops {

enum class OperatorId : std::uint16_t {
#define X(id, name, signature, text) id,
#include "ops/operators.def"
#undef X
  count,
  // Internal: kernels of reverse rules, applied by them alone. Their Operators have no derivatives.
  before_internal = count - 1,
#define X(id, Struct, ...) id##_vjp, // (cotangent, x, y): cotangent * slope
  CAIRN_POINTWISE_UNARY(X) CAIRN_POINTWISE_PARAMETER(X)
#undef X
#define X(id, Struct, ...) id##_vjp_a, id##_vjp_b, // (cotangent, a, b, value)
      CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, signature, text) id,
#include "ops/internal.def"
#undef X
          end
};
inline constexpr unsigned kOperators = static_cast<unsigned>(OperatorId::count);  // those of programs
inline constexpr unsigned kAllOperators = static_cast<unsigned>(OperatorId::end); // with internal ones

} // namespace cairn::ops
