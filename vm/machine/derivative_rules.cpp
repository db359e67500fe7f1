// See derivative_rules.h. Both forms of a rule stand in the same order, so that they can be read side by side.
#include "vm/machine/derivative_rules.h"

#include <cmath>

namespace cairn::machine::rules {

double value2(Opcode op, double x, double y) {
  switch (op) {
  case Opcode::add: return x + y;
  case Opcode::sub: return x - y;
  case Opcode::mul: return x * y;
  case Opcode::div: return x / y;
  case Opcode::max:
  case Opcode::min: return chooses_first(op, x, y) ? x : y;
  case Opcode::expt: return std::pow(x, y);
  case Opcode::atan2: return std::atan2(x, y);
  default: return 0;
  }
}

// A NaN on either side is chosen, so that it is not lost.
bool chooses_first(Opcode op, double x, double y) {
  if (x != x) return true;
  return op == Opcode::max ? x >= y : x <= y;
}

double value1(Opcode op, double x) {
  switch (op) {
  case Opcode::neg: return -x;
  case Opcode::abs: return std::fabs(x);
  case Opcode::sqrt: return std::sqrt(x);
  case Opcode::exp: return std::exp(x);
  case Opcode::log: return std::log(x);
  case Opcode::sin: return std::sin(x);
  case Opcode::cos: return std::cos(x);
  case Opcode::tan: return std::tan(x);
  case Opcode::asin: return std::asin(x);
  case Opcode::acos: return std::acos(x);
  case Opcode::atan: return std::atan(x);
  default: return x;  // inexact
  }
}

void partials2(Opcode op, double x, double y, double v, double& dx, double& dy) {
  switch (op) {
  case Opcode::add: dx = 1, dy = 1; break;
  case Opcode::sub: dx = 1, dy = -1; break;
  case Opcode::mul: dx = y, dy = x; break;
  case Opcode::div: dx = 1 / y, dy = -v / y; break;
  case Opcode::max:
  case Opcode::min: dx = chooses_first(op, x, y) ? 1 : 0, dy = 1 - dx; break;
  case Opcode::expt:
    dx = y == 0 ? 0 : y * std::pow(x, y - 1);
    dy = x == 0 ? 0 : v * std::log(x);
    break;
  case Opcode::atan2: {
    double r = x * x + y * y;
    dx = y / r, dy = -x / r;
    break;
  }
  default: dx = dy = 0;
  }
}

double partial1(Opcode op, double x, double v) {
  switch (op) {
  case Opcode::neg: return -1;
  case Opcode::abs: return x > 0 ? 1 : x < 0 ? -1 : 0;
  case Opcode::sqrt: return 0.5 / v;
  case Opcode::exp: return v;
  case Opcode::log: return 1 / x;
  case Opcode::sin: return std::cos(x);
  case Opcode::cos: return -std::sin(x);
  case Opcode::tan: return 1 + v * v;
  case Opcode::asin: return 1 / std::sqrt(1 - x * x);
  case Opcode::acos: return -1 / std::sqrt(1 - x * x);
  case Opcode::atan: return 1 / (1 + x * x);
  default: return 1;  // inexact
  }
}

namespace {

// Arithmetic on owned Values that reads like a formula.
struct Term {
  Engine* e;
  Value v;
  Term(Engine& engine, Value owned) : e(&engine), v(owned) {}
  Term(const Term& o) : e(o.e), v(Heap::retain(o.v)) {}
  Term& operator=(const Term&) = delete;
  ~Term() { e->heap().release(v); }
  Value take() {
    Value out = v;
    v = value::kUnspecified;
    return out;
  }
};
Term operator+(const Term& a, const Term& b) { return {*a.e, a.e->binary(Opcode::add, a.v, b.v)}; }
Term operator-(const Term& a, const Term& b) { return {*a.e, a.e->binary(Opcode::sub, a.v, b.v)}; }
Term operator*(const Term& a, const Term& b) { return {*a.e, a.e->binary(Opcode::mul, a.v, b.v)}; }
Term operator/(const Term& a, const Term& b) { return {*a.e, a.e->binary(Opcode::div, a.v, b.v)}; }
Term operator-(const Term& a) { return {*a.e, a.e->unary(Opcode::neg, a.v)}; }
Term apply(Opcode op, const Term& a) { return {*a.e, a.e->unary(op, a.v)}; }

} // namespace

Value tangent2(Engine& engine, Opcode op, Value xv, Value yv, Value vv, const Value* xt, const Value* yt) {
  Term x(engine, Heap::retain(xv)), y(engine, Heap::retain(yv)), v(engine, Heap::retain(vv));
  Term zero(engine, value::flonum(0.0)), one(engine, value::flonum(1.0));
  Term dx(engine, xt != nullptr ? Heap::retain(*xt) : value::flonum(0.0));
  Term dy(engine, yt != nullptr ? Heap::retain(*yt) : value::flonum(0.0));
  auto both = [&](const auto& by_x, const auto& by_y) -> Value {  // a missing tangent leaves its term out
    if (xt == nullptr) return by_y().take();
    if (yt == nullptr) return by_x().take();
    return (by_x() + by_y()).take();
  };
  switch (op) {
  case Opcode::add: return both([&] { return dx; }, [&] { return dy; });
  case Opcode::sub: return both([&] { return dx; }, [&] { return -dy; });
  case Opcode::mul: return both([&] { return dx * y; }, [&] { return dy * x; });
  case Opcode::div: return both([&] { return dx / y; }, [&] { return -(v * dy / y); });
  case Opcode::expt:
    return both(
        [&] {
          if (engine.to_double(yv) == 0) return zero;
          Term power(engine, engine.binary(Opcode::expt, x.v, (y - one).v));
          return dx * (y * power);
        },
        [&] { return engine.to_double(xv) == 0 ? zero : dy * (v * apply(Opcode::log, x)); });
  case Opcode::atan2: {
    Term r = x * x + y * y;
    return both([&] { return dx * (y / r); }, [&] { return -(dy * (x / r)); });
  }
  default: return value::flonum(0.0);
  }
}

Value tangent1(Engine& engine, Opcode op, Value xv, Value vv, Value xt) {
  Term x(engine, Heap::retain(xv)), v(engine, Heap::retain(vv)), dx(engine, Heap::retain(xt));
  Term one(engine, value::flonum(1.0)), two(engine, value::flonum(2.0));
  switch (op) {
  case Opcode::neg: return (-dx).take();
  case Opcode::abs: {
    double d = engine.to_double(xv);
    if (d == 0) return value::flonum(0.0);
    return d < 0 ? (-dx).take() : dx.take();
  }
  case Opcode::sqrt: return (dx / (two * v)).take();
  case Opcode::exp: return (dx * v).take();
  case Opcode::log: return (dx / x).take();
  case Opcode::sin: return (dx * apply(Opcode::cos, x)).take();
  case Opcode::cos: return (-(dx * apply(Opcode::sin, x))).take();
  case Opcode::tan: return (dx * (one + v * v)).take();
  case Opcode::asin: return (dx / apply(Opcode::sqrt, one - x * x)).take();
  case Opcode::acos: return (-(dx / apply(Opcode::sqrt, one - x * x))).take();
  case Opcode::atan: return (dx / (one + x * x)).take();
  default: return dx.take();
  }
}

} // namespace cairn::machine::rules
