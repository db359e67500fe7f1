// Conditionals and operations: literals are folded, and what a test or a construction says about a variable answers later tests.

#include "compiler/back/simplifier.h"

#include "compiler/back/fold.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

bool is_literal(const Node* n, bool b) {
  return n->kind == Node::Kind::constant && n->datum->kind == Datum::Kind::boolean && (n->datum->integer != 0) == b;
}

} // namespace

Node* Simplifier::choice(const Node* n) {
  Bindings before;
  Node* test = open(simplify(n->children[0]), before);
  const Node* yes = n->children[1];
  const Node* no = n->children[2];
  while (test->kind == Node::Kind::operation && test->op == Opcode::logical_not) {
    test = test->children[0];
    std::swap(yes, no);
  }
  test = open(test, before);
  if (test->kind == Node::Kind::constant) {
    Node* taken = simplify(is_false(*test->datum) ? no : yes);
    return finish(std::move(before), taken, origin_of(n->origin));
  }
  for (Node* t = test; t->kind == Node::Kind::if_; t = t->children[0]) {
    bool repeated = t->children[0]->kind == Node::Kind::local && t->children[1]->kind == Node::Kind::local &&
                    t->children[0]->var == t->children[1]->var;
    if (!repeated) continue;
    discount(t->children[1]);
    t->children[1] = tree_.constant(make_boolean(true), t->children[1]->origin);
  }
  Node* m = tree_.make(Node::Kind::if_, origin_of(n->origin));
  m->children = {test, arm(yes, test, true), arm(no, test, false)};
  if (is_literal(m->children[1], true) && is_literal(m->children[2], false) && is_boolean(test))
    return finish(std::move(before), test, origin_of(n->origin));
  return finish(std::move(before), m, origin_of(n->origin));
}

bool Simplifier::is_boolean(const Node* n) const {
  if (n->kind == Node::Kind::local) return info_[n->var].boolean;
  return n->kind == Node::Kind::operation && is_boolean_valued(n->op);
}

// An arm of an if, simplified with what the test says about a variable.
Node* Simplifier::arm(const Node* n, const Node* test, bool taken) {
  bool says = test->kind == Node::Kind::operation && test->children.size() == 1 && test->children[0]->kind == Node::Kind::local;
  bool pair = says && taken && test->op == Opcode::is_pair;
  bool null = says && taken && test->op == Opcode::is_null;
  if (!pair && !null) return simplify(n);
  VarId v = test->children[0]->var;
  bool& fact = pair ? info_[v].pair : info_[v].null;
  bool before = fact;
  fact = true;
  Node* m = simplify(n);
  (pair ? info_[v].pair : info_[v].null) = before;
  return m;
}

Node* Simplifier::operation(Node* m) {
  if (Node* known = known_value(m)) return known;
  bool literal =
      std::all_of(m->children.begin(), m->children.end(), [](const Node* c) { return c->kind == Node::Kind::constant; });
  if (!literal || m->children.empty()) return m;
  Vector<const Datum*> operands;
  for (const Node* c : m->children) operands.push_back(c->datum);
  if (m->swapped) std::swap(operands[0], operands[1]);
  DatumPtr value = fold(m->op, operands);
  return value ? tree_.constant(std::move(value), m->origin) : m;
}

// What is known of an operation on a variable bound to a cons, or tested before.
Node* Simplifier::known_value(Node* m) {
  if (m->children.size() != 1) return nullptr;
  Node* c = m->children[0];
  if (m->op == Opcode::logical_not && c->kind == Node::Kind::operation && c->op == Opcode::logical_not &&
      is_boolean(c->children[0]))
    return c->children[0];
  if (c->kind == Node::Kind::operation && c->op == Opcode::cons && is_atom(*c->children[0]) && is_atom(*c->children[1])) {
    if (m->op != Opcode::car && m->op != Opcode::cdr) return nullptr;
    std::size_t part = m->op == Opcode::car ? 0 : 1;
    discount(c->children[1 - part]);
    return c->children[part];
  }
  if (c->kind != Node::Kind::local) return nullptr;
  const Info& i = info_[c->var];
  auto answer = [&](bool b) {
    discount(c);
    return tree_.constant(make_boolean(b), m->origin);
  };
  bool pair = i.pair || i.cons;
  if (m->op == Opcode::is_pair && (pair || i.null)) return answer(pair);
  if (m->op == Opcode::is_null && (pair || i.null)) return answer(i.null);
  if ((m->op == Opcode::car || m->op == Opcode::cdr) && i.cons && i.level == level_) {
    const Node* part = i.cons->children[m->op == Opcode::car ? 0 : 1];
    discount(c);
    return copy_atom(part, m->origin);
  }
  return nullptr;
}

} // namespace cairn::compiler::back
