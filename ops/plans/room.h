// Bytes of a memory that are free, and from when: what was used by work that ends first is taken first.
#pragma once

#include "ops/plans/access_plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>

namespace cairn::ops::plans {

class Room {
public:
  explicit Room(std::uint64_t bytes) : free_{{0, bytes}}, bytes_(bytes) {}
  std::uint64_t bytes() const { return bytes_; }

  // Of so many different times the earliest two are taken for the later one, and all of them where there is no memory for one.
  void give(std::uint64_t bytes, Picoseconds at) noexcept {
    bytes_ += bytes;
    if (bytes == 0) return;
    try {
      free_[at] += bytes;
    } catch (const std::bad_alloc&) {
      free_.rbegin()->second += bytes;
    }
    if (free_.size() <= kMostTimes) return;
    const auto earliest = std::next(free_.begin()); // behind what is free at once
    std::next(earliest)->second += earliest->second;
    free_.erase(earliest);
  }
  // When they are all free. There are as many.
  Picoseconds take(std::uint64_t bytes) {
    Picoseconds at = 0;
    bytes_ -= bytes;
    for (auto first = free_.begin(); bytes != 0; first = free_.begin()) {
      if (first->second == 0 && first->first == 0) first = std::next(first);
      const std::uint64_t part = std::min(bytes, first->second);
      at = first->first;
      bytes -= part;
      if ((first->second -= part) == 0 && at != 0) free_.erase(first);
    }
    return at;
  }

private:
  static constexpr std::size_t kMostTimes = 4096;
  std::map<Picoseconds, std::uint64_t> free_; // the time 0 is always there
  std::uint64_t bytes_;
};

} // namespace cairn::ops::plans
