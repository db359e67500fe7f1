// What is read from a disk ahead of its copy to the device: in time, in order, and no earlier.
#include "test/streaming/runs.h"

#include "ops/plans/read_ahead.h"

#include <array>
#include <set>
#include <vector>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;

namespace {

constexpr std::uint64_t kBytes = 1'000'000;
constexpr Picoseconds kMicro = 1'000'000;

// Ten launches of 100 us, each of which reads a leaf of its own.
AccessPlan ten() {
  Recorder recorder(1);
  for (std::uint64_t i = 0; i < 10; ++i) recorder.launch(100 * kMicro, std::array{read(leaf_name(i), kBytes)});
  return finished(recorder);
}

// The leaves that are read behind the first launch, whose own leaf is there, if each read begins when the one before has ended.
std::vector<Name> read_behind_the_first(std::uint64_t disk_rate, std::uint64_t window, const std::set<Name>& near = {}) {
  const AccessPlan plan = ten();
  Follower follower(plan, Ending::once);
  Residents residents(&follower);
  Resident first;
  first.name = leaf_name(0);
  first.bytes = kBytes;
  follower.launch(std::array{read(leaf_name(0), kBytes)});
  residents.put(first, false);
  const Link link{100'000'000'000, 100'000'000'000, 0}, disk{disk_rate, disk_rate, 0}; // 10 us to the device
  const ReadAhead ahead(follower, residents, link, disk, window);
  std::set<Name> coming = near;
  std::vector<Name> all;
  Picoseconds disk_end = 0;
  while (const auto next = ahead.next({.execute = 100 * kMicro}, disk_end, [&](Name name) { return !coming.contains(name); })) {
    CHECK(plan.find(next->name) == next->needed_at); // each leaf at the launch with its number
    all.push_back(next->name);
    coming.insert(next->name);
    disk_end += disk.in(kBytes);
    REQUIRE(all.size() <= 10);
  }
  residents.dropped(first);
  return all;
}

} // namespace

TEST_CASE("what the launches behind the next one need is read when waiting would make it late") {
  // 50 us each: leaves 1 and 2 would be late if this were asked behind the next launch, leaf 3 would not.
  CHECK(read_behind_the_first(20'000'000'000, UINT64_MAX) == std::vector{leaf_name(1), leaf_name(2)});
  // 120 us each: never in time, so the disk is kept busy until this is asked again, and no longer.
  CHECK(read_behind_the_first(8'333'333'333, UINT64_MAX) == std::vector{leaf_name(1), leaf_name(2)});
  CHECK(read_behind_the_first(2'000'000'000, UINT64_MAX) == std::vector{leaf_name(1)});
}

TEST_CASE("what is on the host, or on its way there, is not read") {
  CHECK(read_behind_the_first(20'000'000'000, UINT64_MAX, {leaf_name(1)}) == std::vector{leaf_name(2)});
  CHECK(read_behind_the_first(20'000'000'000, UINT64_MAX, {leaf_name(1), leaf_name(2)}).empty());
}

TEST_CASE("no more is looked at than the window holds, but one block always") {
  // 250 us each, and the first two are near: the third would be late, and keeps the disk busy beyond the next launch.
  CHECK(read_behind_the_first(4'000'000'000, UINT64_MAX, {leaf_name(1), leaf_name(2)}) == std::vector{leaf_name(3)});
  CHECK(read_behind_the_first(20'000'000'000, 1) == std::vector{leaf_name(1), leaf_name(2)});
}
