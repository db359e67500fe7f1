// The lexical variables in force, by name. One stack of bindings a name, undone in order, so that looking up costs the same
// however deeply scopes nest.
#pragma once

#include "compiler/core.h"

#include <string>
#include <vector>

namespace cairn::compiler {

class Scope {
public:
  using Depth = std::size_t;
  Depth depth() const { return trail_.size(); }

  void bind(Variable* v) {
    auto& bindings = names_[v->name];
    bindings.push_back(v);
    trail_.push_back(&bindings);
  }

  // Ends every binding made since the stack had this depth.
  void release(Depth depth) {
    while (trail_.size() > depth) {
      trail_.back()->pop_back();
      trail_.pop_back();
    }
  }

  Variable* find(std::string_view name) const {
    auto it = names_.find(name);
    return it == names_.end() || it->second.empty() ? nullptr : it->second.back();
  }

  // The names in force, in no particular order.
  template <class F> void for_each_name(F&& f) const {
    for (const auto& [name, bindings] : names_)
      if (!bindings.empty()) f(name);
  }

private:
  Map<std::string_view, Vector<Variable*>> names_;
  Vector<Vector<Variable*>*> trail_;
};

} // namespace cairn::compiler
