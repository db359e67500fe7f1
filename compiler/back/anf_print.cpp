// A-normal form as text: one statement a line, indented by nesting; variables are name.number.

#include "compiler/back/anf.h"

#include "compiler/datum_text.h"
#include "vm/bytecode/tensors.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::compiler::back {
namespace {

constexpr std::size_t kLongestDatum = 200; // bytes: the text is for people

class Printer {
public:
  Printer(const Unit& unit, const Deque<Global>& globals) : unit_(unit), globals_(globals) {}

  std::string run() {
    for (std::uint32_t i = 0; i < unit_.functions.size(); ++i) function(i);
    return std::move(out_);
  }

private:
  // A cond nests as deep as it is long; its lines must not grow likewise.
  static constexpr unsigned kDeepestIndent = 50;
  void line(unsigned depth, const std::string& text) {
    charge_.add(2 * (2 * std::min(depth, kDeepestIndent) + text.size() + 1));
    out_ += std::string(2 * std::min(depth, kDeepestIndent), ' ') + text + '\n';
  }

  std::string function_name(std::uint32_t index) const {
    std::string_view name = unit_.functions[index].name;
    return fmt::format("f{}{}{}", index, name.empty() ? "" : ":", name);
  }
  std::string name(std::uint32_t v) const {
    std::string_view n = f_->variables[v];
    return fmt::format("{}.{}", n.empty() ? "t" : n, v);
  }
  std::string atom(const Atom& a) const {
    if (a.kind == Atom::Kind::variable) return name(a.index);
    if (a.kind == Atom::Kind::none) return "?";
    const Literal& l = unit_.literals[a.index];
    if (l.kind == Literal::Kind::function) return function_name(l.index);
    if (l.kind == Literal::Kind::run_operator) return std::string(bytecode::kRunOperators[l.index].name);
    return "'" + datum_text(*l.datum, kLongestDatum);
  }
  std::string atoms(const Vector<Atom>& list) const {
    std::string s;
    for (const Atom& a : list) s += ' ' + atom(a);
    return s;
  }
  std::string names(const Vector<std::uint32_t>& list) const {
    std::string s;
    for (std::uint32_t v : list) s += (s.empty() ? "" : " ") + name(v);
    return s;
  }

  void function(std::uint32_t index) {
    f_ = &unit_.functions[index];
    line(0, fmt::format("{}{} ({}){}{}:", function_name(index), index == unit_.entry ? " entry" : "", names(f_->parameters),
                        f_->rest ? " rest" : "", f_->needs_closure ? " closure" : ""));
    block(f_->body, 1, "return");
  }

  std::string operation(const Statement& s) const {
    std::string op(bytecode::kOpcodes[static_cast<std::size_t>(s.op)].name);
    switch (s.op) {
    case Opcode::call:
      return op + ' ' + function_name(s.index) + atoms(s.operands);
    case Opcode::global:
    case Opcode::set_global:
    case Opcode::check_global:
      return op + ' ' + globals_[s.index].name + atoms(s.operands);
    case Opcode::primitive:
      return std::string(bytecode::kPrimitives[s.index].name) + atoms(s.operands);
    case Opcode::tensor:
      return std::string(bytecode::tensor_operators()[s.index].name) + atoms(s.operands);
    case Opcode::host:
      return op + ' ' + unit_.ground.imports[s.index].name + atoms(s.operands);
    case Opcode::capture:
    case Opcode::sibling:
      return op + atoms(s.operands) + ' ' + std::to_string(s.index);
    case Opcode::group: {
      for (std::uint32_t f : unit_.groups[s.index].functions) op += ' ' + function_name(f);
      return op + " |" + atoms(s.operands);
    }
    default:
      return op + atoms(s.operands);
    }
  }

  void block(const BasicBlock& b, unsigned depth, const std::string& end) {
    for (const Statement& s : b.statements) {
      std::string dest = s.dest == kNone ? "" : name(s.dest) + " = ";
      std::string inner = s.terminal ? end : "yield";
      switch (s.kind) {
      case Statement::Kind::operation:
        line(depth, dest + operation(s));
        break;
      case Statement::Kind::jump:
        line(depth, fmt::format("jump L{}{}", s.index, atoms(s.operands)));
        break;
      case Statement::Kind::if_:
        line(depth, fmt::format("{}if {}{}", dest, test_name(s.op), atoms(s.operands)));
        block(s.blocks[0], depth + 1, inner);
        line(depth, "else");
        block(s.blocks[1], depth + 1, inner);
        break;
      case Statement::Kind::labels:
        line(depth, dest + "labels");
        for (const Label& l : s.labels) {
          line(depth + 1, fmt::format("L{}{}{} ({}){}:", l.id, l.name.empty() ? "" : ":", l.name, names(l.parameters),
                                      l.loop ? " loop" : ""));
          block(l.body, depth + 2, inner);
        }
        line(depth, "in");
        block(s.blocks[0], depth + 1, inner);
        break;
      }
    }
    if (!b.ended) line(depth, end + ' ' + atom(b.result));
  }

  static std::string test_name(Opcode op) {
    switch (op) {
    case Opcode::jump_false:
      return "true";
    case Opcode::jump_not_null:
      return "null";
    case Opcode::jump_not_pair:
      return "pair";
    case Opcode::jump_not_lt:
      return "lt";
    case Opcode::jump_not_le:
      return "le";
    case Opcode::jump_not_eq:
      return "eq";
    default:
      return "eqv";
    }
  }

  const Unit& unit_;
  const Deque<Global>& globals_;
  const AnfFunction* f_ = nullptr;
  std::string out_;
  Charge charge_;
};

} // namespace

std::string print_unit(const Unit& unit, const Deque<Global>& globals) { return Printer(unit, globals).run(); }

} // namespace cairn::compiler::back
