// The passes of the compiler change how fast a program is and how many steps it makes, and nothing else.
#include "test/machine/embedding.h"
#include "test/machine/writer.h"

using namespace machine_testing;

TEST_CASE("a random program does the same at every level of optimisation") {
  int ended = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::string source = Writer(seed, false).program();
    CAPTURE(seed);
    CAPTURE(source);
    Outcome plain;
    for (int level = 0; level < 3; ++level) {
      CAPTURE(level);
      Program program(source, level);
      Machine machine(program);
      Outcome outcome = outcome_of(machine, machine.run(20'000'000));
      if (level == 0) plain = outcome;
      CHECK(outcome == plain);
    }
    ended += plain.status == CAIRN_OK;
  }
  CHECK(ended > 300); // else the writer writes too many errors to test anything
}
