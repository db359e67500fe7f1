// Calls from C into a program: looked up, sliced, refused, failed, differentiated.
#include "testing.h"

#include <string>

using namespace testing;

namespace {

const char* const kProgram = "(define (add a b) (+ a b))\n"
                             "(define (spin n) (let loop ((i 0)) (if (= i n) i (loop (+ i 1)))))\n"
                             "(define (boom x) (car x))\n"
                             "(define (outer x) (+ 1 (boom x)))\n"
                             "(define (hog n) (vector-length (make-vector n 0)))\n"
                             "(define (norm v) (let loop ((i 0) (s 0.0)) (if (= i (vector-length v)) s"
                             " (loop (+ i 1) (+ s (* (vector-ref v i) (vector-ref v i)))))))\n"
                             "(define twelve 12)\n";

} // namespace

TEST_CASE("definitions and operators are found by name") {
  Vm vm(kProgram);
  CHECK(vm.text(vm.lookup("twelve")) == "12");
  CHECK(cairn_value_kind(vm.lookup("checkpoint-*j")) == CAIRN_KIND_PROCEDURE);
  cairn_value value = cairn_unspecified();
  CHECK(cairn_vm_lookup(vm.vm, "thirteen", &value) == CAIRN_NOT_DEFINED);
  CHECK(cairn_vm_lookup(vm.vm, "map", &value) == CAIRN_NOT_DEFINED); // the library's, not the program's
  CHECK(cairn_vm_lookup(vm.vm, nullptr, &value) == CAIRN_BAD_ARGUMENT);
  Compiled module(kProgram);
  CHECK(taken(cairn_module_definition(module.module, 0)) == "add");
  CHECK(cairn_module_definition(module.module, 99) == nullptr);
}

TEST_CASE("a definition is not there before it has run") {
  Compiled program("(define a 1) (define (f) a) (define b (f))");
  Vm vm;
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  cairn_value value = cairn_unspecified();
  CHECK(cairn_vm_lookup(vm.vm, "b", &value) == CAIRN_NOT_DEFINED);
  CHECK(cairn_vm_begin(vm.vm, cairn_null(), nullptr, 0) == CAIRN_BAD_ARGUMENT); // its top level is ready to run
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(vm.text(vm.lookup("b")) == "1");
}

TEST_CASE("a call runs in slices like a program, with the same steps") {
  Vm vm(kProgram);
  cairn_value spin = vm.lookup("spin"), n = cairn_integer(1000);
  uint64_t before = cairn_vm_steps(vm.vm);
  REQUIRE(cairn_vm_begin(vm.vm, spin, &n, 1) == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  uint64_t whole = cairn_vm_steps(vm.vm) - before;
  REQUIRE(cairn_vm_begin(vm.vm, spin, &n, 1) == CAIRN_OK);
  uint64_t slices = 0;
  while (cairn_vm_run(vm.vm, 7) == CAIRN_OUT_OF_STEPS) ++slices;
  CHECK(slices == (whole - 1) / 7);
  CHECK(cairn_vm_steps(vm.vm) - before == 2 * whole);
  cairn_value value = cairn_unspecified();
  REQUIRE(cairn_vm_value(vm.vm, &value) == CAIRN_OK);
  CHECK(vm.text(value) == "1000");
  cairn_value_release(vm.vm, spin);
}

TEST_CASE("a call draws the random numbers of an earlier one again") {
  Vm vm("(define (draw) (random-real))");
  const cairn_value draw = vm.lookup("draw");
  const auto drawn = [&] {
    cairn_value value = cairn_unspecified();
    double number = 0;
    REQUIRE(cairn_vm_call(vm.vm, draw, nullptr, 0, &value) == CAIRN_OK);
    REQUIRE(cairn_get_real(value, &number) == CAIRN_OK);
    return number;
  };
  const uint64_t before = cairn_vm_draws(vm.vm);
  const double first = drawn(), second = drawn();
  CHECK(first != second);
  CHECK(cairn_vm_draws(vm.vm) == before + 2);
  REQUIRE(cairn_vm_set_draws(vm.vm, before) == CAIRN_OK);
  CHECK(drawn() == first);
  REQUIRE(cairn_vm_begin(vm.vm, draw, nullptr, 0) == CAIRN_OK);
  CHECK(cairn_vm_set_draws(vm.vm, before) == CAIRN_BAD_ARGUMENT);
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(cairn_vm_set_draws(nullptr, 0) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_draws(nullptr) == 0);
  cairn_value_release(vm.vm, draw);
}

TEST_CASE("what cannot be called is refused, and the machine goes on") {
  Vm vm(kProgram);
  cairn_value value = cairn_unspecified();
  cairn_value one = cairn_integer(1);
  value = one;
  CHECK(cairn_vm_call(vm.vm, one, nullptr, 0, &value) == CAIRN_PROGRAM_ERROR);
  CHECK(cairn_value_kind(value) == CAIRN_KIND_UNSPECIFIED); // whoever releases it releases nothing twice
  CHECK(vm.error().find("not a procedure") != std::string::npos);
  CHECK(vm.call("add", {one}, &value) == CAIRN_PROGRAM_ERROR);
  CHECK(vm.error().find("add: expected 2 arguments, got 1") != std::string::npos);
  CHECK(vm.called("add", {one, one}) == "2");
  const cairn_value add = vm.lookup("add");
  value = one;
  const cairn_value both[] = {one, one};
  CHECK(cairn_vm_call(vm.vm, add, both, 1, &value) == CAIRN_PROGRAM_ERROR);
  CHECK(cairn_value_kind(value) == CAIRN_KIND_UNSPECIFIED);
  value = one;
  CHECK(cairn_vm_call(vm.vm, add, nullptr, 2, &value) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_value_kind(value) == CAIRN_KIND_UNSPECIFIED);
  cairn_value_release(vm.vm, add);
  CHECK(cairn_vm_run(vm.vm, 1) == CAIRN_BAD_ARGUMENT); // nothing to run
}

TEST_CASE("an error leaves its parts, and a machine that can be called again") {
  Vm vm(kProgram);
  cairn_value value = cairn_unspecified();
  CHECK(vm.call("outer", {cairn_integer(5)}, &value) == CAIRN_PROGRAM_ERROR);
  cairn_failure* failure = nullptr;
  REQUIRE(cairn_vm_failure(vm.vm, &failure) == CAIRN_OK);
  CHECK(failure->status == CAIRN_PROGRAM_ERROR);
  CHECK(std::string(failure->message) == "car: expected a pair, got 5");
  CHECK(std::string(failure->file) == "guest.scm");
  CHECK(failure->line == 3);
  CHECK(failure->column == 18);
  REQUIRE(failure->call_count >= 1);
  CHECK(std::string(failure->calls[failure->call_count - 1].procedure) == "outer");
  cairn_failure_free(failure);
  CHECK(vm.called("add", {cairn_integer(1), cairn_integer(2)}) == "3");
  CHECK(cairn_vm_failure(vm.vm, &failure) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("a call over the budget gives its memory back") {
  cairn_vm_options options = vm_options();
  options.memory_bytes = 4 << 20;
  Vm vm(Compiled(kProgram), options);
  cairn_value value = cairn_unspecified();
  for (int i = 0; i < 3; ++i) {
    CHECK(vm.call("hog", {cairn_integer(10'000'000)}, &value) == CAIRN_OVER_BUDGET);
    CHECK(vm.error().find("memory budget") != std::string::npos);
    CHECK(vm.called("hog", {cairn_integer(300'000)}) == "300000");
  }
}

TEST_CASE("a stopped call can be given up") {
  Vm vm(kProgram);
  cairn_value spin = vm.lookup("spin"), n = cairn_integer(1'000'000);
  REQUIRE(cairn_vm_begin(vm.vm, spin, &n, 1) == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, 100) == CAIRN_OUT_OF_STEPS);
  CHECK(cairn_vm_begin(vm.vm, spin, &n, 1) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_abandon(vm.vm) == CAIRN_OK);
  CHECK(cairn_vm_run(vm.vm, 1) == CAIRN_BAD_ARGUMENT);
  CHECK(vm.called("spin", {cairn_integer(10)}) == "10");
  cairn_value_release(vm.vm, spin);
}

TEST_CASE("derivatives of a procedure, under any schedule, with the same bits") {
  Vm vm(kProgram);
  cairn_value norm = vm.lookup("norm"), x = vm.reals({1.5, -2, 3});
  auto result = [&](cairn_status status) {
    REQUIRE(status == CAIRN_OK);
    REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
    cairn_value value = cairn_unspecified();
    REQUIRE(cairn_vm_value(vm.vm, &value) == CAIRN_OK);
    return vm.text(value);
  };
  std::string expected = "(15.25 . #(3.0 -4.0 6.0))";
  CHECK(result(cairn_vm_begin_reverse(vm.vm, norm, x, cairn_integer(1))) == expected);
  for (const char* schedule :
       {"tape", "bisection,base=16", "binomial,base=16,snapshots=2", "sqrt,base=16", "online,base=16", "auto"})
    CHECK(result(cairn_vm_begin_checkpoint_reverse(vm.vm, norm, x, cairn_integer(1), schedule)) == expected);
  CHECK(result(cairn_vm_begin_checkpoint_reverse(vm.vm, norm, x, cairn_integer(1), nullptr)) == expected);
  CHECK(cairn_vm_begin_checkpoint_reverse(vm.vm, norm, x, cairn_integer(1), "sideways") == CAIRN_BAD_ARGUMENT);
  cairn_value tangent = vm.reals({1, 0, 0});
  CHECK(result(cairn_vm_begin_forward(vm.vm, norm, x, tangent)) == "(15.25 . 3.0)");
  for (cairn_value v : {norm, x, tangent}) cairn_value_release(vm.vm, v);
}

TEST_CASE("a machine for one program forgets it at the end") {
  cairn_vm_options options = vm_options();
  options.one_shot = 1;
  Vm vm(Compiled(kProgram), options);
  cairn_value value = cairn_unspecified();
  CHECK(cairn_vm_lookup(vm.vm, "add", &value) == CAIRN_NOT_DEFINED);
  CHECK(cairn_vm_begin(vm.vm, cairn_null(), nullptr, 0) == CAIRN_BAD_ARGUMENT);
}
