// How messages name operators: as programs call them, those of arithmetic by their signs.
#include "ops/operator_ids.h"

namespace cairn::ops {

std::string_view shown_name(const Operator& op) {
  switch (op.id) {
  case OperatorId::add:
    return "+";
  case OperatorId::sub:
    return "-";
  case OperatorId::mul:
    return "*";
  case OperatorId::div:
    return "/";
  case OperatorId::less:
    return "<";
  case OperatorId::less_equal:
    return "<=";
  case OperatorId::equal:
    return "=";
  case OperatorId::neg:
    return "-";
  default:
    return op.name.starts_with('%') ? op.name.substr(1) : op.name;
  }
}

} // namespace cairn::ops
