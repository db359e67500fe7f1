// The core in A-normal form: every operand is a variable or a literal, every variable has one definition, control is
// structured (if, labels, jump). This is what liveness, register allocation and code emission work on.
#pragma once

#include "compiler/back/tree.h"

namespace cairn::compiler::back {

struct Atom {
  enum class Kind : std::uint8_t { none, variable, literal };
  Kind kind = Kind::none;
  bool last = false;       // set by liveness: this is the variable's last use
  std::uint32_t index = 0; // of the variable (in its function) or the literal (in the unit)
  bool is(std::uint32_t v) const { return kind == Kind::variable && index == v; }
};

struct Literal {
  enum class Kind : std::uint8_t { datum, function, run_operator };
  Kind kind = Kind::datum;
  DatumPtr datum = nullptr;
  std::uint32_t index = 0; // function, run operator
};

struct Statement;

// Straight-line statements; the last may be terminal (if_, labels, jump, fail), else the block's value is `result`.
struct BasicBlock {
  Vector<Statement> statements;
  Atom result;
  bool ended = false;          // a terminal statement ends it
  Vector<std::uint32_t> drops; // set by liveness: variables to release on entry
};

struct Label {
  std::uint32_t id = 0; // unique in the function
  std::string_view name;
  Vector<std::uint32_t> parameters;
  BasicBlock body;
  Vector<std::uint32_t> live_in; // set by liveness: without parameters
  Vector<bool> used;             // set by liveness: parameters that the body mentions; others are not passed
  bool loop = false;             // the body jumps back to it
};

struct Statement {
  enum class Kind : std::uint8_t {
    operation, // op; operands; index where the opcode has K, G, F, R, P, H or U
    if_,       // op is a fused test (jump_...), operands, blocks = then, else
    labels,    // labels; blocks[0] = where control enters
    jump       // index = label id, operands = arguments
  };
  Kind kind = Kind::operation;
  Opcode op = Opcode::count;
  bool terminal = false;    // if_, labels: the last of its block, its arms yield the block's value
  bool keeps_frame = false; // a call that is no tail call even at the end of its function
  bool result_dead = false; // set by liveness
  bool removed = false;     // set by liveness: pure, and nobody needs its value
  std::uint32_t index = 0;
  std::uint32_t dest = kNone;
  Origin origin;
  Vector<Atom> operands;
  Vector<BasicBlock> blocks;
  Vector<Label> labels;
  Vector<std::uint32_t> live_after; // if_, labels that are not terminal: set by liveness, without dest
};

struct AnfFunction {
  std::string_view name;
  Span span;
  bool library = false;
  bool rest = false; // the last parameter but the closure is a rest list
  bool needs_closure = false;
  Vector<std::uint32_t> parameters;   // variables of the entry slots: parameters, rest, closure
  std::uint32_t labels = 0;           // number of label ids
  Vector<std::string_view> variables; // names
  BasicBlock body;
};

struct Unit {
  explicit Unit(Ground& g) : ground(g) {}
  Ground& ground; // what earlier texts left; statements count functions, groups and imports on from there
  Vector<AnfFunction> functions;
  Vector<Literal> literals;
  Vector<bytecode::Group> groups;
  Sites sites;
  std::uint32_t entry = 0;
};

inline Atom variable_atom(std::uint32_t v) { return {Atom::Kind::variable, false, v}; }
inline Atom literal_atom(std::uint32_t l) { return {Atom::Kind::literal, false, l}; }

// Text of a unit, for vmc --emit=ir and tests.
std::string print_unit(const Unit& unit, const Deque<Global>& globals);

} // namespace cairn::compiler::back
