// Memory of large blocks: blocks never share a byte, free neighbours become one, and what lies idle goes back to the system.
#include "ops/cpu/device/extents.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

struct Marked {
  Block* block;
  std::int64_t bytes;
  unsigned char mark;
};

// Marks are written at both ends and in the middle, so blocks that overlap are found.
Marked taken(Extents& extents, std::int64_t bytes, unsigned char mark) {
  Block* const block = extents.take(bytes);
  REQUIRE(block->bytes >= bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(block->data) % 4096 == 0);
  auto* const data = static_cast<unsigned char*>(block->data);
  data[0] = data[bytes / 2] = data[bytes - 1] = mark;
  return {block, bytes, mark};
}

void give_back(Extents& extents, const Marked& marked) {
  const auto* const data = static_cast<const unsigned char*>(marked.block->data);
  CHECK(data[0] == marked.mark);
  CHECK(data[marked.bytes / 2] == marked.mark);
  CHECK(data[marked.bytes - 1] == marked.mark);
  extents.give_back(marked.block);
}

} // namespace

TEST_CASE("blocks of random sizes in random order keep what is written, and pages stay within what was in use at once") {
  std::mt19937 random(7);
  Extents extents;
  std::vector<Marked> held;
  std::int64_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    const bool full = extents.bytes_in_use() > 200 * kMiB;
    if (held.empty() || (!full && random() % 2 == 0)) {
      const std::int64_t bytes =
          (std::int64_t{65} << 10) + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (17 + random() % 8)));
      held.push_back(taken(extents, bytes, static_cast<unsigned char>(random())));
    } else {
      std::swap(held[random() % held.size()], held.back());
      give_back(extents, held.back());
      held.pop_back();
    }
    most = std::max(most, extents.bytes_in_use());
    // A page that is in use in part stays: there are no more of these than blocks have ends.
    REQUIRE(extents.bytes_touched() <= std::max(extents.bytes_in_use() + 32 * kMiB, most + most / 4) +
                                           4 * kMiB * static_cast<std::int64_t>(held.size() + 1));
  }
  for (const Marked& marked : held) give_back(extents, marked);
  CHECK(extents.bytes_in_use() == 0);
}

TEST_CASE("what small blocks gave back serves for a large one, and the other way round, without fresh pages") {
  Extents extents;
  std::vector<Block*> small;
  for (int i = 0; i < 48; ++i) small.push_back(extents.take(kMiB));
  const std::int64_t touched = extents.bytes_touched();
  for (std::size_t i = 0; i < small.size(); i += 2) extents.give_back(small[i]);
  for (std::size_t i = 1; i < small.size(); i += 2) extents.give_back(small[i]);
  Block* const large = extents.take(48 * kMiB);
  CHECK(extents.bytes_touched() == touched);
  extents.give_back(large);
  for (Block*& block : small) block = extents.take(kMiB);
  CHECK(extents.bytes_touched() == touched);
  for (Block* block : small) extents.give_back(block);
}

TEST_CASE("idle pages go back to the system as soon as more is in use than before elsewhere") {
  Extents extents;
  std::vector<Block*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(extents.take(2 * kMiB));
  const std::int64_t whole = extents.bytes_touched();
  CHECK(whole >= 200 * kMiB);
  // Each second one: no two of them are neighbours, so nothing larger fits between what stays.
  for (std::size_t i = 0; i < blocks.size(); i += 2) extents.give_back(blocks[i]);
  std::vector<Block*> larger;
  for (int i = 0; i < 25; ++i) larger.push_back(extents.take(4 * kMiB));
  CHECK(extents.bytes_touched() <= whole + 100 * kMiB);
  for (std::size_t i = 1; i < blocks.size(); i += 2) extents.give_back(blocks[i]);
  CHECK(extents.bytes_touched() <= whole + whole / 4 + 4 * kMiB);
  for (Block* block : larger) extents.give_back(block);
  CHECK(extents.bytes_in_use() == 0);
  CHECK(extents.bytes_touched() <= whole + whole / 4 + 4 * kMiB);
}

TEST_CASE("a block that no memory has room for is refused, and all goes on") {
  Extents extents;
  Block* const small = extents.take(kMiB);
  CHECK_THROWS_AS(extents.take(std::int64_t{1} << 60), std::bad_alloc);
  CHECK_THROWS_AS(extents.take(std::int64_t{1} << 46), std::bad_alloc);
  Block* const more = extents.take(kMiB);
  extents.give_back(small);
  extents.give_back(more);
  CHECK(extents.bytes_in_use() == 0);
}

} // namespace cairn::ops::cpu
