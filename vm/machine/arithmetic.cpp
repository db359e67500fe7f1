// Numbers that are no two flonums: exact integers, taped numbers, bundles. The fast cases stand in the dispatch loop; this is
// what they fall back to. Derivative rules of the numeric instructions stand in derivative_rules.h.
#include "vm/machine/derivative_rules.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/machine/undo.h"
#include "vm/text/number.h"

#include <fmt/format.h>

#include <cmath>

namespace cairn::machine {

const char* scheme_name(Opcode op) {
  switch (op) {
  case Opcode::add_i:
  case Opcode::add_k:
    return "+";
  case Opcode::sub_k:
  case Opcode::rsub_k:
  case Opcode::neg:
    return "-";
  case Opcode::mul_k:
    return "*";
  case Opcode::div_k:
  case Opcode::rdiv_k:
    return "/";
  case Opcode::atan2:
    return "atan";
  case Opcode::lt:
    return "<";
  case Opcode::le:
    return "<=";
  case Opcode::num_eq:
    return "=";
  case Opcode::inexact:
    return "exact->inexact";
  default:
    break;
  }
  for (const bytecode::NumberFunction& f : bytecode::kNumberFunctions)
    if (f.op == op) return f.name.data();
  return bytecode::kOpcodes[static_cast<std::size_t>(op)].name.data();
}

namespace {

[[noreturn]] void no_number(const Engine& engine, Opcode op, Value given) {
  throw ProgramError(fmt::format("{}: expected a number, got {}{}", scheme_name(op), engine.describe(given),
                                 hint_of_operand("a number", given)));
}

using value::flonum;
using value::integer;

double real(Value v) { return v.is_integer() ? static_cast<double>(v.integer()) : v.flonum(); }

// The value of an exact or integer-valued operand of integer division.
double integral(Opcode op, Value v) {
  double d = real(v);
  if (v.is_flonum() && d != std::trunc(d))
    throw ProgramError(fmt::format("{}: expected an integer, got {}", scheme_name(op), text::format_flonum(d)));
  return d;
}

Value integer_division(Opcode op, Value x, Value y) {
  if (x.is_integer() && y.is_integer()) {
    std::int64_t a = x.integer(), b = y.integer();
    if (b == 0) throw ProgramError(fmt::format("{}: division by zero", scheme_name(op)));
    if (op == Opcode::quotient) return integer(a / b);
    std::int64_t r = a % b;
    if (op == Opcode::modulo && r != 0 && (r < 0) != (b < 0)) r += b;
    return integer(r);
  }
  double a = integral(op, x), b = integral(op, y);
  if (b == 0) throw ProgramError(fmt::format("{}: division by zero", scheme_name(op)));
  if (op == Opcode::quotient) return flonum(std::trunc(a / b));
  double r = std::fmod(a, b);
  if (op == Opcode::modulo && r != 0 && (r < 0) != (b < 0)) r += b;
  return flonum(r);
}

Value exact_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1, factor = base;
  for (std::int64_t e = exponent; e > 0; e >>= 1) {
    if ((e & 1) != 0 && (__builtin_mul_overflow(result, factor, &result) || !value::fits_integer(result)))
      return flonum(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    if (e > 1 && __builtin_mul_overflow(factor, factor, &factor))
      return flonum(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  return integer(result);
}

// Both operands are exact integers or flonums.
Value plain_binary(Opcode op, Value x, Value y) {
  if (op == Opcode::quotient || op == Opcode::remainder || op == Opcode::modulo) return integer_division(op, x, y);
  if (x.is_integer() && y.is_integer()) {
    std::int64_t a = x.integer(), b = y.integer(), product = 0;
    switch (op) {
    case Opcode::add:
      return integer(a + b);
    case Opcode::sub:
      return integer(a - b);
    case Opcode::mul:
      if (__builtin_mul_overflow(a, b, &product)) return flonum(static_cast<double>(a) * static_cast<double>(b));
      return integer(product);
    case Opcode::div:
      if (b == 0) throw ProgramError("/: division by zero");
      if (a % b == 0) return integer(a / b);
      return flonum(static_cast<double>(a) / static_cast<double>(b));
    case Opcode::max:
      return a >= b ? x : y;
    case Opcode::min:
      return a <= b ? x : y;
    case Opcode::expt:
      if (b >= 0) return exact_power(a, b);
      break;
    default:
      break;
    }
  }
  return flonum(rules::value2(op, real(x), real(y)));
}

Value plain_unary(Opcode op, Value x) {
  if (x.is_integer() && op == Opcode::neg) return integer(-x.integer()); // these two are frequent
  if (x.is_integer() && op == Opcode::abs) return integer(std::abs(x.integer()));
  const double d = rules::value1(op, real(x));
  if (!x.is_integer()) return flonum(d);
  // Integers of 48 bits give doubles that are exact wherever they are integers of 48 bits again.
  const bool whole = rules::closed1(op) || (op == Opcode::sqrt && d == std::trunc(d));
  return whole && d >= static_cast<double>(value::kLeastInteger) && d <= static_cast<double>(value::kMostInteger)
             ? integer(static_cast<std::int64_t>(d))
             : flonum(d);
}

bool plain(Value v) { return v.is_flonum() || v.is_integer(); }

std::uint32_t levels_of(Value v) { return value::is_bundle(v) ? value::as_bundle(v)->flags : 0; }

constexpr std::uint32_t kManyLevels = 5;

// Arithmetic takes numbers of n levels of forward mode apart 3^n times. Below a few levels that is done before anybody could ask
// for it to stop; above, each part of so many levels counts as work, and the rest can be stopped there.
void spend_on_parts(ops::Meter& meter, std::uint32_t levels) {
  constexpr std::uint64_t kParts = 243; // 3^kManyLevels
  constexpr std::uint64_t kWork = 32;   // of one: the bundles that it is taken from and goes into are objects
  if (levels == kManyLevels) meter.spend(kWork * kParts);
}

} // namespace

double Engine::to_double(Value v) const {
  Value p = primal(v);
  if (value::is_tensor(p))
    throw ProgramError(fmt::format("expected a number, got {}{}", describe(p), hint_of_operand("a number", p)));
  return real(p);
}

std::int64_t Engine::to_index(Value v, const char* what) const {
  Value p = primal(v);
  if (p.is_integer()) return p.integer();
  if (p.is_flonum() && p.flonum() == std::trunc(p.flonum()) && std::fabs(p.flonum()) <= 9007199254740992.0)
    return static_cast<std::int64_t>(p.flonum());
  throw ProgramError(fmt::format("{}, got {}{}", what, describe(v), hint_of_operand("an index", p)));
}

Value Engine::binary(Opcode op, Value x, Value y) {
  if (plain(x) && plain(y)) return plain_binary(op, x, y);
  if (tensors::is_operand(x) || tensors::is_operand(y)) return tensors::binary(*this, op, x, y);
  if (!is_number(x) || !is_number(y)) no_number(*this, op, is_number(x) ? y : x);
  bool differentiable = op != Opcode::quotient && op != Opcode::remainder && op != Opcode::modulo;
  if (!differentiable) return plain_binary(op, primal(x), primal(y));
  std::uint64_t tag = std::max(value::tag_of(x), value::tag_of(y));
  if (tag == 0) {
    Tape* tape = runs.back().tape;
    double px = to_double(x), py = to_double(y), v = rules::value2(op, px, py);
    bool on_x = tape != nullptr && tape->has(x);
    bool on_y = tape != nullptr && tape->has(y);
    if (!on_x && !on_y) return flonum(v);
    double dx = 0, dy = 0;
    rules::partials2(op, px, py, v, dx, dy);
    if (op == Opcode::max || op == Opcode::min) { // the number chosen is the result; the other has no part in it
      bool first = rules::chooses_first(op, px, py);
      if (!(first ? on_x : on_y)) return flonum(v);
      return tape->append(v, (first ? x : y).tape_node(), 1.0, tape::kNone, 0);
    }
    if (on_x && on_y) return tape->append(v, x.tape_node(), dx, y.tape_node(), dy);
    return on_x ? tape->append(v, x.tape_node(), dx, tape::kNone, 0) : tape->append(v, y.tape_node(), dy, tape::kNone, 0);
  }
  spend_on_parts(meter_, std::max(levels_of(x), levels_of(y)));
  bool x_on = value::tag_of(x) == tag, y_on = value::tag_of(y) == tag;
  Tape* tape = runs.back().tape;
  auto part = [&](Value v, bool on, std::uint32_t slot) -> Value {
    if (!on) return Heap::retain(v);
    value::Bundle* b = value::as_bundle(v);
    return read_field(tape, b, slot, slot == 0 ? b->primal : b->tangent);
  };
  rules::Owned xp(heap_, part(x, x_on, 0)), yp(heap_, part(y, y_on, 0));
  if (op == Opcode::max || op == Opcode::min) {
    bool first = rules::chooses_first(op, to_double(x), to_double(y));
    Value chosen = first ? x : y;
    if (primal(chosen).is_integer()) return flonum(to_double(chosen));
    return Heap::retain(chosen);
  }
  rules::Owned xt(heap_, x_on ? part(x, true, 1) : value::kUnspecified), yt(heap_, y_on ? part(y, true, 1) : value::kUnspecified);
  rules::Owned v(heap_, binary(op, xp.v, yp.v));
  Value t = rules::tangent2(*this, op, xp.v, yp.v, v.v, x_on ? &xt.v : nullptr, y_on ? &yt.v : nullptr);
  return heap_.make_bundle(tag, v.take(), t);
}

Value Engine::unary(Opcode op, Value x) {
  if (plain(x)) return plain_unary(op, x);
  if (tensors::is_operand(x)) return tensors::unary(*this, op, x);
  if (!is_number(x)) no_number(*this, op, x);
  if (x.is_taped()) {
    Tape* tape = runs.back().tape;
    double px = to_double(x);
    if (tape == nullptr || !tape->has(x)) return flonum(rules::value1(op, px));
    if (op == Opcode::inexact) return tape->identity(x);
    double v = rules::value1(op, px);
    return tape->append(v, x.tape_node(), rules::partial1(op, px, v), tape::kNone, 0);
  }
  Tape* tape = runs.back().tape;
  value::Bundle* b = value::as_bundle(x);
  if (op == Opcode::inexact) return Heap::retain(x);
  spend_on_parts(meter_, levels_of(x));
  rules::Owned xp(heap_, read_field(tape, b, 0, b->primal)), xt(heap_, read_field(tape, b, 1, b->tangent));
  rules::Owned v(heap_, unary(op, xp.v));
  Value t = rules::tangent1(*this, op, xp.v, v.v, xt.v);
  return heap_.make_bundle(b->tag, v.take(), t);
}

namespace {

void check_comparable(const Engine& e, const char* name, Value x, Value y) {
  if (tensors::is_operand(x) || tensors::is_operand(y))
    throw ProgramError(fmt::format(
        "{}: a comparison of tensors is a tensor, which is no condition; (tensor->number t) is the number of "
        "a tensor of one element, such as an index by (argmax t), and within `tiled`, where there are no elements yet, "
        "(where test a b) chooses",
        name));
  if (!e.is_number(x) || !e.is_number(y))
    throw ProgramError(fmt::format("{}: expected a number, got {}", name, e.describe(e.is_number(x) ? y : x)));
}

} // namespace

Value Engine::arithmetic(Opcode op, Value x, Value y, std::uint64_t consumed) {
  if (!tensors::is_operand(x) && !tensors::is_operand(y)) {
    if (std::max(levels_of(x), levels_of(y)) < kManyLevels) [[likely]]
      return binary(op, x, y);
    return stoppable(*this, [&] { return binary(op, x, y); });
  }
  const Frame* frame = runs.back().top;
  tensors().set_maker(*this, frame);
  return stoppable(*this, [&] { return tensors::binary(*this, op, x, y, consumed); });
}

Value Engine::arithmetic(Opcode op, Value x, std::uint64_t consumed) {
  if (!tensors::is_operand(x)) {
    if (levels_of(x) < kManyLevels) [[likely]]
      return unary(op, x);
    return stoppable(*this, [&] { return unary(op, x); });
  }
  const Frame* frame = runs.back().top;
  tensors().set_maker(*this, frame);
  return stoppable(*this, [&] { return tensors::unary(*this, op, x, consumed); });
}

Value Engine::comparison(Opcode op, Value x, Value y) {
  if (tensors::is_operand(x) || tensors::is_operand(y)) return arithmetic(op, x, y, 0);
  return value::boolean(op == Opcode::lt ? less(x, y) : op == Opcode::le ? less_equal(x, y) : number_equal(x, y));
}

bool Engine::less(Value x, Value y) {
  check_comparable(*this, "< or >", x, y);
  return to_double(x) < to_double(y);
}

bool Engine::less_equal(Value x, Value y) {
  check_comparable(*this, "<= or >=", x, y);
  return to_double(x) <= to_double(y);
}

bool Engine::number_equal(Value x, Value y) {
  check_comparable(*this, "=", x, y);
  return to_double(x) == to_double(y);
}

bool Engine::eqv(Value x, Value y) {
  if (x == y && !x.is_taped()) return true;
  if (tensors::is_tensor_like(x) && tensors::is_tensor_like(y))
    return stoppable(*this, [&] { return tensors::same(*this, primal(x), primal(y)); });
  if (tensors::is_recorded(x) || tensors::is_recorded(y)) return tensors::same_recorded(*this, x, y);
  if (!is_number(x) || !is_number(y)) return false;
  Value a = primal(x), b = primal(y);
  if (a.is_flonum() && b.is_flonum()) return a == b || (a.flonum() != a.flonum() && b.flonum() != b.flonum());
  return a == b;
}

} // namespace cairn::machine
