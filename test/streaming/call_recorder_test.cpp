// A recording of a call that somebody asked for, where it cannot be finished.
#include "test/streaming/runs.h"

#include "ops/plans/call_recorder.h"

#include <array>
#include <new>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;

namespace {

using Lost = CallRecorder::Parts::Lost;

CallRecorder begun() {
  CallRecorder recorder(5);
  recorder.launch(10, std::array{read(leaf_name(0), 64)});
  recorder.made(born_name(7), 64);
  recorder.launch(20, std::array{read(leaf_name(0), 64), write(born_name(7), 64)});
  return recorder;
}

} // namespace

TEST_CASE("what memory was short for ends as out of memory, and records nothing more") {
  CallRecorder recorder = begun();
  const CallRecorder::Mark mark = recorder.mark();
  recorder.give_up(Lost::no_memory);
  CHECK(recorder.bytes() == 0);
  recorder.launch(30, std::array{read(leaf_name(1), 64)});
  recorder.made(born_name(8), 64);
  recorder.dropped(born_name(7));
  recorder.take_back(mark);
  CHECK(recorder.parts().durations.empty());
  CHECK(recorder.parts().blocks.empty());
  std::string fault;
  CHECK_THROWS_AS(recorder.finish({}, fault), std::bad_alloc);
}

TEST_CASE("what is longer than a plan can be is said to be") {
  CallRecorder recorder = begun();
  recorder.give_up(Lost::too_long);
  recorder.launch(30, std::array{read(leaf_name(1), 64)});
  std::string fault;
  CHECK_FALSE(recorder.finish({}, fault));
  CHECK(fault == "it is longer than a plan can be");
}

TEST_CASE("a recording that has been given up stays so where it goes on") {
  CallRecorder recorder = begun();
  recorder.give_up(Lost::too_long);
  std::string fault;
  auto copy = CallRecorder::going_on(recorder.parts(), {}, fault);
  REQUIRE(copy);
  CHECK(copy->parts() == recorder.parts());
  CHECK_FALSE(copy->finish({}, fault));
}

TEST_CASE("a launch that is taken back leaves what was there, names included") {
  CallRecorder recorder = begun();
  const CallRecorder::Parts before = recorder.parts();
  const CallRecorder::Mark mark = recorder.mark();
  recorder.made(born_name(8), 32);
  recorder.launch(30, std::array{Access{born_name(7), 64, Use::overwrite}, write(born_name(8), 32)});
  CHECK_FALSE(recorder.parts() == before);
  recorder.take_back(mark);
  CHECK(recorder.parts() == before);
  recorder.launch(30, std::array{read(born_name(7), 64)});
  std::string fault;
  const auto plan = recorder.finish({}, fault);
  REQUIRE(plan);
  CHECK(plan->size() == 3);
  CHECK(plan->blocks().size() == 2); // what was read again is the block that was written
}
