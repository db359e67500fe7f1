// Backward over the structured code, the whole function again until what is live at each label no longer grows (the
// nesting depth of loops, at most, plus two). Live sets are sorted vectors: they are small where code is sane.

#include "compiler/back/liveness.h"

#include <algorithm>
#include <iterator>

namespace cairn::compiler::back {

VariableSet union_of(const VariableSet& a, const VariableSet& b) {
  VariableSet result;
  result.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

VariableSet difference_of(const VariableSet& a, const VariableSet& b) {
  VariableSet result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

namespace {

bool contains(const VariableSet& set, std::uint32_t v) { return std::binary_search(set.begin(), set.end(), v); }
void insert(VariableSet& set, std::uint32_t v) {
  auto at = std::lower_bound(set.begin(), set.end(), v);
  if (at == set.end() || *at != v) set.insert(at, v);
}
void erase(VariableSet& set, std::uint32_t v) {
  auto at = std::lower_bound(set.begin(), set.end(), v);
  if (at != set.end() && *at == v) set.erase(at);
}

class Liveness {
public:
  explicit Liveness(AnfFunction& f) : f_(f), labels_(f.labels), mentioned_(f.variables.size()) { mark_mentioned(f.body); }

  void run() {
    do {
      changed_ = false;
      VariableSet live = block(f_.body, {}, true);
      VariableSet parameters = f_.parameters;
      std::sort(parameters.begin(), parameters.end());
      f_.body.drops = difference_of(parameters, live);
    } while (changed_);
  }

private:
  void mark_mentioned(const BasicBlock& b) {
    poll();
    auto mark = [&](const Atom& a) {
      if (a.kind == Atom::Kind::variable) mentioned_[a.index] = true;
    };
    for (const Statement& s : b.statements) {
      for (const Atom& a : s.operands) mark(a);
      for (const BasicBlock& inner : s.blocks) mark_mentioned(inner);
      for (const Label& l : s.labels) mark_mentioned(l.body);
    }
    mark(b.result);
  }

  // Live before the block; `after` is live where it yields, and the value itself if `wanted`.
  VariableSet block(BasicBlock& b, const VariableSet& after, bool wanted) {
    poll();
    VariableSet live;
    if (!b.ended) {
      live = after;
      if (wanted && b.result.kind == Atom::Kind::variable) {
        b.result.last = !contains(live, b.result.index);
        insert(live, b.result.index);
      }
    }
    for (auto s = b.statements.rbegin(); s != b.statements.rend(); ++s) statement(*s, live, after, wanted);
    return live;
  }

  void statement(Statement& s, VariableSet& live, const VariableSet& after, bool wanted) {
    poll();
    switch (s.kind) {
    case Statement::Kind::operation:
      operation(s, live);
      return;
    case Statement::Kind::jump:
      jump(s, live);
      return;
    case Statement::Kind::if_:
    case Statement::Kind::labels:
      break;
    }
    if (!s.terminal) {
      s.result_dead = !contains(live, s.dest);
      erase(live, s.dest);
      s.live_after = live;
    }
    const VariableSet join = s.terminal ? after : live;
    bool value = s.terminal ? wanted : !s.result_dead;
    if (s.kind == Statement::Kind::if_)
      branch(s, live, join, value);
    else
      labels(s, live, join, value);
  }

  void branch(Statement& s, VariableSet& live, const VariableSet& join, bool value) {
    VariableSet yes = block(s.blocks[0], join, value);
    VariableSet no = block(s.blocks[1], join, value);
    live = union_of(yes, no);
    s.blocks[0].drops = difference_of(live, yes);
    s.blocks[1].drops = difference_of(live, no);
    operands(s, live);
  }

  void labels(Statement& s, VariableSet& live, const VariableSet& join, bool value) {
    for (Label& l : s.labels) {
      labels_[l.id] = &l;
      l.used.clear();
      for (std::uint32_t p : l.parameters) l.used.push_back(mentioned_[p]);
    }
    for (auto l = s.labels.rbegin(); l != s.labels.rend(); ++l) label(*l, join, value);
    live = block(s.blocks[0], join, value);
  }

  void label(Label& l, const VariableSet& join, bool value) {
    VariableSet live = block(l.body, join, value);
    l.body.drops.clear();
    for (std::size_t i = 0; i < l.parameters.size(); ++i) {
      if (l.used[i] && !contains(live, l.parameters[i])) l.body.drops.push_back(l.parameters[i]);
      erase(live, l.parameters[i]);
    }
    changed_ = changed_ || live != l.live_in;
    l.live_in = std::move(live);
  }

  void jump(Statement& s, VariableSet& live) {
    const Label& l = *labels_[s.index];
    live = l.live_in;
    VariableSet before = live;
    for (std::size_t i = s.operands.size(); i-- > 0;) {
      Atom& a = s.operands[i];
      if (a.kind != Atom::Kind::variable || !l.used[i]) continue;
      a.last = !contains(before, a.index);
      insert(before, a.index);
    }
    live = std::move(before);
  }

  void operation(Statement& s, VariableSet& live) {
    if (s.op == Opcode::fail) live.clear();
    if (s.dest != kNone) {
      s.result_dead = !contains(live, s.dest);
      s.removed = s.result_dead && is_pure(s.op);
      if (s.removed) return;
      erase(live, s.dest);
    }
    operands(s, live);
  }

  // From the right: only the last mention of a variable in an instruction is its last use.
  void operands(Statement& s, VariableSet& live) {
    for (auto a = s.operands.rbegin(); a != s.operands.rend(); ++a) {
      if (a->kind != Atom::Kind::variable) continue;
      a->last = !contains(live, a->index);
      insert(live, a->index);
    }
  }

  AnfFunction& f_;
  Vector<Label*> labels_;
  Vector<bool> mentioned_;
  bool changed_ = false;
};

} // namespace

void find_last_uses(AnfFunction& function) { Liveness(function).run(); }

} // namespace cairn::compiler::back
