// What a session's tables were before a text that failed.
#include "compiler/compiler.h"

namespace cairn::compiler {

void Names::roll_back(const Lengths& before) {
  for (; globals.size() > before.globals; globals.pop_back())
    if (!globals.back().library) defined.erase(globals.back().name);
  for (std::uint32_t& global : library)
    if (global > before.globals) global = 0;
  for (std::uint32_t& source : library_sources)
    if (source > before.sources) source = 0;
  while (sources.size() > before.sources) sources.pop_back();
  while (charges.size() > before.sources) charges.pop_back();
  while (locations.size() > before.sources) locations.pop_back();
  for (; imported.size() > before.imported; imported.pop_back()) known_imports.erase(imported.back());
}

} // namespace cairn::compiler
