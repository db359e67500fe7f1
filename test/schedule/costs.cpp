// Tables of costs: what is read, what is written, what is refused, and what they come to.
#include "test/schedule/helpers.h"
#include "vm/schedule/cost_table.h"

#include <limits>

using namespace cairn::schedule;

TEST_CASE("a table of costs reads back from its own text") {
  CostTable costs;
  costs.step = 1.25;
  costs.product = 1e-9;
  costs.operation = 1e6;
  CostTable read;
  std::string error;
  REQUIRE(parse_costs(to_string(costs), read, error));
  CHECK(read == costs);
}

TEST_CASE("what a table of costs does not name has its built-in rate") {
  CostTable costs, builtin;
  costs.byte = 7;
  std::string error;
  REQUIRE(parse_costs("# here\r\n\n  step\t3 # slow\r\nflop 0", costs, error));
  CHECK(costs.step == 3);
  CHECK(costs.flop == 0);
  CHECK(costs.byte == builtin.byte);
}

TEST_CASE("a mistake in a table of costs is named with its line, and changes nothing") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"step 1\nspeed 2", "line 2: no rate is called 'speed'; there are step, record, operation, taped, product, flop, byte, "
                          "fresh, spill, encode, lossy, lossy_small"},
      {"step", "line 1: 'step' should be nanoseconds, a number from 0 to 1000000, not ''"},
      {"step -1", "line 1: 'step' should be nanoseconds, a number from 0 to 1000000, not '-1'"},
      {"step 1e7", "line 1: 'step' should be nanoseconds, a number from 0 to 1000000, not '1e7'"},
      {"step nan", "line 1: 'step' should be nanoseconds, a number from 0 to 1000000, not 'nan'"},
      {"byte 1 2", "line 1: 'byte' should be nanoseconds, a number from 0 to 1000000, not '1 2'"},
      {"byte 1\nstep 2\nbyte 1", "line 3: 'byte' has a rate already; leave one of them"},
  };
  for (const auto& [text, message] : mistakes) {
    CostTable costs;
    costs.step = 9;
    const CostTable before = costs;
    std::string error;
    CHECK_FALSE(parse_costs(text, costs, error));
    CHECK(error == message);
    CHECK(costs == before);
  }
}

TEST_CASE("a rate that no text can give is not sound") {
  CostTable costs;
  CHECK(costs.sound());
  costs.byte = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(costs.sound());
  costs.byte = -1;
  CHECK_FALSE(costs.sound());
}

TEST_CASE("ticks are tenths of a nanosecond, whole, and never overflow") {
  CostTable costs;
  costs.step = 2.54;
  CHECK(costs.ticks_of_step() == 25);
  costs.step = 0;
  CHECK(costs.ticks_of_step() == 1);
  costs.operation = 1, costs.product = 2, costs.flop = 3, costs.byte = .1;
  CHECK(costs.ticks(1, 1, 1, 1) == 61);
  CHECK(costs.ticks(0, 0, 0, 1e300) == std::uint64_t{1} << 60);
  costs.lossy = .4, costs.lossy_small = 3;
  CHECK(costs.ticks_of_lossy(1000, 0) == 2000);
  CHECK(costs.ticks_of_lossy(1000, 10) == 2150);
}
