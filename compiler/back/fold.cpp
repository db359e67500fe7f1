// Exact integers hold 48 bits and become flonums beyond. Left to run time: errors, NaNs (whose sign the processor chooses),
// transcendental functions (the machine's own library decides their last bit) and division by an exact zero.

#include "compiler/back/fold.h"

#include "vm/value/value.h"

#include <bit>
#include <cmath>

namespace cairn::compiler::back {
namespace {

using Kind = Datum::Kind;
__extension__ typedef __int128 Wide; // holds the product of two exact integers

double as_flonum(const Datum& d) { return d.kind == Kind::integer ? static_cast<double>(d.integer) : d.flonum; }

DatumPtr exact(Wide i) {
  if (i >= value::kLeastInteger && i <= value::kMostInteger) return make_integer(static_cast<std::int64_t>(i));
  return make_flonum(static_cast<double>(i));
}
DatumPtr flonum(double d) { return std::isnan(d) ? nullptr : make_flonum(d); }

DatumPtr arithmetic(Opcode op, const Datum& a, const Datum& b) {
  if (a.kind == Kind::integer && b.kind == Kind::integer) {
    Wide x = a.integer, y = b.integer;
    switch (op) {
    case Opcode::add:
      return exact(x + y);
    case Opcode::sub:
      return exact(x - y);
    case Opcode::mul:
      return exact(x * y);
    case Opcode::div:
      if (y == 0) return nullptr;
      return x % y == 0 ? exact(x / y) : flonum(as_flonum(a) / as_flonum(b));
    case Opcode::max:
      return exact(x > y ? x : y);
    case Opcode::min:
      return exact(x < y ? x : y);
    case Opcode::quotient:
      return y == 0 ? nullptr : exact(x / y);
    case Opcode::remainder:
      return y == 0 ? nullptr : exact(x % y);
    case Opcode::modulo: {
      if (y == 0) return nullptr;
      Wide r = x % y;
      return exact(r != 0 && (r < 0) != (y < 0) ? r + y : r);
    }
    default:
      return nullptr;
    }
  }
  double x = as_flonum(a), y = as_flonum(b);
  switch (op) {
  case Opcode::add:
    return flonum(x + y);
  case Opcode::sub:
    return flonum(x - y);
  case Opcode::mul:
    return flonum(x * y);
  case Opcode::div:
    return b.kind == Kind::integer && b.integer == 0 ? nullptr : flonum(x / y);
  default:
    return nullptr;
  }
}

DatumPtr compare(Opcode op, const Datum& a, const Datum& b) {
  double x = as_flonum(a), y = as_flonum(b); // exact: integers have 48 bits
  switch (op) {
  case Opcode::lt:
    return make_boolean(x < y);
  case Opcode::le:
    return make_boolean(x <= y);
  default:
    return make_boolean(x == y);
  }
}

bool same(const Datum& a, const Datum& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case Kind::null:
    return true;
  case Kind::flonum:
    return std::bit_cast<std::uint64_t>(a.flonum) == std::bit_cast<std::uint64_t>(b.flonum);
  case Kind::symbol:
    return a.text() == b.text();
  default:
    return a.integer == b.integer;
  }
}

DatumPtr unary(Opcode op, const Datum& d) {
  switch (op) {
  case Opcode::neg:
    return d.kind == Kind::integer ? exact(-Wide{d.integer}) : d.kind == Kind::flonum ? flonum(-d.flonum) : nullptr;
  case Opcode::abs:
    return d.kind == Kind::integer ? exact(d.integer < 0 ? -Wide{d.integer} : Wide{d.integer}) : nullptr;
  case Opcode::inexact:
    return is_number(d) ? flonum(as_flonum(d)) : nullptr;
  case Opcode::is_null:
    return make_boolean(d.kind == Kind::null);
  case Opcode::is_pair:
    return make_boolean(d.kind == Kind::pair);
  case Opcode::is_vector:
    return make_boolean(d.kind == Kind::vector);
  case Opcode::is_procedure:
    return make_boolean(false);
  case Opcode::is_number:
    return make_boolean(is_number(d));
  case Opcode::is_boolean:
    return make_boolean(d.kind == Kind::boolean);
  case Opcode::is_symbol:
    return make_boolean(d.kind == Kind::symbol);
  case Opcode::is_string:
    return make_boolean(d.kind == Kind::string);
  case Opcode::is_char:
    return make_boolean(d.kind == Kind::character);
  case Opcode::logical_not:
    return make_boolean(is_false(d));
  default:
    return nullptr;
  }
}

} // namespace

DatumPtr fold(Opcode op, const Vector<const Datum*>& operands) {
  if (operands.size() == 1) return unary(op, *operands[0]);
  if (operands.size() != 2) return nullptr;
  const Datum &a = *operands[0], &b = *operands[1];
  if (op == Opcode::eqv) {
    // Identity of strings, pairs and vectors is the machine's business.
    bool shared = a.kind == Kind::string || a.kind == Kind::pair || a.kind == Kind::vector;
    return shared && a.kind == b.kind ? nullptr : make_boolean(same(a, b));
  }
  if (!is_number(a) || !is_number(b)) return nullptr;
  bool comparison = op == Opcode::lt || op == Opcode::le || op == Opcode::num_eq;
  return comparison ? compare(op, a, b) : arithmetic(op, a, b);
}

} // namespace cairn::compiler::back
