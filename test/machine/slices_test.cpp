// A run is a line of counted steps: cut into pieces of any length, and carried from one machine to the next in between, it is
// the same run.
#include "test/machine/embedding.h"
#include "test/machine/writer.h"
#include "vm/api/handles.h"

#include <memory>
#include <optional>

using namespace machine_testing;

namespace {

struct Whole {
  Outcome outcome;
  std::uint64_t steps;
};

// Nothing if it is too long to be cut into single steps.
std::optional<Whole> run_whole(const Program& program) {
  Machine machine(program);
  cairn_status status = machine.run(50'000);
  if (status == CAIRN_OUT_OF_STEPS) return std::nullopt;
  return Whole{outcome_of(machine, status), machine.steps()};
}

// In pieces of k steps; every `moves`th piece is made by a fresh machine.
void check_pieces(const Program& program, const Whole& whole, std::uint64_t k, int moves) {
  CAPTURE(k);
  auto machine = std::make_unique<Machine>(program);
  std::uint64_t made = 0;
  cairn_status status = CAIRN_OK;
  for (int piece = 1; (status = machine->run(k)) == CAIRN_OUT_OF_STEPS; ++piece) {
    made += k;
    REQUIRE(machine->steps() == made);
    REQUIRE(made < whole.steps + k);
    if (moves == 0 || piece % moves != 0) continue;
    auto next = std::make_unique<Machine>();
    machine->move_to(*next);
    machine = std::move(next);
  }
  CHECK(outcome_of(*machine, status) == whole.outcome);
  CHECK(machine->steps() == whole.steps);
}

} // namespace

TEST_CASE("random programs in pieces of k steps") {
  std::uint64_t programs = 0;
  for (unsigned seed = 1000; seed < 1120; ++seed) {
    std::string source = Writer(seed, true).program();
    CAPTURE(seed);
    CAPTURE(source);
    Program program(source, static_cast<int>(seed % 3));
    std::optional<Whole> whole = run_whole(program);
    if (!whole) continue;
    ++programs;
    for (std::uint64_t k : {1u, 2u, 3u, 7u, 10u, 64u, 1000u}) check_pieces(program, *whole, k, 0);
    check_pieces(program, *whole, whole->steps / 2 + 1, 1);
    check_pieces(program, *whole, whole->steps / 20 + 1, 1);
  }
  CHECK(programs > 80);
}

TEST_CASE("a run of T steps is finished after T, and not after T - 1") {
  for (unsigned seed = 2000; seed < 2040; ++seed) {
    std::string source = Writer(seed, true).program();
    CAPTURE(source);
    Program program(source);
    std::optional<Whole> whole = run_whole(program);
    if (!whole || whole->outcome.status != CAIRN_OK) continue;
    Machine exact(program), less(program);
    CHECK(exact.run(whole->steps) == CAIRN_OK);
    CHECK(less.run(whole->steps - 1) == CAIRN_OUT_OF_STEPS);
    CHECK(less.run(0) == CAIRN_OUT_OF_STEPS);
    CHECK(less.run(1) == CAIRN_OK);
    CHECK(outcome_of(less, CAIRN_OK) == whole->outcome);
  }
}

// What a run inherits from those below is looked up when it is pushed. Looked up at each slice, a computation of n runs in each
// other would take n times as long in slices.
TEST_CASE("a slice costs what it runs, however many runs are in each other") {
  const Program program("(define (down n) (if (= n 0) 0 (+ 1 (with-schedule \"tape\" (lambda () (down (- n 1)))))))"
                        "(define (limited n) (if (= n 0) 0 (+ 1 (capsule-steps (interrupt limited (- n 1) 1000000)))))"
                        "(write (down 400))(write (limited 60))");
  Machine whole(program), sliced(program);
  REQUIRE(whole.run() == CAIRN_OK);
  cairn_status status = CAIRN_OK;
  std::uint64_t slices = 0;
  while ((status = sliced.run(1)) == CAIRN_OUT_OF_STEPS) ++slices;
  CHECK(outcome_of(sliced, status) == outcome_of(whole, CAIRN_OK));
  CHECK(sliced.steps() == whole.steps());
  CHECK(slices > 4000);
  CHECK(sliced.handle()->engine.derivations == whole.handle()->engine.derivations);
  CHECK(whole.handle()->engine.derivations < 600);
}
