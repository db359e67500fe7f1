// A small language for bytecode in tests: instructions one after the other, labels by name, operands as r or last(r).
//   Code()(Opcode::integer, 0, 5)(Opcode::ret, 0).function(1)
#pragma once

#include "vm/bytecode/module.h"

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace cairn::bytecode::testing {

constexpr std::uint16_t last(std::uint16_t r) { return static_cast<std::uint16_t>(r | kLastUse); }

class Code {
public:
  Code& operator()(Opcode op, int a = 0, int b = 0, int c = 0) {
    words_.push_back(encode(op, static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c)));
    return *this;
  }
  // An instruction whose last role is N.
  Code& operator()(Opcode op, int a, int b, std::initializer_list<int> operands) {
    (*this)(op, a, b, static_cast<int>(operands.size()));
    std::size_t i = 0;
    for (int o : operands) {
      if (i % 4 == 0) words_.push_back(~Word{0});
      unsigned shift = 16 * (i++ % 4);
      words_.back() = (words_.back() & ~(Word{0xFFFF} << shift)) | Word{static_cast<std::uint16_t>(o)} << shift;
    }
    return *this;
  }
  Code& raw(Word w) {
    words_.push_back(w);
    return *this;
  }
  Code& label(const std::string& name) {
    labels_[name] = words_.size();
    return *this;
  }
  // A branch to a label: the J or L field is filled in at the end.
  Code& branch(Opcode op, const std::string& target, int a = 0, int b = 0) {
    jumps_[words_.size()] = target;
    return (*this)(op, a, b);
  }

  Function function(unsigned slots, unsigned parameters = 0) const {
    Function f;
    f.slots = static_cast<std::uint16_t>(slots);
    f.parameters = static_cast<std::uint16_t>(parameters);
    f.code = words_;
    for (const auto& [pc, name] : jumps_) {
      auto distance = static_cast<std::int64_t>(labels_.at(name)) - static_cast<std::int64_t>(pc);
      Opcode op = opcode_of(f.code[pc]);
      if (op == Opcode::jump)
        f.code[pc] = (f.code[pc] & 0xFFFFFFFF) | Word{static_cast<std::uint32_t>(distance)} << 32;
      else {
        unsigned shift = 16u * static_cast<unsigned>(kOpcodes[static_cast<std::size_t>(op)].roles.size());
        f.code[pc] |= Word{static_cast<std::uint16_t>(distance)} << shift;
      }
    }
    return f;
  }

private:
  std::vector<Word> words_;
  std::map<std::string, std::size_t> labels_;
  std::map<std::size_t, std::string> jumps_;
};

inline Constant integer_constant(std::int64_t i) { return {Constant::Kind::integer, i, 0, {}, {}}; }
inline Constant flonum_constant(double d) { return {Constant::Kind::flonum, 0, d, {}, {}}; }
inline Constant text_constant(Constant::Kind kind, std::string text) { return {kind, 0, 0, std::move(text), {}}; }
inline Constant null_constant() { return {}; }
inline Constant plain_constant(Constant::Kind kind, std::int64_t i) { return {kind, i, 0, {}, {}}; }
inline Constant compound_constant(Constant::Kind kind, std::vector<std::uint32_t> parts) {
  return {kind, 0, 0, {}, std::move(parts)};
}

// A module whose only function is the entry.
inline Module module_of(Function f) {
  Module m;
  m.functions.push_back(std::move(f));
  return m;
}

// A module that uses every table, every kind of constant and spans; sound.
inline Module sample_module() {
  using Kind = Constant::Kind;
  Module m;
  m.sources = {{"sample.scm", "(define (double x)\n  (* 2 x))\n(display (double 4.5))\n"}};
  m.constants = {integer_constant(2),
                 flonum_constant(4.5),
                 text_constant(Kind::string, "a \"quoted\"\n\xC3\xA9"),
                 text_constant(Kind::symbol, "sym"),
                 null_constant(),
                 plain_constant(Kind::boolean, 1),
                 plain_constant(Kind::character, 0x61),
                 compound_constant(Kind::pair, {0, 4}),
                 compound_constant(Kind::vector, {1, 3, 7}),
                 plain_constant(Kind::function, 1),
                 plain_constant(Kind::run_operator, 0)};
  m.globals = {"double", {"map", true}};
  m.imports = {{"clock", 0}, {"gauge", 2}};
  m.groups = {{{2}, 1}};

  Function entry =
      Code()(Opcode::constant, 0, 9)(Opcode::set_global, last(0), 0)(Opcode::constant, 0, 1)(Opcode::call, 1, 1, {last(0)})(
          Opcode::primitive, 2, static_cast<int>(Primitive::display),
          {1})(Opcode::drop, 2, kNoRegister, kNoRegister)(Opcode::group, 2, 0, {last(1)})(Opcode::tail_call_value, 0, last(2), {})
          .function(3);
  m.inlined = {{"shown"}, {"%list-ref/2", true}};
  entry.sites = {{0, {0, 3, 9}}, {1, {0, 41, 51}, 0}};
  entry.spans = {{0, {0, 0, 31}}, {2, {0, 41, 51}, 1}, {5, {0, 32, 52}, 0}};
  entry.span = {0, 0, 53};

  Function twice = Code()
                       .branch(Opcode::jump_not_gt_k, "small", 0, 0)(Opcode::mul_k, 0, last(0), 0)(Opcode::ret, 0)
                       .label("small")(Opcode::add, 0, 0, last(0))
                       .branch(Opcode::jump, "end")
                       .label("end")(Opcode::ret, 0)
                       .function(1, 1);
  twice.name = "double";
  twice.spans = {{0, {0, 21, 28}}};
  twice.span = {0, 0, 30};

  Function inner = Code()(Opcode::capture, 1, last(0), 0)(Opcode::ret, 1).function(2);
  inner.name = "inner";
  inner.needs_closure = true;
  inner.library = true;
  m.functions = {std::move(entry), std::move(twice), std::move(inner)};
  return m;
}

} // namespace cairn::bytecode::testing
