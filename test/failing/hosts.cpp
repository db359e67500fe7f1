// Procedures of the host, operators of the host with rules, tensors shared with other libraries: see calls.h.
#include "test/failing/calls.h"
#include "test/failing/tools.h"

#include <dlpack/dlpack.h>

#include <array>
#include <cmath>
#include <memory>

namespace failing {

namespace {

// (power x y): a number, with its derivative; (pair-of a b): data of every kind; (once): a call that replays must not repeat;
// (scaled a t): an operator on tensors with both rules; (plain t): a procedure that is none, of a tensor.
cairn_status power(void*, cairn_vm*, const cairn_value* arguments, size_t, cairn_value* value) {
  double x = 0, y = 0;
  if (cairn_get_real(arguments[0], &x) != CAIRN_OK || cairn_get_real(arguments[1], &y) != CAIRN_OK) return CAIRN_WRONG_KIND;
  *value = cairn_real(std::pow(x, y));
  return CAIRN_OK;
}
cairn_status power_slopes(void*, const double* x, size_t, const double* y, size_t, double* jacobian) {
  jacobian[0] = x[1] * std::pow(x[0], x[1] - 1);
  jacobian[1] = y[0] * std::log(x[0]);
  return CAIRN_OK;
}

cairn_status pair_of(void*, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value* value) {
  cairn_value text{}, list{};
  if (cairn_status s = cairn_make_string(vm, "some text", 9, &text); s != CAIRN_OK) return s;
  const cairn_value items[] = {arguments[0], text, arguments[1]};
  cairn_status status = cairn_make_list(vm, items, 3, &list);
  if (status == CAIRN_OK) status = cairn_make_vector(vm, &list, 1, value);
  cairn_value_release(vm, list);
  cairn_value_release(vm, text);
  return status;
}

cairn_status once(void* user, cairn_vm* vm, const cairn_value*, size_t, cairn_value* value) {
  const double numbers[] = {static_cast<double>(++*static_cast<int*>(user)), 0.5};
  return cairn_make_reals(vm, numbers, 2, value);
}

cairn_status made_of(cairn_vm* vm, const std::array<double, 3>& x, cairn_value* value) {
  const int64_t size = 3;
  return cairn_make_tensor(vm, CAIRN_F64, &size, 1, x.data(), value);
}
cairn_status scaled(void*, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value* value) {
  double a = 0;
  std::array<double, 3> x{};
  cairn_get_real(arguments[0], &a);
  if (cairn_status s = cairn_read_tensor(vm, arguments[1], x.data(), sizeof x); s != CAIRN_OK) return s;
  for (double& d : x) d *= a;
  return made_of(vm, x, value);
}
cairn_status scaled_reverse(void*, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value, cairn_value cotangent,
                            cairn_value* cotangents) {
  double a = 0, sum = 0;
  std::array<double, 3> x{}, c{};
  cairn_get_real(arguments[0], &a);
  cairn_status status = cairn_read_tensor(vm, arguments[1], x.data(), sizeof x);
  if (status == CAIRN_OK) status = cairn_read_tensor(vm, cotangent, c.data(), sizeof c);
  if (status != CAIRN_OK) return status;
  for (size_t i = 0; i < 3; ++i) {
    sum += c[i] * x[i];
    c[i] *= a;
  }
  cotangents[0] = cairn_real(sum);
  return made_of(vm, c, &cotangents[1]);
}
cairn_status scaled_forward(void*, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value, const cairn_value* tangents,
                            cairn_value* tangent) {
  double a = 0, at = 0;
  std::array<double, 3> x{}, t{};
  cairn_get_real(arguments[0], &a);
  if (cairn_value_kind(tangents[0]) != CAIRN_KIND_UNSPECIFIED) cairn_get_real(tangents[0], &at);
  cairn_status status = cairn_read_tensor(vm, arguments[1], x.data(), sizeof x);
  if (status == CAIRN_OK && cairn_value_kind(tangents[1]) != CAIRN_KIND_UNSPECIFIED)
    status = cairn_read_tensor(vm, tangents[1], t.data(), sizeof t);
  if (status != CAIRN_OK) return status;
  for (size_t i = 0; i < 3; ++i) t[i] = at * x[i] + a * t[i];
  return made_of(vm, t, tangent);
}
cairn_status plain(void*, cairn_vm* vm, const cairn_value* arguments, size_t, cairn_value* value) {
  std::array<double, 3> x{};
  if (cairn_status s = cairn_read_tensor(vm, arguments[0], x.data(), sizeof x); s != CAIRN_OK) return s;
  return made_of(vm, x, value);
}

const std::vector<cairn_host_declaration> kHosts = {{"power", 2}, {"pair-of", 2}, {"once", 0}, {"scaled", 2}, {"plain", 1}};

struct Case {
  const char* name;
  const char* text;
  const char* expected;
};
const Case kCases[] = {
    {"a host's number", "(write (power 2. 3.))", "8.0"},
    {"a host's data", "(write (pair-of '(1 . 2) #(a \"b\")))", "#(((1 . 2) \"some text\" #(a \"b\")))"},
    {"a host's derivative", "(write (*j (lambda (x) (power (car x) (cdr x))) '(2. . 3.) 1))", "(8.0 12.0 . 5.545177444479562)"},
    {"a host's derivative, forward", "(write (j* (lambda (x) (power x 3.)) 2. 1.))", "(8.0 . 12.0)"},
    {"a host's derivative, checkpointed",
     "(define (f x) (let loop ((i 0) (x x)) (if (= i 40) x (loop (+ i 1) (power x 1.01)))))"
     "(write (equal? (*j f 2. 1) (with-schedule \"binomial,base=16,snapshots=2\" (lambda () (checkpoint-*j f 2. 1)))))",
     "#t"},
    {"a call that happens once",
     "(define (f x) (let loop ((i 0) (x x)) (if (= i 20) x (loop (+ i 1) (* x (vector-ref (once) 1))))))"
     "(write (with-schedule \"binomial,base=16,snapshots=2\" (lambda () (checkpoint-*j f 2. 1))))",
     "(1.9073486328125e-06 . 9.5367431640625e-07)"},
    {"a host's operator",
     "(define t (list->tensor '(1 2 3) 'f64))(write (*j (lambda (p) (sumall (scaled (car p) (cdr p)))) (cons 2. t) 1))",
     "(12.0 6.0 . #<tensor f64 (3) [2.0 2.0 2.0]>)"},
    {"a host's operator, forward",
     "(define t (list->tensor '(1 2 3) 'f64))(write (cdr (j* (lambda (a) (sumall (scaled a t))) 2. 1.)))", "6.0"},
    {"a tensor under forward mode, for a procedure without rules",
     "(define t (list->tensor '(1 2 3) 'f64))(write (tensor->list (car (j* (lambda (t) (plain t)) t t))))", "(1.0 2.0 3.0)"},
    {"tensors in lists, for a procedure without rules",
     "(define t (list->tensor '(1 2 3) 'f64))(write (vector-length (car (j* (lambda (t) (pair-of (list t t) 1)) t t))))", "1"},
};

void with_hosts(Run& run, const Module& module, const Case& c) {
  int calls = 0;
  const cairn_host_procedure procedures[] = {
      {sizeof(cairn_host_procedure), "power", 2, power, power_slopes, 1, nullptr, nullptr, nullptr},
      {sizeof(cairn_host_procedure), "pair-of", 2, pair_of, nullptr, 1, nullptr, nullptr, nullptr},
      {sizeof(cairn_host_procedure), "once", 0, once, nullptr, 0, &calls, nullptr, nullptr},
      {sizeof(cairn_host_procedure), "scaled", 2, scaled, nullptr, 1, nullptr, scaled_reverse, scaled_forward},
      {sizeof(cairn_host_procedure), "plain", 1, plain, nullptr, 1, nullptr, nullptr, nullptr}};
  Machine vm(run);
  if (!vm.made()) return;
  for (const cairn_host_procedure& p : procedures)
    if (!run.did("cairn_vm_register", [&] { return cairn_vm_register(vm, &p, nullptr); })) return;
  if (!vm.load(module)) return;
  cairn_status status = CAIRN_OK;
  {
    Inside inside;
    status = cairn_vm_run(vm, CAIRN_UNLIMITED);
  }
  // A host that has no memory either says so by its status, and that is an error of the program.
  if (status == CAIRN_PROGRAM_ERROR && run.refuses()) return;
  if (run.judged("cairn_vm_run", status)) run.check(vm.output == c.expected, ("writes " + vm.output).c_str());
}

// Out, and in again; the deleters are called, once each.
void shared_tensors(Run& run) {
  Machine vm(run);
  if (!vm.made()) return;
  cairn_value made = cairn_unspecified(), back = cairn_unspecified();
  if (!run.did("tensor", [&] { return made_of(vm, {1, 2, 3}, &made); })) return;
  DLManagedTensor* managed = nullptr;
  if (run.did("to_dlpack", [&] { return cairn_tensor_to_dlpack(vm, made, &managed); })) {
    if (run.did("from_dlpack", [&] { return cairn_tensor_from_dlpack(vm, managed, &back); })) {
      std::array<double, 3> x{};
      run.did("read", [&] { return cairn_read_tensor(vm, back, x.data(), sizeof x); });
      run.check(run.failed || x[2] == 3, "other elements");
    } else {
      managed->deleter(managed); // refused: still the caller's
    }
  }
  cairn_value_release(vm, made);
  cairn_value_release(vm, back);
}

} // namespace

void add_hosts(std::vector<Scenario>& scenarios) {
  for (const Case& c : kCases) {
    std::string error;
    auto module = std::make_shared<Module>(compiled(c.text, error, kHosts));
    scenarios.push_back({c.name, [=](Run& run) { with_hosts(run, *module, c); }});
  }
  scenarios.push_back({"tensors shared by DLPack", shared_tensors});
}

} // namespace failing
