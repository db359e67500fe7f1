// What `auto` promises: short runs cost a plain tape, long ones few repetitions, and a budget is respected.
#include "test/schedule/helpers.h"

#include "vm/schedule/binomials.h"

using namespace cairn::schedule;
using namespace cairn::schedule::test;

TEST_CASE("auto tapes a short run once and takes no snapshot") {
  for (const std::uint64_t total : {0u, 1u, 1000u, 1u << 18, 400'000u}) {
    const Report report = run(spec_of("auto"), {total});
    CHECK(report.actions <= 5); // tape in up to three pieces, reverse, done
    CHECK(report.advanced == 0);
    CHECK(report.snapshots == 0);
  }
}

TEST_CASE("auto tapes longer where few steps make a record") {
  const Report report = run(spec_of("auto"), {20'000'000, 40, 400});
  CHECK(report.advanced == 0);
  CHECK(report.peak_tape_records * 32 <= std::uint64_t{48} << 20);
}

TEST_CASE("auto tapes whole what records little, where somebody offered the memory, within an eighth of it") {
  const Program sparse{.total = 100'000'000, .records_per_1024_steps = 40, .snapshot_bytes = 400};
  Resources resources{.budget_bytes = std::int64_t{4} << 30, .alone = true, .asked = true, .steps_of_record = 18};
  CHECK(run(spec_of("auto"), sparse, {}, resources).advanced == 0);
  Program dense = sparse;
  dense.records_per_1024_steps = 100;
  CHECK(run(spec_of("auto"), dense, {}, resources).peak_tape_records * 32 <= std::uint64_t{48} << 20);
  resources.steps_of_record = 10; // worth less
  CHECK(run(spec_of("auto"), dense, {}, resources).advanced == 0);
  resources.asked = false;
  CHECK(run(spec_of("auto"), sparse, {}, resources).peak_tape_records * 32 <= std::uint64_t{48} << 20);
  resources = {.budget_bytes = std::int64_t{48} << 20, .alone = true, .asked = true};
  CHECK(run(spec_of("auto"), sparse, {}, resources).peak_tape_records * 32 <= std::uint64_t{18} << 20);
}

TEST_CASE("auto replays a long run of small states no more than once") {
  const std::uint64_t total = 100'000'000;
  const Report report = run(spec_of("auto"), {total, 512, 400});
  CHECK(report.repetitions <= 2); // the first run is one of them
  CHECK(report.replay_factor <= 2.0);
  CHECK(report.peak_tape_records * 32 <= std::uint64_t{26} << 20);
  CHECK(report.peak_snapshot_bytes <= std::uint64_t{32} << 20);
}

TEST_CASE("auto runs 5 x 10^9 steps of small states little more than twice within 48 MiB") {
  const Report report = run(spec_of("auto"), {5'000'000'000, 410, 160}, {}, {std::int64_t{48} << 20});
  CHECK(report.replay_factor <= 2.2);
  CHECK(report.peak_tape_records * 32 + report.peak_snapshot_bytes <= std::uint64_t{24} << 20);
}

// 10^10 iterations of the logistic map, and a tenth of them within a tenth of the budget.
TEST_CASE(
    "auto runs 7 x 10^10 steps of small states fewer than 2.3 times within 48 MiB, on longer tapes where states have no room") {
  for (const std::int64_t part : {1, 10}) {
    const Program program{
        .total = 70'000'000'000u / static_cast<std::uint64_t>(part), .records_per_1024_steps = 439, .snapshot_bytes = 160};
    const Report report = run(spec_of("auto"), program, {}, {.budget_bytes = (std::int64_t{48} << 20) / part});
    CAPTURE(part);
    CHECK(report.replay_factor < (part == 1 ? 2.3 : 2.9));
    CHECK(report.peak_snapshot_bytes + report.peak_tape_records * kRecordBytes <
          (std::uint64_t{48} << 20) / 4 * 3 / static_cast<std::uint64_t>(part));
  }
}

TEST_CASE("auto keeps few snapshots where each is large") {
  const Report report = run(spec_of("auto"), {100'000'000, 512, std::uint64_t{64} << 20});
  CHECK(report.peak_snapshots == 8);
  const std::uint64_t units = 100'000'000 / 65536;
  CHECK(static_cast<double>(report.advanced) <= 1.1 * 65536 * static_cast<double>(advances(8, units)));
}

TEST_CASE("auto gives tapes three eighths of the budget, once base cases are long, and snapshots a third") {
  for (const std::int64_t budget : {std::int64_t{64} << 10, std::int64_t{1} << 20, std::int64_t{16} << 20, std::int64_t{1} << 30})
    for (const std::uint64_t density : {64u, 512u, 1024u})
      for (const std::uint64_t bytes : {200u, 2000u}) {
        CAPTURE(budget);
        CAPTURE(density);
        CAPTURE(bytes);
        const auto share = static_cast<std::uint64_t>(budget);
        const Report report = run(spec_of("auto"), {5'000'000, density, bytes}, {}, {budget});
        CHECK(report.peak_tape_records * 32 <= share / 8 * 3);
        CHECK(report.peak_snapshot_bytes <= std::max(share / 3, 8 * bytes));
      }
}

TEST_CASE("auto keeps at least two snapshots, even where half the budget holds none") {
  const Report report = run(spec_of("auto"), {300'000, 512, std::uint64_t{1} << 20}, {}, {std::int64_t{1} << 20});
  CHECK(report.peak_snapshots == 2);
}

TEST_CASE("auto tapes as much as four times the stack, within its share of the budget") {
  const std::uint64_t stack = std::uint64_t{64} << 20, total = 10'000'000;
  const Report deep = run(spec_of("auto"), {total, 512, 400, stack});
  CHECK(deep.advanced == 0);
  CHECK(deep.peak_tape_records == total / 2);
  CHECK(run(spec_of("auto"), {total, 512, 400, stack / 8}).advanced > 0);
  const Report held = run(spec_of("auto"), {total, 512, 400, stack}, {}, {std::int64_t{64} << 20});
  CHECK(held.peak_tape_records * 32 <= std::uint64_t{16} << 20);
}

TEST_CASE("auto decides alike from equal facts") {
  const Program program{40'000'000, 700, 900};
  const auto first = make(spec_of("auto"), {});
  const auto second = make(spec_of("auto"), {});
  Checker one(program, {}), other(program, {});
  for (bool more = true; more;) {
    const Action action = first->next();
    REQUIRE(second->next() == action);
    more = one.perform(action, *first);
    REQUIRE(other.perform(action, *second) == more);
  }
  CHECK(first->explanation() == second->explanation());
}
