// How messages name operators: as programs call them, those of arithmetic by their signs.
#include "ops/operator_ids.h"
#include "ops/pointwise_list.h"

namespace cairn::ops {

std::string_view shown_name(const Operator& op) {
  switch (op.id) {
#define X(id, Struct, sign, ...)                                                                                                 \
  case OperatorId::id:                                                                                                           \
    return sign;
    CAIRN_NUMBER_SIGNS(X)
    CAIRN_POINTWISE_COMPARE(X)
#undef X
  case OperatorId::neg:
    return "-";
  default:
    return op.name.starts_with('%') ? op.name.substr(1) : op.name;
  }
}

} // namespace cairn::ops
