// Modules as bytes. The writer lays the sections out one after the other; the reader accepts exactly that layout, so nothing
// overlaps, nothing is left over, and each module has one file.
#include "vm/bytecode/file.h"

#include "vm/bytecode/bytes.h"
#include "vm/bytecode/reseal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::bytecode {

namespace {

// 0 magic | 8 format u32, flags u32 | 16 length u64 | 24 checksum u64 of all that follows | 32 producer, 32 bytes
// 64 instruction set u64 | 72 section table: offset u64, size u64 each | sections, each at a multiple of 8
constexpr std::array<char, 8> kMagic = {'\x89', 'C', 'A', 'I', 'R', 'N', '\r', '\n'};
constexpr std::size_t kLengthAt = 16, kChecksumAt = 24, kHeaderBytes = 32, kProducerBytes = 32;
constexpr std::uint32_t kStripped = 1, kExtension = 2;

// Only an extension has the last one.
enum Section : unsigned { kConstants, kGlobals, kGroups, kFunctions, kNames, kSpans, kSources, kAfter };
unsigned sections_of(bool extension) { return extension ? kAfter + 1 : kAfter; }
std::size_t sections_end(bool extension) { return 72 + 16 * sections_of(extension); }

enum FunctionFlag : std::uint16_t { kRest = 1, kNeedsClosure = 2, kLibrary = 4, kAllFlags = 7 };

// Changes with every change to the four tables, so that bytecode for another instruction set is refused with a clear message.
constexpr std::uint64_t instruction_set() {
  std::uint64_t hash = 0xCBF29CE484222325; // FNV-1a
  auto mix = [&hash](std::string_view text, std::uint64_t number = 0) {
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    hash = (hash ^ (number + 256)) * 0x100000001B3;
  };
  for (const OpcodeInfo& o : kOpcodes) mix(o.name), mix(o.roles);
  for (const PrimitiveInfo& p : kPrimitives) mix(p.name, p.least), mix({}, p.most);
  for (const TensorInfo& t : kTensorOperators) mix(t.name, t.least), mix({}, t.most);
  for (const RunOperatorInfo& r : kRunOperators) mix(r.name, r.parameters);
  return hash;
}

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

bool is_stripped(const Module& m) {
  return std::all_of(m.sources.begin(), m.sources.end(), [](const Source& s) { return s.text.empty(); }) &&
         std::all_of(m.functions.begin(), m.functions.end(),
                     [](const Function& f) { return f.spans.empty() && f.span == Span{}; });
}

// --- constants
void write_constant(ByteWriter& out, const Constant& c) {
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

// --- functions, without names and places
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

void write_span(ByteWriter& out, const Span& s) {
  out.u32(s.file);
  out.u32(s.begin);
  out.u32(s.end);
}
Span read_span(ByteReader& in) {
  Span s;
  s.file = in.u32();
  s.begin = in.u32();
  s.end = in.u32();
  return s;
}

void write_global(ByteWriter& out, const Global& g) {
  out.text(g.name);
  out.u8(g.library ? 1 : 0);
}
void write_import(ByteWriter& out, const Import& i) {
  out.text(i.name);
  out.u16(i.parameters);
}
void write_group(ByteWriter& out, const Group& g) {
  out.u32(g.captures);
  out.u32(static_cast<std::uint32_t>(g.functions.size()));
  for (std::uint32_t f : g.functions) out.u32(f);
}
void write_places(ByteWriter& out, const Function& f) {
  write_span(out, f.span);
  out.u32(static_cast<std::uint32_t>(f.spans.size()));
  for (const PcSpan& s : f.spans) {
    out.u32(s.pc);
    write_span(out, s.span);
  }
}
void write_source(ByteWriter& out, const Source& s) {
  out.text(s.name);
  out.text(s.text);
}

void write_section(ByteWriter& out, const Module& m, unsigned section) {
  auto size = [&out](const auto& table) { out.u32(static_cast<std::uint32_t>(table.size())); };
  switch (section) {
  case kConstants:
    size(m.constants);
    for (const Constant& c : m.constants) write_constant(out, c);
    break;
  case kGlobals:
    size(m.globals);
    for (const Global& g : m.globals) write_global(out, g);
    size(m.imports);
    for (const Import& i : m.imports) write_import(out, i);
    break;
  case kGroups:
    size(m.groups);
    for (const Group& g : m.groups) write_group(out, g);
    break;
  case kFunctions:
    out.u32(m.entry);
    size(m.functions);
    for (const Function& f : m.functions) write_function(out, f);
    break;
  case kNames:
    for (const Function& f : m.functions) out.text(f.name);
    break;
  case kSpans:
    if (is_stripped(m)) break;
    for (const Function& f : m.functions) write_places(out, f);
    break;
  case kSources:
    size(m.sources);
    for (const Source& s : m.sources) write_source(out, s);
    break;
  default:
    for (std::uint32_t count : m.after.counts) out.u32(count);
    for (std::uint64_t digest : m.after.digests) out.u64(digest);
  }
}

// Functions come before their names and places.
void read_section(ByteReader in, Module& m, unsigned section, bool stripped) {
  switch (section) {
  case kConstants:
    m.constants.resize(in.count(4));
    for (Constant& c : m.constants) c = read_constant(in);
    break;
  case kGlobals:
    m.globals.resize(in.count(5));
    for (Global& g : m.globals) {
      g.name = in.text();
      std::uint8_t library = in.u8();
      if (library > 1) throw Malformed("a global has unknown properties");
      g.library = library == 1;
    }
    m.imports.resize(in.count(6));
    for (Import& i : m.imports) {
      i.name = in.text();
      i.parameters = in.u16();
    }
    break;
  case kGroups:
    m.groups.resize(in.count(8));
    for (Group& g : m.groups) {
      std::uint32_t captures = in.u32();
      if (captures > 0xFFFF) throw Malformed("a closure group captures too much");
      g.captures = static_cast<std::uint16_t>(captures);
      g.functions.resize(in.count(4));
      for (std::uint32_t& f : g.functions) f = in.u32();
    }
    break;
  case kFunctions:
    m.entry = in.u32();
    m.functions.resize(in.count(12));
    for (Function& f : m.functions) f = read_function(in);
    break;
  case kNames:
    for (Function& f : m.functions) f.name = in.text();
    break;
  case kSpans:
    if (stripped) break;
    for (Function& f : m.functions) {
      f.span = read_span(in);
      f.spans.resize(in.count(16));
      for (PcSpan& s : f.spans) {
        s.pc = in.u32();
        s.span = read_span(in);
      }
    }
    break;
  case kSources:
    m.sources.resize(in.count(8));
    for (Source& s : m.sources) {
      s.name = in.text();
      s.text = in.text();
    }
    break;
  default:
    for (std::uint32_t& count : m.after.counts) count = in.u32();
    for (std::uint64_t& digest : m.after.digests) digest = in.u64();
  }
  in.want_end();
}

// What the file says about its origin, fit to be shown.
std::string producer_of(std::span<const std::byte> bytes) {
  std::string name;
  if (bytes.size() < kHeaderBytes + kProducerBytes) return "an unknown program";
  for (std::size_t i = 0; i < kProducerBytes; ++i) {
    auto c = static_cast<char>(bytes[kHeaderBytes + i]);
    if (c == 0) break;
    name += c >= ' ' && c <= '~' ? c : '?';
  }
  return name.empty() ? "an unknown program" : name;
}

Module parse(std::span<const std::byte> bytes) {
  if (!looks_like_module(bytes)) throw Malformed("this is not a Cairn module");
  ByteReader in(bytes);
  in.take(kMagic.size());
  std::uint32_t format = in.u32(), flags = in.u32();
  if (format != kModuleFormat)
    throw Malformed(fmt::format("this module has format {}, made by {}; {} reads format {}: compile the source again with vmc",
                                format, producer_of(bytes), kProducer, kModuleFormat));
  std::uint64_t length = in.u64(), sum = in.u64();
  if (length > bytes.size()) throw Malformed(fmt::format("the module is cut off: {} of {} bytes", bytes.size(), length));
  if (length < bytes.size()) throw Malformed("the module is followed by other bytes");
  if (sum != checksum(bytes.subspan(kHeaderBytes))) throw Malformed("the module is damaged: its checksum is wrong");
  in.take(kProducerBytes);
  if (in.u64() != instruction_set())
    throw Malformed(fmt::format("this module was made by {} for another instruction set: compile the source again with vmc",
                                producer_of(bytes)));
  if ((flags & ~(kStripped | kExtension)) != 0) throw Malformed("the module has unknown properties");
  Module m;
  const bool extension = (flags & kExtension) != 0;
  std::uint64_t expected = sections_end(extension);
  for (unsigned section = 0; section < sections_of(extension); ++section) {
    std::uint64_t offset = in.u64(), size = in.u64();
    if (offset != expected || offset > length || size > length - offset)
      throw Malformed("the sections of the module are out of place");
    read_section(ByteReader(bytes.subspan(offset, size)), m, section, (flags & kStripped) != 0);
    std::uint64_t end = offset + size;
    expected = std::min((end + 7) / 8 * 8, length);
    if (!std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.begin() + static_cast<std::ptrdiff_t>(expected),
                     [](std::byte b) { return b == std::byte{0}; }))
      throw Malformed("the sections of the module are out of place");
  }
  if (expected != length || length % 8 != 0) throw Malformed("the sections of the module are out of place");
  if (is_stripped(m) != ((flags & kStripped) != 0) || m.is_extension() != extension) throw Malformed("the module has unknown properties");
  return m;
}

} // namespace

std::vector<std::byte> write_module(const Module& module) {
  ByteWriter out;
  out.raw(kMagic.data(), kMagic.size());
  out.u32(kModuleFormat);
  out.u32((is_stripped(module) ? kStripped : 0) | (module.is_extension() ? kExtension : 0));
  out.u64(0);
  out.u64(0);
  out.raw(kProducer.data(), kProducer.size());
  out.bytes.resize(kHeaderBytes + kProducerBytes);
  out.u64(instruction_set());
  std::size_t table = out.bytes.size();
  out.bytes.resize(sections_end(module.is_extension()));
  for (unsigned section = 0; section < sections_of(module.is_extension()); ++section) {
    std::size_t begin = out.bytes.size();
    write_section(out, module, section);
    out.set_u64(table + 16 * section, begin);
    out.set_u64(table + 16 * section + 8, out.bytes.size() - begin);
    out.align8();
  }
  out.set_u64(kLengthAt, out.bytes.size());
  out.set_u64(kChecksumAt, checksum(std::span(out.bytes).subspan(kHeaderBytes)));
  return std::move(out.bytes);
}

bool read_module(std::span<const std::byte> bytes, Module& module, std::string& error) {
  try {
    module = parse(bytes);
    return true;
  } catch (const Malformed& malformed) {
    error = malformed.what();
    return false;
  }
}

void advance(Beginning& b, const Module& module) {
  auto pass = [&](Beginning::Table table, const auto& entries, auto write) {
    for (std::size_t i = b.counts[table] - module.after.counts[table]; i < entries.size(); ++i) {
      ByteWriter bytes;
      write(bytes, entries[i]);
      b.digests[table] = XXH3_64bits_withSeed(bytes.bytes.data(), bytes.bytes.size(), b.digests[table]);
      ++b.counts[table];
    }
  };
  pass(Beginning::kConstants, module.constants, write_constant);
  pass(Beginning::kGlobals, module.globals, write_global);
  pass(Beginning::kImports, module.imports, write_import);
  pass(Beginning::kGroups, module.groups, write_group);
  pass(Beginning::kFunctions, module.functions, [](ByteWriter& out, const Function& f) {
    write_function(out, f);
    out.text(f.name);
    write_places(out, f);
  });
  pass(Beginning::kSources, module.sources, write_source);
}

std::size_t size_about(const Module& m) {
  std::size_t bytes = 1000 + 16 * m.constants.size() + 16 * m.globals.size() + 16 * m.groups.size();
  for (const Constant& c : m.constants) bytes += c.text.size() + 4 * c.parts.size();
  for (const Global& g : m.globals) bytes += g.name.size();
  for (const Group& g : m.groups) bytes += 4 * g.functions.size();
  for (const Function& f : m.functions) bytes += 64 + f.name.size() + 8 * f.code.size() + 16 * f.spans.size();
  for (const Source& s : m.sources) bytes += 16 + s.name.size() + s.text.size();
  return bytes;
}

bool looks_like_module(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

void strip(Module& module) {
  for (Source& source : module.sources) source.text.clear();
  for (Function& f : module.functions) {
    f.spans.clear();
    f.span = {};
  }
}

bool reseal(std::span<std::byte> file, std::string& error) {
  if (!looks_like_module(file)) {
    error = "this is no Cairn file";
    return false;
  }
  if (file.size() < kHeaderBytes) {
    error = "the module is too short for a checksum";
    return false;
  }
  set_u64(file, kChecksumAt, checksum(file.subspan(kHeaderBytes)));
  return true;
}

} // namespace cairn::bytecode
