// Every expression is visited with the identity of its continuation. A group of lambdas becomes labels when each call comes
// with the continuation of the binding itself or of a body that has already been merged into it. Inner groups are decided
// first, so merging (union-find) makes the answer for outer ones exact.

#include "compiler/back/contify.h"

namespace cairn::compiler::back {
namespace {

class Contifier {
public:
  Contifier(const Tree& tree, bool labels)
      : labels_(labels), use_(tree.names.size()), lambdas_(tree.names.size()), calls_(tree.names.size()) {
    for (const Node* form : tree.forms) visit(form, fresh());
  }
  Vector<LocalUse> take() { return std::move(use_); }

private:
  using Continuation = std::uint32_t;

  Continuation fresh() {
    parent_.push_back(static_cast<Continuation>(parent_.size()));
    inside_.push_back(0);
    return parent_.back();
  }
  Continuation find(Continuation c) {
    while (parent_[c] != c) c = parent_[c] = parent_[parent_[c]];
    return c;
  }

  void visit(const Node* n, Continuation k) {
    poll();
    switch (n->kind) {
    case Node::Kind::constant:
    case Node::Kind::global:
    case Node::Kind::builtin:
      return;
    case Node::Kind::local:
      use_[n->var].escapes = true;
      return;
    case Node::Kind::lambda:
      visit(n->body(), fresh());
      return;
    case Node::Kind::operation:
    case Node::Kind::set_global:
      for (const Node* c : n->children) visit(c, fresh());
      return;
    case Node::Kind::sequence:
      for (std::size_t i = 0; i + 1 < n->children.size(); ++i) visit(n->children[i], fresh());
      visit(n->children.back(), k);
      return;
    case Node::Kind::if_:
      visit(n->children[0], fresh());
      visit(n->children[1], k);
      visit(n->children[2], k);
      return;
    case Node::Kind::call: {
      const Node* f = n->children[0];
      if (f->kind == Node::Kind::local && lambdas_[f->var] && accepts(*lambdas_[f->var], n->children.size() - 1))
        calls_[f->var].push_back(k);
      else
        visit(f, fresh());
      for (std::size_t i = 1; i < n->children.size(); ++i) visit(n->children[i], fresh());
      return;
    }
    case Node::Kind::let:
      visit_let(n, k);
      return;
    }
  }

  void visit_let(const Node* n, Continuation k) {
    Vector<Vector<Continuation>> bodies(n->bindings.size());
    for (std::size_t i = 0; i < n->bindings.size(); ++i) {
      const Binding& b = n->bindings[i];
      for (std::size_t j = 0; j < b.vars.size(); ++j)
        if (b.inits[j]->kind == Node::Kind::lambda && b.vars[j] != kNone) {
          lambdas_[b.vars[j]] = b.inits[j];
          use_[b.vars[j]].lambda = true;
        }
      for (const Node* init : b.inits) {
        Continuation c = fresh();
        if (init->kind == Node::Kind::lambda) {
          visit(init->body(), c);
          bodies[i].push_back(c);
        } else {
          visit(init, c);
        }
      }
    }
    visit(n->body(), k);
    if (!labels_) return;
    for (std::size_t i = n->bindings.size(); i-- > 0;) decide(n->bindings[i], bodies[i], k);
  }

  void decide(const Binding& b, const Vector<Continuation>& bodies, Continuation k) {
    if (bodies.empty() || b.vars[0] == kNone) return;
    ++decisions_;
    inside_[find(k)] = decisions_;
    for (Continuation body : bodies) inside_[find(body)] = decisions_;
    for (VarId v : b.vars) {
      if (use_[v].escapes) return;
      for (Continuation c : calls_[v])
        if (inside_[find(c)] != decisions_) return;
    }
    for (Continuation body : bodies) parent_[find(body)] = find(k);
    for (VarId v : b.vars) use_[v].label = true;
  }

  bool labels_;
  Vector<LocalUse> use_;
  Vector<const Node*> lambdas_;
  Vector<Vector<Continuation>> calls_;
  Vector<Continuation> parent_;
  Vector<std::uint32_t> inside_; // by continuation: the last decision for which it was one of those that calls may come with
  std::uint32_t decisions_ = 0;
};

} // namespace

Vector<LocalUse> classify_locals(const Tree& tree, bool labels) { return Contifier(tree, labels).take(); }

} // namespace cairn::compiler::back
