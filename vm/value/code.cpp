// Code of functions: allocated with its words behind it, and with what the frames of it will need.
#include "vm/value/heap.h"

#include <algorithm>
#include <new>

namespace cairn::value {

void FreeCode::operator()(const Code* code) const {
  ::operator delete (const_cast<Code*>(code), std::align_val_t{alignof(Code)});
}

OwnedCode make_code(const Code& shape, std::span<const bytecode::Word> words) {
  void* memory = ::operator new (sizeof(Code) + words.size_bytes(), std::align_val_t{alignof(Code)});
  auto* c = new (memory) Code(shape);
  std::copy(words.begin(), words.end(), reinterpret_cast<bytecode::Word*>(c + 1));
  if (std::size_t size_class = (c->frame_bytes() + 15) / 16; size_class <= Heap::kClasses) {
    c->frame_class = static_cast<std::uint16_t>(size_class);
    c->frame_cell = std::int64_t{c->frame_class} * 16;
    c->frame_header = Heap::header(Kind::frame, c->frame_class);
  }
  return OwnedCode(c);
}

} // namespace cairn::value
