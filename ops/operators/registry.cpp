// The table of all operators: rows of operators.def and internal ones, with their definitions.
#include "ops/operators/registry.h"

#include "ops/operators/definitions.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace cairn::ops {

namespace {

// Constants, and looked up by a loop: to compile an initializer of as many operators takes longer than all rules of a family.
struct TableRow {
  OperatorId id;
  std::string_view name;
  Signature signature;
  std::string_view text;
  const Definition* definition;
};

// clang-format off
constexpr TableRow kTable[] = {
#define X(id, name, signature, text) {OperatorId::id, name, Signature(signature), text, &definitions::id},
#include "ops/operators.def"
#undef X
#define X(id, Struct, ...) {OperatorId::id##_vjp, "%" #id "_vjp", Signature("TXX"), "reverse rule of " #id, &definitions::id##_vjp},
    CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, Struct, ...) {OperatorId::id##_vjp, "%" #id "_vjp", Signature("TXXn"), "reverse rule of " #id, &definitions::id##_vjp},
    CAIRN_POINTWISE_PARAMETER(X)
#undef X
#define X(id, Struct, ...)                                                                                                       \
    {OperatorId::id##_vjp_a, "%" #id "_vjp_a", Signature("TXXX"), "reverse rule of " #id, &definitions::id##_vjp_a},                     \
    {OperatorId::id##_vjp_b, "%" #id "_vjp_b", Signature("TXXX"), "reverse rule of " #id, &definitions::id##_vjp_b},
    CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, signature, text) {OperatorId::id, "%" #id, Signature(signature), text, &definitions::id},
#include "ops/internal.def"
#undef X
};
// clang-format on
static_assert(std::size(kTable) == kAllOperators);

const std::array<Operator, kAllOperators>& table() {
  static const auto operators = [] {
    std::array<Operator, kAllOperators> all;
    for (std::size_t i = 0; i < kAllOperators; ++i) {
      const TableRow& row = kTable[i];
      all[i] = {*row.definition, row.id, row.name, row.text, row.signature};
    }
    return all;
  }();
  return operators;
}

// How operands of this kind come as attributes.
Attribute::Kind kind_of(const OperandSpec& spec) {
  switch (spec.kind) {
  case OperandSpec::Kind::integers:
    return Attribute::Kind::list;
  case OperandSpec::Kind::number:
    return Attribute::Kind::number;
  case OperandSpec::Kind::residence:
    return Attribute::Kind::device;
  default:
    return Attribute::Kind::integer;
  }
}

} // namespace

const Operator& operator_of(OperatorId id) { return table()[static_cast<std::size_t>(id)]; }

std::span<const Operator> all_operators() { return {table().data(), kOperators}; }

bool well_formed(const Operator& op, const Attributes& attributes) {
  std::size_t at = 0;
  for (const OperandSpec& spec : op.signature) {
    if (!spec.is_attribute()) continue;
    const Attribute& a = attributes[at++];
    if (!a.present()) {
      if (!spec.optional) return false;
      continue;
    }
    if (a.kind() != kind_of(spec)) return false;
    if (spec.kind == OperandSpec::Kind::type && (a.integer() < 0 || a.integer() >= static_cast<std::int64_t>(kDTypes)))
      return false;
  }
  return attributes.values.size() <= at;
}

Call call_for_smaller(const Operator& op, std::span<const Tensor> whole, const Attributes& attributes, Device* device) {
  static const Attributes none;
  const Operator& maker = operator_of(op.smaller->made_by);
  const bool takes_any = std::ranges::any_of(maker.signature, [](const OperandSpec& spec) { return spec.is_attribute(); });
  return {maker, whole, takes_any ? attributes : none, device};
}

} // namespace cairn::ops
