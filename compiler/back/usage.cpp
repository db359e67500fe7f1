// A lambda bound to a name is transparent if the name is only called, and only from code at the same depth of opaque lambdas as
// the binding: called from an opaque lambda inside, it is part of what that one captures. Making one lambda opaque may make
// others opaque, so the walk repeats until nothing changes.

#include "compiler/back/usage.h"

namespace cairn::compiler::back {
namespace {

class Transparency {
public:
  Transparency(const Tree& tree, const Vector<bool>& wanted)
      : usage_(tree.names.size()), lambda_(tree.names.size()), level_(tree.names.size()), first_(tree.names.size(), true) {
    for (std::size_t i = 0; i < tree.forms.size(); ++i)
      if (wanted[i]) count(tree.forms[i]);
    constexpr int kPatience = 8;
    for (int round = 0; changed_; ++round) {
      changed_ = false;
      give_up_ = round >= kPatience;
      for (std::size_t i = 0; i < tree.forms.size(); ++i)
        if (wanted[i]) walk(tree.forms[i], 0);
      if (give_up_) break;
    }
  }
  Vector<Usage> take() { return std::move(usage_); }

private:
  void count(Node* n) {
    poll();
    n->transparent = false;
    if (n->kind == Node::Kind::local) ++usage_[n->var].uses;
    if (n->kind == Node::Kind::call && n->children[0]->kind == Node::Kind::local) {
      VarId f = n->children[0]->var;
      if (!lambda_[f] || accepts(*lambda_[f], n->children.size() - 1)) ++usage_[f].calls;
    }
    for (const Binding& b : n->bindings) {
      for (std::size_t i = 0; i < b.vars.size(); ++i)
        if (b.vars[i] != kNone && b.inits[i]->kind == Node::Kind::lambda) lambda_[b.vars[i]] = b.inits[i];
      for (Node* i : b.inits) count(i);
    }
    for (Node* c : n->children) count(c);
  }

  void walk(const Node* n, std::uint32_t level) {
    poll();
    if (n->kind == Node::Kind::local && lambda_[n->var] && lambda_[n->var]->transparent && (level > level_[n->var] || give_up_)) {
      lambda_[n->var]->transparent = false;
      changed_ = true;
    }
    if (n->kind == Node::Kind::lambda) {
      walk(n->body(), n->transparent ? level : level + 1);
      return;
    }
    for (const Binding& b : n->bindings) {
      for (std::size_t i = 0; i < b.vars.size(); ++i) {
        if (b.vars[i] == kNone || b.inits[i]->kind != Node::Kind::lambda) continue;
        level_[b.vars[i]] = level;
        const Usage& u = usage_[b.vars[i]];
        if (first_[b.vars[i]]) b.inits[i]->transparent = u.uses == u.calls;
        first_[b.vars[i]] = false;
      }
      for (const Node* i : b.inits) walk(i, level);
    }
    for (const Node* c : n->children) walk(c, level);
  }

  Vector<Usage> usage_;
  Vector<Node*> lambda_;
  Vector<std::uint32_t> level_;
  Vector<bool> first_;
  bool changed_ = true, give_up_ = false;
};

} // namespace

Vector<Usage> count_uses(const Tree& tree, const Vector<bool>& wanted) { return Transparency(tree, wanted).take(); }

std::size_t size_up_to(const Node* node, std::size_t limit) {
  std::size_t size = 0;
  Vector<const Node*> work{node};
  while (!work.empty() && size <= limit) {
    const Node* n = work.back();
    work.pop_back();
    poll();
    ++size;
    for (const Node* c : n->children) work.push_back(c);
    for (const Binding& b : n->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
  }
  return size;
}

bool mentions_global(const Node* node, std::uint32_t global) {
  Vector<const Node*> work{node};
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
    if (n->kind == Node::Kind::global && n->global == global) return true;
    for (const Node* c : n->children) work.push_back(c);
    for (const Binding& b : n->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
  }
  return false;
}

} // namespace cairn::compiler::back
