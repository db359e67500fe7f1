// The passes of the compiler change how fast a program is and how many steps it makes, and nothing else.
#include "test/machine/embedding.h"
#include "test/machine/writer.h"

#include <optional>

using namespace machine_testing;

TEST_CASE("a random program does the same at every level of optimisation") {
  int ended = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::string source = Writer(seed, false).program();
    CAPTURE(seed);
    CAPTURE(source);
    std::optional<Outcome> plain; // none: too long to be a test
    for (int level = 0; level < 3; ++level) {
      CAPTURE(level);
      Program program(source, level);
      Machine machine(program);
      cairn_status status = machine.run(level == 0 ? 100'000 : 1'000'000);
      if (level == 0 && status == CAIRN_OUT_OF_STEPS) break;
      REQUIRE(status != CAIRN_OUT_OF_STEPS);
      Outcome outcome = outcome_of(machine, status);
      if (level == 0) plain = outcome;
      CHECK(outcome == *plain);
    }
    ended += plain && plain->status == CAIRN_OK;
  }
  CHECK(ended > 200); // else the writer writes too many errors to test anything
}
