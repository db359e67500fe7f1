// Bytes of a memory that are free, and from when: what was used by work that ends first is taken first.
#pragma once

#include "ops/plans/access_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>

namespace cairn::ops::plans {

class Room {
public:
  explicit Room(std::uint64_t bytes) : at_once_(bytes), bytes_(bytes) {}
  std::uint64_t bytes() const { return bytes_; }

  // Times mostly rise. Of so many different ones the earliest two are taken for the later one.
  void give(std::uint64_t bytes, Picoseconds at) noexcept {
    bytes_ += bytes;
    if (bytes == 0) return;
    if (at == 0) {
      at_once_ += bytes;
      return;
    }
    try {
      auto place = later_.end();
      while (place != later_.begin() && (place - 1)->at >= at) --place;
      if (place != later_.end() && place->at == at)
        place->bytes += bytes;
      else
        later_.insert(place, Part{at, bytes});
    } catch (const std::bad_alloc&) { // when it is free cannot be noted
      at_once_ += bytes;
    }
    if (later_.size() <= kMostTimes) return;
    later_[1].bytes += later_[0].bytes;
    later_.pop_front();
  }
  // When they are all free. There are as many.
  Picoseconds take(std::uint64_t bytes) {
    bytes_ -= bytes;
    const std::uint64_t first = std::min(bytes, at_once_);
    at_once_ -= first;
    bytes -= first;
    Picoseconds at = 0;
    while (bytes != 0) {
      Part& next = later_.front();
      const std::uint64_t part = std::min(bytes, next.bytes);
      at = next.at;
      bytes -= part;
      if ((next.bytes -= part) == 0) later_.pop_front();
    }
    return at;
  }

private:
  static constexpr std::size_t kMostTimes = 4096;
  struct Part {
    Picoseconds at = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t at_once_;
  std::deque<Part> later_; // in the order of their times
  std::uint64_t bytes_;
};

} // namespace cairn::ops::plans
