// How the pages of a device are parcelled out: which bytes are free, in one piece or in pieces that begin or end where pages do,
// and who used them before. It knows numbers of bytes, counted from the beginning of the first page, and touches nothing there.
//
//     pages    |        0        |        1        |        2        |        3        |
//     parcels  |  taken  | free                            | taken | free              |
//                        | head  | whole pages             |       |tail|  whole page  |
//
// Small blocks have chunks of their own, so that they do not lie about between large ones, where each would hold a page.
#pragma once

#include "ops/ordering.h"
#include "ops/pages/size_bins.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace cairn::ops {

struct Parcel {
  std::int64_t begin = 0, bytes = 0;
  Parcel *before = nullptr, *behind = nullptr; // its neighbours in memory
  Parcel* next_part = nullptr;                 // of the same block; of those that stand for nothing: the next such
  bool free = false;
  bool in_chunk = false, opens_chunk = false; // of small blocks
  Tickets after{}, known{};                   // of whoever used it before, see TrackedBlock::earlier
  SizeBins::Link links[4]{};                  // while it is free
  std::int64_t end() const { return begin + bytes; }
};

class Parcels {
public:
  static constexpr std::int64_t kLargestSmall = std::int64_t{64} << 10; // bytes of a block in a chunk
  static constexpr std::int64_t kChunk = std::int64_t{1024} << 10;

  // Makes sure of so many parcels: nothing else here allocates, and what gives back never does.
  void provide(std::int64_t parcels);
  // Memory behind the last. Needs one parcel.
  void add(std::int64_t bytes);

  // A parcel in one piece; null: there is none. Bytes are multiples of SizeBins::kUnit. Needs two parcels, a small one three.
  Parcel* take(std::int64_t bytes);
  Parcel* take_small(std::int64_t bytes);
  // For want of anything better, large ones from chunks and small ones from elsewhere.
  Parcel* take_anywhere(std::int64_t bytes);
  // Parcels that make one piece where the pages they lie in are mapped side by side, as a list; null: there are none. Needs
  // `parts_needed` parcels. Whenever as many pages are free as the bytes need, there are such parcels.
  Parcel* take_parts(std::int64_t bytes);
  std::int64_t parts_needed(std::int64_t bytes) const;
  void give_back(Parcel* parcel, const Tickets& after, const Tickets& known) noexcept;

  std::int64_t bytes() const { return last_ == nullptr ? 0 : last_->end(); }
  std::int64_t free_bytes() const { return free_bytes_; }
  std::int64_t free_pages() const { return free_pages_; }
  std::int64_t free_at_end() const { return last_ != nullptr && last_->free && !last_->in_chunk ? last_->bytes : 0; }

private:
  enum Order : std::uint8_t { by_size, by_head, by_pages, by_tail }; // SizeBins by size of chunks' parcels use links of by_size
  // What is taken of free parcels before a border of pages, and behind one. The rest of a block is whole pages.
  struct Ends {
    Parcel *head = nullptr, *tail = nullptr;
    std::int64_t head_bytes = 0, tail_bytes = 0;
  };
  std::optional<Ends> ends_for(std::int64_t bytes) const;
  Parcel* made(std::int64_t begin, std::int64_t bytes);
  void unmake(Parcel* parcel) noexcept;
  void insert(Parcel* parcel) noexcept;
  void remove(Parcel* parcel) noexcept;
  void join_behind(Parcel* parcel) noexcept;
  void join_neighbours(Parcel* parcel) noexcept;
  Parcel* cut(Parcel* parcel, std::int64_t begin, std::int64_t bytes) noexcept;

  Parcel* last_ = nullptr; // in memory
  std::int64_t free_bytes_ = 0, free_pages_ = 0;
  SizeBins sizes_{by_size}, heads_{by_head}, pages_{by_pages}, tails_{by_tail}, small_{by_size};
  std::deque<Parcel> all_; // that have ever been
  Parcel* unused_ = nullptr;
  std::int64_t unused_count_ = 0;
};

} // namespace cairn::ops
