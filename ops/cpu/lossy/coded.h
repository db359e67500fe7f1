// The small form of a chunk: numbers of steps, coded by how often each comes beside such neighbours. It is a function of the
// numbers and of how far away neighbours lie alone, whatever the processor.
//
//   CodedHead | forms of blocks, a byte each, or one for all | keys of blocks, u16 each | tables | states, u32 each | words, u16
//   each | bits
//
// An element is a *token*. A zero is 0. Others are their number and one, the value: itself below 16, and above that how long it
// is and its two bits behind the first one; what is left of it stands in `bits`, the lowest of a byte first. Each element has a
// *context*, by the sum of the tokens of two elements before it: those of the same channel beside and above, where channels lie
// closest. By the table of frequencies of its context a token goes into one of kLanes states of an asymmetric numeral system
// (rANS), which take turns. A state below kLeastState takes a word.
#pragma once

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/lossy/encoding.h"

#include <array>
#include <cstdint>

namespace cairn::ops::cpu::lossy {

inline constexpr unsigned kContexts = 16, kTokens = 96, kDirect = 16; // tokens below that are their value
inline constexpr unsigned kScaleBits = 10, kScale = 1u << kScaleBits; // what the frequencies of a context add up to
inline constexpr unsigned kCodedWidth = 23;                           // of the largest number that has a token
inline constexpr unsigned kLanes = 32;
inline constexpr std::uint32_t kLeastState = 1u << 15;
inline constexpr unsigned kFewBits = 17;       // values of at most that many have at most 14 bits beside their token
inline constexpr std::int64_t kTogether = 32;  // elements whose contexts are made at once: neighbours are as far away
inline constexpr std::int64_t kBehindBits = 8; // zeros, so that bits are read a word at a time

struct CodedHead {
  Kind kind = Kind::coded;  // where a block has its form
  std::uint8_t differs = 0; // 1: each block has a form of its own
  std::uint16_t bytes_of_tables = 0;
  std::uint32_t near = 0, far = 0; // how many elements before it the neighbours of one are
  std::uint32_t words = 0, bytes_of_bits = 0;
};
static_assert(sizeof(CodedHead) == 20);
constexpr std::int64_t bytes_of_coded(const CodedHead& head, std::int64_t blocks) {
  return static_cast<std::int64_t>(sizeof head) + (head.differs != 0 ? blocks : 1) + 2 * blocks + head.bytes_of_tables +
         std::int64_t{kLanes} * 4 + 2 * std::int64_t{head.words} + head.bytes_of_bits;
}

struct Distances {
  std::uint32_t near = kTogether, far = kTogether;
};
// In a tensor that lies without gaps.
Distances distances_in(const View& x);

using Frequencies = std::array<std::array<std::uint16_t, kTokens>, kContexts>; // of no token, where there is no such context
using Counts = std::array<std::array<std::uint32_t, kTokens>, kContexts>;
Frequencies frequencies_of(const Counts& counts);
// How many bytes were written: at most kMostOfTables.
std::int64_t write_tables(const Frequencies& frequencies, std::uint8_t* to);
bool read_tables(const std::uint8_t* from, std::int64_t bytes, Frequencies& frequencies);
inline constexpr std::int64_t kMostOfTables = kContexts * (1 + 2 * kTokens);

inline constexpr std::uint32_t kFurthest = kChunk; // neighbours

// Bits one behind the other.
struct Bits {
  std::uint8_t *begin = nullptr, *end = nullptr; // of whole bytes
  std::uint64_t pending = 0;                     // those that do not make a byte yet
  unsigned pending_bits = 0;
};

// Makes the small form of a chunk.
class ChunkCoder {
public:
  // Of so many elements. std::bad_alloc, ScratchExceeded.
  ChunkCoder(Distances distances, std::int64_t elements);
  // Of the next block: values of numbers of at most `width` bits, which are at most kCodedWidth.
  struct Added {
    std::int64_t kept; // how many are not zero
    std::int64_t bits; // that the numbers of these have at least, all together
  };
  Added add(const BlockHead& head, unsigned width, const std::uint32_t* values, std::int64_t count);
  // After all blocks: how many bytes it takes; and these.
  std::int64_t code();
  void write(std::uint8_t* to) const;

private:
  Distances distances_;
  Scratch memory_;
  std::uint8_t* tokens_;
  std::uint16_t *symbols_, *end_of_words_, *words_ = nullptr;
  Bits bits_;
  std::int64_t count_ = 0, blocks_ = 0;
  std::uint32_t all_ = 0; // bits of values
  CodedHead head_;
  std::array<std::uint8_t, kMostOfTables> tables_;
  std::array<std::uint32_t, kLanes> states_;
  std::array<std::uint8_t, kBlocksOfChunk> forms_;
  std::array<std::uint16_t, kBlocksOfChunk> keys_;
};

// Reads the small form of a chunk.
class ChunkReader {
public:
  // Whether these can be the bytes of a chunk of so many elements. Tokens are what they say, and `ends_well` whether they end as
  // what was coded does; any bytes have some. std::bad_alloc, ScratchExceeded.
  bool open(const std::uint8_t* bytes, std::int64_t size, std::int64_t elements);
  bool ends_well() const { return ends_well_; }
  // The next block, of the elements that it was opened for: values, which have room for one more.
  BlockHead next(std::int64_t count, std::uint32_t* values);

private:
  bool narrow_values(const std::uint8_t* tokens, std::int64_t count, std::uint32_t* values); // false: their bits are too many
  void wide_values(const std::uint8_t* tokens, std::int64_t count, std::uint32_t* values);
  void decode(const Frequencies& frequencies, std::uint32_t* takes, const std::uint8_t* states, std::int64_t elements);

  CodedHead head_;
  Scratch memory_;
  std::uint8_t* tokens_ = nullptr;
  const std::uint8_t *forms_ = nullptr, *keys_ = nullptr, *words_ = nullptr, *bits_ = nullptr;
  std::int64_t at_ = 0, block_ = 0;
  std::uint64_t bit_ = 0;
  bool ends_well_ = false;
};

} // namespace cairn::ops::cpu::lossy
