// What snapshots weigh beside the one before them, by how many steps lie between: neighbours share most of what they hold, and
// those far apart hardly anything.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cairn::schedule {

class SnapshotSizes {
public:
  // Of a snapshot with none before it.
  static constexpr std::uint64_t kFirst = UINT64_MAX;

  void add(std::uint64_t distance, std::uint64_t bytes) {
    Seen& seen = seen_[class_of(distance)];
    ++seen.number;
    seen.bytes += bytes;
  }
  bool empty() const {
    return std::ranges::all_of(seen_, [](const Seen& seen) { return seen.number == 0; });
  }
  // The mean of those about as far apart, or of the nearest such; of several as near the closer ones. 0: none was seen.
  std::uint64_t mean(std::uint64_t distance) const {
    const std::size_t wanted = class_of(distance);
    for (std::size_t away = 0; away < kClasses; ++away) {
      if (away <= wanted && seen_[wanted - away].number != 0) return seen_[wanted - away].mean();
      if (wanted + away < kClasses && seen_[wanted + away].number != 0) return seen_[wanted + away].mean();
    }
    return 0;
  }

private:
  struct Seen {
    std::uint64_t number = 0, bytes = 0;
    std::uint64_t mean() const { return bytes / number; }
  };
  static constexpr std::size_t kClasses = 65;
  static std::size_t class_of(std::uint64_t distance) { return static_cast<std::size_t>(std::bit_width(distance)); }
  std::array<Seen, kClasses> seen_ = {};
};

} // namespace cairn::schedule
