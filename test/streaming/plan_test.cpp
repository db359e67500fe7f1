// Plans as values: recorded, told apart, written, read, refused.
#include "test/streaming/runs.h"

#include "ops/plans/hashing.h"
#include "ops/plans/plan_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;

namespace {

std::string fault_of(std::span<const std::byte> bytes) {
  std::string fault;
  const auto plan = from_bytes(bytes, fault);
  CHECK(plan.has_value() == fault.empty());
  return fault;
}

// With a checksum that fits, so that what stands behind it is looked at.
void reseal(std::vector<std::byte>& bytes) {
  Digest digest;
  const auto rest = std::span(bytes).subspan(24);
  digest.add(rest.size());
  for (std::size_t at = 0; at < rest.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, &rest[at], std::min<std::size_t>(8, rest.size() - at));
    digest.add(word);
  }
  const std::uint64_t value = digest.value();
  std::memcpy(&bytes[16], &value, sizeof value);
}

AccessPlan small() {
  Recorder recorder(7);
  const std::array first = {read(leaf_name(3), 100), read(leaf_name(1), 50), write(leaf_name(3), 100)};
  recorder.launch(1'000'000, first);
  recorder.made(born_name(4), 8);
  const std::array second = {write(born_name(4), 8)};
  recorder.launch(2'000'000, second);
  recorder.dropped(born_name(4));
  recorder.dropped(born_name(9)); // which nobody used
  const std::array third = {change(leaf_name(1), 50)};
  recorder.launch(3'000'000, third);
  recorder.dropped(leaf_name(1));
  return finished(recorder);
}

} // namespace

TEST_CASE("a plan is what was recorded") {
  const AccessPlan plan = small();
  REQUIRE(plan.size() == 3);
  CHECK(plan.program() == 7);
  CHECK(plan.duration() == 6'000'000);
  CHECK(plan.begins(2) == 3'000'000);
  CHECK(plan.bytes_at_once() == 100 + 50 + 8);
  CHECK(plan.begins(3 + 1) == 7'000'000);
  REQUIRE(plan.blocks().size() == 3);
  CHECK(plan.blocks()[0] == PlannedBlock{leaf_name(3), 100});
  CHECK(plan.uses(0).size() == 2); // one of them is named twice, and read and written
  CHECK(plan.uses(0)[0] == PlannedUse{0, Use::write_part});
  CHECK(plan.uses(1)[0] == PlannedUse{2, Use::write_whole});
  CHECK(std::ranges::equal(plan.positions(1), std::array{0u, 2u}));
  CHECK(plan.dropped(2) == 2);
  CHECK(plan.dropped(1) == 3);
  CHECK(plan.dropped(0) == 4); // it is not
  CHECK(plan.find(leaf_name(1)) == 1u);
  CHECK_FALSE(plan.find(born_name(9)));
  CHECK(plan.summary() == "3 launches of 6 us, 2 leaves of 150 bytes, 1 blocks of 8 bytes made on the way");
  CHECK(plan.listing(2) == "0: 1000 ns, changes x3, reads x1\n1: 2000 ns, writes b4, then drops b4\n... and 1 more\n");
}

TEST_CASE("plans that differ in anything have different digests") {
  const AccessPlan plan = small();
  AccessPlan::Parts parts = plan.parts();
  const auto digest = [](AccessPlan::Parts changed) {
    std::string fault;
    const auto made = AccessPlan::made_of(std::move(changed), fault);
    REQUIRE_MESSAGE(made, fault);
    return made->digest();
  };
  CHECK(digest(parts) == plan.digest());
  const auto differs = [&](auto&& change) {
    AccessPlan::Parts changed = parts;
    change(changed);
    CHECK(digest(changed) != plan.digest());
  };
  differs([](auto& p) { ++p.program; });
  differs([](auto& p) { ++p.durations[1]; });
  differs([](auto& p) { ++p.blocks[0].bytes; });
  differs([](auto& p) { p.blocks[0].name = leaf_name(5); });
  differs([](auto& p) { p.uses[1].use = Use::write_part; });
  differs([](auto& p) { std::swap(p.durations[0], p.durations[1]); });
  differs([](auto& p) { p.changes.pop_back(), --p.first_change.back(); });
}

TEST_CASE("a plan that cannot belong to a program says why") {
  const AccessPlan plan = small();
  const std::array<std::uint64_t, 4> leaves = {1, 50, 2, 100};
  CHECK(plan.why_not(7, leaves).empty());
  CHECK(plan.why_not(8, leaves) == "the plan was recorded of another procedure");
  CHECK(plan.why_not(7, std::span(leaves).first(3)) == "the plan uses leaf 3; what was given has 3");
  CHECK(plan.why_not(7, std::array<std::uint64_t, 4>{1, 49, 2, 100}) == "leaf 1 has 50 bytes in the plan and 49 here");
}

TEST_CASE("what makes no sense is no plan") {
  const auto fault_after = [](auto&& change) {
    AccessPlan::Parts parts = small().parts();
    change(parts);
    std::string fault;
    CHECK_FALSE(AccessPlan::made_of(std::move(parts), fault));
    return fault;
  };
  CHECK(fault_after([](auto& p) { p.blocks[1].name = p.blocks[0].name; }) == "block x3 is there twice");
  CHECK(fault_after([](auto& p) { p.blocks[1].bytes = UINT64_MAX; }) == "block x1 of 18446744073709551615 bytes is too large");
  CHECK(fault_after([](auto& p) { p.durations[0] = AccessPlan::kMostDuration; }) ==
        "its launches take longer than a plan can be");
  CHECK(fault_after([](auto& p) { p.first_use[1] = 9; }) == "its launches do not fit its accesses");
  CHECK(fault_after([](auto& p) { p.uses[0].block = 2; }) == "launch 0 uses block b4 where it does not exist");
  CHECK(fault_after([](auto& p) { p.uses[0].block = 99; }) == "launch 0 uses block ? where it does not exist");
  CHECK(fault_after([](auto& p) { p.uses[1].block = 0; }) == "launch 0 names block x3 twice");
  CHECK(fault_after([](auto& p) { p.uses[3].block = 2; }) == "launch 2 uses block b4 where it does not exist");
  CHECK(fault_after([](auto& p) { p.uses[1].use = static_cast<Use>(3); }) == "launch 0 uses a block in a way that there is not");
  CHECK(fault_after([](auto& p) { p.changes[0].made = false; }) == "launch 1 uses block b4 where it does not exist");
  CHECK(fault_after([](auto& p) { p.changes[1].made = true; }) == "block b4 is made where it is there already");
  CHECK(fault_after([](auto& p) { p.blocks.push_back({leaf_name(8), 1}); }) == "block x8 is used nowhere");
}

TEST_CASE("plans come back from bytes as they were") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const AccessPlan plan = chance_run(seed, {.launches = 1 + seed * 3, .least = 1, .most = std::uint64_t{1} << seed});
    std::string fault;
    const auto back = from_bytes(to_bytes(plan), fault);
    REQUIRE_MESSAGE(back, fault);
    CHECK(*back == plan);
    CHECK(back->digest() == plan.digest());
  }
  std::string fault;
  CHECK(from_bytes(to_bytes(AccessPlan()), fault) == AccessPlan());
}

TEST_CASE("bytes that are no plan are refused with a reason") {
  const std::vector<std::byte> good = to_bytes(small());
  CHECK(fault_of(good).empty());
  CHECK(fault_of({}) == "these bytes are no streaming plan");
  for (std::size_t size = 0; size < good.size(); ++size) CHECK(fault_of(std::span(good).first(size)) != "");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{0x10};
    CHECK(fault_of(bad) != "");
  }
  std::vector<std::byte> later = good;
  later[8] = std::byte{9};
  CHECK(fault_of(later) == "the streaming plan is of version 9; this is 1");
}

TEST_CASE("bytes that somebody made up are refused or make a plan, whatever they are") {
  std::mt19937_64 random(5);
  std::size_t refused = 0, taken = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> bytes = to_bytes(chance_run(random() % 8, {.launches = 12}));
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = 24 + random() % (bytes.size() - 24);
      switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<std::byte>(random());
        break;
      case 1:
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(random()));
        break;
      default:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(4, bytes.size() - at),
                    std::byte{0xFF});
      }
    }
    reseal(bytes);
    std::string fault;
    const auto plan = from_bytes(bytes, fault);
    if (!plan) {
      ++refused;
      CHECK(fault.starts_with("the streaming plan makes no sense: "));
      continue;
    }
    ++taken;
    CHECK(from_bytes(to_bytes(*plan), fault) == *plan);
  }
  CHECK(refused > 1000);
  CHECK(taken > 100);
}

TEST_CASE("plans that were read lately are known by their bytes, and no others") {
  ReadPlans plans;
  std::string fault;
  const std::vector<std::byte> bytes = to_bytes(small());
  const auto first = plans.read(bytes, fault);
  REQUIRE(first != nullptr);
  CHECK(*first == small());
  CHECK(plans.read(bytes, fault) == first);
  std::vector<std::byte> damaged = bytes;
  damaged.back() ^= std::byte{1};
  CHECK(plans.read(damaged, fault) == nullptr);
  CHECK(fault == "the streaming plan is damaged: its checksum does not fit");
  damaged = bytes;
  damaged[16] ^= std::byte{1}; // the checksum itself
  CHECK(plans.read(damaged, fault) == nullptr);
  CHECK(plans.read(std::span(bytes).first(10), fault) == nullptr);
  // Others come, and it is forgotten, though whoever has it keeps it.
  for (std::uint64_t program = 100; program < 108; ++program) {
    Recorder recorder(program);
    recorder.launch(1, std::array{read(leaf_name(0), 8)});
    CHECK(plans.read(to_bytes(finished(recorder)), fault)->program() == program);
  }
  const auto again = plans.read(bytes, fault);
  CHECK(again != first);
  CHECK(*again == *first);
}
