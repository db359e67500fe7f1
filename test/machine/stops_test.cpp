// A run may be stopped in the middle of a step: by whoever cancels it, or because a budget of work does not hold the step.
// Nothing of the step has happened then, and whatever goes on from there, here or in another machine, is the same run.
#include "test/machine/embedding.h"
#include "test/sanitized.h"
#include "vm/api/handles.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

using namespace machine_testing;

namespace {

// Programs whose steps are large: operators in place and not, tapes, schedules, sweeps, updates, trees, text.
const char* const kStopped[] = {
    // forward rules, in place where an operand is used up
    "(define x (view (list->tensor (iota 60) 'f64) '(3 20)))"
    "(define (f t n) (if (= n 0) t (f (+ (* t t) (exp (- 0. t))) (- n 1))))"
    "(write (tensor->list (matmul (f x 3) (transpose x))))",
    // a tape with tensors, random numbers and numbers, swept
    "(define (f x) (sumall (* (dropout (matmul x (transpose x)) 0.5) (sumall x))))"
    "(define (g x) (+ (f x) (* (random-real) (sumall (exp x)))))"
    "(write (*j g (view (list->tensor (map (lambda (i) (* .1 i)) (iota 12)) 'f64) '(3 4)) 1.))(write (random-real))",
    // parts of cotangents: of slices and rows, added onto sums, and of gathered elements
    "(define i (list->tensor '((0 2) (1 1)) 'i64))"
    "(define (f x) (+ (sumall (* (narrow-tensor x 0 1 2) (slice x 0 0 3 2))) (sumall (* (chunk x 1 2 0) (chunk x 1 2 1)))"
    " (sumall (* (embedding x i) (embedding x (narrow-tensor i 0 0 1)))) (sumall (* (gather x i 1) (gather x i 0)))))"
    "(define x (view (list->tensor (map (lambda (i) (sin (* .1 i))) (iota 12)) 'f64) '(3 4)))"
    "(write (*j f x 1.))(write (checkpoint-*j f (transpose (view x '(4 3))) 1.))(write (*j (lambda (x) (sumall (exp (cdr (*j f x "
    "1.))))) x 1.))",
    // the same under schedules that replay
    "(define (g x) (let loop ((i 0) (x x)) (if (= i 12) (sumall x) (loop (+ i 1) (* (dropout (tanh (+ x x)) .1) "
    "(random-real))))))"
    "(define x (list->tensor '(.1 .2 .3 .4) 'f64))"
    "(write (with-schedule \"bisection,base=16\" (lambda () (checkpoint-*j g x 1.))))"
    "(write (with-schedule \"binomial,base=16,snapshots=2\" (lambda () (checkpoint-*j g x 1.))))(write (random-real))",
    // packed and unpacked under a derivative
    "(define (f l) (let ((t (list->tensor l 'f64))) (apply + (tensor->list (* t t)))))"
    "(write (*j f '(1. 2. 3.) 1.))(write (j* f '(1. 2. 3.) '(1. 0. 0.)))"
    "(write (*j (lambda (l) (cdr (*j f l 1.))) '(1. 2. 3.) '(1. 1. 1.)))",
    // trees at the borders of operators: every path counts
    "(define (twice n v) (if (= n 0) v (twice (- n 1) (cons v v))))"
    "(define (total t) (if (pair? t) (+ (total (car t)) (total (cdr t))) (* t t)))"
    "(write (*j total (twice 10 3.) 1.))(write (j* total (twice 9 3.) (twice 9 1.)))"
    "(write (*j (lambda (x) (twice 10 (* x x))) 2. (twice 10 1.)))"
    "(write (checkpoint-*j (lambda (x) (twice 10 (* x x))) 2. (twice 10 1.)))",
    // forward over reverse, reverse over reverse
    "(define (f x) (* x x x)) (define (g x) (cdr (*j f x 1.))) (write (j* g 2. 1.)) (write (*j g 2. 1.))"
    "(define (h t) (sumall (* t (* t t)))) (define (k t) (cdr (*j h t 1.)))"
    "(define t (list->tensor '(1. 2.) 'f64)) (write (j* k t t)) (write (*j k t t))",
    // updates by a rule, leaf by leaf
    "(define (rule leaf c s) (if (number? c) (cons leaf s) (cons (- leaf (* c .1)) s)))"
    "(define (f x) (sumall (* (car x) (exp (cdr x)))))"
    "(write (*j-update f (cons (list->tensor '(1. 2.) 'f64) (list->tensor '(.5 .25) 'f64)) 1. rule '()))"
    "(write (checkpoint-*j-update f (cons (list->tensor '(1. 2.) 'f64) (list->tensor '(.5 .25) 'f64)) 1. rule '()))",
    // numbers of many levels
    "(define (d n) (if (= n 0) (lambda (x) (* x (exp x))) (let ((g (d (- n 1)))) (lambda (x) (cdr (j* g x 1.))))))"
    "(write ((d 7) 2.))(write (*j (d 5) 2. 1.))",
    // text, and output in many pieces
    "(define l (iota 4000)) (write l) (newline) (write (make-string 9000 #\\x)) (display (string-append (make-string 5000 #\\y) "
    "\"z\"))"
    "(write (string->list (make-string 3 #\\a))) (write (list->string (list #\\a #\\b)))",
    // output of runs that are replayed
    "(define (f x) (let loop ((i 0) (x x)) (if (= i 20) x (begin (write (make-string 5000 #\\x)) (loop (+ i 1) (* x 1.5))))))"
    "(write (with-schedule \"bisection,base=64\" (lambda () (checkpoint-*j f 2. 1.))))",
    // vectors, equality, the largest numbers of tensors
    "(define v (make-vector 70000 1.)) (write (vector-length (vector-update v 3 2.))) (write (vector-length (list->vector (iota "
    "70000))))"
    "(define t (cast (list->tensor (iota 100) 'f64) 'i64)) (write (equal? t t)) (write (equal? t (+ t t))) (write t)"
    "(write (apply max (iota 70000)))",
};

cairn::ops::Meter& meter_of(Machine& machine) { return machine.handle()->engine.meter(); }

struct Course {
  Outcome outcome;
  std::uint64_t steps, work;
  bool operator==(const Course&) const = default;
};

Course course_of(const Machine& machine, cairn_status status) {
  return {outcome_of(machine, status), machine.steps(), cairn_vm_work(machine.handle())};
}

Course course_of_run(const Program& program) {
  Machine machine(program);
  cairn_status status = machine.run();
  REQUIRE_MESSAGE(status == CAIRN_OK, machine.error());
  return course_of(machine, status);
}

} // namespace

TEST_CASE("whichever poll finds a run cancelled, it goes on as if nobody had asked") {
  for (const char* source : kStopped) {
    CAPTURE(source);
    Program program(source);
    const Course whole = course_of_run(program);
    CHECK(whole.work > 0);
    std::int64_t polls = 0;
    for (cairn_status status = CAIRN_CANCELLED; status == CAIRN_CANCELLED;) {
      polls += cairn::test::poll_step();
      CAPTURE(polls);
      auto machine = std::make_unique<Machine>(program);
      meter_of(*machine).cancel_at(polls);
      status = machine->run();
      meter_of(*machine).cancel_at(INT64_MAX);
      if (status != CAIRN_CANCELLED) break;
      if (polls % 3 == 0) { // and elsewhere
        auto next = std::make_unique<Machine>();
        machine->move_to(*next);
        machine = std::move(next);
      }
      REQUIRE(course_of(*machine, machine->run()) == whole);
    }
    CHECK(polls > 10);
  }
}

TEST_CASE("cancelled over and over, a little later each time, a run still comes to its end") {
  for (const char* source : kStopped) {
    CAPTURE(source);
    Program program(source);
    const Course whole = course_of_run(program);
    for (std::int64_t apart : {40, 90}) {
      Machine machine(program);
      cairn_status status = CAIRN_CANCELLED;
      int times = 0;
      for (std::int64_t polls = apart; status == CAIRN_CANCELLED; ++polls, ++times) {
        meter_of(machine).cancel_at(polls);
        status = machine.run();
      }
      CHECK(course_of(machine, status) == whole);
    }
  }
}

TEST_CASE("a budget of work stops a run before the step that would take more, and any such pieces are the same run") {
  for (const char* source : kStopped) {
    CAPTURE(source);
    Program program(source);
    const Course whole = course_of_run(program);
    for (std::uint64_t piece : {std::uint64_t{1}, whole.work / 40 + 1, whole.work / 3 + 1}) {
      CAPTURE(piece);
      auto machine = std::make_unique<Machine>(program);
      std::uint64_t budget = piece;
      cairn_status status = CAIRN_OK;
      for (int stops = 1;; ++stops) {
        std::uint64_t before = cairn_vm_work(machine->handle());
        cairn_vm_limit_work(machine->handle(), budget);
        status = machine->run();
        std::uint64_t made = cairn_vm_work(machine->handle()) - before;
        if (status != CAIRN_OUT_OF_WORK) break;
        REQUIRE(stops < 100'000);
        std::uint64_t needed = cairn_vm_work_needed(machine->handle());
        CHECK(needed > budget - std::min(budget, made));
        budget = std::max(piece, needed); // what one step needs is more than there was in all
        if (stops % 4 != 0) continue;
        auto next = std::make_unique<Machine>();
        machine->move_to(*next);
        machine = std::move(next);
      }
      CHECK(course_of(*machine, status) == whole);
    }
  }
}

TEST_CASE("work is counted: flops and bytes of operations, bytes of text, objects copied") {
  auto work = [](const std::string& source) { return course_of_run(Program(source)).work; };
  const std::string make = "(define t (fill '(10 10) 1. 'f64)) (define u (fill '(10 10) 2. 'f64))";
  const std::uint64_t made = work(make);
  CHECK(made == 2 * (100 + 800)); // an element is a flop and its bytes
  CHECK(work(make + "(define v (+ t u))") == made + 100 + 3 * 800);
  CHECK(work(make + "(define v (matmul t u))") == made + 2 * 10 * 100 + 3 * 800);
  CHECK(work(make + "(define v (view t '(100)))") == made); // a view
  // Functions of elements by what they take, and the kernels of their reverse rules.
  CHECK(work(make + "(define v (square t))") == made + 100 + 2 * 800);
  CHECK(work(make + "(define v (exp t))") == made + 5 * 100 + 2 * 800);
  CHECK(work(make + "(define v (GeLU t))") == made + 25 * 100 + 2 * 800);
  CHECK(work(make + "(define v (expt t u))") == made + 110 * 100 + 3 * 800);
  auto gradient = [&](const std::string& f) { return work(make + "(define g (*j (lambda (x) (sumall (" + f + " x))) t 1.))"); };
  CHECK(gradient("GeLU") - gradient("square") == 2 * 24 * 100);
  CHECK(gradient("tanh") - gradient("square") == 9 * 100); // whose slope is a product
  // What slices give a cotangent counts by their own size, but for the first, which makes zeros around its own: each of the
  // others multiplies a row by a number, forth and back, and adds it to three rows' bytes.
  auto rows = [&](int n) {
    return work(make + "(define (f x) (apply + (map (lambda (i) (sumall (* 2 (narrow-tensor x 0 i 1)))) (iota " +
                std::to_string(n) + ")))) (define g (*j f t 1.))");
  };
  CHECK(rows(10) - rows(9) == rows(3) - rows(2));
  CHECK(rows(3) - rows(2) < 100 + 2 * 800); // less than to read and write the tensor once
  CHECK(work(make + "(define v (sumall (expand-tensor t '(1000 10 10))))") ==
        made + 100'000 + 800'000 + 8 + 9); // and the number that it is
  CHECK(work("(write 123)") == 3);
  CHECK(work("(define s (make-string 10 #\\a))") == 10);
  CHECK(work("(define (f n) (if (= n 0) 0 (f (- n 1)))) (f 1000)") == 0);
  CHECK(work("(define v (make-vector 1000 0))") == 8 * 1000);
  CHECK(work("(define v (make-vector 100000 0)) (vector-update v 7 1)") == 2 * 8 * 100'000);
  CHECK(work("(define l '(1 2 3)) (apply + l)") == 8 * 3);
  CHECK(work("(list->string '(#\\a #\\b))") == 2 * 8 + 2);
  CHECK(work("(string->number \"123\")") == 8 * 3);
}

TEST_CASE("work is the same on the emulated device") {
  for (const char* source : kStopped) {
    CAPTURE(source);
    Program program(source);
    Machine emulated(program, CAIRN_UNLIMITED, "emulated");
    cairn_status status = emulated.run();
    REQUIRE_MESSAGE(status == CAIRN_OK, emulated.error());
    const Course whole = course_of_run(program);
    // Tensors that are printed name their device, and text is work.
    CHECK(cairn_vm_work(emulated.handle()) - emulated.output.size() == whole.work - whole.outcome.output.size());
    CHECK(emulated.steps() == whole.steps);
  }
}

// What a tape that begins in the middle of a run multiplies by stands in a state. Whether it is a number of the program's text or
// one that was passed on from step to step makes no difference then, nor where it is computed from such numbers alone.
TEST_CASE("a planned gradient does no work for cotangents of numbers that do not vary") {
  const auto work = [](const std::string& parameters, const std::string& first, const std::string& next, const std::string& h) {
    const Program program("(define w (* .1 (cos (view (list->tensor (iota 1024)) '(32 32)))))"
                          "(define x (sin (view (list->tensor (iota 4096)) '(128 32))))"
                          "(define (flow x w n" +
                          parameters +
                          ") (if (= n 0) (sumall (square x))"
                          "  (flow (+ x (* " +
                          h + " (tanh (matmul x w)))) w (- n 1)" + next +
                          ")))"
                          "(write (car (checkpoint-*j (lambda (w) (flow x w 200" +
                          first + ")) w 1.)))");
    Machine machine(program, 4 << 20);
    const cairn_status status = machine.run();
    REQUIRE_MESSAGE(status == CAIRN_OK, machine.error());
    char* json = nullptr;
    REQUIRE(cairn_vm_statistics(machine.handle(), &json) == CAIRN_OK);
    CHECK(taken(json).find("\"replay_factor\":1.0,") == std::string::npos); // something was run again
    return cairn_vm_work(machine.handle());
  };
  const std::uint64_t least = work("", "", "", ".01");
  // One slot more in a frame makes a plan a little different.
  CHECK(work(" h", " .01", " h", "h") < least + least / 100);
  CHECK(work(" t h", " .01 0.", " (+ t h) h", "(+ t h)") < least + least / 100);
  CHECK(work(" h", " (sumall w)", " h", "h") > least + least / 50); // which varies
}

TEST_CASE("a printer reads what it shows of a tensor") {
  Program program("(write (expand-tensor (fill '(1) 1.5 'f64) '(3000000 2000000)))(newline)"
                  "(define t (view (cast (list->tensor (iota 2000) 'f64) 'i64) '(2 1000))) (write t)(newline)"
                  "(write (fill '(1000000000 0) 1.))");
  Machine machine(program, 1 << 20);
  cairn_status status = machine.run();
  REQUIRE_MESSAGE(status == CAIRN_OK, machine.error());
  const std::string row = "[1.5 1.5 1.5 ... 1.5 1.5 1.5]";
  CHECK(machine.output ==
        "#<tensor f64 (3000000 2000000)\n[" + row + "\n " + row + "\n " + row + "\n ...\n " + row + "\n " + row + "\n " + row +
            "]>\n" + "#<tensor i64 (2 1000)\n[[   0    1    2 ...  997  998  999]\n [1000 1001 1002 ... 1997 1998 1999]]>\n" +
            "#<tensor f32 (1000000000 0)\n[]>");
  CHECK(cairn_vm_work(machine.handle()) < 200'000);
}

TEST_CASE("long steps that make little are work too") {
  struct {
    std::string source;
    std::uint64_t work;
  } const cases[] = {
      {"(define (deep n v) (if (= n 0) v (deep (- n 1) (make-vector 100 v)))) (list->tensor (deep 4 '()))", 10'000},
      {"(define (d n) (if (= n 0) (lambda (x) (* x x)) (let ((g (d (- n 1)))) (lambda (x) (cdr (j* g x 1.)))))) ((d 10) 2.)",
       100}};
  for (const auto& [source, work] : cases) {
    const std::string& program_text = source;
    CAPTURE(program_text);
    Program program(source);
    Machine machine(program);
    cairn_vm_limit_work(machine.handle(), work);
    CHECK(machine.run() == CAIRN_OUT_OF_WORK);
    CHECK(cairn_vm_work(machine.handle()) <= work);
  }
}

TEST_CASE("a budget of memory holds for what steps take beside the heap") {
  const std::string shared = "(define (deep n v) (if (= n 0) v (deep (- n 1) (make-vector 100 v))))"
                             "(define (twice n v) (if (= n 0) v (twice (- n 1) (cons v v))))"
                             "(define (loud x) (let loop ((i 0)) (if (= i 5000) (* x x) (begin (display \"x\") (loop (+ i 1))))))"
                             "(define (nested x n) (if (= n 0) x (+ (cdr (*j loud x 1.)) (nested x (- n 1)))))";
  for (const char* step :
       {"(list->tensor (deep 6 1.) 'f64)", "(tensor->list (expand-tensor (fill '(1) 1.) '(100000000)))",
        "(tensor->list (fill '(100000000 0) 1.))", "(*j (lambda (x) (twice 40 (* x x))) 2. (twice 40 1.))",
        "(*j (lambda (x) 1.) (twice 40 1.) 1.)", "(make-string 2000000 #\\a)", "(*j (lambda (x) (nested x 60)) 2. 1.)",
        "(write (expand-tensor (fill '(1 1 1 1 1 1 1 1) 1.) '(9 9 9 9 9 9 9 9)))"}) {
    CAPTURE(step);
    Program program(shared + step);
    Machine machine(program, 1 << 20);
    CHECK(machine.run() == CAIRN_OVER_BUDGET);
    CHECK(machine.error().find("memory budget of 1.0 MiB exceeded by a request of ") != std::string::npos);
  }
}

namespace {

// How often a run can be stopped in the same step, a poll later each time; those do not count that found it releasing something.
int most_stops_in_one_step(const Program& program, const Course& whole) {
  Machine machine(program);
  std::uint64_t steps = 0;
  int most = 0, stops = 0;
  for (std::int64_t polls = 2;; ++polls) {
    meter_of(machine).cancel_at(polls);
    if (const cairn_status status = machine.run(); status != CAIRN_CANCELLED) {
      CHECK(course_of(machine, status) == whole);
      return most;
    }
    if (std::exchange(steps, machine.steps()) != machine.steps()) polls = 2, stops = 0;
    if (!machine.handle()->engine.heap().has_set_aside()) most = std::max(most, ++stops);
  }
}

} // namespace

TEST_CASE("an action of a schedule that walks over many objects can be stopped in its middle") {
  const std::string program = "(define (f x) (let make ((i 0) (l '())) (if (< i 150000) (make (+ i 1) (cons (* x i) l)) "
                              "(let add ((l l) (s 0.)) (if (null? l) s (add (cdr l) (+ s (* (car l) .5))))))))"
                              "(write (with-schedule \"ACTIONS\" (lambda () (checkpoint-*j f 2. 1.))))";
  for (const std::string schedule : {"online,base=300000,snapshots=1", "sqrt,base=200000", "bisection,base=700000"}) {
    CAPTURE(schedule);
    const Program with(std::string(program).replace(program.find("ACTIONS"), 7, schedule));
    CHECK(most_stops_in_one_step(with, course_of_run(with)) > 10);
  }
}

TEST_CASE("the search for a budget that does can be cancelled, and the program then ends without it") {
  const Program program("(define (f x) (sumall (let loop ((i 0) (x x)) (if (= i 60) x (loop (+ i 1) (tanh (+ x x)))))))"
                        "(checkpoint-*j f (fill '(500 250) .1) 1)");
  constexpr std::uint64_t kTooLittle = 3 << 19;
  const auto is_cancelled = [&](std::int64_t polls) { // and not in the search
    Machine machine(program, kTooLittle);
    meter_of(machine).cancel_at(polls);
    return machine.run() == CAIRN_CANCELLED;
  };
  std::int64_t from = 1;
  while (is_cancelled(from + 1 + from / 4)) from += 1 + from / 4;
  int in_search = 0;
  for (std::int64_t polls = from;; polls += 1 + from / 64) {
    CAPTURE(polls);
    Machine machine(program, kTooLittle);
    meter_of(machine).cancel_at(polls);
    const cairn_status status = machine.run();
    if (status == CAIRN_CANCELLED) continue;
    REQUIRE(status == CAIRN_OVER_BUDGET);
    if (machine.error().find("should do with --memory=") != std::string::npos) break; // nobody asked so often
    CHECK(machine.error().find("it was cancelled while a budget that does was looked for") != std::string::npos);
    ++in_search;
  }
  CHECK(in_search > 0);
}
