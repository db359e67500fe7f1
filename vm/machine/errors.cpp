// What is said of an error in the program: where it is, and the calls that led there.
#include "vm/machine/errors.h"

#include "vm/machine/engine.h"
#include "vm/text/diagnostic.h"

#include <fmt/format.h>

namespace cairn::machine {

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

// The frame where it happened is found from the runs, innermost first; a frame in the library hands the error to its caller, and
// so does what was copied from the library.
Error located(const Engine& engine, const std::string& message, bool behind) {
  constexpr std::size_t kMostCalls = 12;
  // Calls that are counted: whoever stops a deep recursion waits for it. The first one that is the program's own is looked for
  // behind any number of the library's.
  constexpr std::size_t kMostFrames = std::size_t{1} << 20;
  Error error;
  error.message = message;
  const bytecode::Module& m = engine.loaded.module;
  std::size_t elided = 0, frames = 0;
  std::string library_name;
  bool innermost = true;
  auto add = [&](const std::string& procedure, const text::Span& span) {
    if (!error.located && span.file < m.sources.size()) {
      error.located = true;
      error.span = span;
      error.source = &m.sources[span.file];
      // The error is the library's, the location is the user's: say which procedure the user called.
      // That it asked for the size of a file is its own affair.
      constexpr std::string_view kAsked = "file-size: ";
      if (!library_name.empty() && !message.starts_with(library_name + ":"))
        error.message = library_name + ": " + message.substr(message.starts_with(kAsked) ? kAsked.size() : 0);
    }
    if (error.chain.size() < kMostCalls)
      error.chain.push_back({procedure, span.file < m.sources.size() ? location_text(m.sources[span.file], span) : ""});
    else
      ++elided;
  };
  // What each of two equal neighbours adds behind the last call that is shown.
  const Frame* same_as = nullptr;
  std::size_t each = 0;
  const auto goes_on = [&] { return frames < kMostFrames || !error.located; };
  for (std::size_t i = engine.runs.size(); i-- > 0 && goes_on();) {
    const Frame* above = nullptr; // the frame that returns to the next one, where that is known
    for (const Frame* f = engine.runs[i].top; f != nullptr && goes_on(); above = f, f = f->parent, innermost = false, ++frames) {
      if (f->code->module == nullptr) continue;
      if (same_as != nullptr && f->code == same_as->code && f->rest == same_as->rest) {
        elided += each;
        continue;
      }
      const std::size_t elided_before = elided;
      const bool only_counts = error.located && error.chain.size() >= kMostCalls;
      const bytecode::Function& function = m.functions[f->code->index];
      if (function.library) {
        if (!error.located && !function.name.empty()) library_name = known_as(function.name);
        continue;
      }
      // A procedure with derivative rules does nothing but wait for the operator that applies them: what is wrong is the call.
      if (!error.located && above != nullptr && above->code == &engine.run_operators.code(bytecode::RunOperator::ruled)) continue;
      // A frame that was called for another procedure is there because of tail calls, whose own frames are gone.
      if (above != nullptr && above->code->module != nullptr && f->result() != bytecode::kNoRegister &&
          error.chain.size() < kMostCalls)
        if (auto called = called_before(function, f->pc());
            called && *called != above->code->index && !error.chain.empty() && !m.functions[*called].library)
          error.chain.push_back({fmt::format("... {}, left by tail calls",
                                             m.functions[*called].name.empty() ? "a procedure" : m.functions[*called].name),
                                 ""});
      // A frame at rest stands behind its call; the one that failed stands at its instruction.
      std::uint32_t pc = f->pc();
      if ((innermost ? behind : f->result() != bytecode::kNoRegister) && pc != 0) --pc;
      std::vector<bytecode::Location> locations = bytecode::locations_at(m, function, pc);
      if (locations.empty()) locations.push_back({nullptr, {static_cast<std::uint32_t>(m.sources.size()), 0, 0}});
      for (const bytecode::Location& at : locations) {
        if (at.procedure == nullptr)
          add(f->code->index == m.entry ? "the top level" : function.name, at.span);
        else if (!at.procedure->library)
          add(at.procedure->name, at.span);
        else if (!error.located && !at.procedure->name.empty())
          library_name = known_as(at.procedure->name);
      }
      same_as = only_counts ? f : nullptr;
      each = elided - elided_before;
    }
  }
  if (elided != 0)
    error.chain.push_back({fmt::format("... {}{} more calls", frames < kMostFrames ? "" : "at least ", elided), ""});
  return error;
}

void Engine::set_error(const std::string& message) { error = located(*this, message); }

std::string Error::rendered(std::string_view severity) const {
  constexpr std::size_t kMostNameBytes = 200;
  std::string out = text::render(source, located ? &span : nullptr, severity, message);
  for (const ChainEntry& entry : chain) {
    out += (entry.procedure.starts_with("...") ? "  " : "  in ") +
           (entry.procedure.empty() ? std::string("a procedure") : text::shown_name(entry.procedure, kMostNameBytes));
    if (!entry.where.empty()) out += " at " + text::shown_name(entry.where, kMostNameBytes);
    out += '\n';
  }
  return out;
}

} // namespace cairn::machine
