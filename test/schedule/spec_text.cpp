// The text of schedules: what is read, what is written, and what each mistake is answered with.
#include "test/schedule/helpers.h"

using namespace cairn::schedule;
using namespace cairn::schedule::test;

TEST_CASE("a schedule reads back from its own text") {
  for (const char* text : {"tape",
                           "bisection",
                           "bisection,base=16",
                           "binomial",
                           "binomial,base=64,snapshots=8",
                           "binomial,snapshots=1",
                           "binomial,passes=3",
                           "binomial,base=100,passes=1",
                           "sqrt",
                           "sqrt,base=4096",
                           "online",
                           "online,base=32,snapshots=18446744073709551615",
                           "auto",
                           "budget",
                           "auto,memory=64KiB",
                           "budget,memory=1",
                           "budget,memory=1000",
                           "budget,memory=64KiB",
                           "budget,memory=3MiB",
                           "budget,memory=2GiB",
                           "budget,memory=262144GiB"}) {
    CHECK(to_string(spec_of(text)) == text);
  }
}

TEST_CASE("memory is any size that options of programs take") {
  CHECK(to_string(spec_of("budget,memory=1.5GiB")) == "budget,memory=1536MiB");
  CHECK(to_string(spec_of("auto,memory=10mb")) == "auto,memory=10000000");
  CHECK(to_string(spec_of("auto,memory=64k")) == "auto,memory=64KiB");
}

TEST_CASE("options may come in any order; what is not given has its default") {
  const Spec spec = spec_of("binomial,snapshots=8,base=64");
  CHECK(to_string(spec) == "binomial,base=64,snapshots=8");
  CHECK(spec.passes == 0);
  CHECK(spec_of("online").base == 4096);
  CHECK_FALSE(spec_of("online").base_given);
}

TEST_CASE("a text that is no schedule is refused with what would be right") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no schedule ''; there are tape, bisection, binomial, sqrt, online, auto and budget"},
      {"binominal", "there is no schedule 'binominal'"},
      {"Tape", "there is no schedule 'Tape'"},
      {" tape", "there is no schedule ' tape'"},
      {"tape,", "has a comma with no option beside it"},
      {"binomial,", "has a comma with no option beside it"},
      {"binomial,,base=64", "has a comma with no option beside it"},
      {"binomial,base=64,", "has a comma with no option beside it"},
      {"tape,base=64", "schedule 'tape' takes no options"},
      {"bisection,snapshots=4", "schedule 'bisection' has no option 'snapshots'; it takes base=N"},
      {"sqrt,passes=4", "schedule 'sqrt' has no option 'passes'; it takes base=N"},
      {"online,passes=4", "schedule 'online' has no option 'passes'; it takes base=N, snapshots=D"},
      {"binomial,depth=4", "it takes base=N, snapshots=D, passes=R"},
      {"binomial,base", "needs a whole number, as in 'base=64'"},
      {"binomial,base=", "needs a whole number"},
      {"binomial,base=x", "needs a whole number"},
      {"binomial,base=-64", "needs a whole number"},
      {"binomial,base=6 4", "needs a whole number"},
      {"binomial,base=64.", "needs a whole number"},
      {"binomial,base=99999999999999999999", "needs a whole number"},
      {"binomial,base=0", "a base case has 16 to"},
      {"binomial,base=8", "a base case has 16 to"},
      {"binomial,base=18446744073709551615", "a base case has 16 to"},
      {"binomial,snapshots=0", "the least is snapshots=1"},
      {"binomial,passes=0", "the least is passes=1"},
      {"binomial,base=64,base=64", "'base' is given twice"},
      {"binomial,snapshots=4,snapshots=5", "'snapshots' is given twice"},
      {"binomial,passes=4,passes=4", "'passes' is given twice"},
      {"tape,memory=64MiB", "schedule 'tape' takes no options"},
      {"auto,base=64", "schedule 'auto' has no option 'base'; it takes memory=BYTES"},
      {"budget,base=64", "schedule 'budget' has no option 'base'; it takes memory=BYTES"},
      {"budget,memory=", "needs a size, as in 'memory=64MiB'"},
      {"budget,memory=0", "the least is memory=1"},
      {"budget,memory=0MiB", "the least is memory=1"},
      {"budget,memory=2MX", "there is no unit 'MX'; there are KiB, MiB, GiB, TiB, and kB, MB, GB, TB of thousands"},
      {"budget,memory=2 MB", "there is no unit ' MB'"},
      {"budget,memory=MiB", "needs a size"},
      {"budget,memory=1.5", "needs a size"},
      {"budget,memory=262145GiB", "the most is memory=262144GiB"},
      {"budget,memory=18446744073709551615KiB", "the most is memory=262144GiB"},
      {"budget,memory=17179869185GiB", "the most is memory=262144GiB"},
      {"budget,memory=281474976710656MiB", "the most is memory=262144GiB"},
      {"budget,memory=1KiB,memory=2KiB", "'memory' is given twice"},
      {"binomial,base=64KiB", "needs a whole number, as in 'base=64'"},
      {"binomial,snapshots=4,passes=5", "exclude each other"},
      {"binomial,passes=4,snapshots=5", "exclude each other"},
  };
  for (const auto& [text, expected] : cases) {
    Spec spec;
    spec.base = 77;
    std::string error;
    const std::string spec_text(text);
    CAPTURE(spec_text);
    CHECK_FALSE(parse(text, spec, error));
    CHECK_MESSAGE(error.find(expected) != std::string::npos, error);
    CHECK(spec.base == 77);
  }
}
