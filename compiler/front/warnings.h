// What is allowed and probably not meant: names that are never used, and names that hide others. The expander tells what it
// meets; here is decided what is worth saying. A name that begins with `_` is its writer's business.
#pragma once

#include "compiler/front/datum.h"

#include <vector>

namespace cairn::compiler {

inline constexpr std::size_t kMostWarnings = 100; // of one program; of those beyond only the number is told

class Warnings {
public:
  // A mention of a lexical name by the program.
  void use(const Variable* v) { used_.insert(v); }
  // Asked when the scope of a name that nothing forces the writer to give has ended.
  void end_scope(const Variable* v);
  void never_used(const Global& g);

  // Symbols of `target` may hide a name that `init` mentions: (let ((x (+ x 1))) ...) makes a new x of the old one.
  void allow_new_version(const DatumPtr& target, const DatumPtr& init);
  void hides(const Datum& symbol, Span hidden, bool top_level);

  // All of them by their location in the sources.
  std::vector<Diagnostic> take(const Deque<text::Source>& sources);

private:
  struct Warning {
    Span span;
    std::string_view name;
    enum class Kind { unused, hides_local, hides_global } kind;
    Span hidden;
  };
  static std::uint64_t key(Span s) { return std::uint64_t{s.file} << 32 | s.begin; }
  void unused(std::string_view name, Span span);

  Set<const Variable*> used_;
  Set<std::uint64_t> new_versions_; // locations of symbols
  Vector<Warning> all_;
};

} // namespace cairn::compiler
