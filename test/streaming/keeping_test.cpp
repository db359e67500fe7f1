// Who stays, chosen for a whole plan: beside all choices that there are.
#include "test/streaming/runs.h"

#include "ops/plans/keeping.h"
#include "ops/plans/profile.h"
#include "ops/plans/simulator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;

namespace {

// What it costs if of all uses, in the order of AccessPlan::first_use, those leave behind which there is a bit; none: there is no
// room for the others. Goes from launch to launch, so it knows nothing of gaps and versions. Where the plan follows itself, the
// second of two times is what counts.
std::optional<std::uint64_t> cost_of(const AccessPlan& plan, std::uint64_t capacity, Ending ending, std::uint64_t leaves) {
  struct Block {
    bool here = false, dirty = false;
    std::size_t used = 0;
  };
  std::vector<Block> blocks(plan.blocks().size());
  std::uint64_t moved = 0;
  for (int lap = ending == Ending::again ? 0 : 1; lap < 2; ++lap) {
    if (lap == 1) moved = 0;
    for (Block& block : blocks) block.used = 0;
    for (std::size_t at = 0; at < plan.size(); ++at) {
      for (const Change& change : plan.changes(at))
        if (!change.made) blocks[change.block] = {};
      for (const PlannedUse& use : plan.uses(at)) {
        Block& block = blocks[use.block];
        if (!block.here && needs_elements(use.use)) moved += plan.blocks()[use.block].bytes;
        block.here = true;
        block.dirty = block.dirty || writes(use.use);
      }
      std::uint64_t here = 0;
      for (std::size_t block = 0; block < blocks.size(); ++block) here += blocks[block].here ? plan.blocks()[block].bytes : 0;
      if (here > capacity) return std::nullopt;
      for (const PlannedUse& use : plan.uses(at)) {
        Block& block = blocks[use.block];
        if ((leaves >> (plan.first_use(use.block) + block.used++) & 1) == 0) continue;
        if (block.dirty) moved += plan.blocks()[use.block].bytes;
        block.here = block.dirty = false;
      }
    }
  }
  return moved;
}

std::uint64_t bits(const std::vector<bool>& all) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < all.size(); ++i) bits |= std::uint64_t{all[i]} << i;
  return bits;
}

// A short run of a few blocks of different sizes.
AccessPlan short_run(std::uint64_t seed, bool born) {
  std::mt19937_64 random(seed);
  std::uint64_t sizes[5];
  for (std::uint64_t& size : sizes) size = 1 + random() % 9;
  Recorder recorder(seed);
  for (std::size_t i = 0; i < 11; ++i) {
    const std::uint64_t leaf = random() % 5;
    recorder.launch(1000,
                    std::vector{random() % 3 == 0 ? change(leaf_name(leaf), sizes[leaf]) : read(leaf_name(leaf), sizes[leaf])});
    if (!born || i % 4 != 1) continue;
    recorder.made(born_name(i), 4);
    recorder.launch(1000, std::vector{write(born_name(i), 4)});
    recorder.launch(1000, std::vector{read(born_name(i), 4)});
    recorder.dropped(born_name(i));
  }
  return finished(recorder);
}

} // namespace

TEST_CASE("what is free at each moment is what nobody has taken") {
  std::mt19937_64 random(7);
  for (const std::size_t size : {1, 2, 3, 8, 13}) {
    std::vector<std::int64_t> free(size);
    for (std::int64_t& f : free) f = static_cast<std::int64_t>(random() % 20);
    Profile profile(free);
    for (int i = 0; i < 300; ++i) {
      const std::size_t begin = random() % size, end = begin + 1 + random() % size;
      const auto bytes = static_cast<std::int64_t>(random() % 12);
      if (random() % 3 == 0) {
        for (std::size_t at = begin; at < end; ++at) free[at % size] += bytes;
        profile.give(begin, end, bytes);
        continue;
      }
      bool has_room = true;
      for (std::size_t at = begin; at < end; ++at) has_room = has_room && free[at % size] >= bytes;
      REQUIRE(profile.take(begin, end, bytes) == has_room);
      for (std::size_t at = begin; at < end && has_room; ++at) free[at % size] -= bytes;
    }
  }
}

TEST_CASE("a choice costs what it says, is never better than the bound, and hardly ever worse than the best of all") {
  std::size_t best_found = 0, all = 0, worst = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Ending ending = seed % 2 == 0 ? Ending::once : Ending::again;
    const AccessPlan plan = short_run(seed, seed % 3 == 0);
    Memory memory;
    memory.capacity = 12 + seed % 7;
    const Kept kept = worth_keeping(plan, memory, ending, 0);
    const std::size_t uses = plan.parts().uses.size();
    REQUIRE(kept.leaves.size() == uses);
    REQUIRE(uses <= 20);
    const auto cost = cost_of(plan, memory.capacity, ending, bits(kept.leaves));
    REQUIRE(cost);
    CHECK(*cost == kept.bytes);
    std::uint64_t best = UINT64_MAX;
    for (std::uint64_t leaves = 0; leaves < std::uint64_t{1} << uses; ++leaves)
      best = std::min(best, cost_of(plan, memory.capacity, ending, leaves).value_or(UINT64_MAX));
    CHECK(kept.least <= best);
    CHECK(best <= kept.bytes);
    best_found += kept.bytes == best ? 1 : 0;
    worst = std::max<std::size_t>(worst, static_cast<std::size_t>(100 * kept.bytes / std::max<std::uint64_t>(1, best)));
    ++all;
  }
  CHECK(10 * best_found >= 8 * all);
  CHECK(worst <= 115);
}

TEST_CASE("two small blocks that are needed late are worth more than a large one that is needed soon") {
  Recorder recorder(0);
  const std::uint64_t bytes[] = {8, 5, 5, 10};
  for (const std::uint64_t leaf : {1, 2, 0, 3, 0, 1, 2}) recorder.launch(1000, std::vector{read(leaf_name(leaf), bytes[leaf])});
  const AccessPlan plan = finished(recorder);
  Memory memory;
  memory.capacity = 20;
  const Kept kept = worth_keeping(plan, memory, Ending::once, 0);
  const auto leaves = [&](std::uint64_t leaf) { return kept.leaves[plan.first_use(*plan.find(leaf_name(leaf)))]; };
  CHECK(leaves(0));
  CHECK_FALSE(leaves(1));
  CHECK_FALSE(leaves(2));
  CHECK(kept.bytes == 8 + 5 + 5 + 10 + 8);
  // Who goes by next uses alone keeps the large one.
  const auto moved = [&](const Foresight* foresight) {
    return simulate(plan, nullptr, Policy::planned_on_demand, memory, Ending::once, foresight).bytes_in;
  };
  CHECK(moved(nullptr) == 8 + 5 + 5 + 10 + 10);
  const Foresight foresight = foresee(plan, memory, Ending::once);
  CHECK(moved(&foresight) == kept.bytes);
}

TEST_CASE("there is room for what is under way") {
  // One block after the other in a circle; a copy takes as long as a launch.
  constexpr std::uint64_t kBytes = 1 << 20;
  Memory memory;
  memory.capacity = 8 * kBytes;
  Recorder recorder(0);
  for (std::uint64_t leaf = 0; leaf < 16; ++leaf)
    recorder.launch(memory.link.in(kBytes), std::vector{read(leaf_name(leaf), kBytes)});
  const AccessPlan plan = finished(recorder);
  const std::pair<unsigned, std::uint64_t> leaving[] = {{0, 9}, {1, 10}, {2, 11}, {4, 12}};
  for (const auto& [ahead, count] : leaving) {
    const Kept kept = worth_keeping(plan, memory, Ending::again, ahead);
    CHECK(std::ranges::count(kept.leaves, true) == static_cast<std::ptrdiff_t>(count));
    CHECK(kept.bytes == count * kBytes);
  }
}

TEST_CASE("of more bytes than can be counted nobody is chosen") {
  for (const std::size_t launches : {4000, 5000}) {
    Recorder recorder(0);
    for (std::size_t i = 0; i < launches; ++i) recorder.launch(1000, std::vector{read(leaf_name(i % 7), AccessPlan::kMostBytes)});
    const AccessPlan plan = finished(recorder);
    Memory memory;
    memory.capacity = 3 * AccessPlan::kMostBytes;
    CHECK(worth_keeping(plan, memory, Ending::again, 1).leaves.empty() == (launches == 5000));
    const Foresight foresight = foresee(plan, memory, Ending::once);
    CHECK(simulate(plan, nullptr, Policy::planned, memory, Ending::once, &foresight).failed.empty());
  }
}
