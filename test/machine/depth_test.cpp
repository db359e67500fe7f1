// Deep stacks live on the heap: however a run that made one ends, its frames are given back without native recursion.
#include "test/machine/embedding.h"

using namespace machine_testing;

namespace {

const std::string kCount = "(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))\n"
                           "(define (fall n) (if (= n 0) (car '()) (+ 1 (fall (- n 1)))))\n"
                           "(define (nest n x) (if (= n 0) x (nest (- n 1) (list x))))\n";
const std::string kDeep = "1000000";

} // namespace

TEST_CASE("a million frames return") {
  Program program(kCount + "(count " + kDeep + ")");
  Machine machine(program);
  CHECK(machine.run() == CAIRN_OK);
  CHECK(machine.result() == kDeep);
}

TEST_CASE("a million frames are dropped by an error") {
  Program program(kCount + "(fall " + kDeep + ")");
  Machine machine(program);
  CHECK(machine.run() == CAIRN_PROGRAM_ERROR);
  CHECK(machine.error().find("test.scm:2:") == 0);
}

TEST_CASE("a million frames are dropped with a machine that was stopped") {
  Program program(kCount + "(count " + kDeep + ")");
  Machine machine(program);
  CHECK(machine.run(5'000'000) == CAIRN_OUT_OF_STEPS);
}

TEST_CASE("a budget that the stack exceeds ends the run") {
  Program program(kCount + "(count 1000000000)");
  Machine machine(program, 64 << 20);
  CHECK(machine.run() == CAIRN_OVER_BUDGET);
  CHECK(machine.error().find("budget") != std::string::npos);
}

TEST_CASE("capsules of a million frames are resumed twice, dropped, and nested in data") {
  Program program(kCount +
                  "(define (sum z) (+ (resume z) (resume z)))\n"
                  "(write (sum (interrupt count " +
                  kDeep + " 4000000)))\n" + "(write (capsule-finished? (interrupt count " + kDeep +
                  " 4000000)))\n"
                  "(write (null? (nest 1000000 (interrupt count " +
                  kDeep + " 4000000))))");
  Machine machine(program);
  CHECK(machine.run() == CAIRN_OK);
  CHECK(machine.output == "2000000#f#f");
}

TEST_CASE("closures and promises nested a million deep") {
  Program program("(define (wrap n f) (if (= n 0) f (wrap (- n 1) (lambda () f))))\n"
                  "(write (procedure? (wrap 1000000 (lambda () 1))))\n"
                  "(define (chain n f) (if (= n 0) f (chain (- n 1) (lambda (x) (+ 1 (f x))))))\n"
                  "(write ((chain 1000000 (lambda (x) x)) 5))");
  Machine machine(program);
  CHECK(machine.run() == CAIRN_OK);
  CHECK(machine.output == "#t1000005");
}
