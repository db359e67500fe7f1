// Who leaves a memory first.
#include "test/streaming/runs.h"

#include "ops/plans/prefetcher.h"
#include "ops/plans/residents.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;
using Names = std::vector<Name>;

namespace {

// A plan whose first launch is of nothing, and whose launch n uses leaf n; where it is `written`, as a whole.
AccessPlan in_order(std::size_t launches, std::uint64_t bytes, std::size_t written = 0) {
  Recorder recorder(0);
  recorder.launch(1000, {});
  for (std::size_t i = 1; i < launches; ++i)
    recorder.launch(1000, std::vector{i == written ? write(leaf_name(i), bytes) : read(leaf_name(i), bytes)});
  return finished(recorder);
}

Names names_of(const std::vector<Resident*>& residents) {
  Names names;
  for (const Resident* const one : residents) names.push_back(one->name);
  return names;
}

// A memory with blocks that are known by their names.
struct OneMemory {
  explicit OneMemory(const Follower* follower, const Foresight* foresight = nullptr) : residents(follower, foresight) {}
  Resident& at(Name name) {
    auto& block = blocks[name];
    if (block == nullptr) block = std::make_unique<Resident>();
    block->name = name;
    return *block;
  }
  void put(Name name, std::uint64_t bytes, bool dirty, Picoseconds free_at = 0) {
    if (!at(name).here) at(name).bytes = bytes;
    residents.put(at(name), dirty, free_at);
  }
  Names choose(const Residents::Want& want) const { return names_of(residents.choose(want)); }

  Residents residents;
  std::map<Name, std::unique_ptr<Resident>> blocks;
};

} // namespace

TEST_CASE("along a plan who is needed last leaves first") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  OneMemory room(&follower);
  for (const std::uint64_t leaf : {5, 12, 3, 17, 9}) room.put(leaf_name(leaf), 10, false);
  CHECK(room.residents.bytes() == 50);
  CHECK(room.residents.missing().size() == 14);
  CHECK(room.residents.missing().begin()->first == 1);
  CHECK(room.choose({.bytes = 10}) == Names{leaf_name(17)});
  CHECK(room.choose({.bytes = 15}) == Names{leaf_name(17), leaf_name(12)});
  ++room.at(leaf_name(17)).pins;
  CHECK(room.choose({.bytes = 10}) == Names{leaf_name(12)});
  CHECK(room.choose({.bytes = 41}).empty());
  --room.at(leaf_name(17)).pins;
  // Who is needed before what it would make room for stays.
  CHECK(room.choose({.bytes = 20, .needed_at = 12}).empty());
  CHECK(room.choose({.bytes = 10, .needed_at = 12}) == Names{leaf_name(17)});
  room.residents.remove(room.at(leaf_name(17)));
  CHECK(room.residents.missing().size() == 15);
  CHECK(room.choose({.bytes = 10}) == Names{leaf_name(12)});
  room.residents.dropped(room.at(leaf_name(12)));
  CHECK(room.residents.missing().size() == 15);
  CHECK(room.residents.bytes() == 30);
}

TEST_CASE("what must be written back and fetched again stays twice as long") {
  const AccessPlan plan = in_order(40, 10, 30);
  Follower follower(plan);
  follower.launch({});
  OneMemory room(&follower);
  room.put(leaf_name(20), 10, true);
  room.put(leaf_name(9), 10, false);
  room.put(leaf_name(11), 10, false);
  CHECK(room.choose({.bytes = 20}) == Names{leaf_name(11), leaf_name(20)});
  room.residents.cleaned(room.at(leaf_name(20)));
  CHECK(room.choose({.bytes = 20}) == Names{leaf_name(20), leaf_name(11)});
  // What will be overwritten costs nothing, and what the plan does not know is not needed.
  room.put(leaf_name(30), 10, false);
  room.put(leaf_name(77), 10, false);
  CHECK(room.choose({.bytes = 30}) == Names{leaf_name(77), leaf_name(30), leaf_name(20)});
}

TEST_CASE("what the others make superfluous stays") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  OneMemory room(&follower);
  room.put(leaf_name(18), 1, false);
  room.put(leaf_name(15), 100, false);
  room.put(leaf_name(12), 100, false);
  CHECK(room.choose({.bytes = 90}) == Names{leaf_name(15)});
  CHECK(room.choose({.bytes = 101}) == Names{leaf_name(18), leaf_name(15)});
}

TEST_CASE("who is in use for long stays if there is somebody else") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  OneMemory room(&follower);
  const Link link{.bytes_in = 1'000'000'000, .bytes_out = 1'000'000'000, .latency = 0}; // a nanosecond a byte
  room.put(leaf_name(18), 10, false, 500);
  room.put(leaf_name(15), 10, true, 100);
  room.put(leaf_name(3), 10, false, 100);
  CHECK(room.choose({.bytes = 10}) == Names{leaf_name(18)});
  CHECK(room.choose({.bytes = 10, .free_by = 499, .link = &link}) == Names{leaf_name(3)});
  CHECK(room.choose({.bytes = 10, .free_by = 10'100, .link = &link}) == Names{leaf_name(18)});
  CHECK(room.choose({.bytes = 10, .free_by = 50, .link = &link}) == Names{leaf_name(18)});
  CHECK(room.choose({.bytes = 20, .free_by = 499, .link = &link}) == Names{leaf_name(3), leaf_name(18)});
}

TEST_CASE("who was chosen to leave does so before whoever is needed later") {
  Recorder recorder(0);
  for (const std::uint64_t leaf : {1, 2, 3, 9, 1, 2, 3, 4}) recorder.launch(1000, std::vector{read(leaf_name(leaf), 10)});
  const AccessPlan plan = finished(recorder);
  Foresight foresight{std::vector<bool>(8), 2, std::vector<bool>(8)};
  foresight.leaves[plan.first_use(*plan.find(leaf_name(2)))] = true; // behind its first use, not behind its second one
  Follower follower(plan);
  OneMemory room(&follower, &foresight);
  const auto use = [&](std::uint64_t leaf) {
    CHECK(follower.launch(std::vector{read(leaf_name(leaf), 10)}) == Follower::Step::follows);
    room.put(leaf_name(leaf), 10, false);
  };
  for (const std::uint64_t leaf : {1, 2, 3}) use(leaf);
  CHECK(room.choose({.bytes = 10}) == Names{leaf_name(2)});
  CHECK(room.choose({.bytes = 20}) == Names{leaf_name(2), leaf_name(3)});
  // What came before it was asked for has not left again before it was used.
  room.residents.remove(room.at(leaf_name(2)));
  room.residents.put_ahead(room.at(leaf_name(2)), 0);
  CHECK(room.choose({.bytes = 10}) == Names{leaf_name(3)});
  for (const std::uint64_t leaf : {9, 1, 2}) use(leaf);
  CHECK(room.choose({.bytes = 30}) == Names{leaf_name(1), leaf_name(2), leaf_name(9)}); // never used again, all of them
}

TEST_CASE("what is being copied out is not free before that, whoever reads it meanwhile") {
  OneMemory room(nullptr);
  room.put(leaf_name(1), 10, true, 100);
  room.residents.cleaned(room.at(leaf_name(1)), 900);
  room.put(leaf_name(1), 10, false, 200);
  CHECK(room.at(leaf_name(1)).free_at == 900);
  room.put(leaf_name(1), 10, false, 1000);
  CHECK(room.at(leaf_name(1)).free_at == 1000);
  room.residents.remove(room.at(leaf_name(1)));
  room.put(leaf_name(1), 10, false, 300);
  CHECK(room.at(leaf_name(1)).free_at == 300);
}

TEST_CASE("without a plan, or off it, the least recently used leaves first, and what has a copy before what has none") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  for (const bool with_plan : {false, true}) {
    OneMemory room(with_plan ? &follower : nullptr);
    const std::uint64_t leaves[] = {5, 12, 3, 17};
    for (const std::uint64_t leaf : leaves) {
      room.put(leaf_name(leaf), 10, leaf == 5);
      room.residents.tick();
    }
    room.put(leaf_name(12), 10, false);
    if (with_plan) {
      CHECK(follower.launch(std::vector{read(leaf_name(99), 1)}) == Follower::Step::diverges);
      room.residents.replan();
      CHECK(room.residents.missing().empty());
    }
    CHECK(room.choose({.bytes = 40}) == Names{leaf_name(3), leaf_name(17), leaf_name(12), leaf_name(5)});
  }
}

TEST_CASE("a block is brought just in time, and only for what is needed later") {
  const AccessPlan plan = in_order(20, 1000); // a launch a nanosecond
  Follower follower(plan);
  follower.launch({});
  OneMemory room(&follower);
  const Link link{.bytes_in = 1'000'000'000'000, .bytes_out = 1'000'000'000'000, .latency = 0}; // a copy a nanosecond
  const Prefetcher prefetcher(follower, room.residents, link, 4000);
  for (const std::uint64_t leaf : {1, 2, 4, 9}) room.put(leaf_name(leaf), 1000, false);
  // Launch 0 ends at 1000; launch 3 begins at 3000, and what it needs is not here: there is time until 2000, but not longer.
  Timeline now{.execute = 1000};
  CHECK_FALSE(prefetcher.next(0, now));
  follower.launch(std::vector{read(leaf_name(1), 1000)});
  room.put(leaf_name(1), 1000, false);
  now.execute = 2000;
  const auto fetch = prefetcher.next(0, now);
  REQUIRE(fetch);
  CHECK(fetch->name == leaf_name(3));
  CHECK(fetch->needed_at == 3);
  CHECK(names_of(fetch->evicted) == Names{leaf_name(1)}); // never used again
  CHECK(prefetcher.next(1000, now)->evicted.empty());
  // While the link is busy until after the next launch, to wait costs nothing.
  now.copy_in = 3000;
  CHECK_FALSE(prefetcher.next(0, now));
  now.copy_in = 0;
  // Nobody here is needed later than at 3.
  for (const std::uint64_t leaf : {1, 4, 9}) room.residents.remove(room.at(leaf_name(leaf)));
  CHECK_FALSE(prefetcher.next(0, now));
  CHECK(prefetcher.next(1000, now)->name == leaf_name(3));
}

TEST_CASE("what comes in has the time that launches wait for room") {
  const AccessPlan plan = in_order(20, 1000);                                               // a launch a nanosecond
  const Link link{.bytes_in = 333'333'333'333, .bytes_out = 333'333'333'333, .latency = 0}; // a copy three
  // In front of which launch the prefetcher asks for leaf 6, the only one that is not there.
  const auto asked_before = [&](const Foresight& foresight) {
    Follower follower(plan);
    follower.launch({});
    OneMemory room(&follower, &foresight);
    for (std::uint64_t leaf = 1; leaf < 20; ++leaf)
      if (leaf != 6) room.put(leaf_name(leaf), 1000, false);
    const Prefetcher prefetcher(follower, room.residents, link, 20'000);
    for (std::uint64_t launch = 1; launch < 6; ++launch) {
      const Picoseconds ended = foresight.begins.empty() ? 1000 * launch : foresight.begins_at(launch - 1) + 1000;
      if (const auto fetch = prefetcher.next(1000, {.execute = ended})) {
        CHECK(fetch->name == leaf_name(6));
        return launch;
      }
      follower.launch(std::vector{read(leaf_name(launch), 1000)});
    }
    return std::uint64_t{6};
  };
  Foresight foresight{};
  CHECK(asked_before(foresight) == 3); // a launch later it would come at 7000, and is needed at 6000
  for (Picoseconds launch = 0; launch <= 20; ++launch) foresight.begins.push_back(1000 * launch);
  CHECK(asked_before(foresight) == 3);
  for (Picoseconds launch = 5; launch <= 20; ++launch) foresight.begins[launch] += 1000; // the fifth waits as long
  CHECK(asked_before(foresight) == 4);
}

TEST_CASE("where launches wait for room more is looked ahead for than the memory holds, as far as its room comes free") {
  const AccessPlan plan = in_order(20, 1000);                                               // a launch a nanosecond
  const Link link{.bytes_in = 588'235'294'118, .bytes_out = 588'235'294'118, .latency = 0}; // a copy 1.7
  // Of leaves 4, 6 and 7 a memory of two has no room for the last. It is late if the first does not come now: there are 2.0 until
  // the next time to ask, three copies are done at 7.1, and it is needed at 7.
  const auto asks = [&](std::uint64_t capacity, const Foresight& foresight, std::uint64_t first) {
    Follower follower(plan);
    follower.launch({});
    OneMemory room(&follower, &foresight);
    for (std::uint64_t leaf = 1; leaf < 20; ++leaf)
      if (leaf != first && leaf != 6 && leaf != 7) room.put(leaf_name(leaf), 1000, false);
    return Prefetcher(follower, room.residents, link, capacity).next(1000, {.execute = 1000}).has_value();
  };
  Foresight foresight{};
  CHECK(asks(3000, foresight, 4));
  CHECK_FALSE(asks(2000, foresight, 4));
  for (Picoseconds launch = 0; launch <= 20; ++launch) foresight.begins.push_back(1000 * launch);
  CHECK(asks(2000, foresight, 4));       // leaf 4 has been used at 5, when two copies are not done yet
  CHECK_FALSE(asks(2000, foresight, 5)); // leaf 5 at 6, which is later than 5.4
}

TEST_CASE("no more comes early than may, but for one block") {
  const AccessPlan plan = in_order(20, 1000);                                               // a launch a nanosecond
  const Link link{.bytes_in = 100'000'000'000, .bytes_out = 100'000'000'000, .latency = 0}; // a copy ten
  const Timeline now{.execute = 1000};
  const std::pair<std::uint64_t, int> limits[] = {{10, 1}, {1999, 1}, {2000, 2}, {3500, 3}, {UINT64_MAX, 8}};
  for (const auto& [early, count] : limits) {
    Foresight foresight{};
    foresight.early = early;
    Follower follower(plan);
    follower.launch({});
    OneMemory room(&follower, &foresight);
    const Prefetcher prefetcher(follower, room.residents, link, 8000);
    const auto fetched = [&] {
      int fetched = 0;
      while (const auto fetch = prefetcher.next(8000 - room.residents.bytes(), now)) {
        if (!fetch->evicted.empty()) break;
        room.put(fetch->name, fetch->bytes, false);
        room.residents.put_ahead(room.at(fetch->name), 0);
        ++fetched;
      }
      return fetched;
    };
    CHECK(fetched() == count);
    if (count == 8) continue;
    follower.launch(std::vector{read(leaf_name(1), 1000)});
    room.put(leaf_name(1), 1000, false);
    CHECK(fetched() == 1);
    room.residents.dropped(room.at(leaf_name(2)));
    CHECK(fetched() == 1);
  }
}

TEST_CASE("an order that is made when it is asked for is the one that was kept all the time") {
  // Two memories to which the same is done: one of them is asked who should leave after each step, so that it keeps an order from
  // the first one on; the other is asked now and then, and forgets its order where it begins anew.
  std::size_t asked = 0, different_from_nothing = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const AccessPlan run = chance_run(seed, {.launches = 120, .least = 1, .most = 9});
    const bool is_planned = seed % 4 != 0;
    Follower follower(run, seed % 2 == 0 ? Ending::once : Ending::again);
    Foresight foresight{std::vector<bool>(run.parts().uses.size()), 2 + seed % 3};
    std::mt19937_64 random(seed);
    for (std::size_t use = 0; use < foresight.copied_out.size(); ++use) foresight.copied_out[use] = random() % 3 == 0;
    OneMemory kept(is_planned ? &follower : nullptr, &foresight), late(is_planned ? &follower : nullptr, &foresight);
    const auto both = [&](auto&& what) {
      for (OneMemory* const room : {&kept, &late}) what(*room);
    };
    const Link link{.bytes_in = 1'000'000'000'000, .bytes_out = 1'000'000'000'000, .latency = 3};
    for (std::size_t at = 0; at < run.size(); ++at) {
      for (const Change& change : run.changes(at)) {
        if (change.made) continue;
        const Name name = run.blocks()[change.block].name;
        both([&](OneMemory& room) { room.residents.dropped(room.at(name)); });
        follower.dropped(name);
      }
      std::vector<Access> accesses;
      for (const PlannedUse& use : run.uses(at))
        accesses.push_back({run.blocks()[use.block].name, run.blocks()[use.block].bytes, use.use});
      if (random() % 16 == 0) accesses.push_back(read(leaf_name(1000), 1)); // another launch than the plan foretells
      const Follower::Step step = follower.launch(accesses);
      if (step == Follower::Step::diverges || step == Follower::Step::returns)
        both([](OneMemory& room) { room.residents.replan(); });
      const Picoseconds end = 10 * at;
      for (const Access& access : accesses) {
        const bool is_dirty = writes(access.use) || random() % 3 == 0;
        both([&](OneMemory& room) { room.put(access.name, access.bytes, is_dirty, end); });
        REQUIRE(kept.residents.must_out(kept.at(access.name)) == late.residents.must_out(late.at(access.name)));
        if (random() % 5 == 0) both([&](OneMemory& room) { room.residents.cleaned(room.at(access.name), end + 7); });
        if (random() % 7 == 0) both([&](OneMemory& room) { room.at(access.name).pins ^= 1; });
      }
      both([](OneMemory& room) { room.residents.tick(); });
      REQUIRE(kept.residents.missing() == late.residents.missing());
      Residents::Want want{.bytes = 1 + random() % 40};
      if (random() % 2 == 0) want.needed_at = follower.position() + random() % 20;
      if (random() % 2 == 0) {
        want.free_by = end + random() % 20;
        want.link = &link;
        want.copy_out = end;
      }
      const Names leaving = kept.choose(want);
      if (random() % 3 == 0) {
        REQUIRE(late.choose(want) == leaving);
        ++asked;
        different_from_nothing += leaving.empty() ? 0 : 1;
        both([&](OneMemory& room) {
          for (const Name name : leaving) room.residents.remove(room.at(name));
        });
      }
      if (random() % 8 == 0) {
        const auto as_it_is = [](Resident&) {};
        both([&](OneMemory& room) { room.residents.begin(is_planned ? &follower : nullptr, &foresight, as_it_is); });
        kept.choose({.bytes = 1});
      }
    }
  }
  CHECK(asked > 1000);
  CHECK(different_from_nothing > 500);
}
