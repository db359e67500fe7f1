// See expected_file.h.
#include "vm/machine/expected_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::machine {

std::unique_ptr<ExpectedFile> ExpectedFile::open(const files::Grants& grants, std::string_view path) {
  if (path.empty() || path.size() >= PATH_MAX || path.find('\0') != std::string_view::npos) return nullptr;
  std::string normal = files::normal(path);
  files::Opened opened = grants.to_read(normal);
  struct stat facts {};
  if (!opened.descriptor || fstat(opened.descriptor->number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return nullptr;
  return std::make_unique<ExpectedFile>(std::move(normal), std::move(opened), facts);
}

ExpectedFile::ExpectedFile(std::string path, files::Opened opened, const struct stat& facts)
    : path_(std::move(path)), opened_(std::move(opened)), version_(facts), walk_(size()) {}

void ExpectedFile::take(std::uint64_t from, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(opened_.descriptor->number(), to.data(), to.size(), static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Unexpected{};
    from += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void ExpectedFile::note(std::span<const std::byte> page) {
  if (summed_ == room_.size()) throw Unexpected{};
  room_[summed_++] = XXH3_64bits(page.data(), page.size());
}

void ExpectedFile::pages(std::uint64_t first, std::span<std::byte> to) {
  take(first * files::kPage, to);
  for (std::size_t at = 0; at < to.size(); at += files::kPage)
    note(to.subspan(at, std::min(to.size() - at, std::size_t{files::kPage})));
}

void ExpectedFile::hold(std::uint64_t page, std::size_t size, std::size_t /*more*/) {
  const auto whole = std::span(page_).first(size);
  take(page * files::kPage, whole);
  note(whole);
}

void ExpectedFile::part(std::span<std::byte> to, std::size_t from) const {
  std::memcpy(to.data(), page_.data() + from, to.size());
}

std::size_t ExpectedFile::finish() const {
  struct stat facts {};
  if (fstat(opened_.descriptor->number(), &facts) != 0 || !(files::Version(facts) == version_)) throw Unexpected{};
  return summed_;
}

} // namespace cairn::machine
