// Modules looked into and extended.
#include "vm/bytecode/module.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace cairn::bytecode {

namespace {

bool same(const Constant& a, const Constant& b) {
  return a.kind == b.kind && a.integer == b.integer && std::bit_cast<std::uint64_t>(a.flonum) == std::bit_cast<std::uint64_t>(b.flonum) &&
         a.text == b.text && a.parts == b.parts;
}
bool same(const PcSpan& a, const PcSpan& b) { return a.pc == b.pc && a.span == b.span; }
bool same(const Function& a, const Function& b) {
  return a.name == b.name && a.parameters == b.parameters && a.rest == b.rest && a.needs_closure == b.needs_closure && a.slots == b.slots &&
         a.code == b.code && a.span == b.span && a.library == b.library && std::ranges::equal(a.spans, b.spans, [](auto& x, auto& y) { return same(x, y); });
}
bool same(const Group& a, const Group& b) { return a.functions == b.functions && a.captures == b.captures; }
bool same(const Global& a, const Global& b) { return a == b; }
bool same(const Import& a, const Import& b) { return a == b; }
bool same(const Source& a, const Source& b) { return a.name == b.name && a.text == b.text; }

template <class T> bool starts(const std::vector<T>& whole, const std::vector<T>& part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), [](auto& x, auto& y) { return same(x, y); });
}

} // namespace

const Span* span_at(const Function& function, std::uint32_t pc) {
  auto after = std::upper_bound(function.spans.begin(), function.spans.end(), pc, [](std::uint32_t p, const PcSpan& s) { return p < s.pc; });
  return after == function.spans.begin() ? nullptr : &(after - 1)->span;
}

bool begins_with(const Module& whole, const Module& part) {
  return starts(whole.constants, part.constants) && starts(whole.functions, part.functions) && starts(whole.groups, part.groups) &&
         starts(whole.globals, part.globals) && starts(whole.imports, part.imports) && starts(whole.sources, part.sources);
}

namespace {

template <class T> void move_to_end(std::vector<T>& whole, std::vector<T>& more) {
  whole.reserve(whole.capacity() < whole.size() + more.size() ? std::max(2 * whole.capacity(), whole.size() + more.size()) : 0);
  std::move(more.begin(), more.end(), std::back_inserter(whole));
}

} // namespace

void append(Module& whole, Module extension) {
  move_to_end(whole.constants, extension.constants);
  move_to_end(whole.globals, extension.globals);
  move_to_end(whole.imports, extension.imports);
  move_to_end(whole.groups, extension.groups);
  move_to_end(whole.functions, extension.functions);
  move_to_end(whole.sources, extension.sources);
  whole.entry = extension.entry;
}

} // namespace cairn::bytecode
