// What is kept of a first run when not everything fits.
#include "vm/schedule/keeping.h"

#include "test/schedule/helpers.h"
#include "test/schedule/random_profiles.h"

#include <algorithm>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

namespace {

// A chain whose states weigh 10 bytes and are on no tape.
Profile chain(const std::vector<std::uint64_t>& forward, const std::vector<std::uint64_t>& tape) {
  Profile profile;
  const std::size_t n = forward.size();
  for (std::size_t i = 0; i <= n; ++i) {
    profile.reach.emplace_back(i, 0);
    if (i > 0) profile.reach[i].back() = 10;
    profile.cotangents.push_back(10);
  }
  for (std::size_t i = 0; i < n; ++i) {
    Interval interval;
    interval.forward = interval.taped = forward[i];
    interval.sweep = 2 * forward[i];
    interval.tape = tape[i];
    profile.intervals.push_back(interval);
  }
  profile.born = least_born(profile);
  REQUIRE(profile.sound());
  return profile;
}

struct Holding {
  std::vector<bool> states, tapes;
  explicit Holding(const Profile& profile) : states(profile.size() + 1, true), tapes(profile.size(), true) {}
  std::uint64_t bytes(const Profile& profile) const { return held_bytes(profile, states, tapes); }
};

} // namespace

TEST_CASE("of two tapes that weigh the same, that of the interval which runs faster goes first, wherever it lies") {
  const Profile profile = chain({9000, 9000, 100, 9000, 9000}, {50, 50, 500, 500, 50});
  const Holding all(profile);
  const std::uint64_t whole = all.bytes(profile);
  Keeping keeping(profile, whole + 10 - 100, 0, false, all.states, all.tapes);
  std::vector<std::size_t> tapes;
  for (auto drops = keeping.drop(); !drops.empty(); drops = keeping.drop())
    for (const Keeping::Drop& drop : drops)
      if (drop.what == Keeping::What::tape) tapes.push_back(drop.at);
  CHECK(tapes == std::vector<std::size_t>{2});
}

TEST_CASE("a state between two tapes goes first where the tape behind it will not go for long, and else stays") {
  // The tape of the second interval goes next, at 100 for 500 bytes; those of the others would at 9000 for 50.
  const Profile profile = chain({9000, 100, 9000, 9000, 9000}, {50, 500, 50, 50, 50});
  const Holding all(profile);
  Keeping keeping(profile, all.bytes(profile) + 10 - 400, 0, false, all.states, all.tapes);
  std::vector<std::size_t> states;
  std::vector<Keeping::Drop> drops = keeping.drop();
  for (; drops.size() == 1 && drops[0].what == Keeping::What::state; drops = keeping.drop()) states.push_back(drops[0].at);
  REQUIRE(!drops.empty());
  CHECK((drops[0].what == Keeping::What::tape && drops[0].at == 1));
  std::sort(states.begin(), states.end());
  CHECK(states == std::vector<std::size_t>{2, 3, 4});
}

TEST_CASE("of tapes that weigh about the same, one in front of a gap that lacks room goes before one behind it") {
  const Profile profile = chain(std::vector<std::uint64_t>(9, 100), {50, 50, 50, 50, 50, 50, 50, 50, 60});
  Holding held(profile);
  for (std::size_t i = 2; i < 7; ++i) held.tapes[i] = false;
  for (std::size_t i = 3; i < 7; ++i) held.states[i] = false;
  // For the gap's tape of 250 bytes there are so many beside the tapes in front of it; at the end there are 100 too few.
  const auto first_tape = [&](std::uint64_t for_gap) {
    const std::uint64_t in_front = 2 * 50 + 2 * 10, room = in_front + for_gap + 10;
    Keeping keeping(profile, room, room + 100 - 10 - held.bytes(profile), false, held.states, held.tapes);
    for (auto drops = keeping.drop(); !drops.empty(); drops = keeping.drop())
      if (drops[0].what == Keeping::What::tape) return drops[0].at;
    return profile.size();
  };
  CHECK(first_tape(200) == 0);
  CHECK(first_tape(250) == 8);
}

TEST_CASE("the state between two gaps goes before a tape does, and not the one at the start of them") {
  const Profile profile = chain({100, 100, 9000, 9000}, {50, 50, 50, 50});
  Holding held(profile);
  held.tapes[0] = held.tapes[1] = false;
  Keeping keeping(profile, held.bytes(profile) + 10 - 10, 0, false, held.states, held.tapes);
  const auto drops = keeping.drop();
  REQUIRE(drops.size() == 1);
  CHECK((drops[0].what == Keeping::What::state && drops[0].at <= 2 && drops[0].at > 0));
  CHECK(keeping.drop().empty());
}

TEST_CASE(
    "whatever the room, every gap has the state at its start, and room is made as long as there is something to let go of") {
  Draws random{std::mt19937_64(11)};
  for (int round = 0; round < 300; ++round) {
    const Profile profile = random_profile(random, random.between(2, 30), true);
    const std::size_t n = profile.size();
    Holding held(profile);
    const std::uint64_t whole = held.bytes(profile), next = random.between(0, 4);
    const std::uint64_t room = random.between(1, whole + 20);
    Keeping keeping(profile, room, next, false, held.states, held.tapes);
    CAPTURE(round);
    std::size_t dropped = 0;
    for (auto drops = keeping.drop(); !drops.empty(); drops = keeping.drop()) {
      for (const Keeping::Drop& drop : drops) {
        REQUIRE(drop.at < n);
        const bool tape = drop.what == Keeping::What::tape;
        REQUIRE((tape || drop.what == Keeping::What::state));
        auto& flags = tape ? held.tapes : held.states;
        REQUIRE((flags[drop.at] && (tape || drop.at > 0)));
        flags[drop.at] = false;
        ++dropped;
      }
      for (std::size_t i = 0; i < n; ++i)
        if (!held.tapes[i] && (i == 0 || held.tapes[i - 1])) REQUIRE(held.states[i]);
      REQUIRE(dropped <= 2 * n);
    }
    // The run can go on, or as good as nothing is held that could be let go of.
    const bool fits = held.bytes(profile) + profile.cotangents.back() + next <= room;
    const bool bare = std::find(held.tapes.begin(), held.tapes.end(), true) == held.tapes.end();
    CHECK((fits || bare || held.bytes(profile) <= room / 16));
  }
}

TEST_CASE("a tape behind one in the file can still be let go of, with that") {
  const Profile profile = chain({9000, 9000, 9000}, {50, 500, 50});
  Holding held(profile);
  held.states[1] = held.states[2] = false;
  File file;
  file.tapes = {true, false, false};
  file.most = 50; // no more
  file.ticks = 1;
  Keeping keeping(profile, 200, 0, true, held.states, held.tapes, file);
  const auto drops = keeping.drop();
  REQUIRE(drops.size() >= 2);
  CHECK((drops[0].what == Keeping::What::tape && drops[0].at == 0));
  CHECK((drops[1].what == Keeping::What::tape && drops[1].at == 1));
  CHECK(keeping.fits());
}

TEST_CASE("a tape goes to the file where that takes less time than its interval, and where the file holds it") {
  const Profile profile = chain({9000, 9000, 9000}, {50, 50, 50});
  const Holding all(profile);
  const std::uint64_t room = all.bytes(profile) + 10 - 100;
  File file;
  file.most = std::uint64_t{1} << 30;
  file.ticks = 1;
  auto first = [&](const File& given) { return Keeping(profile, room, 0, false, all.states, all.tapes, given).drop(); };
  REQUIRE(!first(file).empty());
  CHECK(first(file).front().what == Keeping::What::spill);
  file.ticks = std::uint64_t{1} << 40;
  CHECK(first(file).front().what != Keeping::What::spill);
  file.ticks = 1;
  file.most = 1;
  CHECK(first(file).front().what != Keeping::What::spill);
  // Where nothing of a tape would go, whether there is a file or not.
  Profile small = profile;
  for (Interval& interval : small.intervals) interval.stays = interval.tape;
  auto of_small = [&](const File& given) { return Keeping(small, room, 0, false, all.states, all.tapes, given).drop(); };
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    file.most = most;
    const auto drops = of_small(file);
    REQUIRE(!drops.empty());
    CHECK(std::none_of(drops.begin(), drops.end(), [](const Keeping::Drop& drop) { return drop.what == Keeping::What::spill; }));
  }
}
