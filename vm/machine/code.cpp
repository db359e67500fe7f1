// See code.h.
#include "vm/machine/code.h"

namespace cairn::machine {

value::OwnedCode code_of(const bytecode::Function& function, const bytecode::FunctionFacts& facts, std::uint32_t number,
                         const void* module) {
  value::Code shape;
  shape.exactly = function.rest ? value::Code::kVariable : function.parameters;
  shape.parameters = function.parameters;
  shape.entry_slots = static_cast<std::uint16_t>(bytecode::entry_slots(function));
  shape.slots = function.slots;
  shape.rest = function.rest;
  shape.needs_closure = function.needs_closure;
  shape.mask_words = facts.mask_words;
  shape.live = facts.live.data();
  shape.module = module;
  shape.index = number;
  return value::make_code(shape, function.code);
}

} // namespace cairn::machine
