// Reading fields of objects that a tape may not have seen (docs/design.md 5.1, 5.2), and names for messages.
#include "vm/machine/engine.h"
#include "vm/print/printer.h"

namespace cairn::machine {

Value Engine::read_field_taped(Tape& tape, Object* o, std::uint32_t slot, Value v) {
  if (v.is_flonum()) {
    if (!tape.is_old(o->serial)) return v;
    return tape.identity(tape.lift({o->serial, slot}, v, v.flonum()));
  }
  if (!v.is_taped()) return Heap::retain(v);
  if (tape.has(v)) return tape.identity(v);
  if (!tape.is_old(o->serial)) return v;
  return tape.identity(tape.lift({o->serial, slot}, v, primal(v).flonum()));
}

std::string Engine::describe(Value v) const { return print::abbreviated(v, *this); }

std::string Engine::procedure_name(const Code* code) const {
  if (code->module == nullptr) return std::string(bytecode::kRunOperators[code->index].name);
  return loaded.module.functions[code->index].name;
}

} // namespace cairn::machine
