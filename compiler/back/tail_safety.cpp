#include "compiler/back/tail_safety.h"

#include <unordered_set>

namespace cairn::compiler::back {
namespace {

struct Ends {
  bool unknown = false;               // may end in a call of anything
  std::vector<std::uint32_t> globals; // procedures it may end in
};

// Bodies of local procedures count as ends wherever they are called: that errs on the safe side.
Ends ends_of(const Node* lambda) {
  Ends ends;
  std::unordered_set<VarId> local_procedures;
  std::vector<const Node*> work{lambda->body()}, calls;
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    switch (n->kind) {
    case Node::Kind::if_:
      work.insert(work.end(), n->children.begin() + 1, n->children.end());
      break;
    case Node::Kind::sequence:
      work.push_back(n->children.back());
      break;
    case Node::Kind::let:
      work.push_back(n->body());
      for (const Binding& b : n->bindings)
        for (std::size_t i = 0; i < b.vars.size(); ++i)
          if (b.inits[i]->kind == Node::Kind::lambda) {
            local_procedures.insert(b.vars[i]);
            work.push_back(b.inits[i]->body());
          }
      break;
    case Node::Kind::primitive:
      ends.unknown = ends.unknown || n->op == Opcode::apply;
      break;
    case Node::Kind::call:
      calls.push_back(n);
      break;
    default:
      break;
    }
  }
  for (const Node* c : calls) {
    const Node* f = c->children[0];
    if (f->kind == Node::Kind::global)
      ends.globals.push_back(f->global);
    else
      ends.unknown = ends.unknown || f->kind != Node::Kind::local || !local_procedures.contains(f->var);
  }
  return ends;
}

} // namespace

std::vector<bool> ends_in_library(const Tree& tree, const Globals& globals, std::size_t count) {
  std::vector<bool> safe(count);
  std::vector<Ends> ends(count);
  for (std::uint32_t g = 0; g < count; ++g) {
    const Node* lambda = globals.known_lambda(g);
    if (!lambda || !lambda->library || !globals.reached(globals[g].form)) continue;
    ends[g] = ends_of(tree.forms[globals[g].form]->children[0]);
    safe[g] = !ends[g].unknown;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t g = 0; g < count; ++g) {
      if (!safe[g]) continue;
      for (std::uint32_t callee : ends[g].globals)
        if (!safe[callee]) {
          safe[g] = false;
          changed = true;
          break;
        }
    }
  }
  return safe;
}

} // namespace cairn::compiler::back
