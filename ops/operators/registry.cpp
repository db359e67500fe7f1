// The table of all operators: rows of operators.def and internal ones, with their definitions.
#include "ops/operators/definitions.h"

#include <array>

namespace cairn::ops {

namespace {

Operator make(OperatorId id, std::string_view name, std::string_view signature, std::string_view text, const Definition& d) {
  Operator op;
  op.id = id;
  op.name = name;
  op.signature = signature;
  op.text = text;
  op.infer = d.infer;
  op.kernel = d.kernel;
  op.view = d.view;
  op.vjp = d.vjp;
  op.jvp = d.jvp;
  op.keep = d.keep;
  op.may_overwrite = d.may_overwrite;
  op.slices = d.slices;
  op.places = d.places;
  op.cost = d.cost;
  return op;
}

const std::array<Operator, kAllOperators>& table() {
  // clang-format off
  static const std::array<Operator, kAllOperators> operators = {
#define X(id, name, signature, text) make(OperatorId::id, name, signature, text, definitions::id),
#include "ops/operators.def"
#undef X
#define X(id, Struct) make(OperatorId::id##_vjp, "%" #id "_vjp", "TXX", "reverse rule of " #id, definitions::id##_vjp),
      CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct) make(OperatorId::id##_vjp, "%" #id "_vjp", "TXXn", "reverse rule of " #id, definitions::id##_vjp),
      CAIRN_POINTWISE_PARAMETER(X)
#undef X
#define X(id, Struct)                                                                                                            \
      make(OperatorId::id##_vjp_a, "%" #id "_vjp_a", "TXXX", "reverse rule of " #id, definitions::id##_vjp_a),                   \
      make(OperatorId::id##_vjp_b, "%" #id "_vjp_b", "TXXX", "reverse rule of " #id, definitions::id##_vjp_b),
      CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, signature, text) make(OperatorId::id, "%" #id, signature, text, definitions::id),
#include "ops/internal.def"
#undef X
  };
  // clang-format on
  return operators;
}

} // namespace

const Operator& operator_of(OperatorId id) { return table()[static_cast<std::size_t>(id)]; }

std::span<const Operator> all_operators() { return {table().data(), kOperators}; }

bool well_formed(const Operator& op, const Attributes& attributes) {
  std::size_t at = 0;
  for (const char letter : op.signature) {
    const bool optional = letter >= 'a';
    const char what = optional ? static_cast<char>(letter - 'a' + 'A') : letter;
    if (what == 'T' || what == 'X' || what == 'I' || what == 'V' || what == 'Z') continue;
    const Attribute& a = attributes[at++];
    if (!a.present()) {
      if (!optional) return false;
      continue;
    }
    using Kind = Attribute::Kind;
    const Kind kind = what == 'L' ? Kind::list : what == 'N' ? Kind::number : what == 'R' ? Kind::device : Kind::integer;
    if (a.kind() != kind || (what == 'D' && (a.integer() < 0 || a.integer() >= static_cast<std::int64_t>(kDTypes)))) return false;
  }
  return attributes.values.size() <= at;
}

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
