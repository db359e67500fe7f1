// Code of one function as it grows: words, labels, jumps to be filled in, locations in the source.
#pragma once

#include "compiler/back/sites.h"
#include "compiler/workspace.h"

#include <span>

namespace cairn::compiler::back {

using bytecode::Opcode;
using bytecode::Word;

class Assembler {
public:
  using Label = std::uint32_t;

  // With `far` every conditional jump hops over a long one: for functions whose jumps do not fit 16 bits.
  explicit Assembler(bool far) : far_(far) {}

  Label label() {
    positions_.push_back(kUnbound);
    return static_cast<Label>(positions_.size() - 1);
  }
  // Binds to the next instruction. A jump to the label just before it is taken back.
  void bind(Label label);

  void emit(Opcode op, unsigned a = 0, unsigned b = 0, unsigned c = 0);
  // An instruction with a list of operands; a and b only.
  void emit_operands(Opcode op, unsigned a, unsigned b, std::span<const std::uint16_t> operands);
  void branch(Opcode op, unsigned a, unsigned b, Label target); // b is unused where the opcode has one source
  void jump(Label target);
  // Instructions from here on belong to this piece of text.
  void locate(const Origin& origin);
  // Whether some instruction since then has been given one.
  bool located_since(Label label) const;

  bool finish(bytecode::Function& function); // false: a jump does not fit, assemble again with `far`

private:
  static constexpr std::uint32_t kUnbound = UINT32_MAX;
  struct Fixup {
    std::uint32_t pc;
    unsigned field; // 1, 2, or 3 for a long jump
    Label target;
  };
  void word(Word w);

  bool far_;
  Vector<Word> code_;
  Vector<std::uint32_t> positions_;
  Vector<Label> here_; // labels bound to the next instruction
  Vector<Fixup> fixups_;
  Vector<bytecode::PcSpan> spans_;
};

} // namespace cairn::compiler::back
