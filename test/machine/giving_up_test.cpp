// A run that is cancelled while it gives up much leaves the rest set aside. That is gone before anybody looks, and before the run
// goes on: whatever it was, where and how it goes on is what a run would do that was stopped there by a limit of steps.
#include "test/machine/embedding.h"
#include "test/sanitized.h"
#include "vm/api/handles.h"

#include <array>
#include <memory>

using namespace machine_testing;

namespace {

const std::string kMake = "(define (make n l) (if (= n 0) l (make (- n 1) (cons n l))))"
                          "(define (tree n) (if (= n 0) '() (cons (tree (- n 1)) (tree (- n 1)))))"
                          "(define (idle n) (if (= n 0) 7 (idle (- n 1))))";

// Each gives up tens of thousands of objects in one step, or begins to make as many.
const std::string kPrograms[] = {
    kMake + "(define (go) (begin (car (make 30000 '())) (idle 100) (pair? (tree 14)) (idle 100))) (write (go)) (write (go))",
    kMake + "(define (go n) (let ((v (make-vector 20000 (make 20000 '())))) (vector-ref v n)))"
            "(write (car (go 3))) (write (car (go 4)))",
    kMake + "(define (go) (let ((v (list->vector (map list (iota 15000))))) (vector-ref v 7))) (write (go)) (write (go))",
    kMake +
        "(define (deep n) (if (= n 0) (interrupt idle 100 3) (cons n (deep (- n 1)))))"
        "(define (go) (interrupt (lambda (x) (length (deep x))) 30000 80000)) (write (capsule? (go))) (write (capsule? (go)))",
    "(define (count . l) (length l)) (define l (iota 150000)) (write (apply count l)) (write (length (apply list l)))",
    "(define (count . l) (length l)) (write (apply count (vector->list (make-vector 150000 1.5))))"
    "(write (vector-length (list->vector (iota 150000))))",
    kMake +
        "(define (f l) (if (null? l) 0. (+ (* (car l) (car l)) (f (cdr l))))) (define l (map (lambda (i) (* .5 i)) (iota 9000)))"
        "(write (car (*j f l 1.))) (write (car (j* f l l))) (write (car (checkpoint-*j f l 1.)))",
    "(define l (iota 9000)) (define suffixes (let loop ((l l) (r '())) (if (null? l) r (loop (cdr l) (cons l r)))))"
    "(define y (cdr (car (*j (lambda (x) (cons x (cons l suffixes))) 1. '(1. . 0))))) (write (length (car y))) (write (length "
    "(cdr y)))",
};

cairn::machine::Engine& engine_of(const Machine& machine) { return machine.handle()->engine; }

// Peaks are exact to a granularity, so they are no part of what must be equal.
using Counts = std::array<std::uint64_t, 6>;
Counts counts_of(const Machine& machine) {
  const cairn::machine::Statistics s = engine_of(machine).statistics_now();
  return {s.steps, s.work, s.gradient_steps, s.gradient_steps_executed, s.tape_peak_records, s.capsules_taken};
}

// The first four: they can be stopped between two steps and nowhere else.
bool in_whole_steps(const std::string& source) { return &source < kPrograms + 4; }

std::string saved(const Machine& machine) {
  void* bytes = nullptr;
  std::size_t size = 0;
  REQUIRE(cairn_vm_save(machine.handle(), &bytes, &size) == CAIRN_OK);
  std::string copy(static_cast<const char*>(bytes), size);
  cairn_free(bytes);
  return copy;
}

// Cancelled by that poll; not even once if there are not so many.
std::unique_ptr<Machine> cancelled_at(const Program& program, std::int64_t poll) {
  auto machine = std::make_unique<Machine>(program);
  engine_of(*machine).meter().cancel_at(poll);
  cairn_status status = machine->run();
  engine_of(*machine).meter().cancel_at(INT64_MAX);
  REQUIRE((status == CAIRN_CANCELLED || status == CAIRN_OK));
  return status == CAIRN_OK ? nullptr : std::move(machine);
}

} // namespace

TEST_CASE("a run that is cancelled while it gives up much stands where a limit of steps would have stopped it") {
  for (const std::string& source : kPrograms) {
    CAPTURE(source);
    Program program(source);
    Machine whole(program);
    REQUIRE_MESSAGE(whole.run() == CAIRN_OK, whole.error());
    const Counts end = counts_of(whole);
    int set_aside = 0;
    for (std::int64_t poll = 1;; poll += cairn::test::poll_step()) {
      CAPTURE(poll);
      std::unique_ptr<Machine> machine = cancelled_at(program, poll);
      if (machine == nullptr) break;
      cairn::value::Heap& heap = engine_of(*machine).heap();
      if (heap.has_set_aside()) ++set_aside;
      Machine limited(program);
      REQUIRE(limited.run(machine->steps()) == CAIRN_OUT_OF_STEPS);
      switch (poll % 3) {
      case 0:
        // Peaks, which a file has too, are those of the step that was not completed.
        if (in_whole_steps(source))
          CHECK(saved(*machine) == saved(limited));
        else
          CHECK_FALSE(saved(*machine).empty());
        break;
      case 1: {
        const bool had = heap.has_set_aside();
        CHECK(counts_of(*machine) == counts_of(limited));
        CHECK(heap.has_set_aside() == had); // to be counted takes no time
        [[fallthrough]];
      }
      default:
        heap.release_all_set_aside();
      }
      CHECK_FALSE(heap.has_set_aside());
      // A step that was stopped may have begun to write down what it will write again.
      if (in_whole_steps(source)) CHECK(heap.live_bytes() == engine_of(limited).heap().live_bytes());
      REQUIRE(machine->run() == CAIRN_OK);
      CHECK(machine->output == whole.output);
      CHECK(machine->steps() == whole.steps());
      CHECK(counts_of(*machine) == end);
    }
    CHECK(set_aside > (cairn::test::kSanitized ? 0 : 3));
  }
}

TEST_CASE("cancelled again and again, giving up still comes to its end, and the run with it") {
  for (const std::string& source : kPrograms) {
    CAPTURE(source);
    Program program(source);
    Machine whole(program), machine(program);
    REQUIRE(whole.run() == CAIRN_OK);
    cairn_status status = CAIRN_CANCELLED;
    for (std::int64_t apart = 1; status == CAIRN_CANCELLED; ++apart) {
      engine_of(machine).meter().cancel_at(apart);
      status = machine.run();
    }
    REQUIRE(status == CAIRN_OK);
    CHECK(machine.output == whole.output);
    CHECK(counts_of(machine) == counts_of(whole));
  }
}

TEST_CASE("a machine that is given up or ends has nothing set aside") {
  const Program program(kPrograms[0]);
  std::unique_ptr<Machine> machine = cancelled_at(program, 2);
  REQUIRE(machine != nullptr);
  Machine limited(program);
  REQUIRE(limited.run(machine->steps()) == CAIRN_OUT_OF_STEPS);
  REQUIRE(engine_of(*machine).heap().has_set_aside());
  CHECK(cairn_vm_abandon(machine->handle()) == CAIRN_OK);
  CHECK(cairn_vm_abandon(limited.handle()) == CAIRN_OK);
  CHECK_FALSE(engine_of(*machine).heap().has_set_aside());
  CHECK(engine_of(*machine).live_bytes() == engine_of(limited).live_bytes());
  machine = cancelled_at(program, 2);
  REQUIRE(engine_of(*machine).heap().has_set_aside());
  engine_of(*machine).drop_everything();
  CHECK(engine_of(*machine).heap().live_objects() == 0);
}

TEST_CASE("what is set aside is counted, saved, run on from and freed in any order") {
  const Program program(kPrograms[0]);
  Machine whole(program);
  REQUIRE(whole.run() == CAIRN_OK);
  for (unsigned order = 0; order < 32; ++order) {
    CAPTURE(order);
    std::unique_ptr<Machine> machine = cancelled_at(program, 1 + order % 4);
    const Counts before = counts_of(*machine);
    REQUIRE(engine_of(*machine).heap().has_set_aside());
    if ((order & 4) != 0) {
      void* bytes = nullptr;
      std::size_t size = 0;
      engine_of(*machine).meter().cancel_at(1);
      CHECK(cairn_vm_save(machine->handle(), &bytes, &size) == CAIRN_CANCELLED);
      engine_of(*machine).meter().cancel_at(INT64_MAX);
      cairn_free(bytes);
    }
    CHECK(counts_of(*machine) == before);
    if ((order & 8) != 0) CHECK_FALSE(saved(*machine).empty());
    CHECK(counts_of(*machine) == before);
    if ((order & 16) != 0) continue; // freed as it is
    engine_of(*machine).meter().cancel_at(2);
    cairn_status status = machine->run();
    engine_of(*machine).meter().cancel_at(INT64_MAX);
    if (status == CAIRN_CANCELLED) status = machine->run();
    CHECK(status == CAIRN_OK);
    CHECK(machine->output == whole.output);
    CHECK(counts_of(*machine) == counts_of(whole));
  }
}

TEST_CASE("saving goes on with what is set aside, and can be stopped in it") {
  const Program program(kPrograms[0]);
  std::unique_ptr<Machine> machine = cancelled_at(program, 1);
  REQUIRE(engine_of(*machine).heap().has_set_aside());
  const std::int64_t live = engine_of(*machine).live_bytes();
  engine_of(*machine).meter().cancel_at(1);
  void* bytes = nullptr;
  std::size_t size = 0;
  CHECK(cairn_vm_save(machine->handle(), &bytes, &size) == CAIRN_CANCELLED);
  CHECK(engine_of(*machine).live_bytes() < live);
  CHECK(engine_of(*machine).heap().has_set_aside());
  Machine limited(program);
  REQUIRE(limited.run(machine->steps()) == CAIRN_OUT_OF_STEPS);
  CHECK(saved(*machine) == saved(limited));
}

TEST_CASE("what a host gives up while a request waits is set aside, and gone before the machine executes anything") {
  const Program program("(lambda () 1)");
  Machine machine(program);
  REQUIRE(machine.run() == CAIRN_OK);
  cairn_vm* vm = machine.handle();
  cairn_value procedure;
  REQUIRE(cairn_vm_value(vm, &procedure) == CAIRN_OK);
  const std::int64_t live = engine_of(machine).live_bytes();
  cairn_value list = cairn_null();
  for (int i = 0; i < 50'000; ++i) {
    cairn_value next;
    REQUIRE(cairn_make_pair(vm, cairn_integer(i), list, &next) == CAIRN_OK);
    cairn_value_release(vm, list);
    list = next;
  }
  cairn_vm_cancel(vm);
  cairn_value_release(vm, list);
  CHECK(engine_of(machine).heap().has_set_aside());
  REQUIRE(cairn_vm_begin(vm, procedure, nullptr, 0) == CAIRN_OK);
  CHECK(cairn_vm_run(vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  CHECK(cairn_vm_run(vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK_FALSE(engine_of(machine).heap().has_set_aside());
  cairn_value_release(vm, procedure);
  CHECK(engine_of(machine).live_bytes() == live);
}
