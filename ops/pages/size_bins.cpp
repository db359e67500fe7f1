// A word of bits says which bins are filled, so that empty ones are passed over 64 at a time.
#include "ops/pages/size_bins.h"

#include "ops/pages/parcels.h"

#include <bit>
#include <limits>

namespace cairn::ops {

unsigned SizeBins::bin_of(std::int64_t size) {
  const auto units = static_cast<std::uint64_t>(size / kUnit);
  if (units < 8) return static_cast<unsigned>(units);
  const unsigned power = static_cast<unsigned>(std::bit_width(units)) - 1;
  return (power - 2) * 8 + static_cast<unsigned>((units >> (power - 3)) & 7);
}

std::int64_t SizeBins::size_of(const Parcel* parcel) const { return parcel->links[link_].size; }

void SizeBins::insert(Parcel* parcel, std::int64_t size) noexcept {
  const unsigned bin = bin_of(size);
  Parcel* const next = bins_[bin];
  parcel->links[link_] = {nullptr, next, size};
  if (next != nullptr) next->links[link_].previous = parcel;
  bins_[bin] = parcel;
  filled_[bin / kWord] |= std::uint64_t{1} << bin % kWord;
  ++count_;
}

void SizeBins::remove(Parcel* parcel) noexcept {
  const Link link = parcel->links[link_];
  if (link.size == 0) return;
  parcel->links[link_] = {};
  --count_;
  if (link.next != nullptr) link.next->links[link_].previous = link.previous;
  if (link.previous != nullptr) {
    link.previous->links[link_].next = link.next;
    return;
  }
  const unsigned bin = bin_of(link.size);
  bins_[bin] = link.next;
  if (link.next == nullptr) filled_[bin / kWord] &= ~(std::uint64_t{1} << bin % kWord);
}

unsigned SizeBins::next_filled(unsigned bin) const {
  for (unsigned word = bin / kWord; word < filled_.size(); ++word) {
    const std::uint64_t bits = filled_[word] & (word == bin / kWord ? ~std::uint64_t{0} << bin % kWord : ~std::uint64_t{0});
    if (bits != 0) return word * kWord + static_cast<unsigned>(std::countr_zero(bits));
  }
  return kBins;
}

Parcel* SizeBins::best_in(unsigned bin, std::int64_t size, int looks) const {
  Parcel* best = nullptr;
  for (Parcel* each = bins_[bin]; each != nullptr && looks > 0; each = each->links[link_].next, --looks) {
    const std::int64_t there = size_of(each);
    if (there == size) return each;
    if (there > size && (best == nullptr || there < size_of(best))) best = each;
  }
  return best;
}

Parcel* SizeBins::find(std::int64_t size) const {
  const unsigned bin = bin_of(size);
  if (Parcel* best = best_in(bin, size, kLooks)) return best;
  const unsigned next = next_filled(bin + 1);
  if (next != kBins) return best_in(next, size, kLooks);
  return best_in(bin, size, std::numeric_limits<int>::max()); // it would be in this bin, but further behind
}

Parcel* SizeBins::largest() const {
  for (std::size_t word = filled_.size(); word-- > 0;) {
    if (filled_[word] == 0) continue;
    const unsigned bin = static_cast<unsigned>(word) * kWord + static_cast<unsigned>(std::bit_width(filled_[word])) - 1;
    Parcel* largest = bins_[bin];
    int looks = kLooks;
    for (Parcel* each = largest; each != nullptr && looks > 0; each = each->links[link_].next, --looks)
      if (size_of(each) > size_of(largest)) largest = each;
    return largest;
  }
  return nullptr;
}

} // namespace cairn::ops
