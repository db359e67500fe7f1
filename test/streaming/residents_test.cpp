// Who leaves a memory first.
#include "test/streaming/runs.h"

#include "ops/plans/prefetcher.h"
#include "ops/plans/residents.h"

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

} // namespace

TEST_CASE("along a plan who is needed last leaves first") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  Residents residents(&follower);
  for (const std::uint64_t leaf : {5, 12, 3, 17, 9}) residents.put(leaf_name(leaf), 10, false);
  CHECK(residents.bytes() == 50);
  CHECK(residents.missing().size() == 14);
  CHECK(residents.missing().begin()->first == 1);
  CHECK(residents.choose({.bytes = 10}) == Names{leaf_name(17)});
  CHECK(residents.choose({.bytes = 15}) == Names{leaf_name(17), leaf_name(12)});
  residents.pin(leaf_name(17));
  CHECK(residents.choose({.bytes = 10}) == Names{leaf_name(12)});
  CHECK(residents.choose({.bytes = 41}).empty());
  residents.unpin(leaf_name(17));
  // Who is needed before what it would make room for stays.
  CHECK(residents.choose({.bytes = 20, .needed_at = 12}).empty());
  CHECK(residents.choose({.bytes = 10, .needed_at = 12}) == Names{leaf_name(17)});
  residents.remove(leaf_name(17));
  CHECK(residents.missing().size() == 15);
  CHECK(residents.choose({.bytes = 10}) == Names{leaf_name(12)});
  residents.dropped(leaf_name(12));
  CHECK(residents.missing().size() == 15);
  CHECK(residents.bytes() == 30);
}

TEST_CASE("what must be written back and fetched again stays twice as long") {
  const AccessPlan plan = in_order(40, 10, 30);
  Follower follower(plan);
  follower.launch({});
  Residents residents(&follower);
  residents.put(leaf_name(20), 10, true);
  residents.put(leaf_name(9), 10, false);
  residents.put(leaf_name(11), 10, false);
  CHECK(residents.choose({.bytes = 20}) == Names{leaf_name(11), leaf_name(20)});
  residents.cleaned(leaf_name(20));
  CHECK(residents.choose({.bytes = 20}) == Names{leaf_name(20), leaf_name(11)});
  // What will be overwritten costs nothing, and what the plan does not know is not needed.
  residents.put(leaf_name(30), 10, false);
  residents.put(leaf_name(77), 10, false);
  CHECK(residents.choose({.bytes = 30}) == Names{leaf_name(77), leaf_name(30), leaf_name(20)});
}

TEST_CASE("what the others make superfluous stays") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  Residents residents(&follower);
  residents.put(leaf_name(18), 1, false);
  residents.put(leaf_name(15), 100, false);
  residents.put(leaf_name(12), 100, false);
  CHECK(residents.choose({.bytes = 90}) == Names{leaf_name(15)});
  CHECK(residents.choose({.bytes = 101}) == Names{leaf_name(18), leaf_name(15)});
}

TEST_CASE("who is in use for long stays if there is somebody else") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  Residents residents(&follower);
  const Link link{.bytes_in = 1'000'000'000, .bytes_out = 1'000'000'000, .latency = 0}; // a nanosecond a byte
  residents.put(leaf_name(18), 10, false, 500);
  residents.put(leaf_name(15), 10, true, 100);
  residents.put(leaf_name(3), 10, false, 100);
  CHECK(residents.choose({.bytes = 10}) == Names{leaf_name(18)});
  CHECK(residents.choose({.bytes = 10, .free_by = 499, .link = &link}) == Names{leaf_name(3)});
  CHECK(residents.choose({.bytes = 10, .free_by = 10'100, .link = &link}) == Names{leaf_name(18)});
  CHECK(residents.choose({.bytes = 10, .free_by = 50, .link = &link}) == Names{leaf_name(18)});
  CHECK(residents.choose({.bytes = 20, .free_by = 499, .link = &link}) == Names{leaf_name(3), leaf_name(18)});
}

TEST_CASE("without a plan, or off it, the least recently used leaves first, and what has a copy before what has none") {
  const AccessPlan plan = in_order(20, 10);
  Follower follower(plan);
  follower.launch({});
  for (const bool with_plan : {false, true}) {
    Residents residents(with_plan ? &follower : nullptr);
    const std::uint64_t leaves[] = {5, 12, 3, 17};
    for (const std::uint64_t leaf : leaves) {
      residents.put(leaf_name(leaf), 10, leaf == 5);
      residents.tick();
    }
    residents.put(leaf_name(12), 10, false);
    if (with_plan) {
      CHECK(follower.launch(std::vector{read(leaf_name(99), 1)}) == Follower::Step::diverges);
      residents.replan();
      CHECK(residents.missing().empty());
    }
    CHECK(residents.choose({.bytes = 40}) == Names{leaf_name(3), leaf_name(17), leaf_name(12), leaf_name(5)});
  }
}

TEST_CASE("a block is brought just in time, and only for what is needed later") {
  const AccessPlan plan = in_order(20, 1000); // a launch a nanosecond
  Follower follower(plan);
  follower.launch({});
  Residents residents(&follower);
  const Link link{.bytes_in = 1'000'000'000'000, .bytes_out = 1'000'000'000'000, .latency = 0}; // a copy a nanosecond
  const Prefetcher prefetcher(follower, residents, link, 4000);
  for (const std::uint64_t leaf : {1, 2, 4, 9}) residents.put(leaf_name(leaf), 1000, false);
  // Launch 0 ends at 1000; launch 3 begins at 3000, and what it needs is not here: there is time until 2000, but not longer.
  Timeline now{.execute = 1000};
  CHECK_FALSE(prefetcher.next(0, now));
  follower.launch(std::vector{read(leaf_name(1), 1000)});
  residents.put(leaf_name(1), 1000, false);
  now.execute = 2000;
  const auto fetch = prefetcher.next(0, now);
  REQUIRE(fetch);
  CHECK(fetch->name == leaf_name(3));
  CHECK(fetch->needed_at == 3);
  CHECK(fetch->evicted == Names{leaf_name(1)}); // never used again
  CHECK(prefetcher.next(1000, now)->evicted.empty());
  // While the link is busy until after the next launch, to wait costs nothing.
  now.copy_in = 3000;
  CHECK_FALSE(prefetcher.next(0, now));
  now.copy_in = 0;
  // Nobody here is needed later than at 3.
  for (const std::uint64_t leaf : {1, 4, 9}) residents.remove(leaf_name(leaf));
  CHECK_FALSE(prefetcher.next(0, now));
  CHECK(prefetcher.next(1000, now)->name == leaf_name(3));
}
