// See assembler.h. Jumps are filled in when all labels are bound.
#include "compiler/back/assembler.h"

#include "vm/bytecode/instruction.h"

namespace cairn::compiler::back {

void Assembler::word(Word w) {
  here_.clear();
  code_.push_back(w);
}

void Assembler::bind(Label label) {
  // Labels bound behind a jump that is taken back mean the same word.
  auto here = static_cast<std::uint32_t>(code_.size());
  if (!fixups_.empty() && fixups_.back().field == 3 && fixups_.back().target == label && fixups_.back().pc + 1 == here) {
    fixups_.pop_back();
    code_.pop_back();
    --here;
    for (Label l : here_) positions_[l] = here;
  }
  positions_[label] = here;
  here_.push_back(label);
}

void Assembler::emit(Opcode op, unsigned a, unsigned b, unsigned c) {
  word(bytecode::encode(op, static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c)));
}

void Assembler::emit_operands(Opcode op, unsigned a, unsigned b, std::span<const std::uint16_t> operands) {
  emit(op, a, b, static_cast<unsigned>(operands.size()));
  for (std::size_t i = 0; i < operands.size(); i += 4) {
    Word w = 0;
    for (std::size_t j = 0; j < 4; ++j) w |= Word{i + j < operands.size() ? operands[i + j] : std::uint16_t{0xFFFF}} << (16 * j);
    code_.push_back(w);
  }
}

void Assembler::branch(Opcode op, unsigned a, unsigned b, Label target) {
  unsigned field = bytecode::kOpcodes[static_cast<std::size_t>(op)].roles.size() == 2 ? 1 : 2;
  if (far_) {
    Label away = label(), on = label();
    fixups_.push_back({static_cast<std::uint32_t>(code_.size()), field, away});
    emit(op, a, field == 1 ? 0 : b);
    jump(on);
    positions_[away] = static_cast<std::uint32_t>(code_.size());
    jump(target);
    positions_[on] = static_cast<std::uint32_t>(code_.size());
    here_.push_back(on);
    return;
  }
  fixups_.push_back({static_cast<std::uint32_t>(code_.size()), field, target});
  emit(op, a, field == 1 ? 0 : b);
}

void Assembler::jump(Label target) {
  fixups_.push_back({static_cast<std::uint32_t>(code_.size()), 3, target});
  emit(Opcode::jump);
}

// What the compiler itself has made has an empty span, and stands for no place.
void Assembler::locate(const Origin& origin) {
  if (origin.span.begin == origin.span.end && origin.site == kNoSite) return;
  auto here = static_cast<std::uint32_t>(code_.size());
  if (!spans_.empty() && spans_.back().span == origin.span && spans_.back().site == origin.site) return;
  if (!spans_.empty() && spans_.back().pc == here) spans_.pop_back();
  spans_.push_back({here, origin.span, origin.site});
}

bool Assembler::located_since(Label label) const { return !spans_.empty() && spans_.back().pc >= positions_[label]; }

bool Assembler::finish(bytecode::Function& function) {
  for (const Fixup& f : fixups_) {
    std::int64_t distance = static_cast<std::int64_t>(positions_[f.target]) - static_cast<std::int64_t>(f.pc);
    Word& w = code_[f.pc];
    if (f.field == 3) {
      w |= Word{static_cast<std::uint32_t>(static_cast<std::int32_t>(distance))} << 32;
      continue;
    }
    if (distance < INT16_MIN || distance > INT16_MAX) return false;
    w |= Word{static_cast<std::uint16_t>(static_cast<std::int16_t>(distance))} << (16 * (f.field + 1));
  }
  function.code.assign(code_.begin(), code_.end());
  function.spans.assign(spans_.begin(), spans_.end());
  return true;
}

} // namespace cairn::compiler::back
