// See registers.h. A register is chosen by where the value will be wanted: at a jump, a return, or in a call.
#include "compiler/back/registers.h"

#include <algorithm>

namespace cairn::compiler::back {

Registers::Registers(const AnfFunction& function)
    : function_(function), register_(function.variables.size(), kNowhere), target_(function.variables.size(), kNone),
      goes_to_(function.variables.size()), labels_(function.labels) {
  collect_hints(function.body, kNone);
  for (std::uint32_t v : function.parameters) put(v, static_cast<std::uint16_t>(slots_));
}

void Registers::collect_hints(const BasicBlock& block, std::uint32_t result) {
  poll();
  for (const Statement& s : block.statements) {
    if (s.kind == Statement::Kind::jump && labels_[s.index]) {
      const Label& l = *labels_[s.index];
      for (std::size_t i = 0; i < s.operands.size(); ++i)
        if (s.operands[i].kind == Atom::Kind::variable && l.used[i] && s.operands[i].last) {
          target_[s.operands[i].index] = l.parameters[i];
          goes_to_[s.operands[i].index] = &l;
        }
    }
    std::uint32_t inner = s.terminal ? result : s.dest;
    for (const Label& l : s.labels) labels_[l.id] = &l;
    for (const Label& l : s.labels) collect_hints(l.body, inner);
    for (const BasicBlock& b : s.blocks) collect_hints(b, inner);
  }
  if (!block.ended && block.result.kind == Atom::Kind::variable && result != kNone && block.result.last)
    target_[block.result.index] = result;
}

void Registers::count(std::uint16_t r) {
  slots_ = std::max(slots_, r + 1u);
  if (slots_ > bytecode::kMostRegisters) throw Failure{{function_.span, "the procedure needs too many registers"}, {}};
  if (r >= holder_.size()) holder_.resize(r + 1u, kNone);
}

void Registers::put(std::uint32_t variable, std::uint16_t r) {
  count(r);
  register_[variable] = r;
  holder_[r] = variable;
}

void Registers::reserve(std::uint32_t variable, std::uint16_t r) {
  count(r);
  register_[variable] = r;
}

std::uint16_t Registers::hint(std::uint32_t variable) const {
  // A value may flow through several branch results; the first that has a register decides.
  for (int steps = 0; steps < 8 && target_[variable] != kNone; ++steps) {
    variable = target_[variable];
    if (register_[variable] != kNowhere) return register_[variable];
  }
  return kNowhere;
}

std::uint16_t Registers::define(std::uint32_t variable) {
  std::uint16_t r = hint(variable);
  if (r == kNowhere)
    r = temporary();
  else if (!is_free(r))
    r = aside(variable);
  put(variable, r);
  return r;
}

// The variable must wait until its register is free: anywhere but in the register of another variable of the same jump, which
// would make a cycle of moves.
std::uint16_t Registers::aside(std::uint32_t variable) {
  const Label* l = goes_to_[variable];
  auto taken = [&](std::uint16_t r) {
    return l && std::any_of(l->parameters.begin(), l->parameters.end(), [&](std::uint32_t p) { return register_[p] == r; });
  };
  std::uint16_t r = 0;
  while (!is_free(r) || taken(r)) ++r;
  return r;
}

std::uint16_t Registers::temporary() {
  std::uint16_t r = 0;
  while (!is_free(r)) ++r;
  count(r);
  holder_[r] = kTemporary;
  return r;
}

void Registers::set_live(const VariableSet& live) {
  std::fill(holder_.begin(), holder_.end(), kNone);
  for (std::uint32_t v : live) holder_[register_[v]] = v;
}

void Registers::restore(State state) {
  std::size_t size = holder_.size();
  holder_ = std::move(state.holder);
  holder_.resize(size, kNone);
}

std::uint16_t Registers::choose(std::uint32_t variable, const VariableSet& conflicts, const Vector<std::uint16_t>& taken) const {
  Vector<bool> blocked(holder_.size() + taken.size() + 1);
  for (std::uint32_t v : conflicts)
    if (register_[v] != kNowhere) blocked[register_[v]] = true;
  for (std::uint16_t r : taken)
    if (r < blocked.size()) blocked[r] = true;
  std::uint16_t wanted = hint(variable);
  if (wanted != kNowhere && (wanted >= blocked.size() || !blocked[wanted])) return wanted;
  for (std::size_t r = 0; r < blocked.size(); ++r)
    if (!blocked[r] && is_free(static_cast<std::uint16_t>(r))) return static_cast<std::uint16_t>(r);
  return static_cast<std::uint16_t>(std::find(blocked.begin(), blocked.end(), false) - blocked.begin());
}

} // namespace cairn::compiler::back
