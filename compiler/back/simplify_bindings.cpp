// Bindings: one flat list of them is made of what nests, those nobody needs go, and a last one that is only passed on joins the
// body.

#include "compiler/back/simplifier.h"

#include <algorithm>

namespace cairn::compiler::back {

void Simplifier::bind_all(const Node* n, Bindings& out) {
  for (const Binding& b : n->bindings) {
    if (b.recursive) {
      bind_group(b, out);
    } else if (b.vars[0] == kNone) {
      effect(simplify(b.inits[0]), out);
    } else if (b.inits[0]->kind == Node::Kind::lambda) {
      const Usage& u = info_[b.vars[0]].usage;
      if (u.uses == 0) continue;
      if (u.uses == 1 && u.calls == 1) {
        rename(b.vars[0], level_);
        info_[b.vars[0]].moved = b.inits[0];
      } else {
        bind(b.vars[0], simplify(b.inits[0]), out);
      }
    } else {
      bind(b.vars[0], simplify(b.inits[0]), out);
    }
  }
}

void Simplifier::bind_group(const Binding& b, Bindings& out) {
  Binding group;
  group.recursive = true;
  for (VarId v : b.vars) group.vars.push_back(rename(v, level_));
  for (const Node* i : b.inits) group.inits.push_back(simplify(i));
  out.push_back(std::move(group));
}

void Simplifier::effect(Node* e, Bindings& out) {
  e = open(e, out);
  if (is_pure(*e))
    discount(e);
  else
    out.push_back({{kNone}, {e}, false});
}

// Moves what comes before the value of e into `out`. Lambdas stay where they are called in tail position (`whole` if that
// is so in `out` too): they may become loops.
Node* Simplifier::open(Node* e, Bindings& out, bool whole) {
  for (;;) {
    if (e->kind == Node::Kind::let) {
      auto lambda = whole ? e->bindings.end() : std::find_if(e->bindings.begin(), e->bindings.end(), [](const Binding& b) {
        return b.inits[0]->kind == Node::Kind::lambda;
      });
      out.insert(out.end(), e->bindings.begin(), lambda);
      e->bindings.erase(e->bindings.begin(), lambda);
      if (!e->bindings.empty()) return e;
      e = e->body();
    } else if (e->kind == Node::Kind::sequence) {
      for (std::size_t i = 0; i + 1 < e->children.size(); ++i) out.push_back({{kNone}, {e->children[i]}, false});
      e = e->children.back();
    } else {
      return e;
    }
  }
}

void Simplifier::bind(VarId in, Node* e, Bindings& out) {
  e = open(e, out);
  VarId v = rename(in, level_);
  if (e->kind == Node::Kind::operation && e->op == Opcode::cons) {
    for (Node*& part : e->children) part = named(part, out);
    info_[v].cons = e;
  }
  if (is_atom(*e)) info_[in].replacement = e;
  if (e->kind == Node::Kind::lambda && is_small(*e)) info_[v].small = e;
  info_[v].boolean = e->kind == Node::Kind::operation && is_boolean_valued(e->op);
  out.push_back({{v}, {e}, false});
}

Node* Simplifier::named(Node* e, Bindings& out) {
  e = open(e, out);
  if (is_atom(*e)) return e;
  VarId v = fresh("", level_);
  out.push_back({{v}, {e}, false});
  return use(v, e->origin);
}

Node* Simplifier::finish(Bindings bindings, Node* body, const Origin& origin) {
  body = open(body, bindings, true);
  for (std::size_t i = bindings.size(); i-- > 0;) prune(bindings[i]);
  std::erase_if(bindings, [](const Binding& b) { return b.inits.empty(); });
  body = merge_last(bindings, body);
  if (bindings.empty()) return body;
  Node* let = tree_.make(Node::Kind::let, origin);
  let->bindings = std::move(bindings);
  let->children.push_back(body);
  return let;
}

// Empties a binding that nobody needs.
void Simplifier::prune(Binding& b) {
  if (b.vars[0] == kNone) return;
  if (!b.recursive) {
    if (info_[b.vars[0]].uses > 0) return;
    if (!is_pure(*b.inits[0])) {
      b.vars[0] = kNone;
      return;
    }
  } else {
    // Uses by the group itself do not count.
    for (const Node* i : b.inits) discount(i);
    bool used = std::any_of(b.vars.begin(), b.vars.end(), [&](VarId v) { return info_[v].uses > 0; });
    if (used) {
      for (const Node* i : b.inits) recount(i);
      return;
    }
    b.inits.clear();
    return;
  }
  discount(b.inits[0]);
  b.inits.clear();
}

// A last binding that the body only passes on, or only tests, becomes part of the body.
Node* Simplifier::merge_last(Bindings& bindings, Node* body) {
  while (!bindings.empty()) {
    Binding& last = bindings.back();
    if (last.recursive || last.vars[0] == kNone) return body;
    VarId v = last.vars[0];
    if (body->kind == Node::Kind::local && body->var == v && info_[v].uses == 1) {
      body = last.inits[0];
      info_[v].uses = 0;
      bindings.pop_back();
      continue;
    }
    Node* test = body;
    while (test->kind == Node::Kind::if_ && test->children[0]->kind == Node::Kind::if_) test = test->children[0];
    if (test->kind != Node::Kind::if_ || test->children[0]->kind != Node::Kind::local || test->children[0]->var != v) return body;
    bool once = info_[v].uses == 1;
    // (let ((t a)) (if t t b)) where a is #t or #f
    bool either =
        info_[v].uses == 2 && info_[v].boolean && test->children[1]->kind == Node::Kind::local && test->children[1]->var == v;
    if (!once && !either) return body;
    test->children[0] = last.inits[0];
    if (either) test->children[1] = tree_.constant(make_boolean(true), test->children[1]->origin);
    info_[v].uses = 0;
    bindings.pop_back();
  }
  return body;
}

} // namespace cairn::compiler::back
