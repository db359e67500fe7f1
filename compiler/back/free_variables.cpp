// One walk with an explicit stack: bindings are unique, so free is what is used and never bound inside.

#include "compiler/back/free_variables.h"


namespace cairn::compiler::back {

Vector<VarId> free_variables(const Vector<const Node*>& lambdas, const Vector<VarId>& own,
                                  const FunctionTable& functions) {
  Set<VarId> bound(own.begin(), own.end()), seen;
  Vector<VarId> used;
  auto use = [&](VarId v) {
    if (seen.insert(v).second) used.push_back(v);
  };
  Vector<const Node*> work(lambdas.rbegin(), lambdas.rend());
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
    if (n->kind == Node::Kind::lambda) {
      bound.insert(n->vars.begin(), n->vars.end());
      if (n->rest != kNone) bound.insert(n->rest);
    } else if (n->kind == Node::Kind::local) {
      auto f = functions.find(n->var);
      if (f == functions.end() || f->second.needs_closure)
        use(n->var);
      else
        for (VarId v : f->second.lifted) use(v);
    }
    for (auto c = n->children.rbegin(); c != n->children.rend(); ++c) work.push_back(*c);
    for (auto b = n->bindings.rbegin(); b != n->bindings.rend(); ++b) {
      bound.insert(b->vars.begin(), b->vars.end());
      for (auto i = b->inits.rbegin(); i != b->inits.rend(); ++i) work.push_back(*i);
    }
  }
  Vector<VarId> free;
  for (VarId v : used)
    if (!bound.contains(v)) free.push_back(v);
  return free;
}

} // namespace cairn::compiler::back
