// See encode_rate.h.
#include "encode_rate.h"

#include "ops/cpu/exact/exact.h"
#include "ops/cpu/lossy/lossy.h"

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

// The mean over kinds of elements of what `both(kind, piece)`, which encodes such a piece and decodes it, takes for a byte.
template <class Both> double mean_rate(int rounds, Both&& both) {
  double nanoseconds = 0;
  for (int at = 0; at < static_cast<int>(Elements::count); ++at) {
    const auto kind = static_cast<Elements>(at);
    Bytes piece = piece_of(kind);
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      both(kind, piece);
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      best = round == 0 ? took.count() : std::min(best, took.count());
    }
    nanoseconds += best;
  }
  return nanoseconds / (static_cast<double>(Elements::count) * kBytes);
}

// As images of 32 by 32 points lie.
ops::View view_of(Bytes& bytes, ops::DType type) {
  constexpr std::int64_t kSide = 32;
  ops::View view;
  view.data = bytes.data();
  view.dtype = type;
  view.shape = {ops::exact::kPiece / (kSide * kSide * ops::bytes_of(type)), kSide, kSide};
  view.strides = {kSide * kSide, kSide, 1};
  return view;
}

ops::View view_of(Bytes& bytes, std::int64_t size) {
  ops::View view;
  view.data = bytes.data();
  view.dtype = ops::DType::u8;
  view.shape = {size};
  view.strides = {1};
  return view;
}

} // namespace

double encode_rate(int rounds) {
  const auto work = std::make_unique<ops::exact::Workspace>();
  Bytes encoding(kBytes + ops::exact::kSlack), decoded(kBytes + ops::exact::kSlack);
  return mean_rate(rounds, [&](Elements /*kind*/, const Bytes& piece) {
    const std::int64_t size = ops::exact::encode(*work, piece.data(), ops::exact::kPiece, encoding.data(), ops::exact::kPiece);
    ops::exact::decode(*work, encoding.data(), size, ops::exact::kPiece, decoded.data(), ops::exact::kPiece);
  });
}

double lossy_rate(bool small, int rounds) {
  constexpr double kShare = 1e-2;
  ops::Attributes attributes;
  attributes.values = {ops::Attribute::of_number(kShare), ops::Attribute::of_flag(true), ops::Attribute::of_flag(small)};
  const std::int64_t most = ops::cpu::room_for_encoding(ops::exact::kPiece / 2, ops::DType::bf16);
  Bytes encoding(static_cast<std::size_t>(std::max(most, ops::cpu::room_for_encoding(ops::exact::kPiece / 4, ops::DType::f32)))),
      decoded(kBytes);
  return mean_rate(rounds, [&](Elements kind, Bytes& piece) {
    const ops::DType type = kind == Elements::halves ? ops::DType::bf16 : ops::DType::f32;
    const ops::View in = view_of(piece, type), room = view_of(encoding, static_cast<std::int64_t>(encoding.size())),
                    out = view_of(decoded, type);
    ops::cpu::encode_bounded({{&in, 1}, {&room, 1}, attributes});
    const ops::View made = view_of(encoding, ops::cpu::bytes_of_encoding(encoding.data()));
    ops::cpu::decode_bounded({{&made, 1}, {&out, 1}, attributes});
  });
}

} // namespace cairn::tools
