// Procedures of the host: calls, effects that happen once, derivatives, and what goes wrong.
#include "testing.h"

#include <cmath>
#include <string>

using namespace testing;

namespace {

struct NumberHost {
  int calls = 0, derivatives = 0;
};

cairn_status power(void* user, cairn_vm*, const cairn_value* arguments, size_t, cairn_value* value) {
  ++static_cast<NumberHost*>(user)->calls;
  double x = 0, n = 0;
  if (cairn_get_real(arguments[0], &x) != CAIRN_OK || cairn_get_real(arguments[1], &n) != CAIRN_OK) return CAIRN_WRONG_KIND;
  *value = cairn_real(std::pow(x, n));
  return CAIRN_OK;
}

cairn_status power_derivative(void* user, const double* x, size_t, const double* y, size_t, double* jacobian) {
  ++static_cast<NumberHost*>(user)->derivatives;
  jacobian[0] = x[1] * std::pow(x[0], x[1] - 1);
  jacobian[1] = y[0] * std::log(x[0]);
  return CAIRN_OK;
}

// A vector to the list of its cumulative sums and a mark.
cairn_status sums(void*, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value* value) {
  double x[8];
  size_t count = 0;
  if (cairn_get_reals(arguments[0], x, 8, &count) != CAIRN_OK || count > 8) {
    cairn_host_complain(vm, "expected at most eight numbers");
    return CAIRN_WRONG_KIND;
  }
  std::vector<cairn_value> items;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) items.push_back(cairn_real(sum += x[i]));
  cairn_value mark = cairn_unspecified();
  if (cairn_make_string(vm, "done", 4, &mark) != CAIRN_OK) return CAIRN_OVER_BUDGET;
  items.push_back(mark);
  cairn_status status = cairn_make_list(vm, items.data(), items.size(), value);
  cairn_value_release(vm, mark);
  return status;
}

cairn_status sums_derivative(void*, const double*, size_t x_count, const double*, size_t y_count, double* jacobian) {
  for (size_t i = 0; i < y_count; ++i)
    for (size_t j = 0; j <= i; ++j) jacobian[i * x_count + j] = 1;
  return CAIRN_OK;
}

// Each call gives the next number, a text and a list: an effect.
cairn_status measure(void* user, cairn_vm* vm, const cairn_value*, size_t, cairn_value* value) {
  int call = ++static_cast<NumberHost*>(user)->calls;
  cairn_value name = cairn_unspecified();
  std::string text = "reading " + std::to_string(call);
  if (cairn_make_string(vm, text.data(), text.size(), &name) != CAIRN_OK) return CAIRN_OVER_BUDGET;
  cairn_status status = cairn_make_pair(vm, cairn_real(call), name, value);
  cairn_value_release(vm, name);
  return status;
}

cairn_status first_argument(void*, cairn_vm*, const cairn_value* arguments, size_t, cairn_value* value) {
  cairn_value_retain(arguments[0]);
  *value = arguments[0];
  return CAIRN_OK;
}

cairn_status comes_back(void*, cairn_vm* vm, const cairn_value* arguments, size_t count, cairn_value* value) {
  if (cairn_vm_run(vm, 1) != CAIRN_BAD_ARGUMENT || cairn_vm_begin(vm, arguments[0], nullptr, 0) != CAIRN_BAD_ARGUMENT ||
      cairn_vm_abandon(vm) != CAIRN_BAD_ARGUMENT || count != 1)
    return CAIRN_INTERNAL;
  *value = cairn_boolean(1);
  return CAIRN_OK;
}

const std::vector<cairn_host_declaration> kNumberHosts = {{"power", 2}, {"sums", 1}, {"measure", 0}, {"same", 1}, {"again", 1}};

void provide(Vm& vm, NumberHost& host) {
  cairn_host_procedure all[] = {{sizeof(cairn_host_procedure), "power", 2, power, power_derivative, 1, &host, nullptr, nullptr},
                                {sizeof(cairn_host_procedure), "sums", 1, sums, sums_derivative, 1, &host, nullptr, nullptr},
                                {sizeof(cairn_host_procedure), "measure", 0, measure, nullptr, 0, &host, nullptr, nullptr},
                                {sizeof(cairn_host_procedure), "same", 1, first_argument, nullptr, 1, &host, nullptr, nullptr},
                                {sizeof(cairn_host_procedure), "again", 1, comes_back, nullptr, 1, &host, nullptr, nullptr}};
  for (const cairn_host_procedure& p : all) REQUIRE(cairn_vm_register(vm.vm, &p, nullptr) == CAIRN_OK);
}

std::string output_of(const std::string& text, NumberHost& host) {
  return output_with(
      kNumberHosts, [&](Vm& vm) { provide(vm, host); }, text);
}

std::string error_of_numbers(const std::string& text) {
  NumberHost host;
  return error_with(
      kNumberHosts, [&](Vm& vm) { provide(vm, host); }, text);
}

} // namespace

TEST_CASE("a procedure of the host is called like any other, and passed like any other") {
  NumberHost host;
  CHECK(output_of("(display (list (power 2 10) (map (lambda (x) (power x 2)) '(1 2 3)) (apply power '(3 2)) (sums #(1 2 3))))",
                  host) == "(1024.0 (1.0 4.0 9.0) 9.0 (1.0 3.0 6.0 done))");
  CHECK(host.calls == 5);
  CHECK(output_of("(display (again 1))", host) == "#t");
}

TEST_CASE("its derivative is exact in every mode and under every schedule") {
  NumberHost host;
  const char* define = "(define (f v) (let ((s (sums v))) (+ (power (car s) 3) (* (cadr s) (caddr s)))))\n";
  std::string x = "#(2 3 4)"; // f = x1^3 + (x1 + x2)(x1 + x2 + x3)
  CHECK(output_of(std::string(define) + "(write (*j f " + x + " 1))", host) == "(53.0 . #(26.0 14.0 5.0))");
  CHECK(output_of(std::string(define) + "(write (j* f " + x + " #(1 0 0)))", host) == "(53.0 . 26.0)");
  for (const char* schedule : {"tape", "bisection,base=16", "binomial,base=16", "online,base=16", "auto"})
    CHECK(
        output_of(std::string(define) + "(write (with-schedule \"" + schedule + "\" (lambda () (checkpoint-*j f " + x + " 1))))",
                  host) == "(53.0 . #(26.0 14.0 5.0))");
  CHECK(host.derivatives > 0);
}

TEST_CASE("a long run through the host keeps its bits when it is replayed") {
  NumberHost host;
  const char* define = "(define (f x) (let loop ((i 0) (x x)) (if (= i 500) x (loop (+ i 1) (* 0.9 (power (+ x 1.0) 0.5))))))\n"
                       "(define a (*j f 0.3 1))\n"
                       "(define (under s) (with-schedule s (lambda () (checkpoint-*j f 0.3 1))))\n"
                       "(display (map (lambda (s) (equal? a (under s))) '(\"bisection,base=16\" \"binomial,base=16,snapshots=3\""
                       " \"sqrt,base=64\" \"online,base=16\")))";
  CHECK(output_of(define, host) == "(#t #t #t #t)");
}

TEST_CASE("a tensor whose shape no exact integers can say is refused, not cut") {
  const char* text =
      "(define most 140737488355327) (define t (fill (list 0 most) 1)) (same t) (same (concat-tensors (list t t) 1))";
  CHECK(error_of_numbers(text).find("same: the host returned a tensor of shape (0 281474976710654), with a size beyond "
                                    "140737488355327, the largest exact integer") != std::string::npos);
}

TEST_CASE("second derivatives of the host are refused, not wrong") {
  for (const char* text : {"(j* (lambda (x) (cdr (j* (lambda (y) (power y 3)) x 1))) 2 1)",
                           "(*j (lambda (x) (cdr (j* (lambda (y) (power y 3)) x 1))) 2 1)",
                           "(*j (lambda (x) (cdr (*j (lambda (y) (power y 3)) x 1))) 2 1)",
                           "(checkpoint-*j (lambda (x) (cdr (checkpoint-*j (lambda (y) (power y 3)) x 1))) 2 1)",
                           "(j* (lambda (x) (cdr (*j (lambda (y) (power y 3)) x 1))) 2 1)"})
    CHECK_MESSAGE(error_of_numbers(text).find("first derivatives only") != std::string::npos, text);
}

TEST_CASE("an effect of the host happens once, whatever is replayed") {
  NumberHost host;
  const char* text = "(define (f x) (let loop ((i 0) (x x)) (if (= i 40) x"
                     " (let ((m (measure))) (loop (+ i 1) (+ (* 0.5 x) (* x (car m) (string-length (cdr m)))))))))\n"
                     "(write (with-schedule \"SPEC\" (lambda () (checkpoint-*j f 0.25 1))))";
  auto under = [&](const std::string& spec) {
    std::string program = text;
    program.replace(program.find("SPEC"), 4, spec);
    host.calls = 0;
    std::string output = output_of(program, host);
    CHECK(host.calls == 40);
    return output;
  };
  std::string expected = under("tape");
  for (const char* spec : {"bisection,base=16", "binomial,base=16,snapshots=2", "sqrt,base=16", "online,base=16"})
    CHECK(under(spec) == expected);
}

namespace {

// A list of so many numbers, for which there is no room at last; the second one goes over a budget of the host's own.
template <std::size_t count> cairn_status fetch(void* user, cairn_vm* vm, const cairn_value*, size_t, cairn_value* value) {
  ++static_cast<NumberHost*>(user)->calls;
  const std::vector<cairn_value> numbers(count, cairn_real(0.5));
  return cairn_make_list(vm, numbers.data(), numbers.size(), value);
}
cairn_status overdraw(void* user, cairn_vm* vm, const cairn_value*, size_t, cairn_value*) {
  ++static_cast<NumberHost*>(user)->calls;
  cairn_host_complain(vm, "no more calls are paid for");
  return CAIRN_OVER_BUDGET;
}

struct Broke {
  int calls;
  std::string output, error;
};
// Under a budget in which gradients begin again.
Broke broke(decltype(&overdraw) call) {
  NumberHost host;
  cairn_vm_options options = vm_options();
  options.memory_bytes = 1 << 20;
  Vm vm(options);
  const cairn_host_procedure given = {sizeof(cairn_host_procedure), "fetch", 0, call, nullptr, 0, &host, nullptr, nullptr};
  REQUIRE(cairn_vm_register(vm.vm, &given, nullptr) == CAIRN_OK);
  const Compiled program("(define (f x) (let loop ((i 0) (x x)) (if (= i 400) x (let ((l (fetch))) (display \"*\") (loop (+ i 1) "
                         "(tanh (* x (car l))))))))\n"
                         "(checkpoint-*j (lambda (x) (sumall (f x))) (fill '(20) .5) 1)",
                         {{"fetch", 0}});
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OVER_BUDGET);
  return {host.calls, vm.output, vm.error()};
}

} // namespace

TEST_CASE("a call whose result there is no memory for is not made again") {
  for (const Broke& b : {broke(fetch<3000>), broke(fetch<6000>), broke(fetch<9000>), broke(fetch<12000>), broke(fetch<15000>),
                         broke(fetch<18000>), broke(fetch<21000>)}) {
    CAPTURE(b.output);
    CHECK(b.calls <= static_cast<int>(b.output.size()) + 1);
    CHECK(b.error.find("memory budget") != std::string::npos);
  }
}

TEST_CASE("a host that goes over a budget of its own gets no advice about memory, and is not called again") {
  const Broke b = broke(overdraw);
  CHECK(b.calls == 1);
  CHECK(b.error.find("error: fetch: no more calls are paid for\n") != std::string::npos);
  CHECK(b.error.find("--memory") == std::string::npos);
}

TEST_CASE("the host may give back what it got, and keeps no derivative of it") {
  NumberHost host;
  CHECK(output_of("(write (*j (lambda (x) (* x (same x))) 3 1))", host) == "(9.0 . 3.0)"); // `same` has no derivative: a constant
  CHECK(output_of("(write (*j (lambda (x) (* x (vector-ref (same (vector x 1 'a)) 0))) 3 1))", host) == "(9.0 . 3.0)");
  CHECK(output_of("(write (same '(1 (2 . \"x\") #(a #\\b #t ()) 2.5)))", host) == "(1 (2 . \"x\") #(a #\\b #t ()) 2.5)");
}

TEST_CASE("errors of the host are errors at the call") {
  CHECK(error_of_numbers("(display 1)\n(sums 'a)").find("guest.scm:2:1: error: sums: expected at most eight numbers") !=
        std::string::npos);
  CHECK(error_of_numbers("(power 'x 2)").find("power: a value of another kind") != std::string::npos);
  CHECK(error_of_numbers("(same car)").find("it may return other data only") != std::string::npos);
}

TEST_CASE("a program does not load without the procedures that it needs") {
  Compiled program("(power 1 2)", kNumberHosts);
  unsigned parameters = 0;
  CHECK(taken(cairn_module_import(program.module, 0, &parameters)) == "power");
  CHECK(parameters == 2);
  CHECK(cairn_module_import(program.module, 1, nullptr) == nullptr);
  char* error = nullptr;
  {
    Vm vm;
    CHECK(cairn_vm_load(vm.vm, program.module, &error) == CAIRN_BAD_MODULE);
    CHECK(taken(error).find("`power`") != std::string::npos);
  }
  Vm vm;
  NumberHost host;
  cairn_host_procedure wrong = {sizeof(cairn_host_procedure), "power", 3, power, nullptr, 1, &host, nullptr, nullptr};
  REQUIRE(cairn_vm_register(vm.vm, &wrong, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_register(vm.vm, &wrong, &error) == CAIRN_BAD_ARGUMENT);
  CHECK(taken(error).find("already") != std::string::npos);
  CHECK(cairn_vm_load(vm.vm, program.module, &error) == CAIRN_BAD_MODULE);
  CHECK(taken(error).find("2 arguments") != std::string::npos);
}

TEST_CASE("a capsule with calls of the host in it goes on in another machine") {
  Compiled program("(define (f x) (let loop ((i 0) (x x)) (if (= i 30) x (loop (+ i 1) (* x (+ 1 (* 0.01 (car (measure)))))))))\n"
                   "(write (with-schedule \"binomial,base=16,snapshots=2\" (lambda () (checkpoint-*j f 1.5 1))))",
                   kNumberHosts);
  NumberHost whole_host;
  Vm whole;
  provide(whole, whole_host);
  whole.run(program);
  NumberHost host;
  std::string output;
  cairn_capsule* capsule = nullptr;
  for (bool done = false; !done;) {
    Vm vm;
    provide(vm, host);
    REQUIRE((capsule == nullptr ? cairn_vm_load(vm.vm, program.module, nullptr) : cairn_vm_resume(vm.vm, capsule, nullptr)) ==
            CAIRN_OK);
    cairn_capsule_free(capsule);
    done = cairn_vm_run(vm.vm, 111) == CAIRN_OK;
    if (!done) REQUIRE(cairn_vm_capsule(vm.vm, &capsule) == CAIRN_OK);
    output += vm.output;
  }
  CHECK(output == whole.output);
  CHECK(host.calls == 30);
  CHECK(cairn_vm_steps(whole.vm) > 111 * 8);
}
