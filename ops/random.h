// Random numbers by counter: an element of a random tensor is a function of its key and its index, so it is the same whatever
// else runs, on however many threads, and when it is drawn again. Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw 2011).
// Shared by all devices.
#pragma once

#include "ops/dtype.h"
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

// Keys of programs are any integers. What is drawn from one key for different uses is independent.
enum class Use : std::uint64_t { tensor = 0x7465, number = 0x6E75, key = 0x6B65 };
CAIRN_HD inline std::uint64_t bits_of_key(std::int64_t key, Use use, std::uint64_t i) {
  return bits_of_pair(static_cast<std::uint64_t>(key) ^ static_cast<std::uint64_t>(use) << 48, i).first;
}

// How many significant bits elements of a type get.
constexpr int digits_of(DType type) { return type == DType::f64 ? 53 : type == DType::f32 ? 24 : 8; }

// In [0, 1), with as many bits as the type can hold of all such numbers: none is rounded up to 1.
CAIRN_HD inline double uniform(std::uint64_t bits, int digits) {
  const double unit = 1.0 / static_cast<double>(std::int64_t{1} << digits);
  return static_cast<double>(static_cast<std::int64_t>(bits >> (64 - digits))) * unit;
}

struct Normals {
  double first, second;
};
// By Box and Muller. The angle is taken in turns, so that reducing it to an eighth of one is exact: no branches, no calls of the
// C library.
CAIRN_HD inline Normals normals(Pair bits) {
  const double u = 1.0 - uniform(bits.first, 53), turns = uniform(bits.second, 53);
  const double radius = pointwise::sqrt(-2.0 * pointwise::log(u));
  const double shifted = 4.0 * turns + 6755399441055744.0; // rounds to an integer: quarters of a turn
  const double quarters = shifted - 6755399441055744.0;
  const double r = turns - 0.25 * quarters, z = r * r; // |r| <= 1/8
  // Interpolated at Chebyshev nodes: sin(2 pi r) / r and cos(2 pi r), by z.
  const double sine =
      r * (6.28318530717958648 +
           z * (-41.3417022403997601 +
                z * (81.6052492760749307 +
                     z * (-76.7058597529981267 +
                          z * (42.0586939289887834 +
                               z * (-15.0946404038915456 + z * (3.81978812016321142 + z * -0.7116358090781666)))))));
  const double cosine =
      1.0 + z * (-19.739208802178717 +
                 z * (64.9393940226679575 +
                      z * (-85.4568172065227125 +
                           z * (60.2446413288672933 +
                                z * (-26.426250908622136 + z * (7.90309168775169764 + z * -1.69684947029188268))))));
  const bool odd = quarters == 1.0 || quarters == 3.0;
  const double x = odd ? sine : cosine, y = odd ? cosine : sine;
  const bool negate_x = quarters == 1.0 || quarters == 2.0, negate_y = quarters == 2.0 || quarters == 3.0;
  return Normals{radius * (negate_x ? -x : x), radius * (negate_y ? -y : y)};
}

} // namespace cairn::ops::random
