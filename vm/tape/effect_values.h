// What a run had of the world, one value for every effect, so that a replay has it again: as many as a program makes, so in
// chunks, which stay where they are while more come. Unspecified for output.
#pragma once

#include "vm/value/value.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace cairn::tape {

class EffectValues {
public:
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  value::Value operator[](std::uint64_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  // After that, so many more can be appended whatever memory there is.
  void make_room(std::uint64_t more) {
    const std::uint64_t all = size_ + more;
    for (std::uint64_t chunk = size_ / kChunk; chunk * kChunk < all; ++chunk) {
      if (chunks_.size() <= chunk) chunks_.emplace_back();
      chunks_[chunk].reserve(chunk == 0 ? std::min(kChunk, std::bit_ceil(all)) : kChunk);
    }
  }
  void push_back(value::Value v) {
    make_room(1);
    chunks_[size_ / kChunk].push_back(v);
    ++size_;
  }
  template <class F> void each(F&& f) const {
    for (const std::vector<value::Value>& chunk : chunks_)
      for (const value::Value v : chunk) f(v);
  }
  // Of so many values, which follows from their number alone, so that it is the same for copies and what is read from a file.
  static std::int64_t bytes_of(std::uint64_t n) {
    const std::uint64_t whole = n / kChunk, rest = n % kChunk;
    const std::uint64_t values = rest == 0 ? n : whole == 0 ? std::bit_ceil(n) : (whole + 1) * kChunk;
    return static_cast<std::int64_t>(values * sizeof(value::Value));
  }

private:
  static constexpr std::uint64_t kChunk = 4096;
  std::vector<std::vector<value::Value>> chunks_;
  std::uint64_t size_ = 0;
};

} // namespace cairn::tape
