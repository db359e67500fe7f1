// Digests of numbers in order. They are written into files, so they are the same everywhere.
#pragma once

#include <cstdint>

namespace cairn::ops::plans {

// The finalizer of SplitMix64: every bit of the input changes half of those of the result.
constexpr std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
  v = (v ^ v >> 27) * 0x94D049BB133111EBu;
  return v ^ v >> 31;
}

class Digest {
public:
  void add(std::uint64_t v) { value_ = mixed(value_ * 0x9E3779B97F4A7C15u + v + 1); }
  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0x6361697265736E61u;
};

} // namespace cairn::ops::plans
