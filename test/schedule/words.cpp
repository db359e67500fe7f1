// Words of schedules, packed for what a machine remembers.
#include "test/schedule/helpers.h"

#include "vm/schedule/words.h"

#include <random>

using namespace cairn::schedule;

TEST_CASE("words come back as they were packed, and take a byte for seven bits") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> words(random() % 40);
    std::size_t bytes = 0;
    for (std::uint64_t& word : words) {
      word = random() >> random() % 64;
      bytes += 1;
      for (std::uint64_t rest = word >> 7; rest != 0; rest >>= 7) ++bytes;
    }
    const std::vector<std::uint64_t> small = packed(words);
    CHECK(small.size() == 1 + (bytes + 7) / 8);
    REQUIRE(unpacked(small));
    CHECK(*unpacked(small) == words);
    if (small.size() == 1) continue;
    std::vector<std::uint64_t> damaged = small;
    damaged.pop_back();
    CHECK(!unpacked(damaged)); // bytes are missing,
    damaged = small;
    damaged.push_back(0);
    CHECK(!unpacked(damaged)); // or more than there were
  }
  CHECK(unpacked(packed({0, UINT64_MAX, 127, 128})) == std::vector<std::uint64_t>{0, UINT64_MAX, 127, 128});
  CHECK(!unpacked({}));
  CHECK(!unpacked({1, 0x80}));                                // more was to follow
  CHECK(!unpacked({2, 0x0080}));                              // a number has one form
  CHECK(!unpacked({11, 0xffffffffffffffff, 0xffffffffffff})); // more bits than a word has
}
