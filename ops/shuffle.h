// A permutation of 0 to n - 1 that is a function of a key, and of which any part can be had without the rest: no table, however
// many there are. It is a network of Feistel over the bits that n - 1 has; what lies beyond n is permuted again until it does
// not.
#pragma once

#include "ops/random.h"

#include <bit>
#include <cstdint>

namespace cairn::ops {

class Shuffle {
public:
  Shuffle(std::uint64_t count, std::uint64_t key)
      : count_(count), key_(key), high_bits_(bits_of(count) / 2), low_bits_(bits_of(count) - bits_of(count) / 2) {}
  // Where the number i, below the count, goes.
  std::uint64_t operator()(std::uint64_t i) const {
    do i = once(i);
    while (i >= count_); // it comes from below the count, and a permutation leads back there
    return i;
  }

private:
  static constexpr int kRounds = 8; // four would do; few bits take more to be mixed
  // Two at least, so that neither half is empty.
  static int bits_of(std::uint64_t count) { return count <= 4 ? 2 : static_cast<int>(std::bit_width(count - 1)); }
  std::uint64_t once(std::uint64_t i) const {
    std::uint64_t high = i >> low_bits_, low = i & ones(low_bits_);
    for (int round = 0; round < kRounds; round += 2) {
      high ^= mixed(low, round) & ones(high_bits_);
      low ^= mixed(high, round + 1) & ones(low_bits_);
    }
    return high << low_bits_ | low;
  }
  std::uint64_t mixed(std::uint64_t half, int round) const {
    return random::bits_of_pair(key_, half << 4 | static_cast<std::uint64_t>(round)).first;
  }
  static std::uint64_t ones(int bits) { return (std::uint64_t{1} << bits) - 1; }
  std::uint64_t count_, key_;
  int high_bits_, low_bits_;
};

} // namespace cairn::ops
