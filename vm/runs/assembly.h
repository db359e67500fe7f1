// An assembler for code of the machine's own: operands in lists, jumps to labels.
#pragma once

#include "vm/bytecode/instruction.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace cairn::runs {

using Register = std::uint16_t;

// A register as an operand that is used for the last time: its value moves out.
constexpr Register last(Register r) { return static_cast<Register>(r | bytecode::kLastUse); }

class Assembly {
public:
  // A word of the code, jumped to before or after it is written.
  class Label {
    friend class Assembly;
    static constexpr std::size_t kNowhere = SIZE_MAX;
    std::size_t at_ = kNowhere;
    std::vector<std::size_t> jumps_; // that wait for it
  };

  void put(bytecode::Opcode op, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0) {
    code_.push_back(bytecode::encode(op, a, b, c));
  }
  // An instruction whose third field counts operands.
  void put_list(bytecode::Opcode op, std::uint16_t a, std::uint16_t b, std::initializer_list<Register> operands) {
    put(op, a, b, static_cast<std::uint16_t>(operands.size()));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i % 4 == 0) code_.push_back(~bytecode::Word{0});
      set(code_.size() - 1, i % 4, operands.begin()[i]);
    }
  }
  // An instruction whose last field says where it goes; the others are registers.
  void jump(bytecode::Opcode op, std::initializer_list<Register> registers, Label& to) {
    put(op);
    for (std::size_t i = 0; i < registers.size(); ++i) set(code_.size() - 1, i + 1, registers.begin()[i]);
    if (to.at_ == Label::kNowhere)
      to.jumps_.push_back(code_.size() - 1);
    else
      aim(code_.size() - 1, to.at_);
  }
  // The label is what comes next.
  void bind(Label& label) {
    label.at_ = code_.size();
    for (const std::size_t from : label.jumps_) aim(from, label.at_);
  }

  std::vector<bytecode::Word> take() { return std::move(code_); }

private:
  void set(std::size_t word, std::size_t quarter, std::uint16_t to) {
    code_[word] &= ~(bytecode::Word{0xFFFF} << (16 * quarter));
    code_[word] |= bytecode::Word{to} << (16 * quarter);
  }
  void aim(std::size_t from, std::size_t to) {
    const std::size_t field = bytecode::kOpcodes[static_cast<std::size_t>(bytecode::opcode_of(code_[from]))].roles.find('J');
    set(from, field + 1, static_cast<std::uint16_t>(to - from));
  }

  std::vector<bytecode::Word> code_;
};

} // namespace cairn::runs
