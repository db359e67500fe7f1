// Parts of a file, read by whole pages, so that all that was read can be known by checksums of pages. Which pages that are, and
// in which order, follows from the parts alone: whoever goes over the same parts again, with the bytes or without, meets the
// same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/stat.h>

namespace cairn::files {

inline constexpr std::uint64_t kPage = 4096, kPagesAtOnce = 16;

constexpr std::uint64_t pages_of(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage; }

class PageWalk {
public:
  explicit PageWalk(std::uint64_t file_bytes) : size_(file_bytes) {}

  // Bytes from a place on, which the file has. A source has these:
  //   void goes_on();                                                    // before each of the others but `part`; may throw
  //   void pages(std::uint64_t first, std::span<std::byte> to);          // wanted as a whole: they go to where they stay
  //   void hold(std::uint64_t page, std::size_t size, std::size_t more); // a page, to be kept; `more` of it is not wanted
  //   void part(std::span<std::byte> to, std::size_t from);              // of the page that is kept
  template <class Source> void read(Source& source, std::uint64_t from, std::span<std::byte> to) {
    while (!to.empty()) {
      source.goes_on();
      const std::uint64_t page = from / kPage;
      const auto skipped = static_cast<std::size_t>(from % kPage);
      std::size_t size = std::min<std::size_t>(to.size(), static_cast<std::size_t>(kPage * kPagesAtOnce) - skipped);
      if (from + size != size_) size -= (skipped + size) % kPage; // whole pages, or what is left of the first
      if (skipped != 0 || size == 0 || size > to.size()) {
        size = std::min(to.size(), static_cast<std::size_t>(kPage) - skipped);
        if (held_ != page) {
          const auto whole = static_cast<std::size_t>(std::min(kPage, size_ - page * kPage));
          held_ = kNone;
          source.hold(page, whole, whole - size);
          held_ = page;
        }
        source.part(to.first(size), skipped);
      } else { // pages that are wanted as a whole need no other memory than where they go
        source.pages(page, to.first(size));
      }
      from += size;
      to = behind(to, size);
    }
  }

private:
  // Whoever wants no bytes gives a null pointer, which nothing may be added to.
  static std::span<std::byte> behind(std::span<std::byte> bytes, std::size_t size) {
    return {bytes.data() == nullptr ? nullptr : bytes.data() + size, bytes.size() - size};
  }
  static constexpr std::uint64_t kNone = UINT64_MAX;
  std::uint64_t size_;
  // The page of which a part was read last: neighbours of what was read are often wanted next.
  std::uint64_t held_ = kNone;
};

// Which file it is, and when it was written last, as far as the system knows.
struct Version {
  explicit Version(const struct stat& facts)
      : device(facts.st_dev), inode(facts.st_ino), size(facts.st_size), written(facts.st_mtim), changed(facts.st_ctim) {}
  bool operator==(const Version& o) const {
    const auto same = [](const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
    return device == o.device && inode == o.inode && size == o.size && same(written, o.written) && same(changed, o.changed);
  }
  dev_t device;
  ino_t inode;
  off_t size;
  timespec written, changed;
};

} // namespace cairn::files
