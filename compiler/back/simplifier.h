// One simplifier walks all forms, a round at a time: simplify.cpp holds the walk and how output is made, simplify_bindings.cpp
// let, simplify_values.cpp conditionals and operations on what is known, simplify_calls.cpp the copying of procedures.
//
// Each round copies every form, with fresh variables, and improves it on the way: what is bound to an atom is replaced by it,
// what is bound to a lambda that is called once moves to the call, small procedures are copied to their calls, literals are
// folded, tests are kept apart from what comes before them. Evaluation order and everything that can fail stay.
//
// Captures are observable, so a variable that an opaque lambda mentions stays mentioned there: a replacement only happens at
// the depth of opaque lambdas (`level`) at which the variable is bound.
#pragma once

#include "compiler/back/simplify.h"
#include "compiler/back/usage.h"

#include <optional>

namespace cairn::compiler::back {

class Simplifier {
public:
  Simplifier(Tree& tree, Globals& globals) : tree_(tree), globals_(globals) {}
  void round();

private:
  using Bindings = Vector<Binding>;

  struct Info {
    // as a variable of the input
    Usage usage{UINT32_MAX, 0}; // unknown for variables made in this round
    VarId renamed = kNone;
    Node* replacement = nullptr; // an atom of the output
    Node* moved = nullptr;       // a lambda called once, to be expanded at the call
    // as a variable of the output
    std::uint32_t level = 0;
    std::uint32_t uses = 0;
    Node* small = nullptr; // the lambda it is bound to, if calls may copy that
    Node* cons = nullptr;  // the cons of atoms it is bound to
    bool boolean = false;
    bool pair = false, null = false; // known here
  };

  // --- making output
  Origin origin_of(const Origin& origin) { return override_ ? *override_ : tree_.sites.rebased(origin, base_); }
  Node* make_like(const Node* n);
  VarId fresh(std::string_view name, std::uint32_t level);
  VarId rename(VarId in, std::uint32_t level);
  Node* use(VarId v, const Origin& origin);
  Node* copy_atom(const Node* atom, const Origin& origin);
  // Takes back the uses of a piece of output that is thrown away, or counts them again.
  void discount(const Node* n) { count_uses_in(n, -1); }
  void recount(const Node* n) { count_uses_in(n, 1); }
  void count_uses_in(const Node* n, int by);

  // --- expressions
  void simplify_form();
  Node* simplify(const Node* n);
  Node* local(const Node* n);
  Node* global(const Node* n);
  Node* lambda(const Node* n);
  Node* sequence(const Node* n);

  // --- let
  void bind_all(const Node* n, Bindings& out);
  void bind_group(const Binding& b, Bindings& out);
  void effect(Node* e, Bindings& out);
  Node* open(Node* e, Bindings& out, bool whole = false);
  void bind(VarId in, Node* e, Bindings& out);
  Node* named(Node* e, Bindings& out);
  Node* finish(Bindings bindings, Node* body, const Origin& origin);
  void prune(Binding& b);
  Node* merge_last(Bindings& bindings, Node* body);

  // --- conditionals and operations
  Node* choice(const Node* n);
  bool is_boolean(const Node* n) const;
  Node* arm(const Node* n, const Node* test, bool taken);
  Node* operation(Node* m);
  Node* known_value(Node* m);

  // --- calls
  static bool is_small(const Node& lambda);
  Node* call(const Node* n);
  Vector<Node*> operands(const Node* n);
  Node* builtin_call(const Node* builtin, const Vector<Node*>& arguments, const Origin& origin);
  const Node* copyable(const Node* f) const;
  Node* expand(const Node* lambda, Vector<Node*> arguments, const Origin& origin);

  Tree& tree_;
  Globals& globals_;
  Vector<Info> info_;
  Vector<const Node*> active_;     // lambdas being expanded
  std::uint32_t base_ = kNoSite;   // the copy of a procedure that output is made for
  std::optional<Origin> override_; // of a procedure of the library: all that it does happens at the user's call
  std::uint32_t form_ = 0, level_ = 0;
  std::size_t budget_ = 0;
  bool in_library_ = false;
};

} // namespace cairn::compiler::back
