// A file of which parts will be wanted, read by another thread before they are. Nothing is complained of here and nothing is
// remembered: what does not go well is read again when it is wanted, and fails then as it would have.
#pragma once

#include "ops/meter.h"
#include "vm/files/grants.h"
#include "vm/files/pages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cairn::machine {

class ExpectedFile {
public:
  // It cannot be read, or is another than it was; or there is no room for what it has.
  struct Unexpected {};

  // Null where there is no such file, or none that may be read.
  static std::unique_ptr<ExpectedFile> open(const files::Grants& grants, std::string_view path);
  ExpectedFile(std::string path, files::Opened opened, const struct stat& facts);

  const std::string& path() const { return path_; } // in normal form
  const files::Version& version() const { return version_; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(version_.size); }

  // Where the checksums of pages go, in the order of the walk.
  void sum_into(std::span<std::uint64_t> room) { room_ = room; }
  // Bytes that the file has. Unexpected, Cancelled.
  void read(std::uint64_t from, std::span<std::byte> to) { walk_.read(*this, from, to); }
  // That was all: how many checksums there are. Unexpected.
  std::size_t finish() const;

  // --- as a source of PageWalk
  void goes_on() const { ops::Meter::poll_current(); }
  void pages(std::uint64_t first, std::span<std::byte> to);
  void hold(std::uint64_t page, std::size_t size, std::size_t more);
  void part(std::span<std::byte> to, std::size_t from) const;

private:
  void take(std::uint64_t from, std::span<std::byte> to) const;
  void note(std::span<const std::byte> page);
  std::string path_;
  files::Opened opened_;
  files::Version version_;
  files::PageWalk walk_;
  std::span<std::uint64_t> room_;
  std::size_t summed_ = 0;
  std::array<std::byte, files::kPage> page_; // that the walk holds
};

// Counts the pages that reading parts of a file meets.
class CountedPages {
public:
  explicit CountedPages(std::uint64_t file_bytes) : walk_(file_bytes) {}
  void read(std::uint64_t from, std::uint64_t bytes) { walk_.read(*this, from, {static_cast<std::byte*>(nullptr), bytes}); }
  std::uint64_t count() const { return count_; }

  void goes_on() const { ops::Meter::poll_current(); }
  void pages(std::uint64_t /*first*/, std::span<std::byte> to) { count_ += files::pages_of(to.size()); }
  void hold(std::uint64_t /*page*/, std::size_t /*size*/, std::size_t /*more*/) { ++count_; }
  void part(std::span<std::byte> /*to*/, std::size_t /*from*/) const {}

private:
  files::PageWalk walk_;
  std::uint64_t count_ = 0;
};

} // namespace cairn::machine
