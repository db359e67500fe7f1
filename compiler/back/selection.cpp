// See selection.h. One operand may be a constant of the module or a small integer in the instruction itself.
#include "compiler/back/selection.h"

#include <cmath>

namespace cairn::compiler::back {
namespace {

// NaNs stay out of K forms: which operand's NaN survives could differ.
bool is_number(const Atom& a, const Unit& unit) {
  if (a.kind != Atom::Kind::literal) return false;
  const Literal& l = unit.literals[a.index];
  if (l.kind != Literal::Kind::datum) return false;
  return l.datum->kind == Datum::Kind::integer || (l.datum->kind == Datum::Kind::flonum && !std::isnan(l.datum->flonum));
}

bool fits(std::int64_t i) { return i >= INT16_MIN && i <= INT16_MAX; }

} // namespace

std::optional<std::int16_t> small_integer(const Literal& l) {
  if (l.kind != Literal::Kind::datum || l.datum->kind != Datum::Kind::integer || !fits(l.datum->integer)) return std::nullopt;
  return static_cast<std::int16_t>(l.datum->integer);
}

std::optional<Selected> select(const Statement& s, const Unit& unit) {
  if (s.operands.size() != 2) return std::nullopt;
  bool left = is_number(s.operands[0], unit), right = is_number(s.operands[1], unit);
  if (left == right) return std::nullopt;
  std::uint32_t variable = left ? 1 : 0;
  if (s.operands[variable].kind != Atom::Kind::variable) return std::nullopt;
  const Literal& number = unit.literals[s.operands[1 - variable].index];
  Selected k{Opcode::count, variable, false, 0};
  switch (s.op) {
  case Opcode::add:
    if (auto i = small_integer(number); i && *i >= 0) return Selected{Opcode::add_i, variable, true, *i};
    k.op = Opcode::add_k;
    break;
  case Opcode::sub:
    // x - 0 is not x + 0: they differ where x is -0.0. Only differences have negative immediates, so that a tensor of integers,
    // which may hold 1 and not -1, knows which number was written.
    if (right)
      if (auto i = small_integer(number); i && *i > 0)
        return Selected{Opcode::add_i, variable, true, static_cast<std::int16_t>(-*i)};
    k.op = right ? Opcode::sub_k : Opcode::rsub_k;
    break;
  case Opcode::mul:
    k.op = Opcode::mul_k;
    break;
  case Opcode::div:
    k.op = right ? Opcode::div_k : Opcode::rdiv_k;
    break;
  case Opcode::remainder:
    k.op = right ? Opcode::remainder_k : Opcode::count;
    break;
  case Opcode::modulo:
    k.op = right ? Opcode::modulo_k : Opcode::count;
    break;
  case Opcode::quotient:
    k.op = right ? Opcode::quotient_k : Opcode::count;
    break;
  default:
    break;
  }
  if (k.op == Opcode::count) return std::nullopt;
  return k;
}

SelectedTest select_test(const Statement& s, const Unit& unit) {
  if (s.op == Opcode::jump_not_eqv_k) return {s.op, 1};
  if (s.operands.size() != 2) return {s.op};
  bool left = is_number(s.operands[0], unit), right = is_number(s.operands[1], unit);
  if (left == right) return {s.op};
  std::uint32_t at = left ? 0 : 1;
  auto value = small_integer(unit.literals[s.operands[at].index]);
  auto selected = [&](Opcode constant, Opcode immediate) {
    return SelectedTest{value ? immediate : constant, at, value.has_value(), value.value_or(0)};
  };
  switch (s.op) {
  case Opcode::jump_not_lt:
    return right ? selected(Opcode::jump_not_lt_k, Opcode::jump_not_lt_i)
                 : selected(Opcode::jump_not_gt_k, Opcode::jump_not_gt_i);
  case Opcode::jump_not_le:
    return right ? selected(Opcode::jump_not_le_k, Opcode::jump_not_le_i)
                 : selected(Opcode::jump_not_ge_k, Opcode::jump_not_ge_i);
  case Opcode::jump_not_eq:
    return selected(Opcode::jump_not_eq_k, Opcode::jump_not_eq_i);
  default:
    return {s.op};
  }
}

} // namespace cairn::compiler::back
