// What is known of top-level names: which form defines them, whether a reference can ever run before that form, and
// which of them must really be stored.
#pragma once

#include "compiler/back/tree.h"

namespace cairn::compiler::back {

struct GlobalInfo {
  bool once = false;          // defined by exactly one form
  std::uint32_t form = kNone; // that form
  Node* value = nullptr;      // what it is defined as; kept up to date by the passes
  bool stored = false; // read by `global` or tested by `check_global`, or exported: set_global is needed (after mark_stored)
};

class Globals {
public:
  Globals(const Program& program, const Tree& tree, const Options& options);

  std::size_t size() const { return info_.size(); }
  const GlobalInfo& operator[](std::uint32_t g) const { return info_[g]; }
  void set_value(std::uint32_t g, Node* value) { info_[g].value = value; }

  // True if no reference in code of form `form` can run before the definition of g has.
  bool safe(std::uint32_t g, std::uint32_t form) const { return info_[g].once && info_[g].form < first_run_[form]; }
  // The lambda that g always is, where it is known; nothing at level 0.
  Node* known_lambda(std::uint32_t g) const;
  // The literal that g always is and that may stand for it.
  Node* known_constant(std::uint32_t g) const;

  // Finds the forms that can run at all and the globals that must be stored.
  void mark_stored(const Tree& tree);
  bool reached(std::uint32_t form) const { return reached_[form]; }

private:
  int level_;
  std::vector<GlobalInfo> info_;
  std::vector<bool> exported_;
  std::vector<std::vector<std::uint32_t>> definitions_; // forms that define each global
  std::vector<std::uint32_t> first_run_;                // of each form: the first form during which code of this one can run
  std::vector<bool> reached_;
};

// True for a definition whose evaluation runs no code of the program: a lambda or a literal.
bool is_trivial(const Node& form);

} // namespace cairn::compiler::back
