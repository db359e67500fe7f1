// PlaceMap: against std::map on random operations; iterated in the order of insertion.
#include "vm/tape/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

using cairn::tape::Place;
using cairn::tape::PlaceMap;

namespace {

using Key = std::pair<std::uint64_t, std::uint32_t>;
Key key(Place p) { return {p.serial, p.slot}; }

template <class T> std::vector<std::pair<Key, T>> listed(const PlaceMap<T>& map) {
  std::vector<std::pair<Key, T>> out;
  map.for_each([&](Place p, const T& value) { out.push_back({key(p), value}); });
  return out;
}

} // namespace

TEST_CASE("an empty map finds and erases nothing") {
  PlaceMap<int> map;
  CHECK(map.find({1, 0}) == nullptr);
  CHECK_FALSE(map.erase({1, 0}));
  CHECK(map.size() == 0);
  CHECK(map.bytes() == 0);
}

TEST_CASE("serial and slot both tell places apart") {
  PlaceMap<int> map;
  map.set({1, 2}, 12);
  map.set({2, 1}, 21);
  map.set({1, 0}, 10);
  map.set({0, 1}, 1);
  map.set({1ull << 40, 2}, 402);
  CHECK(*map.find({1, 2}) == 12);
  CHECK(*map.find({2, 1}) == 21);
  CHECK(*map.find({1, 0}) == 10);
  CHECK(*map.find({0, 1}) == 1);
  CHECK(*map.find({1ull << 40, 2}) == 402);
  CHECK(map.find({2, 2}) == nullptr);
}

TEST_CASE("what was erased is default-made when it comes back, in its old place or behind all others") {
  PlaceMap<double> map;
  map.set({1, 0}, 5);
  map.set({2, 0}, 6);
  CHECK(map.erase({1, 0}));
  CHECK_FALSE(map.erase({1, 0}));
  CHECK(map.find({1, 0}) == nullptr);
  CHECK(map.size() == 1);
  bool fresh = false;
  CHECK(map.at({1, 0}, fresh) == 0);
  CHECK(fresh);
  CHECK(map.at({1, 0}, fresh) == 0);
  CHECK_FALSE(fresh);
  CHECK(map.size() == 2);
  map.clear();
  CHECK(map.size() == 0);
  CHECK(map.find({2, 0}) == nullptr);
  map.set({2, 0}, 7);
  CHECK(*map.find({2, 0}) == 7);
}

TEST_CASE("random operations as on std::map") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    // Few places meet again often; many make the table grow.
    std::uint64_t serials = seed % 2 == 0 ? 20 : 5000;
    PlaceMap<int> map;
    std::map<Key, int> model;
    for (int i = 0; i < 20'000; ++i) {
      Place p{random() % serials << (random() % 2 * 20), static_cast<std::uint32_t>(random() % 3)};
      int value = static_cast<int>(random() % 1000);
      switch (random() % 4) {
      case 0:
        map.set(p, value);
        model[key(p)] = value;
        break;
      case 1: {
        bool fresh = false;
        int& slot = map.at(p, fresh);
        auto [at, inserted] = model.emplace(key(p), 0);
        REQUIRE(fresh == inserted);
        REQUIRE(slot == at->second);
        slot += value;
        at->second += value;
        break;
      }
      case 2:
        REQUIRE(map.erase(p) == (model.erase(key(p)) == 1));
        break;
      default: {
        int* found = map.find(p);
        auto at = model.find(key(p));
        REQUIRE((found != nullptr) == (at != model.end()));
        if (found != nullptr) REQUIRE(*found == at->second);
      }
      }
      REQUIRE(map.size() == model.size());
    }
    auto list = listed(map);
    std::sort(list.begin(), list.end());
    REQUIRE(list.size() == model.size());
    CHECK(std::equal(list.begin(), list.end(), model.begin(),
                     [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
  }
}

TEST_CASE("without erasures the order is that of first insertion, however often the table grows") {
  std::mt19937 random(3);
  PlaceMap<int> map;
  std::vector<std::pair<Key, int>> order;
  for (int i = 0; i < 10'000; ++i) {
    Place p{random() % 4000, static_cast<std::uint32_t>(random() % 2)};
    bool fresh = false;
    map.at(p, fresh);
    if (fresh) order.push_back({key(p), 0});
  }
  CHECK(listed(map) == order);
}

TEST_CASE("the order depends on the operations alone: the same in a copy made at any moment") {
  std::mt19937 random(4);
  PlaceMap<int> map, copy;
  for (int i = 0; i < 30'000; ++i) {
    if (i == 9'000) copy = map;
    Place p{random() % 700, static_cast<std::uint32_t>(random() % 2)};
    bool erase = random() % 3 == 0;
    for (PlaceMap<int>* m : {&map, &copy}) {
      if (m == &copy && i < 9'000) continue;
      if (erase)
        m->erase(p);
      else
        m->set(p, i);
    }
  }
  CHECK(listed(map) == listed(copy));
}

TEST_CASE("many places are in tables of their neighbourhoods, and nobody can tell") {
  constexpr std::size_t kMany = 3 * PlaceMap<int>::kFew;
  // Many objects of few slots, few objects of many, and objects far apart.
  const auto dense = [](std::uint64_t i) { return Place{i / 2, static_cast<std::uint32_t>(i % 2)}; };
  const auto vectors = [](std::uint64_t i) { return Place{i % 3, static_cast<std::uint32_t>(i / 3)}; };
  const auto sparse = [](std::uint64_t i) { return Place{i * 1'000'003, 0}; };
  for (Place (*place)(std::uint64_t) : {+dense, +vectors, +sparse}) {
    PlaceMap<std::uint64_t> map;
    for (std::uint64_t i = 0; i < kMany; ++i) map.set(place(i), i);
    PlaceMap<std::uint64_t> copy = map;
    REQUIRE(map.size() == kMany);
    std::uint64_t probes = 0;
    for (std::uint64_t i = 0; i < kMany; ++i) {
      const std::uint64_t* found = map.find(place(i));
      REQUIRE(found != nullptr);
      REQUIRE(*found == i);
      probes += map.probes(place(i));
    }
    CHECK(probes < 16 * kMany);
    CHECK(map.find(place(kMany)) == nullptr);
    CHECK_FALSE(map.erase(place(kMany)));
    const std::int64_t full = map.bytes();
    for (std::uint64_t i = 0; i < kMany; ++i)
      if (i % 5 != 0) REQUIRE(map.erase(place(i)));
    CHECK(map.size() == (kMany + 4) / 5);
    std::uint64_t sum = 0;
    map.for_each([&](Place, std::uint64_t i) { sum += i; });
    CHECK(sum == 5 * (((kMany - 1) / 5) * ((kMany - 1) / 5 + 1) / 2));
    for (std::uint64_t i = 0; i < kMany; i += 5) REQUIRE(map.erase(place(i)));
    CHECK(map.size() == 0);
    CHECK(map.bytes() < full);
    bool fresh = false;
    CHECK(map.at(place(7), fresh) == 0);
    CHECK(fresh);
    map.clear();
    CHECK(map.bytes() == 0);
    CHECK(copy.size() == kMany);
    PlaceMap<std::uint64_t> again;
    for (std::uint64_t i = 0; i < kMany; ++i) again.set(place(i), i);
    CHECK(listed(copy) == listed(again));
  }
}
