// Tables of several octaves.
#include "vm/schedule/plan_checker.h"

#include "test/schedule/random_profiles.h"

using namespace cairn::schedule;
using namespace cairn::schedule::test;

// A table counts in few cells here, so parts are rounded up a lot; where they are small, finer tables round less.
TEST_CASE("in coarser octaves small parts of a run are planned as in finer ones") {
  double sum = 0;
  int compared = 0, entered = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const auto count = static_cast<std::uint32_t>(random.between(8, 30));
    const Profile profile = random_profile(random, count, seed % 2 == 1);
    std::uint64_t most = 0; // more than all tapes together
    for (const Interval& interval : profile.intervals) most += 10 + interval.tape + shared_bytes(interval, 0);
    PlannerLimits limits;
    limits.family = seed % 4 < 2 ? Family::simple : Family::mixed;
    limits.cells = static_cast<std::uint32_t>(most);
    const Planner exact(profile, most, limits);
    limits.cells = 16;
    const Planner planner(profile, most, limits);
    for (std::uint64_t budget = 1; budget <= most; budget += 1 + most / 32) {
      CAPTURE(seed);
      CAPTURE(budget);
      if (const auto plan = planner.plan(budget)) {
        const PlanReport report = check(profile, plan->moves);
        REQUIRE_MESSAGE(report.fault.empty(), report.fault);
        CHECK(report.peak <= budget);
        CHECK(static_cast<double>(report.cost) == plan->cost);
        CHECK(plan->cost == doctest::Approx(*planner.cost(budget)).epsilon(1e-4));
        sum += plan->cost / *exact.cost(budget) - 1;
        ++compared;
      }
      const std::vector<std::uint32_t> held = {0, count / 3, count - 2};
      if (const auto rest = planner.plan(budget, held, count)) {
        const PlanReport report = check(profile, rest->moves, held, count);
        REQUIRE_MESSAGE(report.fault.empty(), report.fault);
        CHECK(report.peak <= budget);
        CHECK(static_cast<double>(report.cost) == rest->cost);
        ++entered;
      }
    }
  }
  MESSAGE("plans with 16 cells are ", 100 * sum / compared, " % above exact ones on average; entered ", entered);
  CHECK(sum / compared <= 0.0165); // 0.0173 if all sizes were counted in cells of their octave
  CHECK(entered > 200);
}
