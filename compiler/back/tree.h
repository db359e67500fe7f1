// The tree the passes of the back work on: the core language with builtin calls resolved to instructions, letrec cut into
// strongly connected components and chains of let flattened. Nodes live in an arena (Tree::nodes), variables are numbers, every
// binding has its own variable; passes make new nodes and never change one that another part of the tree may share.
#pragma once

#include "compiler/back/sites.h"
#include "compiler/compiler.h"
#include "compiler/core.h"
#include "compiler/instructions.h"

#include <string_view>

namespace cairn::compiler::back {

using bytecode::Opcode;
using VarId = std::uint32_t;
inline constexpr std::uint32_t kNone = UINT32_MAX;

struct Node;

// One step of a flattened let*: a plain binding (one variable; kNone: evaluated for its effect only) or one recursive
// group of lambdas.
struct Binding {
  Vector<VarId> vars;
  Vector<Node*> inits;
  bool recursive = false;
};

struct Node {
  enum class Kind : std::uint8_t {
    constant,  // datum
    local,     // var
    global,    // global
    builtin,   // name, op, index: a builtin or (op is host) a procedure of the host as a value
    operation, // op, index, swapped; children = operands in evaluation order
    lambda,    // vars, rest, children[0], name, library
    let,       // bindings, children[0] = body
    if_,       // children = test, then, else
    sequence,  // children
    call,      // children = operator, operands...
    set_global // global, children[0]
  };
  Kind kind = Kind::constant;
  Opcode op = Opcode::count;
  std::uint16_t index = 0; // of the primitive or the host's procedure; kind of fail
  bool swapped = false;    // the instruction takes its two operands in the other order: (> a b) is lt b a
  bool library = false;
  bool transparent = false; // lambda: what it captures cannot be observed (set by the simplifier's analysis)
  VarId var = kNone;
  std::uint32_t global = 0;
  VarId rest = kNone;
  Origin origin;
  DatumPtr datum = nullptr;
  std::string_view name;
  Vector<VarId> vars;
  Vector<Binding> bindings;
  Vector<Node*> children;

  Node* body() const { return children[0]; }
};

// How a builtin name is compiled.
struct Builtin {
  std::string_view name;
  Opcode op;
  unsigned least;
  unsigned most;
  bool swapped = false;
  std::uint16_t index = 0;
};

struct Tree {
  Deque<Node> nodes;
  Vector<std::string_view> names; // of variables
  Vector<Node*> forms;
  Vector<Builtin> hosts; // procedures of the host, named by the program
  Sites sites;

  // How a call of a node of kind builtin is compiled; nothing for run operators.
  const Builtin* builtin(const Node& node) const;
  Node* make(Node::Kind kind, const Origin& origin);
  Node* constant(DatumPtr datum, const Origin& origin);
  Node* local(VarId var, const Origin& origin);
  Node* operation(Opcode op, Vector<Node*> operands, const Origin& origin, std::uint16_t index = 0);
  VarId fresh(std::string_view name);
};

// Nothing for the names of run operators, which are values, and for unknown names.
const Builtin* find_builtin(std::string_view name);
// Index of a run operator, kNone if `name` is none.
std::uint32_t find_run_operator(std::string_view name);

// In the arena in force.
DatumPtr make_null();
DatumPtr make_boolean(bool b);
DatumPtr make_integer(std::int64_t i);
DatumPtr make_flonum(double d);
DatumPtr make_string(std::string_view text);
bool is_false(const Datum& d);

// True if `lambda` accepts `count` operands.
bool accepts(const Node& lambda, std::size_t count);
// The operands of a known call with those of a rest parameter gathered into one list.
Vector<Node*> gathered(Tree& tree, const Node& lambda, Vector<Node*> operands, const Origin& origin);

// The tree of a program. Throws Failure where the core nests deeper than kDeepest: a long `cond` or `or` does, for its clauses
// are one inside the other; what the source itself nests is bounded by the front.
inline constexpr std::size_t kDeepest = 1'000'000;
inline constexpr std::size_t kShallow = 64; // programs nesting no deeper run their passes on the caller's stack
struct Nesting {
  std::size_t depth = 0;
  Span span; // of the deepest expression
};
Nesting nesting(const Program& program);
Tree make_tree(const Program& program);

// Never fails and has no effect, so that it may be dropped or moved.
inline bool is_pure(Opcode op) { return bytecode::has_trait(op, bytecode::kPure); }
bool is_pure(const Node& node);
bool is_atom(const Node& node);
// The instruction's value is #t or #f.
inline bool is_boolean_valued(Opcode op) { return bytecode::has_trait(op, bytecode::kBoolean); }

// One lambda for a builtin used as a value.
Node* make_wrapper(Tree& tree, const Builtin& builtin);

} // namespace cairn::compiler::back
