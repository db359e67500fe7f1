// Blocks and tests. A test becomes control flow: `and`, `or`, `not` and nested ifs never make a boolean; local procedures that
// are only called in tail position become labels.

#include "compiler/back/builder_state.h"

#include <utility>

namespace cairn::compiler::back {

void Builder::convert(const Node* n, BasicBlock& out, bool tail) {
  poll();
  switch (n->kind) {
  case Node::Kind::let:
    convert_let(n, 0, out, tail);
    return;
  case Node::Kind::sequence:
    for (std::size_t i = 0; i + 1 < n->children.size() && !out.ended; ++i) value(n->children[i], out);
    if (!out.ended) convert(n->children.back(), out, tail);
    return;
  case Node::Kind::if_:
    branch(n->children[0], out, arm(n->children[1], tail), arm(n->children[2], tail));
    return;
  case Node::Kind::call:
    if (convert_jump(n, out, tail)) return;
    break;
  default:
    break;
  }
  out.result = value(n, out);
}

Arm Builder::arm(const Node* n, bool tail) {
  return {[this, n, tail](BasicBlock& out) { convert(n, out, tail); },
          n->kind == Node::Kind::constant || n->kind == Node::Kind::local};
}

bool Builder::convert_jump(const Node* n, BasicBlock& out, bool tail) {
  const Node* f = n->children[0];
  std::uint32_t label = kNone;
  const Node* lambda = nullptr;
  if (f->kind == Node::Kind::local && use_[f->var].label) {
    label = labels_.at(f->var).first;
    lambda = labels_.at(f->var).second;
  } else if (tail && self_label_ != kNone) {
    bool same = f->kind == Node::Kind::global ? f->global == self_global_ : f->kind == Node::Kind::local && f->var == self_;
    lambda = !same ? nullptr : self_ != kNone ? functions_.at(self_).lambda : globals_.known_lambda(self_global_);
    if (!lambda || !accepts(*lambda, n->children.size() - 1)) return false;
    label = self_label_;
  }
  if (label == kNone) return false;
  Statement s = jump_statement(label, n->origin);
  s.operands = known_operands(*lambda, n, out);
  if (!out.ended) end(out, std::move(s));
  return true;
}

bool Builder::is_label(const Binding& b) const { return b.vars[0] != kNone && use_[b.vars[0]].label; }

void Builder::convert_binding(const Binding& b, BasicBlock& out) {
  if (b.vars[0] != kNone && use_[b.vars[0]].lambda) {
    bind_functions(b, out);
    return;
  }
  Atom a = value(b.inits[0], out);
  if (b.vars[0] == kNone || out.ended) return;
  env_[b.vars[0]] = a;
  if (a.kind == Atom::Kind::variable && f_.variables[a.index].empty()) f_.variables[a.index] = tree_.names[b.vars[0]];
}

void Builder::convert_let(const Node* n, std::size_t from, BasicBlock& out, bool tail) {
  poll();
  for (std::size_t i = from; i < n->bindings.size() && !out.ended; ++i) {
    const Binding& b = n->bindings[i];
    if (!is_label(b)) {
      convert_binding(b, out);
      continue;
    }
    Statement s = labels_statement(n->origin);
    for (std::size_t j = 0; j < b.vars.size(); ++j) labels_[b.vars[j]] = {f_.labels++, b.inits[j]};
    for (std::size_t j = 0; j < b.vars.size(); ++j) {
      const Node& lambda = *b.inits[j];
      Label l;
      l.id = labels_.at(b.vars[j]).first;
      l.name = tree_.names[b.vars[j]];
      l.loop = b.recursive;
      auto parameter = [&](VarId v) {
        l.parameters.push_back(variable(tree_.names[v]));
        env_[v] = variable_atom(l.parameters.back());
      };
      for (VarId v : lambda.vars) parameter(v);
      if (lambda.rest != kNone) parameter(lambda.rest);
      std::uint32_t base = std::exchange(base_, origin_of(lambda.origin).site);
      convert(lambda.body(), l.body, tail);
      base_ = base;
      s.labels.push_back(std::move(l));
    }
    convert_let(n, i + 1, s.blocks[0], tail);
    end(out, std::move(s));
    return;
  }
  if (!out.ended) convert(n->body(), out, tail);
}

// True if `test` may take the arm: its literal ends are known.
bool Builder::may(const Node* test, bool arm) {
  if (test->kind == Node::Kind::constant) return is_false(*test->datum) != arm;
  if (test->kind == Node::Kind::operation && test->op == Opcode::logical_not) return may(test->children[0], !arm);
  return true;
}

void Builder::branch(const Node* test, BasicBlock& out, const Arm& then_arm, const Arm& else_arm) {
  poll();
  switch (test->kind) {
  case Node::Kind::constant:
    (is_false(*test->datum) ? else_arm : then_arm).emit(out);
    return;
  case Node::Kind::let: {
    bool plain = true;
    for (const Binding& b : test->bindings) plain = plain && !is_label(b);
    if (!plain) break;
    for (const Binding& b : test->bindings)
      if (!out.ended) convert_binding(b, out);
    if (!out.ended) branch(test->body(), out, then_arm, else_arm);
    return;
  }
  case Node::Kind::sequence:
    for (std::size_t i = 0; i + 1 < test->children.size() && !out.ended; ++i) value(test->children[i], out);
    if (!out.ended) branch(test->children.back(), out, then_arm, else_arm);
    return;
  case Node::Kind::if_:
    nested_branch(test, out, then_arm, else_arm);
    return;
  case Node::Kind::operation:
    if (test->op == Opcode::logical_not) {
      branch(test->children[0], out, else_arm, then_arm);
      return;
    }
    break;
  default:
    break;
  }
  leaf(test, out, then_arm, else_arm);
}

// (if (if a b c) x y): x and y that both b and c may reach become labels.
void Builder::nested_branch(const Node* test, BasicBlock& out, const Arm& then_arm, const Arm& else_arm) {
  const Node* b = test->children[1];
  const Node* c = test->children[2];
  Statement labels = labels_statement(test->origin);
  auto shared = [&](const Arm& arm, bool which) {
    if (arm.small || !may(b, which) || !may(c, which)) return arm;
    Label l;
    l.id = f_.labels++;
    arm.emit(l.body);
    Statement jump = jump_statement(l.id, test->origin);
    labels.labels.push_back(std::move(l));
    return Arm{[jump](BasicBlock& o) { end(o, jump); }, true};
  };
  Arm yes = shared(then_arm, true);
  Arm no = shared(else_arm, false);
  Arm first{[&](BasicBlock& o) { branch(b, o, yes, no); }, false};
  Arm second{[&](BasicBlock& o) { branch(c, o, yes, no); }, false};
  if (labels.labels.empty()) {
    branch(test->children[0], out, first, second);
    return;
  }
  branch(test->children[0], labels.blocks[0], first, second);
  end(out, std::move(labels));
}

void Builder::leaf(const Node* test, BasicBlock& out, const Arm& then_arm, const Arm& else_arm) {
  Statement s;
  s.kind = Statement::Kind::if_;
  s.terminal = true;
  s.origin = origin_of(test->origin);
  s.op = Opcode::jump_false;
  if (test->kind == Node::Kind::operation) {
    switch (test->op) {
    case Opcode::is_null:
      s.op = Opcode::jump_not_null;
      break;
    case Opcode::is_pair:
      s.op = Opcode::jump_not_pair;
      break;
    case Opcode::lt:
      s.op = Opcode::jump_not_lt;
      break;
    case Opcode::le:
      s.op = Opcode::jump_not_le;
      break;
    case Opcode::num_eq:
      s.op = Opcode::jump_not_eq;
      break;
    case Opcode::eqv:
      s.op = test->children[0]->kind == Node::Kind::constant || test->children[1]->kind == Node::Kind::constant
                 ? Opcode::jump_not_eqv_k
                 : Opcode::jump_not_eqv;
      break;
    default:
      break;
    }
  }
  if (s.op == Opcode::jump_false) {
    s.operands = {value(test, out)};
  } else {
    s.operands = values(test->children, 0, out);
    if (!out.ended && (test->swapped || (s.op == Opcode::jump_not_eqv_k && s.operands[1].kind != Atom::Kind::literal)))
      std::swap(s.operands[0], s.operands[1]);
  }
  if (out.ended) return;
  s.blocks.resize(2);
  then_arm.emit(s.blocks[0]);
  else_arm.emit(s.blocks[1]);
  // Where l is known to be (), it serves as the constant.
  BasicBlock& yes = s.blocks[0];
  bool known_null = s.op == Opcode::jump_not_null && s.operands[0].kind == Atom::Kind::variable && level_ > 1;
  if (known_null && !yes.ended && yes.statements.empty() && yes.result.kind == Atom::Kind::literal &&
      unit_.literals[yes.result.index].kind == Literal::Kind::datum &&
      unit_.literals[yes.result.index].datum->kind == Datum::Kind::null)
    yes.result = s.operands[0];
  end(out, std::move(s));
}

} // namespace cairn::compiler::back
