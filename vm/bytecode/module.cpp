// Modules compared and looked into.
#include "vm/bytecode/module.h"

#include <algorithm>
#include <bit>

namespace cairn::bytecode {

namespace {

bool same(const Constant& a, const Constant& b) {
  return a.kind == b.kind && a.integer == b.integer && std::bit_cast<std::uint64_t>(a.flonum) == std::bit_cast<std::uint64_t>(b.flonum) &&
         a.text == b.text && a.parts == b.parts;
}
bool same(const Function& a, const Function& b) {
  return a.name == b.name && a.parameters == b.parameters && a.rest == b.rest && a.needs_closure == b.needs_closure && a.slots == b.slots &&
         a.code == b.code && a.span == b.span && a.library == b.library && a.spans == b.spans && a.sites == b.sites;
}
bool same(const Group& a, const Group& b) { return a.functions == b.functions && a.captures == b.captures; }
bool same(const Global& a, const Global& b) { return a == b; }
bool same(const Import& a, const Import& b) { return a == b; }
bool same(const InlinedProcedure& a, const InlinedProcedure& b) { return a == b; }
bool same(const Source& a, const Source& b) { return a.name == b.name && a.text == b.text; }

template <class T> bool starts(const std::vector<T>& whole, const std::vector<T>& part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), [](auto& x, auto& y) { return same(x, y); });
}

} // namespace

std::vector<Place> places_at(const Module& module, const Function& function, std::uint32_t pc) {
  auto after = std::upper_bound(function.spans.begin(), function.spans.end(), pc, [](std::uint32_t p, const PcSpan& s) { return p < s.pc; });
  if (after == function.spans.begin()) return {};
  std::vector<Place> places;
  Span span = (after - 1)->span;
  for (std::uint32_t s = (after - 1)->site; s != kNoSite; s = function.sites[s].parent) {
    const InlineSite& site = function.sites[s];
    places.push_back({&module.inlined[site.procedure], span});
    span = site.call;
  }
  places.push_back({nullptr, span});
  return places;
}

bool begins_with(const Module& whole, const Module& part) {
  return starts(whole.constants, part.constants) && starts(whole.functions, part.functions) && starts(whole.groups, part.groups) &&
         starts(whole.globals, part.globals) && starts(whole.imports, part.imports) && starts(whole.sources, part.sources) &&
         starts(whole.inlined, part.inlined);
}

} // namespace cairn::bytecode
