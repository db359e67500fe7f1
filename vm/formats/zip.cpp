// See zip.h.
#include "vm/formats/zip.h"

#include "ops/meter.h"
#include "vm/formats/format_error.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace cairn::formats {

namespace {

constexpr std::string_view kEnd("PK\5\6", 4), kEnd64("PK\6\6", 4), kLocator64("PK\6\7", 4), kEntry("PK\1\2", 4),
    kLocal("PK\3\4", 4);
constexpr std::size_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF; // the number stands in an extra field
constexpr std::uint16_t kExtra64 = 1, kExtra64Bytes = 16;
constexpr std::uint16_t kStored = 0, kDeflated = 8;
constexpr std::size_t kEntriesBetweenPolls = 1024;

// Numbers from the lowest byte to the highest.
std::uint64_t number(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t n = 0;
  for (int i = count; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return n;
}
std::uint64_t two(std::string_view bytes, std::size_t at) { return number(bytes, at, 2); }
std::uint64_t four(std::string_view bytes, std::size_t at) { return number(bytes, at, 4); }
std::uint64_t eight(std::string_view bytes, std::size_t at) { return number(bytes, at, 8); }

std::string read_string(const ReadAt& read, std::uint64_t from, std::size_t bytes) {
  std::string out(bytes, '\0');
  read(from, out);
  return out;
}

struct Directory {
  std::uint64_t at = 0, bytes = 0, entries = 0;
};

Directory directory_of(const ReadAt& read, std::uint64_t file_bytes) {
  if (file_bytes < kEndBytes) throw FormatError(file_bytes, "is too short for an archive");
  const auto tail_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, kEndBytes + kLongestComment));
  const std::uint64_t tail_at = file_bytes - tail_bytes;
  const std::string tail = read_string(read, tail_at, tail_bytes);
  const std::size_t end = tail.rfind(kEnd, tail.size() - kEndBytes);
  if (end == std::string::npos) throw FormatError(file_bytes, "is no archive of the format ZIP, or it ends too early");
  Directory out{four(tail, end + 16), four(tail, end + 12), two(tail, end + 10)};
  const std::uint64_t end_at = tail_at + end;
  std::uint64_t limit = end_at; // what must lie behind the directory
  if (end_at >= kLocatorBytes) {
    const std::string locator = read_string(read, end_at - kLocatorBytes, kLocatorBytes);
    if (locator.starts_with(kLocator64)) {
      const std::uint64_t at = eight(locator, 8);
      if (at > end_at - kLocatorBytes || end_at - kLocatorBytes - at < kEnd64Bytes)
        throw FormatError(end_at - kLocatorBytes, "names a place for its directory that is not in it");
      const std::string end64 = read_string(read, at, kEnd64Bytes);
      if (!end64.starts_with(kEnd64)) throw FormatError(at, "has no end of its directory where one should be");
      out = {eight(end64, 48), eight(end64, 40), eight(end64, 32)};
      limit = at;
    }
  }
  if (out.at > limit || out.bytes > limit - out.at) throw FormatError(end_at, "has a directory that is not in it");
  if (out.entries > out.bytes / kEntryBytes) throw FormatError(end_at, "has a directory that is too short for its entries");
  return out;
}

// As many as there are may be more than a number has: zeros.
void append(std::string& out, std::uint64_t n, int count) {
  for (int i = 0; i < count; ++i, n >>= 8) out += static_cast<char>(n & 0xFF);
}

} // namespace

std::vector<ZipMember> zip_members(const ReadAt& read, std::uint64_t file_bytes, const std::function<void(std::uint64_t)>& hold) {
  const Directory directory = directory_of(read, file_bytes);
  hold(directory.bytes + 8 * directory.bytes); // the bytes, and what is made of them
  const std::string bytes = read_string(read, directory.at, static_cast<std::size_t>(directory.bytes));
  std::vector<ZipMember> members;
  std::size_t at = 0;
  const auto wrong = [&](const std::string& message) { throw FormatError(directory.at + at, message); };
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (i % kEntriesBetweenPolls == 0) ops::Meter::poll_current();
    if (bytes.size() - at < kEntryBytes || !std::string_view(bytes).substr(at).starts_with(kEntry))
      wrong("has no entry of its directory where one should be");
    const std::size_t name = two(bytes, at + 28), extra = two(bytes, at + 30), comment = two(bytes, at + 32);
    if (bytes.size() - at - kEntryBytes < name + extra + comment) wrong("has an entry that goes beyond its directory");
    ZipMember member;
    member.name = bytes.substr(at + kEntryBytes, name);
    if (!text::is_utf8(member.name)) wrong("has a member whose name is no text in UTF-8");
    member.compressed = four(bytes, at + 20);
    member.size = four(bytes, at + 24);
    member.header = four(bytes, at + 42);
    member.checksum = static_cast<std::uint32_t>(four(bytes, at + 16));
    for (std::size_t e = at + kEntryBytes + name, end = e + extra; end - e >= 4;) {
      const std::size_t length = two(bytes, e + 2), begin = e + 4;
      if (end - begin < length) wrong("has an extra field that is longer than all of them");
      if (two(bytes, e) == kExtra64) {
        std::size_t n = begin;
        for (std::uint64_t* value : {&member.size, &member.compressed, &member.header})
          if (*value == kIn64) {
            if (begin + length - n < 8) wrong("lacks a number of 64 bits");
            *value = eight(bytes, n);
            n += 8;
          }
      }
      e = begin + length;
    }
    const std::uint64_t method = two(bytes, at + 10);
    if ((two(bytes, at + 8) & 1) != 0) wrong("has a member that is encrypted");
    if (method != kStored && method != kDeflated)
      wrong(fmt::format("has a member of compression {}, neither stored nor deflated", method));
    member.deflated = method == kDeflated;
    if (!member.deflated && member.compressed != member.size) wrong("has a stored member of two sizes");
    // Deflate makes less than a byte of 1032 of nothing: a member that promises more lies.
    constexpr std::uint64_t kMostPerByte = 1032;
    if (member.deflated && member.size / kMostPerByte > member.compressed)
      wrong(fmt::format("says that {} bytes are {} when they are inflated, which is impossible", member.compressed, member.size));
    members.push_back(std::move(member));
    at += kEntryBytes + name + extra + comment;
  }
  return members;
}

std::uint64_t zip_content(const ReadAt& read, std::uint64_t file_bytes, const ZipMember& member) {
  if (member.header > file_bytes || file_bytes - member.header < kLocalBytes)
    throw FormatError(file_bytes, "has a member that is not in it");
  const std::string local = read_string(read, member.header, kLocalBytes);
  if (!local.starts_with(kLocal)) throw FormatError(member.header, "has no member where one should be");
  const std::uint64_t at = member.header + kLocalBytes + two(local, 26) + two(local, 28);
  if (at > file_bytes || member.compressed > file_bytes - at)
    throw FormatError(member.header, "has a member that goes beyond its end");
  return at;
}

namespace {

// What a member's own header and its entry in the directory share, from the version on.
void append_shared(std::string& out, const ZipMember& member, std::uint16_t extra) {
  constexpr std::uint16_t kVersion = 45, kUtf8 = 0x800;
  constexpr std::uint32_t kFirstOf1980 = 0x00210000; // the date, so that equal contents make equal files
  append(out, kVersion, 2);
  append(out, kUtf8, 2);
  append(out, member.deflated ? kDeflated : kStored, 2);
  append(out, kFirstOf1980, 4);
  append(out, member.checksum, 4);
  append(out, kIn64, 4);
  append(out, kIn64, 4);
  append(out, member.name.size(), 2);
  append(out, extra, 2);
}

} // namespace

std::string zip_header(const ZipMember& member) {
  std::string out(kLocal);
  append_shared(out, member, kExtra64Bytes + 4);
  out += member.name;
  append(out, kExtra64, 2);
  append(out, kExtra64Bytes, 2);
  append(out, member.size, 8);
  append(out, member.compressed, 8);
  return out;
}

std::string zip_directory(std::span<const ZipMember> members, std::uint64_t at) {
  constexpr std::uint16_t kVersion = 45, kExtraBytes = kExtra64Bytes + 8;
  std::string out;
  for (const ZipMember& member : members) {
    out += kEntry;
    append(out, kVersion, 2);
    append_shared(out, member, kExtraBytes + 4);
    append(out, 0, 2 + 2 + 2 + 4); // comment, disk, attributes
    append(out, kIn64, 4);
    out += member.name;
    append(out, kExtra64, 2);
    append(out, kExtraBytes, 2);
    append(out, member.size, 8);
    append(out, member.compressed, 8);
    append(out, member.header, 8);
  }
  const std::uint64_t bytes = out.size(), end64 = at + bytes;
  out += kEnd64;
  append(out, kEnd64Bytes - 12, 8);
  append(out, kVersion, 2);
  append(out, kVersion, 2);
  append(out, 0, 4 + 4);
  append(out, members.size(), 8);
  append(out, members.size(), 8);
  append(out, bytes, 8);
  append(out, at, 8);
  out += kLocator64;
  append(out, 0, 4);
  append(out, end64, 8);
  append(out, 1, 4);
  out += kEnd;
  append(out, 0, 4);
  append(out, 0xFFFF, 2);
  append(out, 0xFFFF, 2);
  append(out, kIn64, 4);
  append(out, kIn64, 4);
  append(out, 0, 2);
  return out;
}

} // namespace cairn::formats
