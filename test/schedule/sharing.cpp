// What states and tapes hold together, told by sizes alone: never less than what is really there, in intervals that were joined
// as well. Here every element has a name, so that what is there can be counted.
#include "test/schedule/helpers.h"
#include "test/schedule/random_profiles.h"

#include <algorithm>
#include <iterator>
#include <set>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

namespace {

using Elements = std::set<std::size_t>;

Elements common(const Elements& a, const Elements& b) {
  Elements both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// Each interval makes some elements, of which some are alive for a while; tapes hold some of what is alive at their start and of
// what they make.
struct Named {
  std::vector<std::uint64_t> bytes;   // by element
  std::vector<std::uint32_t> birth;   // interval
  std::vector<Elements> alive, tapes; // at each boundary, of each interval

  Named(Draws& random, std::size_t count) : alive(count + 1), tapes(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t made = random.between(0, 4);
      Elements fresh;
      for (std::uint64_t k = 0; k < made; ++k) {
        fresh.insert(bytes.size());
        bytes.push_back(random.between(1, 9));
        birth.push_back(static_cast<std::uint32_t>(i));
      }
      const std::uint64_t stays = random.between(1, 4), kept = random.between(0, 4);
      Elements around = alive[i];
      around.insert(fresh.begin(), fresh.end());
      for (const std::size_t element : around) {
        if (random.between(0, 4) < stays) alive[i + 1].insert(element);
        if (random.between(0, 4) < kept) tapes[i].insert(element);
      }
    }
  }

  std::uint64_t sum(const Elements& elements) const {
    std::uint64_t all = 0;
    for (const std::size_t element : elements) all += bytes[element];
    return all;
  }
  std::uint64_t sum(const Elements& elements, std::size_t born) const {
    std::uint64_t all = 0;
    for (const std::size_t element : elements) all += birth[element] == born ? bytes[element] : 0;
    return all;
  }

  Profile profile() const {
    Profile profile;
    const std::size_t count = tapes.size();
    for (std::size_t i = 0; i <= count; ++i) {
      profile.reach.emplace_back();
      for (std::size_t k = 0; k < i; ++k) profile.reach[i].push_back(sum(alive[i], k));
      profile.cotangents.push_back(0);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      Interval interval;
      for (std::uint32_t k = 0; k <= i; ++k)
        if (const std::uint64_t held = sum(tapes[i], k); held != 0)
          interval.shares.push_back(shared(k, held, i == 0 || k == i ? 0 : sum(common(tapes[i], tapes[i - 1]), k),
                                           sum(common(tapes[i], alive[i + 1]), k)));
      profile.intervals.push_back(interval);
      Elements either = tapes[i];
      either.insert(alive[i + 1].begin(), alive[i + 1].end());
      profile.born.push_back(sum(either, i));
    }
    return profile;
  }
};

} // namespace

TEST_CASE("what is held is never more than it is said to be, and what neighbours share is counted once") {
  Draws random{std::mt19937_64(21)};
  std::uint64_t said = 0, there = 0;
  for (int round = 0; round < 2000; ++round) {
    const Named named(random, random.between(2, 14));
    const Profile fine = named.profile();
    REQUIRE(fine.sound());
    const auto count = static_cast<std::uint32_t>(fine.size());
    std::vector<std::uint32_t> boundaries{0};
    for (std::uint32_t i = 1; i < count; ++i)
      if (random.between(0, 2) != 0) boundaries.push_back(i);
    boundaries.push_back(count);
    const Profile coarse = coarsened(fine, boundaries);
    REQUIRE(coarse.sound());
    std::vector<bool> states(coarse.size() + 1), tapes(coarse.size());
    Elements held;
    const std::uint64_t of_states = random.between(0, 4), of_tapes = random.between(0, 4);
    for (std::size_t c = 0; c < coarse.size(); ++c) {
      states[c + 1] = random.between(1, 4) <= of_states;
      tapes[c] = random.between(1, 4) <= of_tapes;
      if (states[c + 1]) held.insert(named.alive[boundaries[c + 1]].begin(), named.alive[boundaries[c + 1]].end());
      for (std::size_t i = boundaries[c]; tapes[c] && i < boundaries[c + 1]; ++i)
        held.insert(named.tapes[i].begin(), named.tapes[i].end());
    }
    CAPTURE(round);
    CHECK(held_bytes(coarse, states, tapes) >= named.sum(held));
    said += held_bytes(coarse, states, tapes);
    there += named.sum(held);
  }
  MESSAGE("said to hold ", static_cast<double>(said) / static_cast<double>(there), " times what is there");
  CHECK(said <= there + there / 50);
}
