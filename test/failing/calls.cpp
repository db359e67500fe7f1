// See calls.h.
#include "test/failing/calls.h"
#include "test/failing/tools.h"

#include "vm/api/handles.h"

#include <array>
#include <fstream>
#include <memory>

namespace failing {

namespace {

const std::string kProgram = "(define (add a b) (+ a b))"
                             "(define (square x) (* x x))"
                             "(define (norm v) (fold-left (lambda (s x) (+ s (* x x))) 0 (vector->list v)))"
                             "(define (twice t) (+ t t))"
                             "(define text \"twelve\")"
                             "(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))"
                             "(define capsule (interrupt count 100 50))"
                             "(write 'ready)";

// A value that is given up at the end of the scope.
class Value {
public:
  explicit Value(cairn_vm* vm, cairn_value v = cairn_unspecified()) : vm_(vm), v_(v) {}
  ~Value() { cairn_value_release(vm_, v_); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  cairn_value get() const { return v_; }
  cairn_value* to() { return &v_; }

private:
  cairn_vm* vm_;
  cairn_value v_;
};

bool is(char* text, const char* expected) {
  bool same = text != nullptr && std::string(text) == expected;
  cairn_free(text);
  return same;
}

struct Programs {
  std::unique_ptr<Module> program;
  std::vector<std::unique_ptr<Module>> session;
  std::unique_ptr<Module> gives_up, planned;
  Bytes file;
};

const Programs& programs() {
  static const Programs* all = [] {
    auto* p = new Programs;
    std::string error;
    std::vector<Bytes> texts = compiled_session(
        {kProgram, "(write (cdr (*j (lambda (x) (* x x)) 3. 1)))",
         "(define symbols '(a b \"c\" #(1 2.5) square))(define (later x) (add (square x) (length symbols)))(write (later 3))"},
        error);
    for (const Bytes& b : texts) p->session.push_back(std::make_unique<Module>(b));
    p->file = texts.at(0);
    p->program = std::make_unique<Module>(texts.at(0));
    // A long vector takes as long to be released as thousands of objects, and is one request for memory.
    p->gives_up = std::make_unique<Module>(compiled(
        "(define (nth n) (let ((v (make-vector 60000 (list 1 2 n)))) (vector-ref v n))) (write (nth 3)) (write (nth 4))", error));
    // Its tape is longer than what a survey sees once: it takes a closer look.
    p->planned =
        std::make_unique<Module>(compiled("(define (f x) (let loop ((i 0) (x x)) (if (= i 8) (sumall x) (loop (+ i 1) (tanh (* x "
                                          "x))))))(write (checkpoint-*j f (fill '(524288) .5) 1))",
                                          error));
    return p;
  }();
  return *all;
}

// A machine that has run the program above; what `body` does with it is swept.
template <class Body> Scenario with_machine(const char* name, Body body) {
  return {name, [body](Run& run) {
            Machine vm(run);
            if (!vm.made() || !vm.load(*programs().program) || !vm.run_on()) return;
            body(run, vm);
            vm.probe(*programs().session[1], "6.0");
          }};
}

void values(Run& run, Machine& vm) {
  Value string(vm), symbol(vm), pair(vm), list(vm), vector(vm), reals(vm);
  const std::array<double, 3> numbers = {1, 2, 3};
  const std::array<cairn_value, 3> items = {cairn_integer(1), cairn_real(2.5), cairn_null()};
  if (!run.did("string", [&] { return cairn_make_string(vm, "twelve bytes", 12, string.to()); })) return;
  if (!run.did("symbol", [&] { return cairn_make_symbol(vm, "a-symbol", 8, symbol.to()); })) return;
  if (!run.did("pair", [&] { return cairn_make_pair(vm, string.get(), symbol.get(), pair.to()); })) return;
  if (!run.did("list", [&] { return cairn_make_list(vm, items.data(), items.size(), list.to()); })) return;
  if (!run.did("vector", [&] { return cairn_make_vector(vm, items.data(), items.size(), vector.to()); })) return;
  if (!run.did("reals", [&] { return cairn_make_reals(vm, numbers.data(), numbers.size(), reals.to()); })) return;
  char* text = nullptr;
  size_t bytes = 0;
  if (run.did("text", [&] { return cairn_get_text(string.get(), &text, &bytes); }))
    run.check(is(text, "twelve bytes"), "another text");
  text = nullptr;
  if (run.did("value text", [&] { return cairn_value_text(vm, pair.get(), 0, &text); }))
    run.check(is(text, "(\"twelve bytes\" . a-symbol)"), "another pair");
  text = nullptr;
  if (run.did("value text", [&] { return cairn_value_text(vm, list.get(), 4, &text); })) cairn_free(text);
  Value large(vm);
  static const std::array<cairn_value, 500> many{};
  if (run.did("large vector", [&] { return cairn_make_vector(vm, many.data(), many.size(), large.to()); })) {
    size_t length = 0;
    run.did("length", [&] { return cairn_get_length(large.get(), &length); });
    run.check(length == many.size(), "another length");
  }
}

void calls(Run& run, Machine& vm) {
  Value add(vm), square(vm), norm(vm), result(vm), x(vm), reals(vm), forward(vm);
  const std::array<cairn_value, 2> two = {cairn_integer(40), cairn_integer(2)};
  if (!run.did("lookup", [&] { return cairn_vm_lookup(vm, "add", add.to()); })) return;
  if (!run.did("lookup", [&] { return cairn_vm_lookup(vm, "square", square.to()); })) return;
  if (!run.did("lookup", [&] { return cairn_vm_lookup(vm, "norm", norm.to()); })) return;
  if (!run.did("lookup of an operator", [&] { return cairn_vm_lookup(vm, "j*", forward.to()); })) return;
  if (!run.did("call", [&] { return cairn_vm_call(vm, add.get(), two.data(), two.size(), result.to()); })) return;
  int64_t sum = 0;
  run.check(cairn_get_integer(result.get(), &sum) == CAIRN_OK && sum == 42, "another sum");
  if (!run.did("begin", [&] { return cairn_vm_begin(vm, add.get(), two.data(), two.size()); }) || !vm.run_on()) return;
  const std::array<double, 3> numbers = {1, 2, 3};
  if (!run.did("reals", [&] { return cairn_make_reals(vm, numbers.data(), numbers.size(), reals.to()); })) return;
  std::array<double, 3> gradient{};
  auto gradient_is_right = [&] {
    Value value(vm), y(vm), g(vm);
    if (!run.did("value", [&] { return cairn_vm_value(vm, value.to()); })) return;
    run.did("pair", [&] { return cairn_get_pair(value.get(), y.to(), g.to()); });
    size_t count = 0;
    run.did("reals", [&] { return cairn_get_reals(g.get(), gradient.data(), gradient.size(), &count); });
    run.check(gradient[2] == 6, "another gradient");
  };
  if (run.did("reverse", [&] { return cairn_vm_begin_reverse(vm, norm.get(), reals.get(), cairn_real(1)); }) && vm.run_on())
    gradient_is_right();
  for (const char* schedule : {"binomial,base=16,snapshots=2", "online,base=16"}) {
    bool begun = run.did("checkpoint",
                         [&] { return cairn_vm_begin_checkpoint_reverse(vm, norm.get(), reals.get(), cairn_real(1), schedule); });
    if (begun && vm.run_on())
      gradient_is_right();
    else if (vm.made() && cairn_vm_run(vm, 0) == CAIRN_OUT_OF_STEPS)
      run.complain("begun, though it says it is not");
  }
  if (run.did("forward", [&] { return cairn_vm_begin_forward(vm, square.get(), cairn_real(3), cairn_real(1)); })) vm.run_on();
}

void reports(Run& run, Machine& vm) {
  Value add(vm);
  if (!run.did("lookup", [&] { return cairn_vm_lookup(vm, "add", add.to()); })) return;
  char* text = nullptr;
  if (run.did("statistics", [&] { return cairn_vm_statistics(vm, &text); })) cairn_free(text);
  if (run.did("result", [&] { return cairn_vm_result(vm, &text); })) cairn_free(text);
  // A call that fails, and what is told of it.
  const std::array<cairn_value, 2> wrong = {cairn_null(), cairn_null()};
  Value result(vm);
  cairn_status status = CAIRN_OK;
  {
    Inside inside;
    status = cairn_vm_call(vm, add.get(), wrong.data(), wrong.size(), result.to());
  }
  if (status != CAIRN_PROGRAM_ERROR) {
    run.judged("a call that fails", status);
    return;
  }
  text = nullptr;
  if (run.did("error", [&] { return cairn_vm_error(vm, &text); })) cairn_free(text);
  cairn_failure* failure = nullptr;
  if (run.did("failure", [&] { return cairn_vm_failure(vm, &failure); })) cairn_failure_free(failure);
  cairn_progress progress;
  run.did("progress", [&] { return cairn_vm_progress(vm, &progress); });
  {
    Inside inside;
    text = cairn_status_text(CAIRN_OVER_BUDGET);
  }
  cairn_free(text);
}

void capsules_in_the_language(Run& run, Machine& vm) {
  Value capsule(vm), resume(vm), result(vm);
  if (!run.did("lookup", [&] { return cairn_vm_lookup(vm, "capsule", capsule.to()); })) return;
  if (!run.did("lookup", [&] { return cairn_vm_lookup(vm, "resume", resume.to()); })) return;
  for (int again = 0; again < 2; ++again) {
    const cairn_value z = capsule.get();
    Value value(vm);
    if (!run.did("resume", [&] { return cairn_vm_call(vm, resume.get(), &z, 1, value.to()); })) continue;
    int64_t n = 0;
    run.check(cairn_get_integer(value.get(), &n) == CAIRN_OK && n == 100, "another number");
  }
}

// In slices, with a profile, saved as a handle and continued by another machine.
void slices(Run& run) {
  cairn_vm_options options = Machine::defaults();
  options.profile = 1;
  options.schedule = "binomial,base=16,snapshots=2";
  options.costs = "# rates\nstep 3\nproduct .01\n";
  cairn_capsule* capsule = nullptr;
  cairn_capsule* again = nullptr;
  {
    Machine vm(run, options);
    if (!vm.made() || !run.did("keep gradients", [&] { return cairn_vm_keep_gradients(vm); })) return;
    if (!vm.load(*programs().program)) return;
    char* text = nullptr;
    if (run.did("instruction", [&] { return cairn_vm_instruction(vm, &text); })) cairn_free(text);
    cairn_status status = CAIRN_OK;
    {
      Inside inside;
      status = cairn_vm_run(vm, 100);
    }
    if (status != CAIRN_OUT_OF_STEPS) {
      run.judged("100 steps", status);
      return;
    }
    text = nullptr;
    if (run.did("profile", [&] { return cairn_vm_profile(vm, &text); })) cairn_free(text);
    text = nullptr;
    if (run.did("gradients", [&] { return cairn_vm_gradients(vm, CAIRN_REPORT_HTML, &text); })) cairn_free(text);
    run.did("save", [&] { return cairn_vm_save_file(vm, "/dev/null", nullptr); });
    run.did("capsule", [&] { return cairn_vm_capsule(vm, &capsule); });
  }
  if (capsule == nullptr) return;
  void* bytes = nullptr;
  size_t size = 0;
  if (run.did("write", [&] { return cairn_capsule_write(capsule, &bytes, &size); }))
    run.did("read", [&] { return cairn_capsule_read(bytes, size, &again, nullptr); });
  {
    Machine vm(run);
    std::ofstream("saved", std::ios::binary).write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    if (size != 0 && vm.made() && run.did("restore", [&] { return cairn_vm_restore_file(vm, "saved", nullptr); }) && vm.run_on())
      run.check(vm.output == "ready", "another output");
  }
  cairn_free(bytes);
  if (again != nullptr) {
    Machine vm(run);
    if (vm.made() && run.did("resume", [&] { return cairn_vm_resume(vm, again, nullptr); }) && vm.run_on())
      run.check(vm.output == "ready", "another output");
  }
  cairn_capsule_free(again);
  cairn_capsule_free(capsule);
}

// Planned only: a table of budgets is made, whatever there is memory for.
void plans(Run& run) {
  cairn_vm_options options = Machine::defaults();
  options.explain = [](void*, const char*, std::size_t) { return 0; };
  Machine vm(run, options);
  if (!vm.made() || !run.did("only plan", [&] { return cairn_vm_only_plan(vm); })) return;
  if (!vm.load(*programs().planned)) return;
  cairn_status status = CAIRN_OK;
  {
    Inside inside;
    status = cairn_vm_run(vm, CAIRN_UNLIMITED);
  }
  if (status != CAIRN_CANCELLED) run.judged("a survey", status);
}

// Cancelled in the middle of releasing; then it is counted, saved (which is cancelled too at first) and goes on.
void gives_up_a_vector(Run& run) {
  cairn_capsule* capsule = nullptr;
  {
    Machine vm(run);
    if (!vm.made() || !vm.load(*programs().gives_up)) return;
    cairn_vm* const handle = vm;
    cairn::ops::Meter& meter = handle->engine.meter();
    const cairn::value::Heap& heap = handle->engine.heap();
    cairn_status status = CAIRN_CANCELLED;
    for (std::int64_t poll = 1; status == CAIRN_CANCELLED && !heap.has_set_aside(); ++poll) {
      Inside inside;
      meter.cancel_at(poll);
      status = cairn_vm_run(vm, CAIRN_UNLIMITED);
    }
    if (status != CAIRN_CANCELLED) {
      run.judged("a run that releases much", status);
      run.check(run.refuses(), "nothing was set aside");
      return;
    }
    meter.cancel_at(INT64_MAX);
    char* text = nullptr;
    if (run.did("statistics", [&] { return cairn_vm_statistics(vm, &text); })) cairn_free(text);
    run.check(heap.has_set_aside(), "statistics have released");
    {
      Inside inside;
      meter.cancel_at(1);
      status = cairn_vm_capsule(vm, &capsule);
    }
    meter.cancel_at(INT64_MAX);
    if (status != CAIRN_CANCELLED) {
      run.judged("saving that is cancelled", status);
      run.check(run.refuses(), "saving was not cancelled");
    } else {
      run.did("capsule", [&] { return cairn_vm_capsule(vm, &capsule); });
    }
    if (vm.run_on()) run.check(vm.output == "(1 2 3)(1 2 4)", "another output");
  }
  if (capsule == nullptr) return;
  Machine vm(run);
  if (vm.made() && run.did("resume", [&] { return cairn_vm_resume(vm, capsule, nullptr); })) vm.run_on();
  cairn_capsule_free(capsule);
}

// An extension that fails leaves the machine as it was: the next one works.
void extensions(Run& run) {
  Machine vm(run, Machine::defaults(), true);
  if (!vm.made() || !vm.extend(*programs().session[0]) || !vm.run_on()) return;
  if (!vm.extend(*programs().session[1])) {
    run.check(cairn_vm_run(vm, 1) != CAIRN_OUT_OF_STEPS, "something runs that was refused");
    Value add(vm);
    cairn_value two[] = {cairn_integer(40), cairn_integer(2)}, result = cairn_unspecified();
    run.no_more();
    if (run.did("lookup", [&] { return cairn_vm_lookup(vm, "add", add.to()); }))
      run.did("call", [&] { return cairn_vm_call(vm, add.get(), two, 2, &result); });
    vm.output.clear();
    if (!vm.extend(*programs().session[1])) return;
  }
  if (!vm.run_on()) return;
  vm.output.clear();
  if (!vm.extend(*programs().session[2])) {
    run.no_more();
    if (!vm.extend(*programs().session[2])) return;
  }
  if (vm.run_on()) run.check(vm.output == "14", "another sum");
  Value later(vm);
  if (!run.failed) run.did("lookup", [&] { return cairn_vm_lookup(vm, "later", later.to()); });
}

void modules(Run& run) {
  const Bytes& file = programs().file;
  cairn_module* module = nullptr;
  if (!run.did("read", [&] { return cairn_module_read(file.data(), file.size(), &module, nullptr); })) return;
  void* bytes = nullptr;
  size_t size = 0;
  if (run.did("write", [&] { return cairn_module_write(module, &bytes, &size); }))
    run.check(Bytes(static_cast<unsigned char*>(bytes), static_cast<unsigned char*>(bytes) + size) == file, "another file");
  cairn_free(bytes);
  char* text = nullptr;
  if (run.did("disassemble", [&] { return cairn_module_disassemble(module, &text); })) cairn_free(text);
  {
    Inside inside;
    text = cairn_module_definition(module, 0);
  }
  cairn_free(text);
  cairn_module_free(module);
}

// A text that does not compile, with its message; then one that does, in the same session.
void sessions(Run& run) {
  cairn_session* session = nullptr;
  if (!run.did("session", [&] { return cairn_session_create(nullptr, &session, nullptr); })) return;
  const std::string wrong = "(define (f x) (if x 1", right = "(define (f x) (* x (car '(2 . 3)))) (write (f 21))";
  char* error = nullptr;
  void* bytes = nullptr;
  size_t size = 0;
  auto compile = [&](const std::string& text) {
    Inside inside;
    return cairn_session_compile(session, "text", text.data(), text.size(), &bytes, &size, &error);
  };
  cairn_status status = compile(wrong);
  if (status != CAIRN_BAD_SOURCE) run.judged("a text that is not whole", status);
  cairn_compiler_free(error);
  error = nullptr;
  status = compile(right);
  if (!run.judged("a text", status)) {
    run.no_more();
    cairn_compiler_free(error);
    error = nullptr;
    status = compile(right);
    run.judged("a text, again", status);
  }
  if (status == CAIRN_OK) {
    Module module(Bytes(static_cast<unsigned char*>(bytes), static_cast<unsigned char*>(bytes) + size));
    Machine vm(run);
    if (vm.made() && vm.load(module) && vm.run_on()) run.check(vm.output == "42", "another product");
  }
  cairn_compiler_free(bytes);
  cairn_compiler_free(error);
  char* names = nullptr;
  if (run.did("names", [&] { return cairn_session_names(session, "string", &names); })) cairn_compiler_free(names);
  cairn_session_free(session);
}

} // namespace

void add_calls(std::vector<Scenario>& scenarios) {
  scenarios.push_back(with_machine("values", values));
  scenarios.push_back(with_machine("calls", calls));
  scenarios.push_back(with_machine("reports", reports));
  scenarios.push_back(with_machine("capsules in the language", capsules_in_the_language));
  scenarios.push_back({"slices", slices});
  scenarios.push_back({"plans", plans});
  scenarios.push_back({"giving up a vector", gives_up_a_vector});
  scenarios.push_back({"extensions", extensions});
  scenarios.push_back({"modules", modules});
  scenarios.push_back({"sessions", sessions});
}

} // namespace failing
