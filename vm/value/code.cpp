#include "vm/value/heap.h"

#include <algorithm>
#include <new>

namespace cairn::value {

void FreeCode::operator()(const Code* code) const { ::operator delete(const_cast<Code*>(code), std::align_val_t{alignof(Code)}); }

OwnedCode make_code(const bytecode::Function& function, const bytecode::FunctionFacts& facts, std::uint32_t number, const void* module) {
  void* place = ::operator new(sizeof(Code) + sizeof(bytecode::Word) * function.code.size(), std::align_val_t{alignof(Code)});
  auto* c = new (place) Code;
  std::copy(function.code.begin(), function.code.end(), reinterpret_cast<bytecode::Word*>(c + 1));
  c->exactly = function.rest ? Code::kVariable : function.parameters;
  c->parameters = function.parameters;
  c->entry_slots = static_cast<std::uint16_t>(bytecode::entry_slots(function));
  c->slots = function.slots;
  c->rest = function.rest;
  c->needs_closure = function.needs_closure;
  c->mask_words = facts.mask_words;
  c->live = facts.live.data();
  c->module = module;
  c->index = number;
  if (std::size_t size_class = (c->frame_bytes() + 15) / 16; size_class <= Heap::kClasses) {
    c->frame_class = static_cast<std::uint16_t>(size_class);
    c->frame_cell = std::int64_t{c->frame_class} * 16;
    c->frame_header = Heap::header(Kind::frame, c->frame_class);
  }
  return OwnedCode(c);
}

} // namespace cairn::value
