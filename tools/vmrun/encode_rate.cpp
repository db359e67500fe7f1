// See encode_rate.h.
#include "encode_rate.h"

#include "ops/cpu/exact/exact.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace cairn::tools {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr auto kBytes = static_cast<std::size_t>(ops::exact::kPiece);

enum class Elements : std::uint8_t { normal, rectified, halves, count };

Bytes piece_of(Elements kind) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Bytes bytes(kBytes + ops::exact::kSlack);
  const std::size_t width = kind == Elements::halves ? 2 : 4;
  for (std::size_t at = 0; at < kBytes; at += width) {
    const float drawn = normal(random);
    auto bits = std::bit_cast<std::uint32_t>(kind == Elements::rectified ? std::max(drawn, 0.f) : drawn);
    if (kind == Elements::halves) bits >>= 16;
    std::memcpy(bytes.data() + at, &bits, width);
  }
  return bytes;
}

} // namespace

double encode_rate(int rounds) {
  const auto work = std::make_unique<ops::exact::Workspace>();
  Bytes encoding(kBytes + ops::exact::kSlack), decoded(kBytes + ops::exact::kSlack);
  double nanoseconds = 0;
  for (int kind = 0; kind < static_cast<int>(Elements::count); ++kind) {
    const Bytes piece = piece_of(static_cast<Elements>(kind));
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      const std::int64_t size = ops::exact::encode(*work, piece.data(), ops::exact::kPiece, encoding.data(), ops::exact::kPiece);
      ops::exact::decode(*work, encoding.data(), size, ops::exact::kPiece, decoded.data(), ops::exact::kPiece);
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      best = round == 0 ? took.count() : std::min(best, took.count());
    }
    nanoseconds += best;
  }
  return nanoseconds / (static_cast<double>(Elements::count) * kBytes);
}

} // namespace cairn::tools
