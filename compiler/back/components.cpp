// Tarjan's algorithm with an explicit stack: a body may define ten thousand procedures.

#include "compiler/back/components.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

// Members of the letrec that `node` mentions, in order of first mention.
Vector<std::uint32_t> mentions(const Node* node, const Map<VarId, std::uint32_t>& member) {
  Vector<std::uint32_t> found;
  Vector<const Node*> work{node};
  Vector<bool> seen(member.size());
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
    if (n->kind == Node::Kind::local) {
      auto m = member.find(n->var);
      if (m != member.end() && !seen[m->second]) {
        seen[m->second] = true;
        found.push_back(m->second);
      }
    }
    for (auto c = n->children.rbegin(); c != n->children.rend(); ++c) work.push_back(*c);
    for (auto b = n->bindings.rbegin(); b != n->bindings.rend(); ++b)
      for (auto i = b->inits.rbegin(); i != b->inits.rend(); ++i) work.push_back(*i);
  }
  return found;
}

} // namespace

void append_components(Vector<VarId> vars, Vector<Node*> inits, Vector<Binding>& out) {
  Map<VarId, std::uint32_t> member;
  for (std::uint32_t i = 0; i < vars.size(); ++i) member[vars[i]] = i;
  std::size_t count = vars.size();
  Vector<Vector<std::uint32_t>> edges(count);
  for (std::size_t i = 0; i < count; ++i) edges[i] = mentions(inits[i], member);

  Vector<std::uint32_t> number(count, kNone), low(count), stack;
  Vector<bool> on_stack(count);
  std::uint32_t next = 0;
  struct Visit {
    std::uint32_t node;
    std::size_t edge;
  };
  for (std::uint32_t root = 0; root < count; ++root) {
    if (number[root] != kNone) continue;
    Vector<Visit> visits{{root, 0}};
    number[root] = low[root] = next++;
    stack.push_back(root);
    on_stack[root] = true;
    while (!visits.empty()) {
      std::uint32_t v = visits.back().node;
      if (visits.back().edge < edges[v].size()) {
        std::uint32_t w = edges[v][visits.back().edge++];
        if (number[w] == kNone) {
          number[w] = low[w] = next++;
          stack.push_back(w);
          on_stack[w] = true;
          visits.push_back({w, 0});
        } else if (on_stack[w]) {
          low[v] = std::min(low[v], number[w]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) low[visits.back().node] = std::min(low[visits.back().node], low[v]);
      if (low[v] != number[v]) continue;
      Vector<std::uint32_t> component;
      std::uint32_t w;
      do {
        w = stack.back();
        stack.pop_back();
        on_stack[w] = false;
        component.push_back(w);
      } while (w != v);
      std::sort(component.begin(), component.end());
      Binding b;
      b.recursive = component.size() > 1 || std::find(edges[v].begin(), edges[v].end(), v) != edges[v].end();
      for (std::uint32_t m : component) {
        b.vars.push_back(vars[m]);
        b.inits.push_back(inits[m]);
      }
      out.push_back(std::move(b));
    }
  }
}

} // namespace cairn::compiler::back
