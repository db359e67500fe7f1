// Reading fields of objects that a tape may not have seen (docs/design.md 5.1, 5.2), and places and names for messages.
#include "vm/machine/places.h"

#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/tensors.h"
#include "vm/print/printer.h"

namespace cairn::machine {

namespace {

using Place = ops::Device::Maker;

constexpr unsigned kBitsOfPc = 24; // integers of programs have 48
constexpr std::uint32_t kMostPc = std::uint32_t{1} << kBitsOfPc, kMostIndex = std::uint32_t{1} << 23;

constexpr int kNear = 64; // frames, of the library and of operators that run something, that wait for each other

const bytecode::Function* function_of(const Engine& engine, const value::Frame* f) {
  return f->code->module != nullptr ? &engine.loaded.module.functions[f->code->index] : nullptr;
}

Place call_at(const value::Frame* waiting) { return {waiting->code, waiting->pc() == 0 ? 0 : waiting->pc() - 1}; }

std::string text_at(const Engine& engine, const Place& place, bool called) {
  const auto* code = static_cast<const Code*>(place.code);
  if (code == nullptr || code->module == nullptr) return "";
  const bytecode::Module& m = engine.loaded.module;
  const bytecode::Function& function = m.functions[code->index];
  // The program's own call of it is gone, or far away.
  if (function.library) return function.name.empty() || function.name.starts_with('%') ? "the library" : function.name;
  const std::vector<bytecode::Location> locations = bytecode::locations_at(m, function, place.pc);
  const auto has_text = [&](std::size_t i) {
    return i < locations.size() && locations[i].span.file < m.sources.size() && !m.sources[locations[i].span.file].text.empty();
  };
  // What was copied from the library is told by the procedure that the program calls, and by that call.
  std::size_t own = 0;
  while (own < locations.size() && locations[own].procedure != nullptr && locations[own].procedure->library) ++own;
  const std::size_t named = own != 0 && own < locations.size() ? own - 1 : 0;
  const bytecode::InlinedProcedure* const copied = locations.empty() ? nullptr : locations[named].procedure;
  std::string where = copied != nullptr ? known_as(copied->name) : function.name;
  if (called && own == 0 && place.pc < function.code.size())
    if (const auto callee = called_before(function, place.pc + 1); callee && m.functions[*callee].library)
      where = known_as(m.functions[*callee].name);
  if (where.empty()) where = "a procedure";
  const std::size_t at = own < locations.size() ? own : 0;
  if (has_text(at)) where += " at " + location_text(m.sources[locations[at].span.file], locations[at].span);
  // What was copied may have been copied often: the call says which it is.
  if (own == 0 && has_text(1)) where += ", called at " + location_text(m.sources[locations[1].span.file], locations[1].span);
  return where;
}

} // namespace

// What stands for a builtin that is used as a value, as in (map sin l), has no text of its own: there whoever called it is meant
// in any case. Behind the frames of a run, as of a sweep, are those that wait for it.
ops::Device::Maker instruction_meant(const Engine& engine, const value::Frame* frame) {
  if (frame == nullptr) return {};
  const bytecode::Function* const first = function_of(engine, frame);
  if (first == nullptr || !first->library) return {frame->code, frame->pc()};
  std::size_t run = engine.runs.size();
  const value::Frame* at = frame->parent;
  for (int i = 0; i < kNear; ++i) {
    while (at == nullptr && run > 1) at = engine.runs[--run - 1].top;
    if (at == nullptr) break;
    if (const bytecode::Function* const f = function_of(engine, at); f != nullptr && !f->library) return call_at(at);
    at = at->parent;
  }
  if (first->spans.empty() && frame->parent != nullptr && function_of(engine, frame->parent) != nullptr)
    return call_at(frame->parent);
  return {frame->code, frame->pc()};
}

std::optional<ops::Device::Maker> caller_in_run(const Engine& engine, const value::Frame* frame) {
  for (int i = 0; i < kNear && frame != nullptr; ++i, frame = frame->parent) {
    const bytecode::Function* const f = function_of(engine, frame);
    if (f == nullptr) break;
    if (!f->library) return call_at(frame);
  }
  return std::nullopt;
}

std::string place_of(const Engine& engine, const ops::Device::Maker& maker) { return text_at(engine, maker, true); }
std::string place_around(const Engine& engine, const ops::Device::Maker& maker) { return text_at(engine, maker, false); }

std::int64_t number_of_place(Engine& engine) {
  const Place& place = engine.tensors().cpu().maker;
  const auto* const code = static_cast<const Code*>(place.code);
  if (code == nullptr || code->module == nullptr || code->index >= kMostIndex || place.pc >= kMostPc) return -1;
  return static_cast<std::int64_t>(std::uint64_t{code->index} << kBitsOfPc | place.pc);
}

ops::Device::Maker place_of_number(const Engine& engine, Value number) {
  if (!number.is_integer() || number.integer() < 0) return {};
  const auto index = static_cast<std::uint64_t>(number.integer()) >> kBitsOfPc;
  if (index >= engine.loaded.codes.size()) return {};
  return {engine.loaded.codes[index].get(), static_cast<std::uint32_t>(number.integer()) % kMostPc};
}

Value text_of_place(Engine& engine, Value number) {
  return engine.heap().make_string(place_of(engine, place_of_number(engine, number)));
}

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
