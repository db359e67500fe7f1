// Modules compared, looked into, and put together.
#include "vm/bytecode/module.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace cairn::bytecode {

namespace {

bool same(const Constant& a, const Constant& b) {
  return a.kind == b.kind && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.flonum) == std::bit_cast<std::uint64_t>(b.flonum) && a.text == b.text &&
         a.parts == b.parts;
}
bool same(const Function& a, const Function& b) {
  return a.name == b.name && a.parameters == b.parameters && a.rest == b.rest && a.needs_closure == b.needs_closure &&
         a.slots == b.slots && a.code == b.code && a.span == b.span && a.library == b.library && a.spans == b.spans &&
         a.sites == b.sites;
}
bool same(const Group& a, const Group& b) { return a.functions == b.functions && a.captures == b.captures; }
bool same(const Global& a, const Global& b) { return a == b; }
bool same(const Import& a, const Import& b) { return a == b; }
bool same(const InlinedProcedure& a, const InlinedProcedure& b) { return a == b; }
bool same(const Source& a, const Source& b) { return a.name == b.name && a.text == b.text; }

template <class Table> bool starts(const Table& whole, const Table& part) {
  return part.size() <= whole.size() &&
         std::equal(part.begin(), part.end(), whole.begin(), [](auto& x, auto& y) { return same(x, y); });
}

template <class Table> std::uint32_t count(const Table& table) { return static_cast<std::uint32_t>(table.size()); }

// Amortised: a session grows by a little at a time.
template <class T> void make_space(std::vector<T>& table, const std::vector<T>& more) {
  if (table.size() + more.size() > table.capacity()) table.reserve(std::max(table.size() + more.size(), 2 * table.capacity()));
}
template <class T> void make_space(std::deque<T>&, const std::deque<T>&) {} // takes memory by the piece
template <class Table> void move_to_end(Table& table, Table& more) {
  std::move(more.begin(), more.end(), std::back_inserter(table));
}

template <class Table> void cut_table(Table& table, std::uint32_t end) {
  if (table.size() > end) table.erase(table.begin() + end, table.end());
}
template <class Table> void drop_first(Table& table, std::uint32_t n) { table.erase(table.begin(), table.begin() + n); }

} // namespace

Ends ends_of(const Module& m) {
#define X(table, Type) count(m.table),
  return {CAIRN_MODULE_TABLES(X)};
#undef X
}

Ends ends_of(const Ends& before, const Module& more) {
#define X(table, Type) before.table + count(more.table),
  return {CAIRN_MODULE_TABLES(X)};
#undef X
}

Module beyond(Module m, const Ends& ends) {
#define X(table, Type) drop_first(m.table, ends.table);
  CAIRN_MODULE_TABLES(X)
#undef X
  return m;
}

void append(Module& whole, Module more) {
#define X(table, Type) make_space(whole.table, more.table);
  CAIRN_MODULE_TABLES(X)
#undef X
  const Ends before = ends_of(whole);
  try {
    move_to_end(whole.sources, more.sources); // the only one that may still need memory
  } catch (...) {
    cut(whole, before, whole.entry);
    throw;
  }
  more.sources.clear();
#define X(table, Type) move_to_end(whole.table, more.table);
  CAIRN_MODULE_TABLES(X)
#undef X
  whole.entry = more.entry;
}

void cut(Module& whole, const Ends& ends, std::uint32_t entry) noexcept {
#define X(table, Type) cut_table(whole.table, ends.table);
  CAIRN_MODULE_TABLES(X)
#undef X
  whole.entry = entry;
}

std::vector<Location> locations_at(const Module& module, const Function& function, std::uint32_t pc) {
  auto after = std::upper_bound(function.spans.begin(), function.spans.end(), pc,
                                [](std::uint32_t p, const PcSpan& s) { return p < s.pc; });
  if (after == function.spans.begin()) return {};
  std::vector<Location> locations;
  Span span = (after - 1)->span;
  for (std::uint32_t s = (after - 1)->site; s != kNoSite; s = function.sites[s].parent) {
    const InlineSite& site = function.sites[s];
    locations.push_back({&module.inlined[site.procedure], span});
    span = site.call;
  }
  locations.push_back({nullptr, span});
  return locations;
}

bool begins_with(const Module& whole, const Module& part) {
#define X(table, Type) &&starts(whole.table, part.table)
  return true CAIRN_MODULE_TABLES(X);
#undef X
}

} // namespace cairn::bytecode
