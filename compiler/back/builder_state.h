// From tree to A-normal form, inside: one function is built at a time (a queue, so that lambdas nested in lambdas need no
// recursion); inside a function, recursion follows the nesting of the tree. builder_procedures.cpp holds frames and closures,
// builder_values.cpp expressions and calls, builder_control.cpp blocks, loops and tests.
#pragma once

#include "compiler/back/builder.h"
#include "compiler/back/free_variables.h"

#include <functional>

namespace cairn::compiler::back {

// What an arm of a branch does at the end of the block it is given.
struct Arm {
  std::function<void(BasicBlock&)> emit;
  bool small = false; // may be emitted twice
};
class Builder {
public:
  Builder(Tree& tree, const Globals& globals, Vector<LocalUse> locals, int level, Ground& ground);
  Unit build();

private:
  struct Pending {
    std::uint32_t index = 0;
    const Node* lambda = nullptr;
    std::uint32_t form = 0;
    std::uint32_t self_global = kNone;
    VarId self = kNone;
    Vector<VarId> lifted; // extra parameters
    Vector<VarId> captures;
    Vector<VarId> members; // of the closure group, in order; empty for an anonymous lambda
    std::uint32_t member = 0;
  };

  std::uint32_t reserve();

  // --- frames
  void start(const Node* lambda, std::uint32_t form);
  std::uint32_t variable(std::string_view name);
  void build_entry();
  void define(const Node& n, BasicBlock& out);
  void build_function(const Pending& p);
  void open_closure(const Pending& p);
  Atom sibling(Atom of, std::uint32_t member, std::string_view name, BasicBlock& out);
  bool is_self_call(const Node* call, const Pending& p) const;
  bool calls_itself_in_tail_position(const Node& lambda, const Pending& p) const;

  // --- pieces of statements
  Origin origin_of(const Origin& origin) { return tree_.sites.rebased(origin, base_); }
  Statement operation(Opcode op, const Origin& origin, std::string_view result);
  Statement labels_statement(const Origin& origin);
  Statement jump_statement(std::uint32_t label, const Origin& origin);
  static Atom append(BasicBlock& out, Statement s);
  static void end(BasicBlock& out, Statement s);
  Atom literal(const DatumPtr& datum);
  Atom null_atom();
  Atom literal(Literal::Kind kind, std::uint32_t index);

  // --- procedures
  std::uint32_t global_function_index(std::uint32_t g);
  Atom global_function(std::uint32_t g);
  Atom builtin_value(const Node& n);
  Atom make_closures(const Vector<VarId>& vars, const Vector<const Node*>& lambdas, BasicBlock& out);
  void bind_functions(const Binding& b, BasicBlock& out);
  Atom lookup(VarId v);

  // --- values
  Vector<Atom> values(const Vector<Node*>& nodes, std::size_t from, BasicBlock& out);
  Atom value(const Node* n, BasicBlock& out);
  static bool yields(const BasicBlock& b);
  Atom splice(BasicBlock inner, BasicBlock& out);
  Atom global_value(const Node* n, BasicBlock& out);
  void check(const Node* n, BasicBlock& out);
  Atom operation_of(const Node* n, BasicBlock& out);
  Atom call(const Node* n, BasicBlock& out);
  Vector<Atom> known_operands(const Node& lambda, const Node* call, BasicBlock& out);

  // --- blocks: n in tail position of `out`; `tail` if that is the tail position of the function
  void convert(const Node* n, BasicBlock& out, bool tail);
  Arm arm(const Node* n, bool tail);
  bool convert_jump(const Node* n, BasicBlock& out, bool tail);
  bool is_label(const Binding& b) const;
  void convert_binding(const Binding& b, BasicBlock& out);
  void convert_let(const Node* n, std::size_t from, BasicBlock& out, bool tail);

  // --- tests
  static bool may(const Node* test, bool arm);
  void branch(const Node* test, BasicBlock& out, const Arm& then_arm, const Arm& else_arm);
  void nested_branch(const Node* test, BasicBlock& out, const Arm& then_arm, const Arm& else_arm);
  void leaf(const Node* test, BasicBlock& out, const Arm& then_arm, const Arm& else_arm);

  Tree& tree_;
  const Globals& globals_;
  Vector<LocalUse> use_;
  int level_;
  Unit unit_;
  Deque<Pending> pending_;
  Vector<std::uint32_t> global_functions_; // by form
  Set<std::uint32_t> ends_in_library_;     // globals
  Map<const Datum*, std::uint32_t> data_;
  Map<std::uint32_t, std::uint32_t> function_literals_, operator_literals_;
  FunctionTable functions_;
  // of the function being built
  AnfFunction f_;
  Map<VarId, Atom> env_;
  Map<VarId, std::pair<std::uint32_t, const Node*>> labels_;
  bool in_entry_ = false;        // its calls keep the frame: messages name the top level's origin
  std::uint32_t base_ = kNoSite; // the copied procedure that the label being built belongs to
  std::uint32_t form_ = 0, self_global_ = kNone, self_label_ = kNone;
  VarId self_ = kNone;
};

} // namespace cairn::compiler::back
