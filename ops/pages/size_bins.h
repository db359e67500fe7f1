// Parcels by a size: for each power of two eight bins, in which they hang in the order in which they came, the last one first.
// Everything is found in few steps whatever their number, and what is found depends on history alone, never on addresses.
#pragma once

#include <array>
#include <cstdint>

namespace cairn::ops {

struct Parcel;

class SizeBins {
public:
  static constexpr std::int64_t kUnit = 64; // sizes are multiples of it

  struct Link {
    Parcel *previous = nullptr, *next = nullptr;
    std::int64_t size = 0; // 0: not in the bins
  };

  // Which link of a parcel is theirs.
  explicit SizeBins(unsigned link) : link_(link) {}

  void insert(Parcel* parcel, std::int64_t size) noexcept;
  // If it is there.
  void remove(Parcel* parcel) noexcept;
  // One of at least this size, and hardly larger than the best; null: there is none.
  Parcel* find(std::int64_t size) const;
  // One that is hardly smaller than the largest; null: there is none.
  Parcel* largest() const;
  std::int64_t size_of(const Parcel* parcel) const; // 0: it is not there
  std::int64_t count() const { return count_; }

private:
  static constexpr unsigned kBins = 512, kWord = 64;
  static constexpr int kLooks = 16; // at parcels of one bin
  static unsigned bin_of(std::int64_t size);
  unsigned next_filled(unsigned bin) const; // kBins: none
  Parcel* best_in(unsigned bin, std::int64_t size, int looks) const;

  unsigned link_;
  std::int64_t count_ = 0;
  std::array<Parcel*, kBins> bins_{};
  std::array<std::uint64_t, kBins / kWord> filled_{};
};

} // namespace cairn::ops
