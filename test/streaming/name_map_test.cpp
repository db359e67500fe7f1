// The table of names against the library's.
#include "ops/plans/access_plan.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

using namespace cairn::ops::plans;

TEST_CASE("a table of names holds what was put there and not taken out, in whatever order") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    NameMap<std::uint64_t> map;
    std::unordered_map<Name, std::uint64_t> right;
    std::mt19937_64 random(seed);
    CHECK(map.find(leaf_name(0)) == nullptr);
    map.erase(leaf_name(0));
    // Leaves and what is made, numbers in order and far apart, and now and then a table that is nearly empty again.
    const auto a_name = [&] {
      const std::uint64_t number = random() % 3 == 0 ? random() % 400 * 1024 : random() % 400;
      return random() % 2 == 0 ? leaf_name(number) : born_name(number);
    };
    for (std::uint64_t round = 0; round < 4000; ++round) {
      const Name name = a_name();
      const bool mostly_erases = round / 500 % 2 == 1;
      if (random() % 4 < (mostly_erases ? 1u : 3u)) {
        const auto [at, fresh] = map.try_emplace(name, round);
        const auto [there, is_new] = right.try_emplace(name, round);
        REQUIRE(fresh == is_new);
        REQUIRE(*at == there->second);
        if (random() % 2 == 0) {
          map.insert_or_assign(name, round);
          right[name] = round;
        }
      } else {
        map.erase(name);
        right.erase(name);
      }
      REQUIRE(map.size() == right.size());
      const Name other = a_name();
      const std::uint64_t* const found = map.find(other);
      const auto known = right.find(other);
      REQUIRE((found == nullptr) == (known == right.end()));
      if (found != nullptr) REQUIRE(*found == known->second);
    }
    for (const auto& [name, value] : right) {
      REQUIRE(map.find(name) != nullptr);
      CHECK(*map.find(name) == value);
    }
    map.clear();
    CHECK(map.size() == 0);
    CHECK(map.find(born_name(1)) == nullptr);
  }
}
