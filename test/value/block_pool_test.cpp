// Blocks: distinct, aligned, reused, and given back to the system.
#include "vm/value/block_pool.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

using cairn::value::BlockPool;

TEST_CASE("blocks of any size are aligned and do not overlap") {
  for (std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1000}, std::size_t{32832}, std::size_t{1} << 20}) {
    BlockPool blocks(bytes);
    std::map<std::uintptr_t, int> taken;
    for (int i = 0; i < 200; ++i) {
      void* b = blocks.take();
      REQUIRE(b != nullptr);
      std::memset(b, i, bytes);
      auto at = reinterpret_cast<std::uintptr_t>(b);
      CHECK(at % 64 == 0);
      auto [place, fresh] = taken.emplace(at, i);
      REQUIRE(fresh);
      if (place != taken.begin()) CHECK(std::prev(place)->first + bytes <= at);
      if (std::next(place) != taken.end()) CHECK(at + bytes <= std::next(place)->first);
    }
    for (auto [at, i] : taken) {
      const auto* b = reinterpret_cast<const unsigned char*>(at);
      CHECK(b[0] == static_cast<unsigned char>(i));
      CHECK(b[bytes - 1] == static_cast<unsigned char>(i));
    }
  }
}

TEST_CASE("a block that was given back is taken again before fresh memory") {
  BlockPool blocks(4096);
  void* a = blocks.take();
  void* b = blocks.take();
  blocks.give_back(a);
  CHECK(blocks.take() == a);
  CHECK(blocks.take() != b);
}

TEST_CASE("random taking and giving back, over many regions and down to none") {
  BlockPool blocks(100000);
  std::mt19937 random(7);
  std::vector<void*> held;
  std::set<void*> distinct;
  for (int phase = 0; phase < 6; ++phase) {
    std::size_t target = phase % 2 == 0 ? 600 : 0;
    while (held.size() != target) {
      bool take = held.empty() || (target != 0 ? random() % 4 != 0 : random() % 4 == 0);
      if (take) {
        void* b = blocks.take();
        REQUIRE(b != nullptr);
        REQUIRE(distinct.insert(b).second);
        std::memcpy(b, &b, sizeof b);
        held.push_back(b);
      } else {
        std::size_t at = random() % held.size();
        void* b = held[at];
        void* found = nullptr;
        std::memcpy(&found, b, sizeof found);
        CHECK(found == b);
        blocks.give_back(b);
        distinct.erase(b);
        held[at] = held.back();
        held.pop_back();
      }
    }
  }
}
