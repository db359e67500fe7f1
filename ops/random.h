// Random numbers by counter: an element of a random tensor is a function of its key and its place, so it is the same whatever
// else runs, on however many threads, and when it is drawn again. Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw 2011).
// Shared by all devices.
#pragma once

#include "ops/pointwise.h"

#include <cstdint>

namespace cairn::ops::random {

struct Words {
  std::uint32_t w[4];
};

CAIRN_HD inline Words philox(std::uint64_t key, std::uint64_t counter) {
  Words c{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}};
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c.w[0], b = std::uint64_t{0xCD9E8D57} * c.w[2];
    c = Words{{static_cast<std::uint32_t>(b >> 32) ^ c.w[1] ^ k0, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ c.w[3] ^ k1, static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

// Elements 2 i and 2 i + 1 come from counter i, each from 64 bits.
struct Pair {
  std::uint64_t first, second;
};
CAIRN_HD inline Pair bits_of_pair(std::uint64_t key, std::uint64_t i) {
  const Words c = philox(key, i);
  return Pair{std::uint64_t{c.w[1]} << 32 | c.w[0], std::uint64_t{c.w[3]} << 32 | c.w[2]};
}

// In [0, 1), with as many bits as the type can hold of all such numbers: none is rounded up to 1.
CAIRN_HD inline double uniform(std::uint64_t bits, int digits) {
  return static_cast<double>(bits >> (64 - digits)) / static_cast<double>(std::uint64_t{1} << digits);
}

struct Normals {
  double first, second;
};
// By Box and Muller.
CAIRN_HD inline Normals normals(Pair bits) {
  const double u = 1.0 - uniform(bits.first, 53), angle = 6.283185307179586477 * uniform(bits.second, 53);
  const double radius = pointwise::sqrt(-2.0 * pointwise::log(u));
  return Normals{radius * pointwise::cos(angle), radius * pointwise::sin(angle)};
}

} // namespace cairn::ops::random
