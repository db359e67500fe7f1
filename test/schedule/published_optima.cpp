// Schedules against tables computed by other programs: the optimum of revolve, the drivers of checkpointVLAD, online placement.
#include "test/schedule/helpers.h"

#include "vm/schedule/binomials.h"

#include <algorithm>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

TEST_CASE("binomial takes exactly the published fewest advances, for every length and number of snapshots") {
  const auto table = data("revolve_offline.json").at("advances");
  for (const auto& [snapshots, row] : table.items()) {
    const std::uint64_t slots = std::stoull(snapshots);
    for (std::uint64_t units = 1; units < row.size(); ++units) {
      const auto fewest = row[units].get<std::uint64_t>();
      CAPTURE(slots);
      CAPTURE(units);
      CHECK(static_cast<std::uint64_t>(advances(slots, units)) == fewest);
      const Report report = run(spec_with_base(Spec::Kind::binomial, 16, slots), {16 * units - units % 16}, {slots, 16});
      const std::uint64_t total = 16 * units - units % 16;
      CHECK(report.advanced == total + 16 * fewest);
      CHECK(report.repetitions <= 1 + repetitions(slots, units));
    }
  }
}

TEST_CASE("every split is one of the published optimal first splits") {
  const auto splits = data("revolve_offline.json").at("optimal_first_splits");
  for (const auto& entry : splits.items()) {
    const std::string& key = entry.key();
    const auto& row = entry.value();
    const auto comma = key.find(',');
    const std::uint64_t units = std::stoull(key.substr(0, comma));
    const std::uint64_t slots = std::stoull(key.substr(comma + 1));
    CAPTURE(key);
    CHECK(std::find(row.begin(), row.end(), split(slots, units)) != row.end());
  }
}

TEST_CASE("bisection runs the steps and holds the states of checkpointVLAD") {
  const auto rows = data("vlad_drivers.json").at("rows");
  int compared = 0;
  for (const auto& row : rows) {
    if (row.at("driver") != "bisection") continue;
    const Report report = run(spec_with_base(Spec::Kind::bisection, row.at("b")), {row.at("l").get<std::uint64_t>()});
    CAPTURE(row.dump());
    CHECK(report.advanced == row.at("untaped").get<std::uint64_t>() + row.at("l").get<std::uint64_t>());
    CHECK(report.peak_snapshots == row.at("capsules").get<std::uint64_t>());
    CHECK(report.longest_tape == row.at("longest_tape").get<std::uint64_t>());
    CHECK(report.advanced + report.taped == row.at("total_with_primops").get<std::uint64_t>());
    ++compared;
  }
  CHECK(compared == 11);
}

TEST_CASE("online meets or beats the published placement, and never measures") {
  const auto rows = data("online.json").at("rows");
  REQUIRE(rows.size() == 32);
  for (const auto& row : rows) {
    const std::uint64_t slots = row.at("c"), units = row.at("T");
    CAPTURE(row.dump());
    const Report report = run(spec_with_base(Spec::Kind::online, 16, slots), {16 * units}, {slots, 16});
    CHECK(report.advanced + report.taped <= 16 * row.at("online_sw_wm").get<std::uint64_t>());
    CHECK(report.advanced + report.taped < 16 * row.at("vlad").get<std::uint64_t>());
  }
}
