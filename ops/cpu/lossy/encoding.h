// What the bytes of a bounded encoding mean: elements of a tensor with an error of at most a bound each. What encodes, decodes
// and checks them shares this file.
//
//   Head | where each chunk ends: u64, from the first one's beginning | chunks
//   chunk: blocks of kBlock elements, the last one of the tensor shorter; or, in the small form, what coded.h says
//   block: BlockHead | mask, a bit an element that is not zero, if form says so | fewer, two bits a group | planes; or the
//   elements themselves
//
// Of elements that are not zero, a block with planes has the numbers of steps, of up to `width` bits each: groups of kGroup
// numbers, and of each group its lowest bits, 16 of them, then the next ones, but for as many of the last planes as `fewer` says.
// Where something is negative, numbers have their sign as their lowest bit. An element is (number + dither) * step, and dither is
// a function of the block's key and its place in the block.
#pragma once

#include "ops/cpu/loops/isa.h"
#include "ops/operator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace cairn::ops::cpu::lossy {

inline constexpr std::int64_t kBlock = 512;         // elements
inline constexpr std::int64_t kBlocksOfChunk = 128; // what a thread takes at once
inline constexpr std::int64_t kChunk = kBlock * kBlocksOfChunk;
inline constexpr std::int64_t kGroup = 16; // numbers whose bits lie together
inline constexpr unsigned kMostWidth = 32;
inline constexpr unsigned kMostFewer = 3; // planes of a group
static_assert(kBlock / kGroup * 2 == 64, "what groups have fewer is one word");

struct Head {
  std::uint64_t bytes; // of the whole encoding
  std::uint64_t elements;
  double bound;
  std::uint64_t type; // DType
};
static_assert(sizeof(Head) == 32);

enum class Kind : std::uint8_t { zeros, raw, planes, coded }; // the last one of a chunk as a whole (coded.h)
inline constexpr std::uint8_t kKindBits = 3, kMasked = 4, kSigned = 8, kFar = 16;

struct BlockHead {
  std::uint8_t form = 0;  // a Kind, and what else is so
  std::uint8_t width = 0; // of planes
  std::uint16_t key = 0;  // of dither, beside the number of the block
  Kind kind() const { return static_cast<Kind>(form & kKindBits); }
  bool has(std::uint8_t bit) const { return (form & bit) != 0; }
};
static_assert(sizeof(BlockHead) == 4);

constexpr std::int64_t chunks_of(std::int64_t elements) { return (elements + kChunk - 1) / kChunk; }
constexpr std::int64_t bytes_of_mask(std::int64_t elements) { return (elements + 7) / 8; }
constexpr std::int64_t whole_groups(std::int64_t numbers) { return (numbers + kGroup - 1) / kGroup * kGroup; }
constexpr std::int64_t bytes_of_planes(std::int64_t numbers, unsigned width) {
  return whole_groups(numbers) / 8 * static_cast<std::int64_t>(width);
}
constexpr std::int64_t bytes_of_fewer(std::int64_t numbers) { return (whole_groups(numbers) / kGroup + 3) / 4; }
constexpr std::int64_t begin_of_chunks(std::int64_t elements) {
  return static_cast<std::int64_t>(sizeof(Head)) + 8 * chunks_of(elements);
}
// What no chunk of so many elements exceeds: no block takes more than its elements do as they are.
constexpr std::int64_t most_of_chunk(std::int64_t elements, DType type) {
  return (elements + kBlock - 1) / kBlock * static_cast<std::int64_t>(sizeof(BlockHead)) + elements * bytes_of(type);
}
constexpr std::int64_t most_of(std::int64_t elements, DType type) {
  return begin_of_chunks(elements) + most_of_chunk(elements, type);
}

// The steps of a bound, in the type computed in. They are a little shorter than two bounds, for what rounding adds: to the number
// in steps, which is less than `most`, and where the type of elements is shorter. Blocks with larger numbers are `far`, and those
// beyond that kept as they are.
template <class C> struct Steps {
  C step, inverse;
  C most;
};
template <class C> Steps<C> steps_of(double bound, DType type, bool far) {
  const bool is_short = type == DType::bf16, is_double = type == DType::f64;
  const double shorter = is_short ? (far ? 0.5 : 0.125) : far ? 0.25 : 0x1p-8;
  const double most = is_short ? (far ? 250 : 32) : is_double ? (far ? 0x1p30 : 0x1p24) : (far ? 0x1p19 : 0x1p12);
  const C step = static_cast<C>(2 * bound * (1 - shorter));
  return {step, C(1) / step, static_cast<C>(most)};
}
// With other bounds, which shares of a largest magnitude may come to, all is kept as it is.
inline bool is_usable(double bound) { return bound >= kLeastBound && bound <= kMostBound; }

// Dither of the elements of a block: uniform in [-1/2, 1/2), a multiple of 2^-23. Bits of two parts of one table differ in it,
// each from a place on that the block's key and number tell, and some more of them are flipped that these tell too: so errors of
// the same element of two blocks are independent of each other, and those of two elements of one block very nearly. To compute it
// anew for each element took more time than all else that is done with one. (With one part alone errors of two elements were
// correlated by a hundredth, as two lists of so many random numbers are.)
inline constexpr std::size_t kDithers = 2048; // places in each half of the table; in the second one parts begin at whole groups
alignas(64) inline constexpr auto kDitherBits = [] { // 23 each
  std::array<std::uint32_t, 2 * kDithers + kBlock> bits{};
  for (std::uint32_t i = 0; i < bits.size(); ++i) {
    std::uint32_t h = (i + 1) * 0x9E3779B9u;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    bits[i] = h >> 9;
  }
  return bits;
}();
struct Dither {
  const std::uint32_t *some, *others;
  std::uint32_t flipped; // with those of a number in [1, 2)
  CAIRN_INLINE float of(std::int32_t place) const { return std::bit_cast<float>(some[place] ^ others[place] ^ flipped) - 1.5f; }
};
inline Dither dither_of(std::uint16_t key, std::int64_t block) {
  std::uint64_t h = (std::uint64_t{key} << 48 ^ static_cast<std::uint64_t>(block)) * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
  h ^= h >> 32;
  const std::uint32_t* const table = kDitherBits.data();
  return {table + h % kDithers, table + kDithers + (h >> 11) % kDithers / kGroup * kGroup,
          static_cast<std::uint32_t>(0x3F800000u | (h >> 22 & 0x7FFFFFu))};
}

// How many bits of so many bytes are set, by words: not every processor has an instruction for it.
inline std::int64_t bits_set(const std::uint8_t* bytes, std::int64_t count) {
  std::uint64_t set = 0;
  for (std::int64_t i = 0; i < count; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, static_cast<std::size_t>(std::min<std::int64_t>(8, count - i)));
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    set += ((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56;
  }
  return static_cast<std::int64_t>(set);
}

// What groups of so many numbers have fewer, if `width` allows it.
inline bool read_fewer(const std::uint8_t* at, std::int64_t numbers, unsigned width, std::uint64_t& fewer) {
  fewer = 0;
  std::memcpy(&fewer, at, static_cast<std::size_t>(bytes_of_fewer(numbers)));
  const std::int64_t groups = whole_groups(numbers) / kGroup;
  if (groups < 32 && fewer >> 2 * groups != 0) return false;
  for (std::uint64_t left = width < kMostFewer ? fewer : 0; left != 0; left >>= 2)
    if ((left & kMostFewer) > width) return false;
  return true;
}

// What the block that begins there takes, of at most so many bytes.
struct BlockSize {
  std::int64_t bytes = 0;  // 0: there is no block
  std::int64_t kept = 0;   // elements that are not zero, of planes
  std::uint64_t fewer = 0; // what their groups have fewer
};
inline BlockSize size_of_block(const std::uint8_t* at, std::int64_t left, std::int64_t elements, DType type) {
  BlockHead head;
  if (left < static_cast<std::int64_t>(sizeof head)) return {};
  std::memcpy(&head, at, sizeof head);
  BlockSize size{sizeof head, elements, 0};
  if (head.kind() == Kind::raw) size.bytes += elements * bytes_of(type);
  if (head.kind() > Kind::planes || head.width > kMostWidth) return {};
  if (head.kind() == Kind::planes) {
    if (head.has(kMasked)) {
      const std::int64_t mask = bytes_of_mask(elements);
      if (left < size.bytes + mask) return {};
      size.kept = bits_set(at + size.bytes, mask);
      if (size.kept > elements) return {};
      size.bytes += mask;
    }
    const std::int64_t of_fewer = bytes_of_fewer(size.kept);
    if (left < size.bytes + of_fewer || !read_fewer(at + size.bytes, size.kept, head.width, size.fewer)) return {};
    constexpr std::uint64_t kOnes = 0x5555555555555555u;
    const std::uint64_t counted[2] = {size.fewer & kOnes, size.fewer & ~kOnes};
    const auto* const words = reinterpret_cast<const std::uint8_t*>(counted);
    size.bytes += of_fewer + bytes_of_planes(size.kept, head.width) - 2 * (bits_set(words, 8) + 2 * bits_set(words + 8, 8));
  }
  return size.bytes <= left ? size : BlockSize{};
}

} // namespace cairn::ops::cpu::lossy
