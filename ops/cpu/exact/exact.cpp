// See exact.h: pieces, and what to try.
#include "ops/cpu/exact/exact.h"

#include "ops/cpu/exact/blocks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cairn::ops::exact {

namespace {

constexpr std::int64_t kSample = 8 << 10; // bytes that tell the width
constexpr std::int64_t kLength = 4;       // of what says how long a block is

constexpr std::int64_t blocks_of(std::int64_t bytes) { return (bytes + kBlock - 1) / kBlock; }
std::int64_t bytes_of_block(std::int64_t bytes, std::int64_t block) { return std::min(kBlock, bytes - block * kBlock); }

// The width of elements that makes the fewest bytes of these; 0: none makes fewer.
unsigned best_width(Workspace& work, const std::uint8_t* bytes, std::int64_t count, std::uint8_t* room, std::uint8_t* end) {
  count = std::min(count, kSample);
  if (end - room > count) end = room + count;
  unsigned best = 0;
  for (unsigned width = 1; width <= kWidest; width *= 2)
    if (std::uint8_t* const behind = write_block(work, bytes, count, width, room, end); behind != nullptr) {
      best = width;
      end = behind - 1;
    }
  return best;
}

} // namespace

std::int64_t encode(Workspace& work, const std::uint8_t* from, std::int64_t bytes, std::uint8_t* to, std::int64_t most) {
  const std::int64_t blocks = blocks_of(bytes), in_middle = (blocks - 1) / 2;
  std::uint8_t *at = to + blocks * kLength, *const end = to + std::min(most, bytes);
  if (bytes == 0 || at > end) return 0;
  const std::uint8_t* const middle = from + in_middle * kBlock;
  const std::int64_t tried = bytes_of_block(bytes, in_middle);
  const unsigned width = best_width(work, middle, tried, at, end);
  if (width == 0) return 0;
  if (const std::int64_t most_of_tried = std::min<std::int64_t>(most * tried / bytes, end - at);
      blocks > 2 && write_block(work, middle, tried, width, at, at + most_of_tried) == nullptr)
    return 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::uint8_t* const begin = from + block * kBlock;
    const std::int64_t size = bytes_of_block(bytes, block);
    std::uint8_t* behind = write_block(work, begin, size, width, at, at + std::min(size - 1, end - at));
    if (behind == nullptr) {
      if (end - at < size) return 0;
      std::memcpy(at, begin, static_cast<std::size_t>(size));
      behind = at + size;
    }
    const auto length = static_cast<std::uint32_t>(behind - at);
    std::memcpy(to + block * kLength, &length, sizeof length);
    at = behind;
  }
  return at - to;
}

bool decode(Workspace& work, const std::uint8_t* from, std::int64_t size, std::int64_t bytes, std::uint8_t* to,
            std::int64_t wanted) {
  const std::int64_t blocks = blocks_of(bytes);
  if (size < blocks * kLength) return false;
  const std::uint8_t *at = from + blocks * kLength, *const end = from + size;
  for (std::int64_t block = 0; block * kBlock < wanted; ++block) {
    std::uint32_t length;
    std::memcpy(&length, from + block * kLength, sizeof length);
    const std::int64_t all = bytes_of_block(bytes, block), part = std::min(all, wanted - block * kBlock);
    if (length > all || length > end - at) return false;
    std::uint8_t* const begin = to + block * kBlock;
    if (length == all) {
      std::memcpy(begin, at, static_cast<std::size_t>(part));
    } else {
      const bool beside = part != all; // of which nothing may be written behind what is wanted
      if (!read_block(work, at, length, beside ? work.block : begin, all)) return false;
      if (beside) std::memcpy(begin, work.block, static_cast<std::size_t>(part));
    }
    at += length;
  }
  return wanted < bytes || at == end;
}

} // namespace cairn::ops::exact
