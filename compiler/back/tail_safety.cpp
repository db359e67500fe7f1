// See tail_safety.h. What a procedure may end in is found along calls in tail position, until nothing new comes.
#include "compiler/back/tail_safety.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

struct Ends {
  bool unknown = false;          // may end in a call of anything
  Vector<std::uint32_t> globals; // procedures it may end in
};

// Bodies of local procedures count as ends wherever they are called: that errs on the safe side.
Ends ends_of(const Node* lambda) {
  Ends ends;
  Set<VarId> local_procedures;
  Vector<const Node*> work{lambda->body()}, calls;
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
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
    case Node::Kind::operation:
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

Set<std::uint32_t> ends_in_library(const Tree& tree, const Globals& globals) {
  Map<std::uint32_t, Ends> safe;
  globals.each_defined([&](std::uint32_t g) {
    const Node* lambda = globals.known_lambda(g);
    if (!lambda || !lambda->library || !globals.reached(globals[g].form)) return;
    Ends ends = ends_of(tree.forms[globals[g].form]->children[0]);
    if (!ends.unknown) safe.emplace(g, std::move(ends));
  });
  auto all_safe = [&](const Ends& ends) {
    return std::all_of(ends.globals.begin(), ends.globals.end(), [&](std::uint32_t callee) { return safe.contains(callee); });
  };
  while (std::erase_if(safe, [&](const auto& entry) { return !all_safe(entry.second); }) != 0) {
  }
  Set<std::uint32_t> result;
  for (const auto& [g, ends] : safe) result.insert(g);
  return result;
}

} // namespace cairn::compiler::back
