// A run beside a plan: what comes next, where it leaves the plan, and where it is found again.
#include "test/streaming/runs.h"

#include "ops/plans/follower.h"

#include <algorithm>
#include <vector>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;
using Step = Follower::Step;

namespace {

std::vector<Access> at(const AccessPlan& run, std::size_t position) {
  std::vector<Access> accesses;
  for (const PlannedUse& use : run.uses(position))
    accesses.push_back({run.blocks()[use.block].name, run.blocks()[use.block].bytes, use.use});
  return accesses;
}

// Goes on with the launches [from, to) of the run; how many of them were on the plan.
std::size_t follow(Follower& follower, const AccessPlan& run, std::size_t from, std::size_t to) {
  std::size_t on_plan = 0;
  for (std::size_t i = from; i < to; ++i) {
    for (const Change& change : run.changes(i))
      if (!change.made) follower.dropped(run.blocks()[change.block].name);
    follower.launch(at(run, i));
    on_plan += follower.on_plan() ? 1 : 0;
  }
  return on_plan;
}

// What `next_use` says, by looking at everything.
NextUse looked_up(const AccessPlan& run, std::uint32_t block, std::size_t now) {
  std::uint32_t before = NextUse::kNone;
  for (const std::uint32_t position : run.positions(block))
    if (position <= now) before = before == NextUse::kNone ? run.first_use(block) : before + 1;
  for (std::size_t i = now + 1; i <= run.size() && now + 1 < run.size(); ++i) {
    for (const Change& change : run.changes(i))
      if (change.block == block && !change.made) return {i, false, before};
    if (i == run.size()) break;
    for (const PlannedUse& use : run.uses(i))
      if (use.block == block) return {i, needs_elements(use.use), before};
  }
  return {NextUse::kNever, false};
}

} // namespace

TEST_CASE("a run that follows its plan knows when each block is used next") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const AccessPlan run = chance_run(seed, {.launches = 80});
    Follower follower(run);
    CHECK(follower.next_use(leaf_name(0)).known());
    std::vector<bool> gone(run.blocks().size());
    for (std::size_t i = 0; i < run.size(); ++i) {
      CHECK(follow(follower, run, i, i + 1) == 1);
      REQUIRE(follower.position() == i);
      for (const Change& change : run.changes(i)) gone[change.block] = !change.made;
      for (std::uint32_t block = 0; block < run.blocks().size(); ++block) {
        if (gone[block] || run.positions(block).front() > i) continue;
        CHECK(follower.next_use(run.blocks()[block].name) == looked_up(run, block, i));
      }
    }
    CHECK(follower.divergences() == 0);
    CHECK(follower.followed() == run.size());
    CHECK(follower.launch(std::vector{read(leaf_name(99), 1)}) == Step::diverges); // behind the end
  }
}

TEST_CASE("nothing is known off the plan") {
  const AccessPlan run = training({.layers = 8});
  Follower follower(run);
  follow(follower, run, 0, 5);
  CHECK(follower.next_use(leaf_name(5)).known());
  const std::vector<Access> other = {read(leaf_name(99), 1)};
  CHECK(follower.launch(other) == Step::diverges);
  CHECK(follower.launch(other) == Step::lost);
  CHECK_FALSE(follower.on_plan());
  CHECK_FALSE(follower.next_use(leaf_name(5)).known());
  CHECK(follower.divergences() == 1);
  CHECK(follower.strayed() == 2);
}

TEST_CASE("launches that are left out or come in between cost a divergence, and the plan is found again") {
  const AccessPlan run = training({.layers = 12, .streamed = true});
  SUBCASE("left out") {
    Follower follower(run);
    follow(follower, run, 0, 6);
    // The next one is like no other in the plan: it is enough.
    CHECK(follower.launch(at(run, 9)) == Step::returns);
    CHECK(follower.position() == 9);
    CHECK(follow(follower, run, 10, run.size()) == run.size() - 10);
  }
  SUBCASE("in between") {
    Follower follower(run);
    follow(follower, run, 0, 6);
    const std::vector<Access> other = {read(leaf_name(99), 1)};
    CHECK(follower.launch(other) == Step::diverges);
    CHECK(follower.launch(at(run, 6)) == Step::returns);
    CHECK(follow(follower, run, 7, run.size()) == run.size() - 7);
  }
  SUBCASE("back to where it has been") {
    Follower follower(run);
    follow(follower, run, 0, 20);
    CHECK(follower.launch(at(run, 3)) == Step::returns);
    CHECK(follower.position() == 3);
    CHECK(follow(follower, run, 4, run.size()) == run.size() - 4);
  }
}

TEST_CASE("launches that look alike are told apart by those around them") {
  Recorder recorder(0);
  // Leaves 0 to 9, each twice; between them launches that are all alike.
  const auto alike = std::vector{read(leaf_name(50), 5)};
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t i = 0; i < 10; ++i) {
      recorder.launch(1, std::vector{read(leaf_name(i), 1)});
      recorder.launch(1, alike);
    }
  const AccessPlan run = finished(recorder);
  Follower follower(run);
  follow(follower, run, 0, 4);
  CHECK(follower.launch(std::vector{read(leaf_name(99), 1)}) == Step::diverges);
  CHECK(follower.launch(at(run, 11)) == Step::lost); // one of many
  CHECK(follower.launch(at(run, 12)) == Step::lost); // one of two
  CHECK(follower.launch(at(run, 13)) == Step::returns);
  CHECK(follower.position() == 13); // the next one of both
}

TEST_CASE("what is made is known by its place, not by its name") {
  const AccessPlan plan = training({.layers = 10, .streamed = true}),
                   run = training({.layers = 10, .streamed = true, .births = 1000});
  Follower follower(plan);
  CHECK(follow(follower, run, 0, 10) == 10);
  CHECK(follower.next_use(born_name(1003)).position == looked_up(plan, *plan.find(born_name(3)), 9).position);
  CHECK(follower.name_of(*plan.find(born_name(3))) == born_name(1003));
  CHECK(follow(follower, run, 10, run.size()) == run.size() - 10);
  // Launches of one kind that use each other's blocks are not the plan.
  Follower confused(plan);
  follow(confused, run, 0, 10);
  std::vector<Access> wrong = at(run, 10);
  wrong[1].name = born_name(1001);
  confused.launch(wrong);
  CHECK(confused.divergences() == 1);
}

TEST_CASE("a plan may follow itself") {
  const AccessPlan plan = training({.layers = 6, .streamed = true}), run = training({.layers = 6, .steps = 4, .streamed = true});
  Follower follower(plan, Ending::again);
  CHECK(follow(follower, run, 0, run.size()) == run.size());
  CHECK(follower.divergences() == 0);
  CHECK(follower.position() == 4 * plan.size() - 1);
  CHECK(follower.next_use(leaf_name(2)) == NextUse{4 * plan.size() + 2, true, plan.first_use(*plan.find(leaf_name(2))) + 2});
  // The use in front of the first one is the last one of the plan before, if there was one.
  Follower begun(plan, Ending::again), only(plan);
  CHECK(begun.next_use(leaf_name(2)) == NextUse{2, true, plan.first_use(*plan.find(leaf_name(2))) + 2});
  CHECK(only.next_use(leaf_name(2)) == NextUse{2, true});
  Follower once(plan);
  CHECK(follow(once, run, 0, run.size()) == run.size());
  CHECK(once.divergences() == 3); // and found again from its start
}

TEST_CASE("runs that leave their plan at random places find it again") {
  std::mt19937_64 random(3);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const AccessPlan plan = chance_run(seed, {.launches = 300, .leaves = 30, .least = 1, .most = 1000});
    Follower follower(plan);
    std::size_t cuts = 0, on_plan = 0, launches = 0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (random() % 40 == 0) {
        ++cuts;
        if (random() % 2 == 0)
          i = std::min(i + 1 + random() % 10, plan.size() - 1);
        else
          follower.launch(std::vector{read(leaf_name(1000 + random() % 5), 7)});
      }
      on_plan += follow(follower, plan, i, i + 1);
      ++launches;
    }
    CHECK(follower.divergences() <= 2 * cuts);
    // What was dropped in what was left out is not known, so that some launches more than those around a cut may look strange.
    CHECK(on_plan + 6 * cuts >= launches);
    CHECK(on_plan * 2 > launches);
  }
}

TEST_CASE("a block that a launch names twice is one of the plan's, seen before or not") {
  Recorder recorder(0);
  recorder.launch(1, std::vector{write(born_name(0), 8), write(born_name(1), 8)}); // two that are made
  recorder.launch(1, std::vector{read(born_name(0), 8), read(born_name(1), 8), write(born_name(2), 8)});
  recorder.launch(1, std::vector{read(born_name(0), 8), read(born_name(0), 8), read(leaf_name(3), 8), read(leaf_name(3), 8)});
  const AccessPlan plan = finished(recorder);
  const std::vector<Access> made = {write(born_name(10), 8), write(born_name(11), 8)};
  Follower follower(plan);
  CHECK(follower.launch(std::vector{write(born_name(10), 8), write(born_name(10), 8)}) == Step::diverges);
  Follower other(plan);
  CHECK(other.launch(made) == Step::follows);
  CHECK(other.launch(std::vector{read(born_name(10), 8), read(born_name(10), 8), write(born_name(12), 8)}) == Step::diverges);
  Follower right(plan);
  CHECK(right.launch(made) == Step::follows);
  CHECK(right.launch(std::vector{read(born_name(10), 8), read(born_name(11), 8), write(born_name(12), 8)}) == Step::follows);
  CHECK(right.launch(std::vector{read(born_name(10), 8), read(born_name(10), 8), read(leaf_name(3), 8), read(leaf_name(3), 8)}) ==
        Step::follows);
  CHECK(right.divergences() == 0);
}

TEST_CASE("a leaf that was dropped is the plan's again where a launch uses it") {
  Recorder recorder(0);
  for (int i = 0; i < 4; ++i) recorder.launch(1, std::vector{read(leaf_name(0), 8)});
  const AccessPlan plan = finished(recorder);
  Follower follower(plan);
  CHECK(follower.launch(std::vector{read(leaf_name(0), 8)}) == Step::follows);
  CHECK(follower.name_of(0) == leaf_name(0));
  follower.dropped(leaf_name(0));
  CHECK_FALSE(follower.name_of(0));
  CHECK(follower.next_use(leaf_name(0)).never());
  CHECK(follower.launch(std::vector{read(leaf_name(0), 8)}) == Step::follows);
  CHECK(follower.name_of(0) == leaf_name(0));
  CHECK(follower.next_use(leaf_name(0)).position == 2);
}
