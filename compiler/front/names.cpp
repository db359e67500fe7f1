// What a session's tables were before a text that failed.
#include "compiler/compiler.h"

namespace cairn::compiler {

void Names::roll_back(const Mark& mark) {
  for (; globals.size() > mark.globals; globals.pop_back())
    if (!globals.back().library) defined.erase(globals.back().name);
  for (std::uint32_t& global : library)
    if (global > mark.globals) global = 0;
  for (std::uint32_t& source : library_sources)
    if (source > mark.sources) source = 0;
  while (sources.size() > mark.sources) sources.pop_back();
  while (charges.size() > mark.sources) charges.pop_back();
  while (places.size() > mark.sources) places.pop_back();
  for (; imported.size() > mark.imported; imported.pop_back()) known_imports.erase(imported.back());
}

} // namespace cairn::compiler
