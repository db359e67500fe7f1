// See files.h.
#include "vm/machine/files.h"

#include "vm/machine/shown_path.h"
#include "vm/print/environment.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::machine {

using print::ProgramError;

std::string shown_path(std::string_view path) {
  constexpr std::size_t kMost = 200;
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    if (out.size() > kMost) return out + "...";
    const std::uint32_t c = text::next_code_point(path, at);
    text::append_code_point(out, c == text::kMalformed || text::is_control(c) ? 0xFFFD : c);
  }
  return out.empty() ? "\"\"" : out;
}

namespace {

std::string reason(const files::Opened& opened, const char* right, std::string_view path) {
  if (opened.fault == EXDEV)
    return fmt::format("a link leads out of what was granted; name the file that it leads to, granted with --{}=PATH", right);
  if (const std::size_t slash = path.rfind('/'); opened.fault == ENOENT && *right == 'w' && slash != std::string_view::npos) {
    const std::string folder = shown_path(path.substr(0, slash));
    return fmt::format("the folder {0} is not there; make it first (mkdir -p {0})", folder);
  }
  if (opened.fault != 0)
    return fmt::format("cannot be opened: {}{}", std::strerror(opened.fault),
                       opened.fault == ENOENT && !path.starts_with('/')
                           ? "; what is not absolute is named as seen from the current folder, not from the program's"
                           : "");
  return fmt::format("may not be {}; vmrun grants the current folder, and others with --{}=PATH (a host: cairn_vm_grant)",
                     *right == 'r' ? "read" : "written", right);
}

[[noreturn]] void refuse_file(std::string_view who, std::string_view path, const std::string& message) {
  throw print::WorldError(fmt::format("{}: {}: {}", who, shown_path(path), message));
}

// In normal form.
std::string checked_path(std::string_view who, std::string_view path) {
  if (path.size() >= PATH_MAX) refuse_file(who, path, "is no path that any system has: it is too long");
  if (path.empty() || path.find('\0') != std::string_view::npos) refuse_file(who, path, "is no path");
  return files::normal(path);
}

[[noreturn]] void refuse_changed(std::string_view who, std::string_view path) {
  refuse_file(who, path, "has changed since this program read it");
}

// Compares the checksums of so many pages with those that are known of them, or notes them: `sum` gives each, in order. False:
// they differ.
template <class Sum> bool fits(Files::Seen& seen, std::uint64_t page, std::uint64_t count, Sum&& sum) {
  auto block = seen.blocks.end();
  for (; count != 0; ++page, --count) {
    const std::uint64_t found = sum(), place = page % Files::kPages;
    if (block == seen.blocks.end() || place == 0) block = seen.blocks.try_emplace(page / Files::kPages).first;
    Files::Sums& sums = block->second;
    if ((sums.known >> place & 1) == 0)
      sums.sums[place] = found;
    else if (sums.sums[place] != found)
      return false;
    sums.known = static_cast<std::uint16_t>(sums.known | 1u << place);
  }
  return true;
}

// The checksum of each page of these bytes, one after the other.
auto sums_of(std::span<const std::byte> bytes) {
  return [bytes]() mutable {
    const auto whole = bytes.first(std::min<std::size_t>(Files::kPage, bytes.size()));
    bytes = bytes.subspan(whole.size());
    return XXH3_64bits(whole.data(), whole.size());
  };
}

} // namespace

Files::Reading::Reading(Files& files, std::string_view who, std::string_view path, bool replayed)
    : files_(files), who_(who), path_(checked_path(who, path)), opened_(files.grants.to_read(path_)) {
  if (!opened_.descriptor) complain(reason(opened_, "read", path));
  struct stat facts {};
  if (fstat(opened_.descriptor->number(), &facts) != 0) complain(std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) complain("is a folder, not a file");
  if (!S_ISREG(facts.st_mode)) complain("is a pipe or a device; only regular files can be read again");
  version_.emplace(facts);
  size_ = static_cast<std::uint64_t>(facts.st_size);
  walk_ = files::PageWalk(size_);
  files_.looked_at(who_, path_, size_, replayed);
}

void Files::Reading::complain(const std::string& message) const { refuse_file(who_, path_, message); }

void Files::Reading::changed() const { refuse_changed(who_, path_); }

void Files::Reading::take(std::uint64_t from, std::byte* to, std::size_t size) const {
  while (size != 0) {
    const ssize_t got = pread(opened_.descriptor->number(), to, size, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) complain(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) changed(); // it is shorter now
    from += static_cast<std::uint64_t>(got);
    to += got;
    size -= static_cast<std::size_t>(got);
  }
}

template <class Sum> void Files::Reading::check(std::uint64_t page, std::uint64_t count, Sum&& sum) {
  if (!fits(files_.entry(path_, size_), page, count, sum)) changed();
}

void Files::Reading::check(std::uint64_t page, std::span<const std::byte> bytes) {
  check(page, files::pages_of(bytes.size()), sums_of(bytes));
}

void Files::Reading::hold(std::uint64_t page, std::size_t size, std::size_t more) {
  ops::Meter::spend_current(more); // what is wanted itself was counted by who asked
  take(page * kPage, page_.data(), size);
  check(page, std::span(page_).first(size));
}

void Files::Reading::part(std::span<std::byte> to, std::size_t from) const {
  std::memcpy(to.data(), page_.data() + from, to.size());
}

void Files::Reading::pages(std::uint64_t first, std::span<std::byte> to) {
  take(first * kPage, to.data(), to.size());
  check(first, to);
}

struct Files::Reading::Confirming {
  void goes_on() const { reading.goes_on(); }
  void hold(std::uint64_t page, std::size_t /*size*/, std::size_t more) {
    ops::Meter::spend_current(more);
    check(page, 1);
  }
  void part(std::span<std::byte> /*to*/, std::size_t /*from*/) const {}
  void pages(std::uint64_t first, std::span<std::byte> to) { check(first, files::pages_of(to.size())); }
  void check(std::uint64_t page, std::uint64_t count) {
    reading.check(page, count, [&] {
      const std::uint64_t sum = sums.front();
      sums = sums.subspan(1);
      return sum;
    });
  }
  Reading& reading;
  std::span<const std::uint64_t>& sums;
};

void Files::Reading::confirm(std::uint64_t from, std::span<std::byte> bytes, std::span<const std::uint64_t>& sums) {
  Confirming source{*this, sums};
  walk_.read(source, from, bytes);
}

Files::Target Files::target(std::string_view who, std::string_view path) const {
  constexpr mode_t kPermissions = 0777;
  Target out;
  out.path = checked_path(who, path);
  out.folder = grants.to_write(out.path, out.name);
  if (!out.folder.descriptor) refuse_file(who, out.path, reason(out.folder, "write", path));
  if (const std::string* holder = reserved.holder(out.number(), out.name.c_str()))
    refuse_file(who, out.path, fmt::format("is the file of {}, which the host writes itself; write another one", *holder));
  struct stat old {};
  if (fstatat(out.number(), out.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) return out;
  if (!S_ISREG(old.st_mode)) refuse_file(who, out.path, "is a link, a folder or a device; only regular files are written");
  out.mode = static_cast<int>(old.st_mode & kPermissions);
  return out;
}

void Files::replaced(std::string_view who, const Target& target) {
  written(target.path);
  if (target.mode < 0) { // its folder has a name more
    const std::size_t slash = target.path.rfind('/');
    written(slash == std::string::npos ? std::string_view(".")
                                       : std::string_view(target.path).substr(0, std::max<std::size_t>(slash, 1)));
  }
  files::FileCalls calls;
  if (!files::sync(calls, target.number()) && errno != EINVAL &&
      errno != ENOTSUP) // some file systems do not sync folders; they say so
    refuse_file(who, target.path, "is written, but its folder cannot be synced: after a crash the old file may be back");
}

namespace {

[[noreturn]] void refuse_unwritten(std::string_view who, std::string_view path, bool exists) {
  const int why = errno;
  refuse_file(who, path, fmt::format("cannot be written{}: {}", exists ? ", the old file stays" : "", std::strerror(why)));
}

std::string name_of_parts(std::string_view target, std::uint64_t number) { return files::unfinished_name(target, number, 0); }

} // namespace

void Files::replace(std::string_view who, std::string_view path, const files::Content& content) {
  const Target to = target(who, path);
  files::FileCalls calls;
  if (!files::replace(to.number(), to.name, to.mode, content, calls)) refuse_unwritten(who, to.path, to.mode >= 0);
  replaced(who, to);
}

std::uint64_t Files::begin_parts(const Parts& parts, std::span<const std::byte> head) {
  constexpr int kBits = 46; // a program's integers have 48
  const Target to = target(parts.who, parts.path);
  // What is written is given as an array that is read. Whether it may be is known before anything is computed.
  if (const files::Opened there = grants.to_read(to.path); !there.descriptor && there.fault == 0)
    refuse_file(parts.who, to.path, reason(there, "read", parts.path));
  std::uint64_t number = 0;
  if (getentropy(&number, sizeof number) != 0) refuse_unwritten(parts.who, to.path, to.mode >= 0);
  number >>= 64 - kBits;
  value::Heap& heap = unfinished_.get_allocator().heap();
  const auto entry = unfinished_.try_emplace(number, Text(to.path, heap), parts.bytes).first;
  files::FileCalls calls;
  if (!files::begin_parts(to.number(), name_of_parts(to.name, number), head, parts.bytes, calls)) {
    const int why = errno;
    unfinished_.erase(entry);
    errno = why;
    refuse_unwritten(parts.who, to.path, to.mode >= 0);
  }
  return number;
}

bool Files::is_there(const Parts& parts, const Target& target, std::uint64_t number, files::Part part) {
  if (part == files::Part::failed) refuse_unwritten(parts.who, target.path, target.mode >= 0);
  if (part == files::Part::gone) unfinished_.erase(number);
  return part == files::Part::written;
}

bool Files::put_part(const Parts& parts, std::uint64_t number, const files::Content& content) {
  const Target to = target(parts.who, parts.path);
  if (!unfinished_.contains(number)) // of a saved state
    unfinished_.try_emplace(number, Text(to.path, unfinished_.get_allocator().heap()), parts.bytes);
  files::FileCalls calls;
  return is_there(parts, to, number, files::put_part(to.number(), name_of_parts(to.name, number), parts.bytes, content, calls));
}

bool Files::finish_parts(const Parts& parts, std::uint64_t number) {
  const Target to = target(parts.who, parts.path);
  files::FileCalls calls;
  const std::string name = name_of_parts(to.name, number);
  if (!is_there(parts, to, number, files::finish_parts(to.number(), name, parts.bytes, to.name, to.mode, calls))) return false;
  unfinished_.erase(number);
  replaced(parts.who, to);
  return true;
}

void Files::keep_unfinished() const {
  for (const auto& [number, file] : unfinished_) {
    std::string name;
    const files::Opened folder = grants.to_write(file.path, name);
    files::FileCalls calls;
    file.kept = folder.descriptor && files::sync_parts(folder.descriptor->number(), name_of_parts(name, number), file.bytes,
                                                       calls) == files::Part::written;
  }
}

void Files::drop_unfinished() {
  for (const auto& [number, file] : unfinished_) {
    std::string name;
    files::FileCalls calls;
    if (file.kept) continue;
    if (const files::Opened folder = grants.to_write(file.path, name); folder.descriptor)
      calls.remove(folder.descriptor->number(), name_of_parts(name, number).c_str());
  }
  unfinished_.clear();
}

void Files::written(std::string_view path) {
  if (auto found = seen_.find(path); found != seen_.end()) found->second.written = Written::since;
}

files::Opened Files::open_folder(std::string_view who, std::string& path) {
  path = checked_path(who, path);
  files::Opened opened = grants.to_list(path);
  if (!opened.descriptor) refuse_file(who, path, reason(opened, "read", path));
  return opened;
}

void Files::confirm_listing(std::string_view who, std::string_view path, std::span<const std::byte> listing, bool replayed) {
  Seen& seen = looked_at(who, path, listing.size(), replayed);
  if (!fits(seen, 0, files::pages_of(listing.size()), sums_of(listing))) refuse_changed(who, path);
}

Files::Seen& Files::looked_at(std::string_view who, std::string_view path, std::uint64_t size, bool replayed) {
  Seen& seen = entry(path, size);
  if (seen.written != Written::no && replayed)
    refuse_file(
        who, path,
        "was written by this program after it had been read, so a gradient could not read the same again; read it before");
  if (seen.written == Written::since) {
    seen.blocks.clear();
    seen.size = size;
    seen.written = Written::before;
  }
  if (seen.size != size) refuse_changed(who, path);
  return seen;
}

Files::Seen& Files::entry(std::string_view path, std::uint64_t size) {
  auto found = seen_.find(path);
  if (found != seen_.end()) return found->second;
  value::Heap& heap = seen_.get_allocator().heap();
  return seen_.emplace(Text(path, heap), Seen(heap, size)).first->second;
}

} // namespace cairn::machine
