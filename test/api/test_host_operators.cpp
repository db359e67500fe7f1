// Operators of the host on tensors, with rules of their own.
#include "testing.h"

#include <string>
#include <vector>

using namespace testing;

namespace {

struct Host {
  int calls = 0, reverses = 0, forwards = 0;
  bool wrong_shape = false;
};

std::vector<double> elements(cairn_vm* vm, cairn_value tensor, std::vector<int64_t>& sizes) {
  cairn_element element{};
  sizes.assign(8, 0);
  size_t axes = sizes.size();
  REQUIRE(cairn_get_tensor(tensor, &element, sizes.data(), &axes) == CAIRN_OK);
  sizes.resize(axes);
  size_t count = 1;
  for (int64_t n : sizes) count *= static_cast<size_t>(n);
  std::vector<double> out(count);
  REQUIRE(cairn_read_tensor(vm, tensor, out.data(), count * sizeof(double)) == CAIRN_OK);
  return out;
}

cairn_status made(cairn_vm* vm, const std::vector<int64_t>& sizes, const std::vector<double>& data, cairn_value* value) {
  return cairn_make_tensor(vm, CAIRN_F64, sizes.data(), sizes.size(), data.data(), value);
}

// (scaled-square a x): a x^2, element by element, of a number and a tensor of f64.
cairn_status scaled_square(void* user, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value* value) {
  ++static_cast<Host*>(user)->calls;
  double a = 0;
  if (cairn_get_real(arguments[0], &a) != CAIRN_OK) return CAIRN_WRONG_KIND;
  std::vector<int64_t> sizes;
  std::vector<double> x = elements(vm, arguments[1], sizes);
  for (double& d : x) d = a * d * d;
  return made(vm, sizes, x, value);
}

cairn_status square_reverse(void* user, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value, cairn_value cotangent,
                            cairn_value* cotangents) {
  auto* host = static_cast<Host*>(user);
  ++host->reverses;
  double a = 0, sum = 0;
  cairn_get_real(arguments[0], &a);
  std::vector<int64_t> sizes;
  std::vector<double> x = elements(vm, arguments[1], sizes), c = elements(vm, cotangent, sizes);
  for (size_t i = 0; i < x.size(); ++i) {
    sum += c[i] * x[i] * x[i];
    c[i] *= 2 * a * x[i];
  }
  cotangents[0] = cairn_real(sum);
  if (host->wrong_shape) {
    sizes = {1};
    c.resize(1);
  }
  return made(vm, sizes, c, &cotangents[1]);
}

cairn_status square_forward(void* user, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value,
                            const cairn_value* tangents, cairn_value* tangent) {
  ++static_cast<Host*>(user)->forwards;
  double a = 0, at = 0;
  cairn_get_real(arguments[0], &a);
  if (cairn_value_kind(tangents[0]) != CAIRN_KIND_UNSPECIFIED) cairn_get_real(tangents[0], &at);
  std::vector<int64_t> sizes;
  std::vector<double> x = elements(vm, arguments[1], sizes), t(x.size());
  if (cairn_value_kind(tangents[1]) != CAIRN_KIND_UNSPECIFIED) t = elements(vm, tangents[1], sizes);
  for (size_t i = 0; i < x.size(); ++i) t[i] = at * x[i] * x[i] + 2 * a * x[i] * t[i];
  return made(vm, sizes, t, tangent);
}

const std::vector<cairn_host_declaration> kDeclared = {{"scaled-square", 2}, {"without-rules", 2}, {"reverse-only", 2}};

void provide(Vm& vm, Host& host) {
  cairn_host_procedure all[] = {
      {sizeof(cairn_host_procedure), "scaled-square", 2, scaled_square, nullptr, 1, &host, square_reverse, square_forward},
      {sizeof(cairn_host_procedure), "without-rules", 2, scaled_square, nullptr, 1, &host, nullptr, square_forward},
      {sizeof(cairn_host_procedure), "reverse-only", 2, scaled_square, nullptr, 1, &host, square_reverse, nullptr}};
  for (const cairn_host_procedure& p : all) REQUIRE(cairn_vm_register(vm.vm, &p, nullptr) == CAIRN_OK);
}

std::string output_of(const std::string& text, Host& host) {
  return output_with(
      kDeclared, [&](Vm& vm) { provide(vm, host); }, text);
}

std::string error_of(const std::string& text, Host host = {}) {
  return error_with(
      kDeclared, [&](Vm& vm) { provide(vm, host); }, text);
}

const std::string kDefine = "(define t (list->tensor '(1 2 3) 'f64))"
                            "(define (f p) (sumall (* (scaled-square (car p) (cdr p)) (list->tensor '(1 10 100) 'f64))))"
                            "(define (shown g) (write (list (car g) (cadr g) (tensor->list (cddr g)))))";

} // namespace

TEST_CASE("an operator of the host computes, and its rules are used in both modes and under every schedule") {
  Host host;
  CHECK(output_of("(write (tensor->list (scaled-square 2 (list->tensor '((1 2) (3 4)) 'f64))))", host) ==
        "((2.0 8.0) (18.0 32.0))");
  CHECK(output_of(kDefine + "(shown (*j f (cons 2 t) 1))", host) == "(1882.0 941.0 (4.0 80.0 1200.0))");
  for (const char* schedule : {"tape", "bisection,base=16", "binomial,base=16", "online,base=16", "auto"})
    CHECK(output_of(kDefine + "(shown (with-schedule \"" + schedule + "\" (lambda () (checkpoint-*j f (cons 2 t) 1))))", host) ==
          "(1882.0 941.0 (4.0 80.0 1200.0))");
  CHECK(host.reverses == 6);
  CHECK(output_of(kDefine + "(write (cdr (j* f (cons 2 t) (cons 1 (list->tensor '(0 1 0) 'f64)))))", host) == "1021.0");
  CHECK(output_of(kDefine + "(write (cdr (j* (lambda (a) (f (cons a t))) 2 1)))", host) == "941.0");
  CHECK(host.forwards == 2);
}

TEST_CASE("a long run through it keeps its bits when it is replayed, and goes through files") {
  Host host;
  const std::string text = kDefine + "(define (chain p) (let loop ((i 0) (x (cdr p))) (if (= i 60) (sumall x) (loop (+ i 1) "
                                     "(scaled-square (car p) (+ .5 (* .1 x)))))))"
                                     "(define x (cons .9 t))"
                                     "(define a (*j chain x 1))"
                                     "(define (under s) (with-schedule s (lambda () (checkpoint-*j chain x 1))))"
                                     "(display (map (lambda (s) (equal? a (under s))) '(\"bisection,base=16\" "
                                     "\"binomial,base=16,snapshots=3\" \"online,base=16\")))";
  CHECK(output_of(text, host) == "(#t #t #t)");

  // In slices, each in a machine of its own.
  Compiled program(text, kDeclared);
  std::vector<char> file;
  std::string output;
  for (int slice = 0; slice < 1000; ++slice) {
    Vm vm;
    provide(vm, host);
    if (file.empty()) {
      REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
    } else {
      char* error = nullptr;
      cairn_status restored = cairn_vm_restore(vm.vm, file.data(), file.size(), &error);
      REQUIRE_MESSAGE(restored == CAIRN_OK, taken(error));
    }
    cairn_status status = cairn_vm_run(vm.vm, 97);
    output += vm.output;
    if (status == CAIRN_OK) break;
    REQUIRE(status == CAIRN_OUT_OF_STEPS);
    void* bytes = nullptr;
    size_t size = 0;
    REQUIRE(cairn_vm_save(vm.vm, &bytes, &size) == CAIRN_OK);
    file.assign(static_cast<char*>(bytes), static_cast<char*>(bytes) + size);
    cairn_free(bytes);
  }
  CHECK(output == "(#t #t #t)");
}

namespace {

// Each call gives the next batch, an effect: ("batch n" . tensor).
cairn_status batch(void* user, cairn_vm* vm, const cairn_value*, size_t, cairn_value* value) {
  double n = ++static_cast<Host*>(user)->calls;
  cairn_value name = cairn_unspecified(), tensor = cairn_unspecified();
  std::string text = "batch " + std::to_string(static_cast<int>(n));
  if (cairn_make_string(vm, text.data(), text.size(), &name) != CAIRN_OK ||
      made(vm, {2, 2}, {n, n / 3, -n, 1}, &tensor) != CAIRN_OK)
    return CAIRN_OVER_BUDGET;
  cairn_status status = cairn_make_pair(vm, name, tensor, value);
  cairn_value_release(vm, name);
  cairn_value_release(vm, tensor);
  return status;
}

} // namespace

TEST_CASE("tensors of the host are data: constants to derivatives, and called for once where they are effects") {
  const std::string text =
      "(define (f w) (let loop ((i 0) (s 0.)) (if (= i 20) s (loop (+ i 1) (+ (* .5 s) (sumall (tanh (* w (cdr (batch))))))))))"
      "(define w (list->tensor '((.1 .2) (.3 .4)) 'f64))"
      "(write (let ((g (with-schedule \"SPEC\" (lambda () (checkpoint-*j f w 1))))) (list (car g) (tensor->list (cdr g)))))";
  std::string first;
  for (const char* spec : {"tape", "bisection,base=16", "binomial,base=16,snapshots=2", "online,base=16"}) {
    Host host;
    Vm vm;
    cairn_host_procedure p = {sizeof(cairn_host_procedure), "batch", 0, batch, nullptr, 0, &host, nullptr, nullptr};
    REQUIRE(cairn_vm_register(vm.vm, &p, nullptr) == CAIRN_OK);
    std::string program = text;
    program.replace(program.find("SPEC"), 4, spec);
    vm.run(Compiled(program, {{"batch", 0}}));
    if (first.empty()) first = vm.output;
    CHECK(vm.output == first);
    CHECK(host.calls == 20);
  }
}

TEST_CASE("what the rules do not say is refused") {
  auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string define = "(define t (list->tensor '(1 2 3) 'f64))";
  CHECK(has(error_of(define + "(*j (lambda (x) (sumall (without-rules 1 x))) t 1)"),
            "without-rules: the host gave it no reverse rule"));
  CHECK(has(error_of(define + "(j* (lambda (x) (sumall (reverse-only 1 x))) t t)"),
            "reverse-only: the host gave it no forward rule"));
  CHECK(has(error_of("(scaled-square 1 'a)"), "scaled-square: argument 2: expected a tensor or a number, got a"));
  for (const char* text : {"(j* (lambda (x) (cdr (j* (lambda (y) (sumall (scaled-square 1 y))) x t))) t t)",
                           "(*j (lambda (x) (cdr (j* (lambda (y) (sumall (scaled-square 1 y))) x t))) t 1)",
                           "(*j (lambda (x) (sumall (cdr (*j (lambda (y) (sumall (scaled-square 1 y))) x 1)))) t 1)"})
    CHECK_MESSAGE(has(error_of(define + text), "first derivatives only"), text);
  Host wrong;
  wrong.wrong_shape = true;
  CHECK(has(error_of(define + "(*j (lambda (x) (sumall (scaled-square 1 x))) t 1)", wrong),
            "scaled-square: its reverse rule: a cotangent"));
}

TEST_CASE("an operator that is an effect is called once, whatever is replayed, with the rules of others") {
  const std::string text =
      "(define t (list->tensor '(.5 .25) 'f64))"
      "(define (chain p) (let loop ((i 0) (x (cdr p))) (if (= i 30) (sumall x) (loop (+ i 1) (+ .1 (scaled-square (car p) x))))))"
      "(write (let ((g (with-schedule \"SPEC\" (lambda () (checkpoint-*j chain (cons .9 t) 1))))) (list (car g) (cadr g) "
      "(tensor->list (cddr g)))))";
  std::string first;
  for (int repeatable : {1, 0}) {
    for (const char* spec : {"tape", "bisection,base=16", "binomial,base=16,snapshots=2", "online,base=16"}) {
      Host host;
      Vm vm;
      cairn_host_procedure p = {sizeof(cairn_host_procedure),
                                "scaled-square",
                                2,
                                scaled_square,
                                nullptr,
                                repeatable,
                                &host,
                                square_reverse,
                                square_forward};
      REQUIRE(cairn_vm_register(vm.vm, &p, nullptr) == CAIRN_OK);
      std::string program = text;
      program.replace(program.find("SPEC"), 4, spec);
      vm.run(Compiled(program, {{"scaled-square", 2}}));
      if (first.empty()) first = vm.output;
      CHECK(vm.output == first);
      CHECK(host.reverses == 30);
      if (repeatable == 0 || std::string(spec) == "tape")
        CHECK(host.calls == 30);
      else
        CHECK(host.calls > 30);
    }
  }
}

TEST_CASE("an operator has no Jacobian") {
  Host host;
  Vm vm;
  auto jacobian = [](void*, const double*, size_t, const double*, size_t, double*) { return CAIRN_OK; };
  cairn_host_procedure p = {
      sizeof(cairn_host_procedure), "scaled-square", 2, scaled_square, jacobian, 1, &host, square_reverse, nullptr};
  char* error = nullptr;
  CHECK(cairn_vm_register(vm.vm, &p, &error) == CAIRN_BAD_ARGUMENT);
  CHECK(taken(error) == "cairn_vm_register: an operator on tensors has no Jacobian");
}
