// Reports through the C interface: what the program reports, and what its gradients did, as text or JSON to a callback, and kept
// for a page.
#include "test/api/testing.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace testing;

namespace {

const std::string kReported = "(define (f x) (let loop ((i 0) (x x)) (if (= i 100) x (loop (+ i 1) (* 0.5 x)))))\n"
                              "(define (many n) (if (> n 0) (begin (checkpoint-*j f 1.5 1) (many (- n 1)))))\n";

struct Explained {
  std::vector<std::string> reports;
  std::string output;
  cairn_vm_options options = vm_options();
  Explained() {
    options.user = this;
    options.schedule = "binomial,base=64,snapshots=2";
    options.output = [](void* user, const char* text, size_t bytes) {
      static_cast<Explained*>(user)->output.append(text, bytes);
      return 0;
    };
    options.explain = [](void* user, const char* text, size_t bytes) {
      static_cast<Explained*>(user)->reports.emplace_back(text, bytes);
      return 0;
    };
  }
};

// What the program reports, as lines, and where the machine stood.
struct Told {
  std::vector<std::string> lines;
  std::vector<std::uint64_t> numbers, steps;
  std::size_t most = SIZE_MAX;
  const cairn_vm* vm = nullptr;
  cairn_vm_options options = vm_options();
  Told() {
    options.user = this;
    options.report = [](void* user, const cairn_reported* values, size_t count) {
      auto* self = static_cast<Told*>(user);
      if (self->lines.size() == self->most) return 1;
      std::string line;
      for (std::size_t i = 0; i < count; ++i) {
        std::ostringstream number;
        number << values[i].value;
        line += std::string(values[i].name) + "=" + number.str() + ";";
      }
      self->lines.push_back(line);
      self->numbers.push_back(cairn_vm_reports(self->vm));
      self->steps.push_back(cairn_vm_steps(self->vm));
      return 0;
    };
  }
};

} // namespace

TEST_CASE("the host is told what the program reports, once, whatever replays it") {
  Told told;
  told.options.schedule = "bisection,base=16";
  Vm vm(told.options);
  told.vm = vm.vm;
  const Compiled program(
      "(define (f x) (let loop ((i 0) (x x)) (if (= i 20) x (begin (report 'step i \"x, primal\" x 'half (list->tensor '((0.5))))"
      " (loop (+ i 1) (* 0.5 x))))))\n(write (checkpoint-*j f 1.5 1))(report 'done 1)");
  vm.run(program);
  REQUIRE(told.lines.size() == 21);
  CHECK(told.lines[0] == "step=0;x, primal=1.5;half=0.5;");
  CHECK(told.lines[2] == "step=2;x, primal=0.375;half=0.5;");
  CHECK(told.lines[20] == "done=1;");
  CHECK(told.numbers.front() == 1);
  CHECK(told.numbers.back() == 21);
  CHECK(std::is_sorted(told.steps.begin(), told.steps.end()));
  CHECK(told.steps.front() > 0);
  CHECK(told.steps.back() < cairn_vm_steps(vm.vm));
  CHECK(cairn_vm_reports(vm.vm) == 21);
  CHECK(cairn_vm_reports(nullptr) == 0);
}

TEST_CASE("reports go on in a capsule where they were, whenever it was taken") {
  const Compiled program(
      "(define (f x) (let loop ((i 0) (x x)) (if (= i 20) x (begin (report 'x x) (loop (+ i 1) (* 0.5 x))))))\n"
      "(write (checkpoint-*j f 1.5 1))(write (*j f 1.5 1))");
  Told whole;
  whole.options.schedule = "bisection,base=16";
  Vm plain(whole.options);
  whole.vm = plain.vm;
  plain.run(program);
  REQUIRE(whole.lines.size() == 40);
  for (std::uint64_t cut = 1; cut < cairn_vm_steps(plain.vm); cut += 7) {
    Told told;
    told.options.schedule = "bisection,base=16";
    Vm first(told.options), second(told.options);
    told.vm = first.vm;
    REQUIRE(cairn_vm_load(first.vm, program.module, nullptr) == CAIRN_OK);
    REQUIRE(cairn_vm_run(first.vm, cut) == CAIRN_OUT_OF_STEPS);
    CHECK(cairn_vm_reports(first.vm) == told.lines.size());
    cairn_capsule* capsule = nullptr;
    REQUIRE(cairn_vm_capsule(first.vm, &capsule) == CAIRN_OK);
    REQUIRE(cairn_vm_resume(second.vm, capsule, nullptr) == CAIRN_OK);
    cairn_capsule_free(capsule);
    told.vm = second.vm;
    REQUIRE(cairn_vm_run(second.vm, CAIRN_UNLIMITED) == CAIRN_OK);
    CHECK(told.lines == whole.lines);
    CHECK(told.numbers == whole.numbers);
    CHECK(told.steps == whole.steps);
  }
}

TEST_CASE("a host that does not take a report ends the program there") {
  Told told;
  told.most = 2;
  Vm vm(told.options);
  told.vm = vm.vm;
  const Compiled program("(define (f i) (report 'i i)\n (f (+ i 1)))\n(f 0)");
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_PROGRAM_ERROR);
  CHECK(vm.error().starts_with("guest.scm:1:15: error: report: the host does not take it\n"));
  CHECK(told.lines.size() == 2);
}

TEST_CASE("accounts say what memory a machine holds") {
  auto options = vm_options();
  options.memory_bytes = 1 << 24;
  Vm vm(options);
  cairn_memory before{}, after{};
  REQUIRE(cairn_vm_memory(vm.vm, &before) == CAIRN_OK);
  vm.run(Compiled("(define v (make-vector 1000 0)) (define t (zeros '(100 100)))"));
  REQUIRE(cairn_vm_memory(vm.vm, &after) == CAIRN_OK);
  CHECK(after.budget == 1 << 24);
  CHECK(after.objects >= before.objects + 8000);
  CHECK(after.tensors >= before.tensors + 40000);
  CHECK(after.all == after.objects + after.tapes + after.capsules + after.tensors + after.scratch);
  CHECK(cairn_vm_memory(vm.vm, nullptr) == CAIRN_BAD_ARGUMENT);
  options.memory_bytes = CAIRN_UNLIMITED;
  Vm free(options);
  REQUIRE(cairn_vm_memory(free.vm, &after) == CAIRN_OK);
  CHECK(after.budget == CAIRN_UNLIMITED);
}

TEST_CASE("each gradient is explained as JSON where that is asked for") {
  Explained explained;
  Vm vm(explained.options);
  REQUIRE(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_JSON) == CAIRN_OK);
  vm.run(Compiled(kReported + "(many 5)"));
  REQUIRE(explained.reports.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto g = nlohmann::json::parse(explained.reports[i]);
    CHECK(g["gradient"] == i + 1);
    CHECK(g["steps"] == 304);
    CHECK(g["timeline"].size() > 3);
    CHECK(explained.reports[i].find('\n') == std::string::npos);
  }
}

TEST_CASE("each gradient is explained as text otherwise") {
  Explained explained;
  Vm vm(explained.options);
  REQUIRE(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_JSON) == CAIRN_OK);
  REQUIRE(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_TEXT) == CAIRN_OK);
  vm.run(Compiled(kReported + "(many 5)"));
  REQUIRE(explained.reports.size() == 4);
  CHECK(explained.reports[2].starts_with("gradient 3 at guest.scm:2:"));
  CHECK(explained.reports[3].starts_with("gradients at guest.scm:2:"));
}

TEST_CASE("gradients are kept where that is asked for") {
  Vm vm;
  char* text = nullptr;
  CHECK(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, &text) == CAIRN_BAD_ARGUMENT);
  REQUIRE(cairn_vm_keep_gradients(vm.vm) == CAIRN_OK);
  vm.run(Compiled(kReported + "(many 50)"));
  REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, &text) == CAIRN_OK);
  const auto report = nlohmann::json::parse(taken(text));
  CHECK(report["gradients"].size() == 3);
  CHECK(report["calls"][0]["calls"] == 50);
  REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_HTML, &text) == CAIRN_OK);
  const std::string page = taken(text);
  CHECK(page.starts_with("<!doctype html>"));
  REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_SECTION, &text) == CAIRN_OK);
  const std::string section = taken(text);
  CHECK(section.starts_with("<style>"));
  CHECK(section.ends_with("</section>\n"));
  CHECK(page.find(section) != std::string::npos);
  CHECK(cairn_vm_gradients(vm.vm, CAIRN_REPORT_TEXT, &text) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_gradients(vm.vm, CAIRN_REPORT_LARGEST, &text) == CAIRN_BAD_ARGUMENT);
  CHECK(text == nullptr);
}

TEST_CASE("what was kept is forgotten where that is asked for, and what comes then is told as if it were the first") {
  Vm vm;
  REQUIRE(cairn_vm_forget_gradients(vm.vm) == CAIRN_OK); // nobody noted anything
  REQUIRE(cairn_vm_keep_gradients(vm.vm) == CAIRN_OK);
  vm.run(Compiled(kReported + "(many 50)"));
  cairn_value many = vm.lookup("many");
  for (int calls : {2, 1, 5}) {
    REQUIRE(cairn_vm_forget_gradients(vm.vm) == CAIRN_OK);
    const cairn_value n = cairn_integer(calls);
    REQUIRE(cairn_vm_begin(vm.vm, many, &n, 1) == CAIRN_OK);
    REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
    char* text = nullptr;
    REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, &text) == CAIRN_OK);
    const auto report = nlohmann::json::parse(taken(text));
    CHECK(report["gradients"].size() == std::min(calls, 3));
    CHECK(report["gradients"][0]["gradient"] == 1);
    CHECK(report["calls"][0]["calls"] == calls);
  }
  cairn_value_release(vm.vm, many);
  CHECK(cairn_vm_forget_gradients(nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("a gradient in progress is told as far as it is, and goes on as if nobody had asked") {
  Vm plain, vm;
  const Compiled program(kReported + "(write (checkpoint-*j f 1.5 1))");
  plain.run(program);
  REQUIRE(cairn_vm_keep_gradients(vm.vm) == CAIRN_OK);
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  std::uint64_t last = 0;
  while (cairn_vm_run(vm.vm, 50) == CAIRN_OUT_OF_STEPS) {
    char* text = nullptr;
    REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, &text) == CAIRN_OK);
    const auto report = nlohmann::json::parse(taken(text));
    if (report["gradients"].empty()) continue;
    CHECK(report["gradients"].size() == 1);
    CHECK(report["gradients"][0]["executed"] >= last);
    last = report["gradients"][0]["executed"];
  }
  CHECK(last > 100);
  CHECK(vm.output == plain.output);
  CHECK(cairn_vm_steps(vm.vm) == cairn_vm_steps(plain.vm));
}

TEST_CASE("a gradient that is given up is told as far as it came") {
  Vm vm;
  const Compiled program(kReported + "(write (checkpoint-*j f 1.5 1))");
  REQUIRE(cairn_vm_keep_gradients(vm.vm) == CAIRN_OK);
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, 200) == CAIRN_OUT_OF_STEPS);
  char* text = nullptr;
  REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, &text) == CAIRN_OK);
  const std::string before = taken(text);
  REQUIRE(cairn_vm_abandon(vm.vm) == CAIRN_OK);
  REQUIRE(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, &text) == CAIRN_OK);
  CHECK(taken(text) == before);
  CHECK(nlohmann::json::parse(before)["gradients"][0]["executed"] > 100);
}

TEST_CASE("a computation that is resumed twice tells its gradient twice, the second time in part") {
  Explained explained;
  Vm vm(explained.options);
  REQUIRE(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_JSON) == CAIRN_OK);
  vm.run(Compiled(kReported + "(define z (interrupt (lambda (x) (checkpoint-*j f x 1)) 1.5 700))\n(resume z)\n(resume z)"));
  REQUIRE(explained.reports.size() == 2);
  const auto first = nlohmann::json::parse(explained.reports[0]), second = nlohmann::json::parse(explained.reports[1]);
  CHECK(first["whole"] == true);
  CHECK(second["whole"] == false);
  CHECK(first["executed"] == second["executed"]);
  CHECK(second["timeline"].size() < first["timeline"].size());
}

TEST_CASE("a report with a profile has a line for each interval that was planned with") {
  Explained explained;
  explained.options.schedule = "auto,memory=2MiB";
  Vm vm(explained.options);
  REQUIRE(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_PROFILE) == CAIRN_OK);
  vm.run(Compiled("(define (f x) (let loop ((i 0) (x x)) (if (= i 200) (sumall x) (loop (+ i 1) (tanh (* x x))))))\n"
                  "(checkpoint-*j f (fill '(100 100) .5) 1)"));
  REQUIRE(explained.reports.size() == 1);
  const std::size_t at = explained.reports[0].find("  profile ");
  REQUIRE(at != std::string::npos);
  CHECK(std::count(explained.reports[0].begin() + static_cast<std::ptrdiff_t>(at), explained.reports[0].end(), '\n') > 8);
}

TEST_CASE("a machine that only plans tells its first gradient and stands there, however often it is run again") {
  Explained explained;
  explained.options.schedule = "tape"; // is not asked
  Vm vm(explained.options);
  REQUIRE(cairn_vm_only_plan(vm.vm) == CAIRN_OK);
  const Compiled program(kReported + "(many 5)");
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  REQUIRE(explained.reports.size() == 1);
  CHECK(explained.reports[0].starts_with("gradient at guest.scm:2:"));
  const std::uint64_t steps = cairn_vm_steps(vm.vm);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  REQUIRE(explained.reports.size() == 2);
  CHECK(explained.reports[1] == explained.reports[0]);
  CHECK(cairn_vm_steps(vm.vm) == steps);
}

TEST_CASE("a survey that sees a run twice prints what the run prints once") {
  Explained explained;
  Vm vm(explained.options);
  REQUIRE(cairn_vm_only_plan(vm.vm) == CAIRN_OK);
  const Compiled program("(define (f x) (let loop ((i 0) (x x)) (if (= i 100) (sumall x) (begin (display i) (loop (+ i 1) (tanh "
                         "(+ x (randn '(65536)))))))))\n"
                         "(checkpoint-*j f (fill '(65536) .5) 1)");
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  std::string numbers;
  for (int i = 0; i < 100; ++i) numbers += std::to_string(i);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  REQUIRE(explained.reports.size() == 1);
  CHECK(explained.reports[0].find("every interval stays on tape") != std::string::npos);
  const std::uint64_t steps = cairn_vm_steps(vm.vm);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  REQUIRE(explained.reports.size() == 2);
  CHECK(explained.reports[1] == explained.reports[0]);
  CHECK(cairn_vm_steps(vm.vm) == steps);
  CHECK(explained.output == numbers);
  cairn_progress progress{};
  REQUIRE(cairn_vm_progress(vm.vm, &progress) == CAIRN_OK);
  CHECK(progress.gradient_steps_executed == 1614); // of a run of 807
}

TEST_CASE("reports are refused where they make no sense") {
  Vm vm;
  CHECK(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_HTML) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_explain_as(nullptr, CAIRN_REPORT_TEXT) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_explain_as(vm.vm, CAIRN_REPORT_JSON) == CAIRN_BAD_ARGUMENT); // nobody takes them
  Explained explained;
  Vm other(explained.options);
  CHECK(cairn_vm_explain_as(other.vm, CAIRN_REPORT_HTML) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_keep_gradients(nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_only_plan(nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_only_plan(vm.vm) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_gradients(vm.vm, CAIRN_REPORT_JSON, nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("an update whose value depends on no parameter leaves its place with the machine") {
  const std::string rule = "(define (rule leaf cotangent state) (cons (- leaf cotangent) state))\n";
  const auto place_of = [&](const std::string& program) {
    const Vm vm(rule + program);
    char* place = nullptr;
    REQUIRE(cairn_vm_unreached(vm.vm, &place) == CAIRN_OK);
    return place != nullptr ? taken(place) : std::string();
  };
  CHECK(place_of("(*j-update (lambda (p) (* 2 (car p))) '(1. 2.) 1 rule 0)").empty());
  CHECK(place_of("(define q 3.)\n(checkpoint-*j-update (lambda (p) (* 2 q)) '(1. 2.) 1 rule 0)").find(":3:1") !=
        std::string::npos);
  CHECK(place_of("(*j-update! (lambda (p) (sumall (stop-gradient p))) (fill '(2) 1) 1 rule 0)").find(":2:1") !=
        std::string::npos);
  // The first one counts, also behind updates that reach; a structure without numbers has nothing that could be reached.
  CHECK(place_of("(*j-update (lambda (p) p) 1. 1 rule 0)\n(*j-update (lambda (p) 1.) 1. 1 rule 0)\n(*j-update (lambda (p) 2.) 1. "
                 "1 rule 0)")
            .find(":3:1") != std::string::npos);
  CHECK(place_of("(*j-update (lambda (p) 1.) '(a) 1 rule 0)").empty());
  CHECK(cairn_vm_unreached(nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("a machine whose device does as asked has no warning") {
  const Vm vm("(+ 1 2)");
  char text = 0, *warning = &text;
  REQUIRE(cairn_vm_device_warning(vm.vm, &warning) == CAIRN_OK);
  CHECK(warning == nullptr);
  CHECK(cairn_vm_device_warning(vm.vm, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_device_warning(nullptr, &warning) == CAIRN_BAD_ARGUMENT);
}
