// Formulas of terms: what an operator sign or function means is an application of the operator; literals are computed at once.
#include "ops/operator_ids.h"
#include "ops/pointwise.h"

namespace cairn::ops {

namespace {

bool is_literal(const Term& t, double d) { return t.algebra() == nullptr && t.literal() == d; }
bool both_literals(const Term& a, const Term& b) { return a.algebra() == nullptr && b.algebra() == nullptr; }

} // namespace

Term apply(OperatorId op, std::initializer_list<Term> terms, const Attributes& attributes) {
  Algebra* algebra = nullptr;
  for (const Term& t : terms)
    if (t.algebra() != nullptr) algebra = t.algebra();
  if (algebra == nullptr) throw OperatorError("an operator applied to literals alone");
  std::vector<Term> held; // literals become terms for as long as this takes
  std::vector<std::uint64_t> handles;
  held.reserve(terms.size());
  handles.reserve(terms.size());
  for (const Term& t : terms) {
    if (t.algebra() != nullptr)
      held.push_back(t);
    else
      held.emplace_back(*algebra, algebra->number(t.literal()));
    handles.push_back(held.back().handle());
  }
  return {*algebra, algebra->apply(op, handles, attributes)};
}

Term operator+(const Term& a, const Term& b) {
  return both_literals(a, b) ? Term(a.literal() + b.literal()) : apply(OperatorId::add, {a, b});
}
Term operator-(const Term& a, const Term& b) {
  return both_literals(a, b) ? Term(a.literal() - b.literal()) : apply(OperatorId::sub, {a, b});
}
Term operator*(const Term& a, const Term& b) {
  if (both_literals(a, b)) return a.literal() * b.literal();
  if (is_literal(a, 1)) return b;
  if (is_literal(b, 1)) return a;
  if (is_literal(a, -1)) return -b;
  if (is_literal(b, -1)) return -a;
  return apply(OperatorId::mul, {a, b});
}
Term operator/(const Term& a, const Term& b) {
  if (both_literals(a, b)) return a.literal() / b.literal();
  return is_literal(b, 1) ? a : apply(OperatorId::div, {a, b});
}
Term operator-(const Term& a) { return a.algebra() == nullptr ? Term(-a.literal()) : apply(OperatorId::neg, {a}); }

// Formulas apply these to terms only, never to literals.
#define X(id, Struct, ...)                                                                                                       \
  Term id(const Term& x) { return apply(OperatorId::id, {x}); }
CAIRN_POINTWISE_UNARY(X)
#undef X
#define X(id, op)                                                                                                                \
  Term id(const Term& a, const Term& b) { return apply(OperatorId::op, {a, b}); }
X(max, max)
X(min, min)
X(pow, expt)
X(atan2, atan2)
X(less, less)
X(less_equal, less_equal)
X(equal, equal)
#undef X
Term bounded(const Term& x, const Term& most) { return max(min(x, most), -most); }
Term where(const Term& condition, const Term& a, const Term& b) { return apply(OperatorId::where, {condition, a, b}); }

} // namespace cairn::ops
