// See derivative_rules.h. The rules themselves are those of ops/pointwise.h, computed here with doubles, and with values in
// forward mode.
#include "vm/machine/derivative_rules.h"

#include "ops/pointwise.h"

namespace cairn::machine::rules {

namespace pointwise = ops::pointwise;
using pointwise::Number;

// inexact, which only numbers have, is the default of functions of one operand.

double value2(Opcode op, double x, double y) {
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    return pointwise::Struct::value<Number>(x, y).v;
    CAIRN_POINTWISE_BINARY(X)
#undef X
  default:
    return 0;
  }
}

// A NaN on either side is chosen, so that it is not lost.
bool chooses_first(Opcode op, double x, double y) {
  if (x != x) return true;
  return op == Opcode::max ? x >= y : x <= y;
}

double value1(Opcode op, double x) {
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    return pointwise::Struct::value<Number>(x).v;
    CAIRN_NUMBER_UNARY(X)
#undef X
  default:
    return x;
  }
}

void partials2(Opcode op, double x, double y, double v, double& dx, double& dy) {
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    dx = pointwise::Struct::slope_a<Number>(x, y, v).v, dy = pointwise::Struct::slope_b<Number>(x, y, v).v;                      \
    break;
    CAIRN_POINTWISE_BINARY(X)
#undef X
  default:
    dx = dy = 0;
  }
}

double partial1(Opcode op, double x, double v) {
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    return pointwise::Struct::slope<Number>(x, v).v;
    CAIRN_NUMBER_UNARY(X)
#undef X
  default:
    return 1;
  }
}

namespace {

// Arithmetic on Values that reads like a formula. A literal knows no engine; its number needs none. What a formula starts from outlives it and
// is borrowed, by copies too; what is computed is the term's.
struct Term {
  Engine* e = nullptr;
  Value v;
  bool owned = false;
  Term(double literal) : v(value::flonum(literal)) {} // implicit, as the literals of formulas are
  Term(Engine& engine, Value result) : e(&engine), v(result), owned(true) {}
  static Term borrowed(Engine& engine, Value v) { return Term(&engine, v, false); }
  Term(const Term& o) : e(o.e), v(o.owned ? Heap::retain(o.v) : o.v), owned(o.owned) {}
  Term& operator=(const Term&) = delete;
  ~Term() {
    if (owned) e->heap().release(v);
  }
  Value take() {
    if (!owned) return Heap::retain(v);
    owned = false;
    return v;
  }
  double number() const { return e != nullptr ? e->to_double(v) : v.flonum(); }

private:
  Term(Engine* engine, Value value, bool mine) : e(engine), v(value), owned(mine) {}
};
Term apply(Opcode op, const Term& a, const Term& b) {
  Engine* const e = a.e != nullptr ? a.e : b.e;
  return e != nullptr ? Term(*e, e->binary(op, a.v, b.v)) : Term(value2(op, a.v.flonum(), b.v.flonum()));
}
Term apply(Opcode op, const Term& a) { return a.e != nullptr ? Term(*a.e, a.e->unary(op, a.v)) : Term(value1(op, a.v.flonum())); }

// What formulas are made of.
Term operator+(const Term& a, const Term& b) { return apply(Opcode::add, a, b); }
Term operator-(const Term& a, const Term& b) { return apply(Opcode::sub, a, b); }
Term operator*(const Term& a, const Term& b) { return apply(Opcode::mul, a, b); }
Term operator/(const Term& a, const Term& b) { return apply(Opcode::div, a, b); }
Term operator-(const Term& a) { return apply(Opcode::neg, a); }
#define X(id, ...)                                                                                                               \
  [[maybe_unused]] Term id(const Term& a) { return apply(Opcode::id, a); }
CAIRN_NUMBER_UNARY(X)
#undef X
Term pow(const Term& a, const Term& b) { return apply(Opcode::expt, a, b); }
bool less(const Term& a, const Term& b) { return a.number() < b.number(); }
bool less_equal(const Term& a, const Term& b) { return a.number() <= b.number(); }
bool equal(const Term& a, const Term& b) { return a.number() == b.number(); }
Term where(bool condition, const Term& a, const Term& b) { return condition ? a : b; }

template <class F> Term tangent_of(const Term& x, const Term& v, const Term& t) {
  if constexpr (requires { F::template tangent<Term>(x, v, t); })
    return F::template tangent<Term>(x, v, t);
  else
    return t * F::template slope<Term>(x, v);
}

template <class F> Term tangent_of(const Term& x, const Term& y, const Term& v, const Term* tx, const Term* ty) {
  if constexpr (requires { F::template tangent<Term>(x, y, v, tx, ty); })
    return F::template tangent<Term>(x, y, v, tx, ty);
  else
    return pointwise::contributed(
        tx, ty, [&](const Term& t) { return t * F::template slope_a<Term>(x, y, v); },
        [&](const Term& t) { return t * F::template slope_b<Term>(x, y, v); });
}

} // namespace

Value tangent2(Engine& engine, Opcode op, Value xv, Value yv, Value vv, const Value* xt, const Value* yt) {
  const Term x = Term::borrowed(engine, xv), y = Term::borrowed(engine, yv), v = Term::borrowed(engine, vv);
  const Term tx = Term::borrowed(engine, xt != nullptr ? *xt : value::flonum(0.0)),
             ty = Term::borrowed(engine, yt != nullptr ? *yt : value::flonum(0.0));
  const Term *const on_x = xt != nullptr ? &tx : nullptr, *const on_y = yt != nullptr ? &ty : nullptr;
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    return tangent_of<pointwise::Struct>(x, y, v, on_x, on_y).take();
    CAIRN_POINTWISE_BINARY(X)
#undef X
  default:
    return value::flonum(0.0);
  }
}

Value tangent1(Engine& engine, Opcode op, Value xv, Value vv, Value xt) {
  const Term x = Term::borrowed(engine, xv), v = Term::borrowed(engine, vv), t = Term::borrowed(engine, xt);
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    return tangent_of<pointwise::Struct>(x, v, t).take();
    CAIRN_NUMBER_UNARY(X)
#undef X
  default:
    return Heap::retain(xt);
  }
}

} // namespace cairn::machine::rules
