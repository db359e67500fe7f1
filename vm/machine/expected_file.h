// A file of which parts will be wanted, read by another thread before they are. Nothing is complained of here and nothing is
// remembered: what does not go well is read again when it is wanted, and fails then as it would have.
#pragma once

#include "ops/meter.h"
#include "vm/machine/files.h"
#include "vm/value/charged.h"

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
  // It cannot be read, or is another than it was.
  struct Unexpected {};

  // Null where there is no such file, or none that the machine may read.
  static std::unique_ptr<ExpectedFile> open(const Files& files, std::string_view path, value::Heap& heap);
  ExpectedFile(std::string path, files::Opened opened, const struct stat& facts, value::Heap& heap);

  std::uint64_t size() const { return static_cast<std::uint64_t>(version_.size); }
  bool is(const Files::Reading& file) const { return file.version() == version_ && file.path() == path_; }
  const std::string& path() const { return path_; } // in normal form
  // Makes room for the checksums of so many pages. BudgetExceeded.
  void expect(std::uint64_t pages) { sums_.reserve(sums_.size() + pages); }
  // What it takes beside those.
  static constexpr std::int64_t kMemory = 8192;

  // --- on the thread
  // Bytes that the file has, in parts that need no more pages than there is room for. Unexpected, Cancelled.
  void read(std::uint64_t from, std::span<std::byte> to) { walk_.read(*this, from, to); }
  // That was all. Unexpected.
  void finish() const;

  // --- when they are wanted: the same parts, which are `bytes` now. What `file` complains of, it would have complained of anyway.
  void confirm(Files::Reading& file, std::uint64_t from, std::span<std::byte> bytes) { file.confirm(from, bytes, unconfirmed_); }
  void begin_confirming() { unconfirmed_ = sums_; }

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
  value::ChargedVector<std::uint64_t> sums_; // of the pages, in the order of the walk
  std::span<const std::uint64_t> unconfirmed_;
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
