// See derivative_rules.h. The rules themselves are those of ops/pointwise.h, computed here with doubles, and with values in
// forward mode.
#include "vm/machine/derivative_rules.h"

#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"

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

bool closed1(Opcode op) {
  switch (op) {
#define X(id, Struct, ...)                                                                                                       \
  case Opcode::id:                                                                                                               \
    return pointwise::Struct::closed;
    CAIRN_NUMBER_UNARY(X)
#undef X
  default:
    return false;
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

// Arithmetic on Values that reads like a formula. A literal knows no engine; its number needs none. What a formula starts from
// outlives it and is borrowed, by copies too; what is computed is the term's.
struct ValueTerm {
  Engine* e = nullptr;
  Value v;
  bool owned = false;
  ValueTerm(double literal) : v(value::flonum(literal)) {} // implicit, as the literals of formulas are
  ValueTerm(Engine& engine, Value result) : e(&engine), v(result), owned(true) {}
  static ValueTerm borrowed(Engine& engine, Value v) { return ValueTerm(&engine, v, false); }
  ValueTerm(const ValueTerm& o) : e(o.e), v(o.owned ? Heap::retain(o.v) : o.v), owned(o.owned) {}
  ValueTerm& operator=(const ValueTerm&) = delete;
  ~ValueTerm() {
    if (owned) e->heap().release(v);
  }
  Value take() {
    if (!owned) return Heap::retain(v);
    owned = false;
    return v;
  }
  double number() const { return e != nullptr ? e->to_double(v) : v.flonum(); }

private:
  ValueTerm(Engine* engine, Value value, bool mine) : e(engine), v(value), owned(mine) {}
};
ValueTerm apply(Opcode op, const ValueTerm& a, const ValueTerm& b) {
  Engine* const e = a.e != nullptr ? a.e : b.e;
  return e != nullptr ? ValueTerm(*e, e->binary(op, a.v, b.v)) : ValueTerm(value2(op, a.v.flonum(), b.v.flonum()));
}
ValueTerm apply(Opcode op, const ValueTerm& a) {
  return a.e != nullptr ? ValueTerm(*a.e, a.e->unary(op, a.v)) : ValueTerm(value1(op, a.v.flonum()));
}

// What formulas are made of.
ValueTerm operator+(const ValueTerm& a, const ValueTerm& b) { return apply(Opcode::add, a, b); }
ValueTerm operator-(const ValueTerm& a, const ValueTerm& b) { return apply(Opcode::sub, a, b); }
ValueTerm operator*(const ValueTerm& a, const ValueTerm& b) { return apply(Opcode::mul, a, b); }
ValueTerm operator/(const ValueTerm& a, const ValueTerm& b) { return apply(Opcode::div, a, b); }
ValueTerm operator-(const ValueTerm& a) { return apply(Opcode::neg, a); }
#define X(id, ...)                                                                                                               \
  [[maybe_unused]] ValueTerm id(const ValueTerm& a) { return apply(Opcode::id, a); }
CAIRN_NUMBER_UNARY(X)
#undef X
ValueTerm pow(const ValueTerm& a, const ValueTerm& b) { return apply(Opcode::expt, a, b); }
bool less(const ValueTerm& a, const ValueTerm& b) { return a.number() < b.number(); }
bool less_equal(const ValueTerm& a, const ValueTerm& b) { return a.number() <= b.number(); }
bool equal(const ValueTerm& a, const ValueTerm& b) { return a.number() == b.number(); }
ValueTerm where(bool condition, const ValueTerm& a, const ValueTerm& b) { return condition ? a : b; }
ValueTerm bounded(const ValueTerm& x, const ValueTerm& most) { return less(most, x) ? most : less(x, -most) ? -most : x; }

template <class F> ValueTerm tangent_of(const ValueTerm& x, const ValueTerm& v, const ValueTerm& t) {
  if constexpr (requires { F::template tangent<ValueTerm>(x, v, t); })
    return F::template tangent<ValueTerm>(x, v, t);
  else
    return t * F::template slope<ValueTerm>(x, v);
}

template <class F>
ValueTerm tangent_of(const ValueTerm& x, const ValueTerm& y, const ValueTerm& v, const ValueTerm* tx, const ValueTerm* ty) {
  if constexpr (requires { F::template tangent<ValueTerm>(x, y, v, tx, ty); })
    return F::template tangent<ValueTerm>(x, y, v, tx, ty);
  else
    return pointwise::contributed(
        tx, ty, [&](const ValueTerm& t) { return t * F::template slope_a<ValueTerm>(x, y, v); },
        [&](const ValueTerm& t) { return t * F::template slope_b<ValueTerm>(x, y, v); });
}

} // namespace

Value tangent2(Engine& engine, Opcode op, Value xv, Value yv, Value vv, const Value* xt, const Value* yt) {
  const ValueTerm x = ValueTerm::borrowed(engine, xv), y = ValueTerm::borrowed(engine, yv), v = ValueTerm::borrowed(engine, vv);
  const ValueTerm tx = ValueTerm::borrowed(engine, xt != nullptr ? *xt : value::flonum(0.0)),
                  ty = ValueTerm::borrowed(engine, yt != nullptr ? *yt : value::flonum(0.0));
  const ValueTerm *const on_x = xt != nullptr ? &tx : nullptr, *const on_y = yt != nullptr ? &ty : nullptr;
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
  const ValueTerm x = ValueTerm::borrowed(engine, xv), v = ValueTerm::borrowed(engine, vv), t = ValueTerm::borrowed(engine, xt);
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
