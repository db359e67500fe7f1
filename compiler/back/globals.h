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

  std::size_t size() const { return size_; }
  // Calls f of every global that a form of this program defines, in no particular order.
  template <class F> void each_defined(F&& f) const {
    for (const auto& [g, forms] : definitions_) f(g);
  }
  const GlobalInfo& operator[](std::uint32_t g) const {
    auto found = info_.find(g);
    return found == info_.end() ? kUnknown : found->second;
  }
  void set_value(std::uint32_t g, Node* value) { info_[g].value = value; }

  // True if no reference in code of form `form` can run before the definition of g has.
  bool safe(std::uint32_t g, std::uint32_t form) const {
    const GlobalInfo& i = (*this)[g];
    return i.once && i.form < first_run_[form];
  }
  // The lambda that g always is, where it is known; nothing at level 0.
  Node* known_lambda(std::uint32_t g) const;
  // The literal that g always is and that may stand for it.
  Node* known_constant(std::uint32_t g) const;

  // Finds the forms that can run at all and the globals that must be stored.
  void mark_stored(const Tree& tree);
  bool reached(std::uint32_t form) const { return reached_[form]; }

private:
  static constexpr GlobalInfo kUnknown{};
  bool exported(std::uint32_t g) const { return exports_ && !program_.globals()[g].library; }
  std::span<const std::uint32_t> definitions(std::uint32_t g) const {
    auto found = definitions_.find(g);
    return found == definitions_.end() ? std::span<const std::uint32_t>() : found->second;
  }

  int level_;
  const Program& program_;
  bool exports_;
  std::size_t size_;
  Map<std::uint32_t, GlobalInfo> info_;                    // of those that this program defines or uses: a session may have many more
  Map<std::uint32_t, Vector<std::uint32_t>> definitions_; // forms that define each global
  Vector<std::uint32_t> first_run_;                // of each form: the first form during which code of this one can run
  Vector<bool> reached_;
};

// True for a definition whose evaluation runs no code of the program: a lambda or a literal.
bool is_trivial(const Node& form);

} // namespace cairn::compiler::back
