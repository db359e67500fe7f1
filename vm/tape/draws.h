// The random numbers that a run drew, by the counters they were made from: what lets a replay draw the same ones without touching
// the machine's counter. Counters mostly follow one another, so what is kept are ranges of them: a run has a second one only
// where it was interrupted, others drew meanwhile, and it was resumed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cairn::tape {

class Draws {
public:
  struct Range {
    std::uint64_t first;   // which draw of the run it begins with
    std::uint64_t counter; // of that one
  };

  std::uint64_t size() const { return size_; }
  // The counter of a draw, which is below size().
  std::uint64_t operator[](std::uint64_t draw) const {
    auto behind =
        std::upper_bound(ranges_.begin(), ranges_.end(), draw, [](std::uint64_t d, const Range& s) { return d < s.first; });
    const Range& s = *(behind - 1);
    return s.counter + (draw - s.first);
  }
  // After that, this counter can be appended whatever memory there is.
  void make_room(std::uint64_t counter) {
    if (!continues(counter) && ranges_.size() == ranges_.capacity())
      ranges_.reserve(std::max<std::size_t>(1, 2 * ranges_.capacity()));
  }
  void append(std::uint64_t counter) {
    if (!continues(counter)) ranges_.push_back({size_, counter});
    ++size_;
  }
  // The last one, as if it had not been.
  void drop_last() {
    if (ranges_.back().first == --size_) ranges_.pop_back();
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(ranges_.capacity() * sizeof(Range)); }

  // For files. What is restored must begin with draw 0, ascend, and stay below the size.
  const std::vector<Range>& ranges() const { return ranges_; }
  void restore(std::vector<Range> ranges, std::uint64_t size) {
    ranges_ = std::move(ranges);
    size_ = size;
  }

private:
  bool continues(std::uint64_t counter) const {
    return !ranges_.empty() && ranges_.back().counter + (size_ - ranges_.back().first) == counter;
  }
  std::vector<Range> ranges_;
  std::uint64_t size_ = 0;
};

} // namespace cairn::tape
