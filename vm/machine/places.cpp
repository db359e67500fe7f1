// Reading fields of objects that a tape may not have seen (DESIGN 5.1, 5.2), and errors with their place.
#include "vm/machine/engine.h"
#include "vm/print/printer.h"
#include "vm/text/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>

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

// The frame where it happened is found from the runs, innermost first; a frame in the library hands the error to its caller.
void Engine::set_error(const std::string& message) {
  constexpr std::size_t kMostCalls = 12;
  error = {};
  error.message = message;
  const bytecode::Module& m = loaded.module;
  std::size_t elided = 0;
  std::string library_name;
  bool innermost = true;
  for (std::size_t i = runs.size(); i-- > 0;) {
    for (const Frame* f = runs[i].top; f != nullptr; f = f->parent, innermost = false) {
      if (f->code->module == nullptr) continue;
      const bytecode::Function& function = m.functions[f->code->index];
      if (function.library) {
        // A helper is named after its procedure: %fold-left/3.
        std::string name = function.name.substr(0, function.name.rfind('/') == 0 ? std::string::npos : function.name.rfind('/'));
        if (!name.empty() && name[0] == '%') name.erase(0, 1);
        if (!error.located && !name.empty()) library_name = name;
        continue;
      }
      // A frame at rest stands behind its call; the one that failed stands at its instruction.
      std::uint32_t pc = f->pc();
      if (!innermost && f->result() != bytecode::kNoRegister && pc != 0) --pc;
      const bytecode::Span* span = bytecode::span_at(function, pc);
      if (!error.located && span != nullptr && span->file < m.sources.size()) {
        error.located = true;
        error.span = *span;
        error.source = &m.sources[span->file];
        // The error is the library's, the place is the user's: say which procedure the user called.
        if (!library_name.empty() && !message.starts_with(library_name + ":")) error.message = library_name + ": " + message;
      }
      if (error.chain.size() == kMostCalls) {
        ++elided;
        continue;
      }
      CallSite site;
      site.procedure = f->code->index == m.entry ? "the top level" : function.name;
      if (span != nullptr && span->file < m.sources.size()) {
        const bytecode::Source& source = m.sources[span->file];
        if (source.text.empty()) {
          site.where = source.name;
        } else {
          text::Position at = text::position_of(source.text, span->begin);
          site.where = fmt::format("{}:{}:{}", source.name, at.line, at.column);
        }
      }
      error.chain.push_back(std::move(site));
    }
  }
  if (elided != 0) error.chain.push_back({fmt::format("... {} more calls", elided), ""});
}

std::string Error::rendered() const {
  constexpr std::size_t kMostNameBytes = 200;
  std::string out = text::render(source, located ? &span : nullptr, "error", message);
  for (const CallSite& site : chain) {
    out += "  in " + (site.procedure.empty() ? std::string("a procedure") : text::shortened(site.procedure, kMostNameBytes));
    if (!site.where.empty()) out += " at " + text::shortened(site.where, kMostNameBytes);
    out += '\n';
  }
  return out;
}

} // namespace cairn::machine
