// Modules as bytes. The writer lays the sections out one after the other; the reader accepts exactly that layout, so nothing
// overlaps, nothing is left over, and each module has one file.
#include "vm/bytecode/file.h"

#include "vm/bytecode/entries.h"
#include "vm/bytecode/reseal.h"
#include "vm/bytecode/tensors.h"

#include <algorithm>
#include <array>
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
enum Section : unsigned { kConstants, kGlobals, kGroups, kFunctions, kNames, kSpans, kSources, kBase };
constexpr unsigned sections_of(bool extension) { return extension ? kBase + 1 : kBase; }
constexpr std::size_t end_of_table(bool extension) { return 72 + 16 * sections_of(extension); }

// Changes with every change to the four tables, so that bytecode for another instruction set is refused with a clear message.
std::uint64_t hash_of_tables() {
  std::uint64_t hash = 0xCBF29CE484222325; // FNV-1a
  auto mix = [&hash](std::string_view text, std::uint64_t number = 0) {
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    hash = (hash ^ (number + 256)) * 0x100000001B3;
  };
  for (const OpcodeInfo& o : kOpcodes) mix(o.name), mix(o.roles);
  for (const PrimitiveInfo& p : kPrimitives) mix(p.name, p.least), mix({}, p.most);
  for (const TensorInfo& t : tensor_operators()) mix(t.name, t.least), mix({}, t.most);
  for (const RunOperatorInfo& r : kRunOperators) mix(r.name, r.parameters);
  return hash;
}
std::uint64_t instruction_set() {
  static const std::uint64_t hash = hash_of_tables();
  return hash;
}

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

bool is_stripped(const Module& m) {
  return std::all_of(m.sources.begin(), m.sources.end(), [](const Source& s) { return s.text.empty(); }) &&
         std::all_of(m.functions.begin(), m.functions.end(),
                     [](const Function& f) { return f.spans.empty() && f.sites.empty() && f.span == Span{}; }) &&
         m.inlined.empty();
}

void write_section(ByteWriter& out, const Module& m, unsigned section) {
  auto size = [&out](const auto& table) { out.u32(static_cast<std::uint32_t>(table.size())); };
  switch (section) {
  case kConstants:
    size(m.constants);
    for (const Constant& c : m.constants) write_entry(out, c);
    break;
  case kGlobals:
    size(m.globals);
    for (const Global& g : m.globals) write_entry(out, g);
    size(m.imports);
    for (const Import& i : m.imports) write_entry(out, i);
    break;
  case kGroups:
    size(m.groups);
    for (const Group& g : m.groups) write_entry(out, g);
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
    size(m.inlined);
    for (const InlinedProcedure& p : m.inlined) write_entry(out, p);
    for (const Function& f : m.functions) write_locations(out, f);
    break;
  case kSources:
    size(m.sources);
    for (const Source& s : m.sources) write_entry(out, s);
    break;
  default:
    write_base(out, m.base);
  }
}

// Functions come before their names and locations.
void read_section(ByteReader in, Module& m, unsigned section, bool stripped) {
  switch (section) {
  case kConstants:
    m.constants.resize(in.count(4));
    for (Constant& c : m.constants) c = read_constant(in);
    break;
  case kGlobals:
    m.globals.resize(in.count(5));
    for (Global& g : m.globals) g = read_global(in);
    m.imports.resize(in.count(6));
    for (Import& i : m.imports) i = read_import(in);
    break;
  case kGroups:
    m.groups.resize(in.count(8));
    for (Group& g : m.groups) g = read_group(in);
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
    m.inlined.resize(in.count(5));
    for (InlinedProcedure& p : m.inlined) p = read_inlined(in);
    for (Function& f : m.functions) read_locations(in, f);
    break;
  case kSources:
    m.sources.resize(in.count(8));
    for (Source& s : m.sources) s = read_source(in);
    break;
  default:
    m.base = read_base(in);
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
  const bool extension = (flags & kExtension) != 0;
  Module m;
  std::uint64_t expected = end_of_table(extension);
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
  if (is_stripped(m) != ((flags & kStripped) != 0) || m.is_extension() != extension)
    throw Malformed("the module has unknown properties");
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
  out.bytes.resize(end_of_table(module.is_extension()));
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

bool looks_like_module(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

void strip(Module& module) {
  for (Source& source : module.sources) source.text.clear();
  module.inlined.clear();
  for (Function& f : module.functions) {
    f.spans.clear();
    f.sites.clear();
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
