// Calls of known procedures: small ones are copied, lambdas called once move to their call.

#include "compiler/back/simplifier.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

bool makes_procedures(const Node* body) {
  Vector<const Node*> pending{body};
  while (!pending.empty()) {
    const Node* n = pending.back();
    pending.pop_back();
    poll();
    if (n->kind == Node::Kind::lambda) return true;
    for (const Binding& b : n->bindings) pending.insert(pending.end(), b.inits.begin(), b.inits.end());
    pending.insert(pending.end(), n->children.begin(), n->children.end());
  }
  return false;
}

// The one use of parameter v in the lambda's body is a call that `argument` accepts.
bool movable(const Node* lambda, VarId v, const Node& argument) {
  Vector<const Node*> work{lambda->body()};
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
    if (n->kind == Node::Kind::call && n->children[0]->kind == Node::Kind::local && n->children[0]->var == v)
      return accepts(argument, n->children.size() - 1);
    work.insert(work.end(), n->children.begin(), n->children.end());
    for (const Binding& b : n->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
  }
  return false;
}

} // namespace

// Small enough to be copied. A body that makes procedures is not: copies of a procedure would be different procedures, and the
// tangent of a procedure is one of the same code.
bool Simplifier::is_small(const Node& lambda) {
  return size_up_to(lambda.body(), kSmallBody) <= kSmallBody && !makes_procedures(lambda.body());
}

Node* Simplifier::call(const Node* n) {
  const Node* f = n->children[0];
  std::size_t count = n->children.size() - 1;
  if (f->kind == Node::Kind::lambda && accepts(*f, count)) return expand(f, operands(n), n->origin);
  if (f->kind == Node::Kind::local && info_[f->var].moved) {
    const Node* moved = info_[f->var].moved;
    info_[f->var].moved = nullptr;
    return expand(moved, operands(n), n->origin);
  }
  Bindings before;
  Node* g = open(simplify(f), before);
  Vector<Node*> arguments = operands(n);
  const auto after = [&](Node* result) {
    return before.empty() ? result : finish(std::move(before), result, origin_of(n->origin));
  };
  if (const Node* body = copyable(g); body && accepts(*body, count)) {
    discount(g);
    return after(expand(body, std::move(arguments), n->origin));
  }
  if (g->kind == Node::Kind::builtin)
    if (Node* result = builtin_call(g, arguments, n->origin)) return after(result);
  Node* result = tree_.make(Node::Kind::call, origin_of(n->origin));
  result->children.push_back(g);
  result->children.insert(result->children.end(), arguments.begin(), arguments.end());
  return after(result);
}

Vector<Node*> Simplifier::operands(const Node* n) {
  Vector<Node*> out;
  for (std::size_t i = 1; i < n->children.size(); ++i) out.push_back(simplify(n->children[i]));
  return out;
}

Node* Simplifier::builtin_call(const Node* builtin, const Vector<Node*>& arguments, const Origin& origin) {
  const Builtin* b = tree_.builtin(*builtin);
  if (!b || arguments.size() < b->least || arguments.size() > b->most) return nullptr;
  Node* m = tree_.operation(b->op, arguments, origin_of(origin), b->index);
  m->swapped = b->swapped;
  return operation(m);
}

// The lambda that a call of f may copy.
const Node* Simplifier::copyable(const Node* f) const {
  const Node* body = nullptr;
  if (f->kind == Node::Kind::local) {
    body = info_[f->var].small;
  } else if (f->kind == Node::Kind::global && globals_.safe(f->global, form_)) {
    body = globals_.known_lambda(f->global);
    if (body && (!is_small(*body) || mentions_global(body, f->global))) body = nullptr;
  }
  if (!body || active_.size() > kDeepestInlining || tree_.nodes.size() > budget_) return nullptr;
  return std::find(active_.begin(), active_.end(), body) == active_.end() ? body : nullptr;
}

// The body of a lambda with its parameters bound to operands of the output. What a library procedure does happens at the user's
// call.
Node* Simplifier::expand(const Node* lambda, Vector<Node*> arguments, const Origin& call) {
  Origin here = origin_of(call);
  arguments = gathered(tree_, *lambda, std::move(arguments), here);
  std::uint32_t base = base_;
  std::optional<Origin> override = override_;
  if (!lambda->library) {
    base_ = tree_.sites.entered(lambda->name, false, here);
    override_.reset();
  } else if (!override_ && !in_library_) {
    override_ = Origin(here.span, tree_.sites.entered(lambda->name, true, here));
  }
  active_.push_back(lambda);
  Bindings bindings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    VarId v = i < lambda->vars.size() ? lambda->vars[i] : lambda->rest;
    const Usage u = v < info_.size() ? info_[v].usage : Usage{};
    if (arguments[i]->kind == Node::Kind::lambda && u.uses == 1 && u.calls == 1 && movable(lambda, v, *arguments[i])) {
      rename(v, level_);
      discount(arguments[i]);
      info_[v].moved = arguments[i];
    } else {
      bind(v, arguments[i], bindings);
    }
  }
  Node* body = simplify(lambda->body());
  active_.pop_back();
  base_ = base;
  override_ = override;
  return finish(std::move(bindings), body, here);
}

} // namespace cairn::compiler::back
