// What is said of an error in the program: where it is, and the calls that led there.
#include "vm/machine/engine.h"
#include "vm/text/diagnostic.h"

#include <fmt/format.h>

#include <optional>

namespace cairn::machine {

namespace {

// The function that the call before word `pc` names, if it names one.
std::optional<std::uint32_t> called_before(const bytecode::Function& f, std::uint32_t pc) {
  std::size_t at = 0, before = 0;
  while (at < pc) {
    before = at;
    at += bytecode::words_of(f.code[at]);
  }
  Opcode op = bytecode::opcode_of(f.code[before]);
  if (at != pc || pc == 0 || (op != Opcode::call && op != Opcode::call_1)) return {};
  return bytecode::field_b(f.code[before]);
}

} // namespace

// The frame where it happened is found from the runs, innermost first; a frame in the library hands the error to its caller.
void Engine::set_error(const std::string& message) {
  constexpr std::size_t kMostCalls = 12;
  error = {};
  error.message = message;
  const bytecode::Module& m = loaded.module;
  std::size_t elided = 0;
  std::string library_name;
  bool innermost = true;
  const Frame* above = nullptr;  // the frame that returns to the next one, where that is known
  for (std::size_t i = runs.size(); i-- > 0;) {
    above = nullptr;
    for (const Frame* f = runs[i].top; f != nullptr; above = f, f = f->parent, innermost = false) {
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
      if (error.chain.size() >= kMostCalls) {
        ++elided;
        continue;
      }
      // A frame that was called for another procedure is there because of tail calls, whose own frames are gone.
      if (above != nullptr && above->code->module != nullptr && f->result() != bytecode::kNoRegister)
        if (auto called = called_before(function, f->pc()); called && *called != above->code->index && !error.chain.empty() &&
                                                            !m.functions[*called].library)
          error.chain.push_back({fmt::format("... {}, left by tail calls", m.functions[*called].name.empty() ? "a procedure" : m.functions[*called].name), ""});
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
    out += (site.procedure.starts_with("...") ? "  " : "  in ") + (site.procedure.empty() ? std::string("a procedure") : text::shortened(site.procedure, kMostNameBytes));
    if (!site.where.empty()) out += " at " + text::shortened(site.where, kMostNameBytes);
    out += '\n';
  }
  return out;
}

} // namespace cairn::machine
