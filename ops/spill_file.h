// A file for elements of tensors that wait until they are needed again. It has no name, goes with the process, and is written and
// read by a thread of its own, past the page cache where the file system can do that. What is written is immutable, so each copy
// is written once; where it lay is used again when it is forgotten, in parts if need be, so that the file is full only where
// copies fill it. A copy is read back with checksums, so that what comes back is what was written or an error. Pieces may be
// encoded on their way (ops/cpu/exact), which saves time of the disk and nothing else: a copy has the place that its elements
// take, whatever is written there.
#pragma once

#include "ops/elements_lost.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cairn::ops {

class Meter;

// The file cannot be made, or does not give back what was written.
struct SpillError : ElementsLost {
  using ElementsLost::ElementsLost;
};

class SpillFile {
public:
  static constexpr std::int64_t kPiece = std::int64_t{1} << 20; // that has a checksum of its own
  static constexpr std::int64_t kBuffer = kPiece; // of the host's memory, that pieces go through which lie at no page's begin
  static constexpr std::int64_t kMostAtOnce = 8 * kPiece; // that is read or written at a time where they do
  // Of places, lengths and memory, for what goes past the page cache.
  static constexpr std::int64_t kPage = 4096;
  // What a copy takes of the file.
  static constexpr std::int64_t taken_by(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  // In that folder, of at most so many bytes. SpillError with a message for people.
  SpillFile(std::string folder, std::int64_t most_bytes);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // From now on pieces are encoded, where that makes them at most such a part of themselves; 0: none is.
  void encode_within(double part) { part_ = part; }

  enum class Fate : std::uint8_t { queued, running, done, failed };

  // Of one stretch of memory. Only the file looks inside.
  class Copy {
    friend class SpillFile;
    using Extents = std::map<std::int64_t, std::int64_t>; // bytes by place
    struct Part {
      std::int64_t at = 0, bytes = 0;
      Extents::node_type node; // for when it is forgotten: nothing may fail then
    };
    std::int64_t bytes_ = 0;
    std::vector<Part> parts_;            // in the order of the elements
    std::vector<std::uint64_t> sums_;    // of the pieces, as they were written
    std::vector<std::uint32_t> encoded_; // how many bytes they were then; 0: they are as they are in memory
    // What is being done with it, or was done last.
    bool writes_ = false;
    char* memory_ = nullptr;
    std::int64_t from_ = 0, to_ = 0; // of its bytes; whole pieces, but for the last one
    std::int64_t saved_ = 0;         // bytes that were not written, as others say the same
    Fate fate_ = Fate::done;
    std::atomic<bool> stopped_ = false;
  };

  // Begins to write these bytes, which must stay as they are until that is done. Null: there is no space in the file, or a write
  // has failed before.
  std::unique_ptr<Copy> write(const void* data, std::int64_t bytes);
  // Begins to read all of a copy that is written, behind what was begun before or in front of that. The memory is undefined until
  // that is done, and where it fails.
  void read(Copy& copy, void* to, bool first);
  // In front of all that has not begun.
  void hurry(Copy& copy) noexcept;
  Fate fate(const Copy& copy) const;
  // Until it is done or has failed. Cancelled, if that meter says so; it goes on then.
  Fate wait(const Copy& copy, const Meter* meter) const;
  // Reads [from, from + bytes) of a copy that is written, where `from` is a multiple of a piece. SpillError.
  void read_part(Copy& copy, std::int64_t from, void* to, std::int64_t bytes);
  // Nothing is done with its memory any more, which may take as long as what is read or written at once.
  void stop(Copy& copy) noexcept;
  void forget(std::unique_ptr<Copy> copy) noexcept;

  // Its buffer takes no memory any more until the next copy is begun. False: there are copies.
  bool give_back_buffer() noexcept;

  // Why the last copy that was to be written found no space, or a write has failed; empty: neither.
  std::string refusal() const;
  // A write has failed: nothing more goes there.
  bool broken() const;
  // Why a read has failed.
  std::string read_fault() const;
  const std::string& folder() const { return folder_; }
  std::int64_t most_bytes() const { return most_; }
  // Of elements; and what those that were written came to, where pieces were encoded.
  std::int64_t written_bytes() const;
  std::int64_t read_bytes() const;
  std::int64_t stored_bytes() const;
  // For reports: the most bytes of copies at once since it was asked to begin anew.
  std::int64_t peak_bytes() const;
  void begin_peak();

private:
  struct Closing {
    void operator()(const int* descriptor) const;
  };
  struct Freeing {
    void operator()(std::byte* memory) const;
  };
  bool take_place(Copy& copy);
  void give_place(Copy& copy) noexcept;
  void give_extent(std::int64_t at, std::int64_t bytes, Copy::Extents::node_type node) noexcept;
  void begin(Copy& copy, bool writes, void* memory, std::int64_t from, std::int64_t to, bool first);
  void work();
  std::string transfer(Copy& copy); // what went wrong
  static std::int64_t direct_bytes(const Copy& copy, std::int64_t from, std::int64_t to);
  std::string transfer_from(Copy& copy, std::int64_t from, std::int64_t direct); // one piece through the buffer where that is 0
  static std::int64_t end_of_plain(const Copy& copy, std::int64_t from);
  bool encode(Copy& copy, std::int64_t from); // into the buffer; false: that does not pay
  std::string write_encoded(Copy& copy, std::int64_t from);
  std::string read_encoded(Copy& copy, std::int64_t from);
  std::string write_at(const Copy& copy, std::int64_t from, const std::byte* data, std::int64_t bytes);
  std::string read_at(const Copy& copy, std::int64_t from, std::byte* data, std::int64_t bytes);
  std::string changed() const;
  template <class F> static int in_parts(const Copy& copy, std::int64_t from, std::int64_t bytes, F&& f);

  std::string folder_;
  std::int64_t most_;
  int descriptor_ = -1;
  std::unique_ptr<std::byte, Freeing> buffer_;
  std::atomic<double> part_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable more_, done_;
  std::deque<Copy*> queue_;
  bool ends_ = false;
  std::string write_fault_, read_fault_, full_;
  Copy::Extents free_;
  std::int64_t end_ = 0, used_ = 0, peak_ = 0, written_ = 0, read_ = 0, saved_ = 0;
  std::thread thread_;
};

// Bytes that could be written there now; 0 with a message where there is no such folder or it cannot be written.
std::int64_t free_bytes_in(const std::string& folder, std::string& error);

} // namespace cairn::ops
