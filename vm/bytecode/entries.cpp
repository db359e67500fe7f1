// Each kind of entry, written and read in one place.
#include "vm/bytecode/entries.h"

#include <bit>
#include <cstring>

namespace cairn::bytecode {

namespace {

enum FunctionFlag : std::uint16_t { kRest = 1, kNeedsClosure = 2, kLibrary = 4, kAllFlags = 7 };

// Most locations are near the one before, so numbers are differences.
void write_difference(ByteWriter& out, std::uint32_t from, std::uint32_t to) {
  out.varint(zigzag(std::int64_t{to} - std::int64_t{from}));
}
std::uint32_t read_difference(ByteReader& in, std::uint32_t from) {
  std::uint64_t difference = in.varint();
  constexpr std::uint64_t kLargest = zigzag(std::int64_t{UINT32_MAX});
  std::int64_t to = difference > kLargest ? -1 : std::int64_t{from} + unzigzag(difference);
  if (to < 0 || to > UINT32_MAX) throw Malformed("a place in the source is out of range");
  return static_cast<std::uint32_t>(to);
}
void write_span(ByteWriter& out, const Span& s, std::uint32_t& before) {
  write_difference(out, 0, s.file);
  write_difference(out, before, s.begin);
  write_difference(out, s.begin, s.end);
  before = s.begin;
}
Span read_span(ByteReader& in, std::uint32_t& before) {
  Span s;
  s.file = read_difference(in, 0);
  s.begin = before = read_difference(in, before);
  s.end = read_difference(in, s.begin);
  return s;
}
// Of a site: none is 0, so that what is not copied is short.
void write_site(ByteWriter& out, std::uint32_t site) { out.varint(site == kNoSite ? 0 : std::uint64_t{site} + 1); }
std::uint32_t read_site(ByteReader& in) {
  std::uint64_t site = in.varint();
  if (site > UINT32_MAX) throw Malformed("a place in the source is out of range");
  return site == 0 ? kNoSite : static_cast<std::uint32_t>(site - 1);
}
constexpr std::size_t kLeastPlaceBytes = 5;

} // namespace

void write_entry(ByteWriter& out, const Constant& c) {
  out.u32(static_cast<std::uint32_t>(c.kind));
  switch (c.kind) {
  case Constant::Kind::null:
    break;
  case Constant::Kind::flonum:
    out.u64(std::bit_cast<std::uint64_t>(c.flonum));
    break;
  case Constant::Kind::string:
  case Constant::Kind::symbol:
    out.text(c.text);
    break;
  case Constant::Kind::pair:
  case Constant::Kind::vector:
    out.u32(static_cast<std::uint32_t>(c.parts.size()));
    for (std::uint32_t part : c.parts) out.u32(part);
    break;
  default:
    out.u64(static_cast<std::uint64_t>(c.integer));
  }
}
Constant read_constant(ByteReader& in) {
  Constant c;
  std::uint32_t kind = in.u32();
  if (kind > static_cast<std::uint32_t>(Constant::Kind::run_operator)) throw Malformed("a constant is of no known kind");
  c.kind = static_cast<Constant::Kind>(kind);
  switch (c.kind) {
  case Constant::Kind::null:
    break;
  case Constant::Kind::flonum:
    c.flonum = std::bit_cast<double>(in.u64());
    break;
  case Constant::Kind::string:
  case Constant::Kind::symbol:
    c.text = in.text();
    break;
  case Constant::Kind::pair:
  case Constant::Kind::vector:
    c.parts.resize(in.count(4));
    for (std::uint32_t& part : c.parts) part = in.u32();
    break;
  default:
    c.integer = static_cast<std::int64_t>(in.u64());
  }
  return c;
}

void write_function(ByteWriter& out, const Function& f) {
  out.u16(f.parameters);
  out.u16(f.slots);
  out.u16(static_cast<std::uint16_t>((f.rest ? kRest : 0) | (f.needs_closure ? kNeedsClosure : 0) | (f.library ? kLibrary : 0)));
  out.u16(0);
  out.u32(static_cast<std::uint32_t>(f.code.size()));
  for (Word w : f.code) out.u64(w);
}
Function read_function(ByteReader& in) {
  Function f;
  f.parameters = in.u16();
  f.slots = in.u16();
  std::uint16_t flags = in.u16();
  if (flags > kAllFlags || in.u16() != 0) throw Malformed("a function has unknown properties");
  f.rest = (flags & kRest) != 0;
  f.needs_closure = (flags & kNeedsClosure) != 0;
  f.library = (flags & kLibrary) != 0;
  f.code.resize(in.count(sizeof(Word)));
  auto words = in.take(f.code.size() * sizeof(Word));
  if (!words.empty()) std::memcpy(f.code.data(), words.data(), words.size());
  return f;
}

void write_entry(ByteWriter& out, const Global& g) {
  out.text(g.name);
  out.u8(g.library ? 1 : 0);
}
Global read_global(ByteReader& in) {
  Global g;
  g.name = in.text();
  std::uint8_t library = in.u8();
  if (library > 1) throw Malformed("a global has unknown properties");
  g.library = library == 1;
  return g;
}

void write_entry(ByteWriter& out, const Import& i) {
  out.text(i.name);
  out.u16(i.parameters);
}
Import read_import(ByteReader& in) {
  Import i;
  i.name = in.text();
  i.parameters = in.u16();
  return i;
}

void write_entry(ByteWriter& out, const Group& g) {
  out.u32(g.captures);
  out.u32(static_cast<std::uint32_t>(g.functions.size()));
  for (std::uint32_t f : g.functions) out.u32(f);
}
Group read_group(ByteReader& in) {
  Group g;
  std::uint32_t captures = in.u32();
  if (captures > 0xFFFF) throw Malformed("a closure group captures too much");
  g.captures = static_cast<std::uint16_t>(captures);
  g.functions.resize(in.count(4));
  for (std::uint32_t& f : g.functions) f = in.u32();
  return g;
}

void write_locations(ByteWriter& out, const Function& f) {
  std::uint32_t text = 0, pc = 0;
  write_span(out, f.span, text);
  out.u32(static_cast<std::uint32_t>(f.sites.size()));
  for (const InlineSite& s : f.sites) {
    write_difference(out, 0, s.procedure);
    write_span(out, s.call, text);
    write_site(out, s.parent);
  }
  out.u32(static_cast<std::uint32_t>(f.spans.size()));
  for (const PcSpan& s : f.spans) {
    write_difference(out, pc, s.pc);
    write_span(out, s.span, text);
    write_site(out, s.site);
    pc = s.pc;
  }
}
void read_locations(ByteReader& in, Function& f) {
  std::uint32_t text = 0, pc = 0;
  f.span = read_span(in, text);
  f.sites.resize(in.count(kLeastPlaceBytes));
  for (InlineSite& s : f.sites) {
    s.procedure = read_difference(in, 0);
    s.call = read_span(in, text);
    s.parent = read_site(in);
  }
  f.spans.resize(in.count(kLeastPlaceBytes));
  for (PcSpan& s : f.spans) {
    s.pc = pc = read_difference(in, pc);
    s.span = read_span(in, text);
    s.site = read_site(in);
  }
}

void write_entry(ByteWriter& out, const InlinedProcedure& p) {
  out.text(p.name);
  out.u8(p.library ? 1 : 0);
}
InlinedProcedure read_inlined(ByteReader& in) {
  InlinedProcedure p;
  p.name = in.text();
  std::uint8_t library = in.u8();
  if (library > 1) throw Malformed("a copied procedure has unknown properties");
  p.library = library == 1;
  return p;
}

void write_entry(ByteWriter& out, const Source& s) {
  out.text(s.name);
  out.text(s.text);
}
Source read_source(ByteReader& in) {
  Source s;
  s.name = in.text();
  s.text = in.text();
  return s;
}

void write_base(ByteWriter& out, const Base& b) {
#define X(table, Type) out.u32(b.ends.table);
  CAIRN_MODULE_TABLES(X)
#undef X
  out.u64(b.digest);
}
Base read_base(ByteReader& in) {
  Base b;
#define X(table, Type) b.ends.table = in.u32();
  CAIRN_MODULE_TABLES(X)
#undef X
  b.digest = in.u64();
  return b;
}

} // namespace cairn::bytecode
