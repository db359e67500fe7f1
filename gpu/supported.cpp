// Which operators have kernels on the GPU: those of families.h.
#include "gpu/supported.h"

namespace cairn::gpu {

bool supported(ops::OperatorId id) {
  using ops::OperatorId;
  switch (id) {
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
  case OperatorId::id##_vjp:
    CAIRN_POINTWISE_UNARY(X)
    CAIRN_POINTWISE_PARAMETER(X)
#undef X
#define X(id, Struct)                                                                                                            \
  case OperatorId::id:                                                                                                           \
  case OperatorId::id##_vjp_a:                                                                                                   \
  case OperatorId::id##_vjp_b:
    CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, Struct) case OperatorId::id:
    CAIRN_POINTWISE_COMPARE(X)
#undef X
  case OperatorId::where:
  case OperatorId::cast:
  case OperatorId::contiguous:
  case OperatorId::view:
  case OperatorId::fill:
  case OperatorId::random_uniform:
  case OperatorId::random_normal:
  case OperatorId::concat:
  case OperatorId::pad:
  case OperatorId::sum:
  case OperatorId::mean:
  case OperatorId::max_over:
  case OperatorId::sum_to:
  case OperatorId::matmul:
  case OperatorId::softmax:
  case OperatorId::log_softmax:
  case OperatorId::softmax_vjp:
  case OperatorId::log_softmax_vjp:
  case OperatorId::max_over_mask:
    return true;
  default:
    return false;
  }
}

} // namespace cairn::gpu
