// (loop (+ i 1) (f i)): evaluated from left to right, the new i must wait in a register of its own while f still needs the old
// one, and be moved afterwards. Where i is known to be a number the addition can neither fail nor be seen, so it may come
// last and update i in place.

#include "compiler/back/loads.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

bool is_sum(Opcode op) { return op == Opcode::add || op == Opcode::sub || op == Opcode::mul; }
bool wants_numbers(Opcode op) {
  return is_sum(op) || op == Opcode::lt || op == Opcode::le || op == Opcode::num_eq || op == Opcode::jump_not_lt ||
         op == Opcode::jump_not_le || op == Opcode::jump_not_eq;
}

bool mentions(const BasicBlock& b, std::uint32_t v);
bool mentions(const Statement& s, std::uint32_t v) {
  poll();
  return std::any_of(s.operands.begin(), s.operands.end(), [&](const Atom& a) { return a.is(v); }) ||
         std::any_of(s.blocks.begin(), s.blocks.end(), [&](const BasicBlock& b) { return mentions(b, v); }) ||
         std::any_of(s.labels.begin(), s.labels.end(), [&](const Label& l) { return mentions(l.body, v); });
}
bool mentions(const BasicBlock& b, std::uint32_t v) {
  return (!b.ended && b.result.is(v)) ||
         std::any_of(b.statements.begin(), b.statements.end(), [&](const Statement& s) { return mentions(s, v); });
}

class Delay {
public:
  Delay(AnfFunction& f, const Unit& unit)
      : f_(f), unit_(unit), labels_(f.labels), uses_(f.variables.size()), number_(f.variables.size()),
        other_(f.variables.size()) {
    count(f.body);
  }
  void run() {
    // Loop variables are numbers unless a jump says otherwise; then what rests on that is looked at again.
    do {
      changed_ = false;
      block(f_.body);
    } while (changed_);
    settled_ = true;
    block(f_.body);
  }

private:
  void count(const BasicBlock& b) {
    poll();
    auto use = [&](const Atom& a) {
      if (a.kind == Atom::Kind::variable) ++uses_[a.index];
    };
    for (const Statement& s : b.statements) {
      for (const Atom& a : s.operands) use(a);
      for (const BasicBlock& inner : s.blocks) count(inner);
      for (const Label& l : s.labels) count(l.body);
    }
    if (!b.ended) use(b.result);
  }

  void know(std::uint32_t v) {
    if (number_[v]) return;
    number_[v] = true;
    undo_.push_back(v);
  }

  bool is_number(const Atom& a) const {
    if (a.kind == Atom::Kind::variable) return number_[a.index];
    const Literal& l = unit_.literals[a.index];
    return l.kind == Literal::Kind::datum && (l.datum->kind == Datum::Kind::integer || l.datum->kind == Datum::Kind::flonum);
  }

  // Neither fails nor shows when it is done.
  bool may_wait(const Statement& s) const {
    if (s.kind != Statement::Kind::operation) return false;
    bool numbers = std::all_of(s.operands.begin(), s.operands.end(), [&](const Atom& a) { return is_number(a); });
    return s.op == Opcode::cons || (is_sum(s.op) && numbers);
  }

  void block(BasicBlock& b) {
    poll();
    std::size_t before = undo_.size();
    Vector<bool> may(b.statements.size());
    for (std::size_t i = 0; i < b.statements.size(); ++i) {
      Statement& s = b.statements[i];
      may[i] = may_wait(s);
      // What has passed through arithmetic or a comparison is a number.
      if (wants_numbers(s.op)) {
        for (const Atom& a : s.operands)
          if (a.kind == Atom::Kind::variable) know(a.index);
        if (is_sum(s.op)) know(s.dest);
      }
      for (Label& l : s.labels) labels_[l.id] = &l;
      for (Label& l : s.labels) {
        for (std::uint32_t p : l.parameters)
          if (!other_[p]) know(p);
        block(l.body);
      }
      for (BasicBlock& inner : s.blocks) block(inner);
    }
    if (!b.statements.empty() && b.statements.back().kind == Statement::Kind::jump) {
      if (settled_)
        delay(b.statements, may);
      else
        learn(b.statements.back());
    }
    while (undo_.size() > before) {
      number_[undo_.back()] = false;
      undo_.pop_back();
    }
  }

  void learn(const Statement& jump) {
    const Label& l = *labels_[jump.index];
    for (std::size_t i = 0; i < jump.operands.size(); ++i) {
      if (other_[l.parameters[i]] || is_number(jump.operands[i])) continue;
      other_[l.parameters[i]] = true;
      changed_ = true;
    }
  }

  void delay(Vector<Statement>& list, const Vector<bool>& may) {
    auto end = list.end() - 1;
    for (std::size_t i = may.size() - 1; i-- > 0;) {
      auto s = list.begin() + static_cast<std::ptrdiff_t>(i);
      if (!may[i] || uses_[s->dest] != 1) continue;
      std::uint32_t target = target_of(s->dest, *end);
      if (target == kNone || mentions(*end, target)) continue;
      if (std::any_of(s + 1, end, [&](const Statement& t) { return mentions(t, target); })) std::rotate(s, s + 1, end);
    }
  }

  // The loop variable that the jump sets to v.
  std::uint32_t target_of(std::uint32_t v, const Statement& jump) const {
    const Label* l = labels_[jump.index];
    for (std::size_t i = 0; i < jump.operands.size(); ++i)
      if (jump.operands[i].is(v)) return l->parameters[i];
    return kNone;
  }

  AnfFunction& f_;
  const Unit& unit_;
  Vector<const Label*> labels_;
  Vector<std::uint32_t> uses_;
  Vector<bool> number_;
  Vector<bool> other_; // label parameters that are not always numbers
  Vector<std::uint32_t> undo_;
  bool changed_ = false, settled_ = false;
};

} // namespace

void delay_updates(AnfFunction& function, const Unit& unit) { Delay(function, unit).run(); }

} // namespace cairn::compiler::back
