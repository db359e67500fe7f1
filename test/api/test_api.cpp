// The promises of cairn.h and cairn_compiler.h: statuses, ownership, stopping anywhere, saving, and calls at the wrong time.
#include "cairn.h"
#include "cairn_compiler.h"
#include "test/api/testing.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

using testing::taken;

extern "C" int example(void (*print)(const char*, size_t));

namespace {

struct Program {
  cairn_module* module = nullptr;

  explicit Program(const std::string& source) {
    void* bytes = nullptr;
    size_t size = 0;
    char* error = nullptr;
    REQUIRE(cairn_compile("test.scm", source.data(), source.size(), nullptr, &bytes, &size, &error) == CAIRN_OK);
    REQUIRE(error == nullptr);
    REQUIRE(cairn_module_read(bytes, size, &module, &error) == CAIRN_OK);
    REQUIRE(error == nullptr);
    cairn_compiler_free(bytes);
  }
  ~Program() { cairn_module_free(module); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};

struct Run {
  cairn_vm* vm = nullptr;
  std::string output, input;
  bool fails = false;

  explicit Run(cairn_vm_options options = initial()) {
    options.user = this;
    options.output = [](void* user, const char* text, size_t bytes) {
      auto* run = static_cast<Run*>(user);
      run->output.append(text, bytes);
      return run->fails ? 1 : 0;
    };
    options.input = [](void* user, char* buffer, size_t capacity) -> size_t {
      auto* run = static_cast<Run*>(user);
      if (run->fails) return SIZE_MAX;
      size_t count = std::min(capacity, run->input.size());
      std::memcpy(buffer, run->input.data(), count);
      run->input.erase(0, count);
      return count;
    };
    REQUIRE(cairn_vm_create(&options, &vm, nullptr) == CAIRN_OK);
  }
  ~Run() { cairn_vm_free(vm); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  static cairn_vm_options initial() {
    cairn_vm_options options;
    cairn_vm_options_init(&options);
    return options;
  }
  void load(const Program& program) { REQUIRE(cairn_vm_load(vm, program.module, nullptr) == CAIRN_OK); }
  std::string result() const {
    char* text = nullptr;
    REQUIRE(cairn_vm_result(vm, &text) == CAIRN_OK);
    return taken(text);
  }
  std::string error() const {
    char* text = nullptr;
    REQUIRE(cairn_vm_error(vm, &text) == CAIRN_OK);
    return taken(text);
  }
};

const char* const kSum = "(define (sum i n total) (if (= i n) total (sum (+ i 1) n (+ total i))))\n"
                         "(display \"working\")\n(sum 0 1000 0)\n";

} // namespace

TEST_CASE("the example of the documentation compiles as C and runs") {
  static std::string printed;
  printed.clear();
  CHECK(example([](const char* text, size_t bytes) { printed.append(text, bytes); }) == 0);
  CHECK(printed == "12.0\n");
}

TEST_CASE("the library's version is that of its header") { CHECK(cairn_version() == CAIRN_VERSION_NUMBER); }

TEST_CASE("every status has a text, and so has any other number") {
#define CHECK_TEXT(name, code, text) CHECK(taken(cairn_status_text(CAIRN_##name)) == text);
  CAIRN_STATUS_TABLE(CHECK_TEXT)
#undef CHECK_TEXT
  CHECK(taken(cairn_status_text(static_cast<cairn_status>(12345))) == "unknown status");
}

TEST_CASE("there is some memory by default") { CHECK(cairn_default_memory() > (1u << 20)); }

TEST_CASE("a program runs to its value") {
  Program program(kSum);
  Run run;
  run.load(program);
  CHECK(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(run.result() == "499500");
  CHECK(run.output == "working");
  CHECK(cairn_vm_output_bytes(run.vm) == 7);
  CHECK(cairn_vm_steps(run.vm) > 1000);
}

TEST_CASE("a run in pieces makes the same steps and gives the same value") {
  Program program(kSum);
  Run whole;
  whole.load(program);
  REQUIRE(cairn_vm_run(whole.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  for (std::uint64_t piece : {1, 7, 100}) {
    Run run;
    run.load(program);
    std::uint64_t made = 0;
    cairn_status status = CAIRN_OUT_OF_STEPS;
    while ((status = cairn_vm_run(run.vm, piece)) == CAIRN_OUT_OF_STEPS) {
      made += piece;
      REQUIRE(cairn_vm_steps(run.vm) == made);
    }
    CHECK(status == CAIRN_OK);
    CHECK(run.result() == "499500");
    CHECK(run.output == "working");
    CHECK(cairn_vm_steps(run.vm) == cairn_vm_steps(whole.vm));
  }
}

TEST_CASE("a saved machine goes on in another one") {
  Program program(kSum);
  Run first;
  first.load(program);
  REQUIRE(cairn_vm_run(first.vm, 500) == CAIRN_OUT_OF_STEPS);
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_vm_save(first.vm, &bytes, &size) == CAIRN_OK);
  Run second;
  REQUIRE(cairn_vm_restore(second.vm, bytes, size, nullptr) == CAIRN_OK);
  cairn_free(bytes);
  CHECK(cairn_vm_steps(second.vm) == 500);
  CHECK(cairn_vm_run(second.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(second.result() == "499500");
  CHECK(first.output + second.output == "working");
}

TEST_CASE("damaged bytes are refused with a message") {
  const char junk[] = "this is neither a module nor a capsule";
  char* error = nullptr;
  cairn_module* module = nullptr;
  CHECK(cairn_module_read(junk, sizeof junk, &module, &error) == CAIRN_BAD_MODULE);
  CHECK(module == nullptr);
  CHECK(taken(error) != "");
  CHECK(cairn_module_read(nullptr, 0, &module, nullptr) == CAIRN_BAD_MODULE);
  Run run;
  error = nullptr;
  CHECK(cairn_vm_restore(run.vm, junk, sizeof junk, &error) == CAIRN_BAD_CAPSULE);
  CHECK(taken(error) != "");
}

TEST_CASE("source that does not compile gives its place") {
  void* bytes = nullptr;
  size_t size = 0;
  char* error = nullptr;
  CHECK(cairn_compile("test.scm", "\n(car", 5, nullptr, &bytes, &size, &error) == CAIRN_BAD_SOURCE);
  CHECK(bytes == nullptr);
  REQUIRE(error != nullptr);
  CHECK(std::string(error).rfind("test.scm:2:", 0) == 0);
  cairn_compiler_free(error);
  CHECK(cairn_compile_file("no/such/file.scm", nullptr, &bytes, &size, nullptr) == CAIRN_NO_FILE);
}

TEST_CASE("a module survives writing and reading") {
  Program program(kSum);
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_module_write(program.module, &bytes, &size) == CAIRN_OK);
  cairn_module* again = nullptr;
  REQUIRE(cairn_module_read(bytes, size, &again, nullptr) == CAIRN_OK);
  char *first = nullptr, *second = nullptr;
  CHECK(cairn_module_disassemble(program.module, &first) == CAIRN_OK);
  CHECK(cairn_module_disassemble(again, &second) == CAIRN_OK);
  CHECK(taken(first) == taken(second));
  cairn_module_free(again);
  cairn_free(bytes);
}

TEST_CASE("an error in the program has a place and ends the machine") {
  Program program("(define (f x) (car x))\n(f 5)\n");
  Run run;
  run.load(program);
  CHECK(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_PROGRAM_ERROR);
  CHECK(run.error().rfind("test.scm:", 0) == 0);
  CHECK(cairn_vm_run(run.vm, 1) == CAIRN_BAD_ARGUMENT);
  char* json = nullptr;
  CHECK(cairn_vm_statistics(run.vm, &json) == CAIRN_OK);
  CHECK(taken(json).find("\"steps\":") != std::string::npos);
}

TEST_CASE("a budget is obeyed, however small") {
  Program program("(define (deep n) (+ 1 (deep (+ n 1))))\n(deep 0)\n");
  for (std::uint64_t bytes : {1, 1000, 100'000, 10'000'000}) {
    cairn_vm_options options = Run::initial();
    options.memory_bytes = bytes;
    Run run(options);
    char* error = nullptr;
    cairn_status status = cairn_vm_load(run.vm, program.module, &error);
    cairn_free(error);
    if (status == CAIRN_OK) status = cairn_vm_run(run.vm, CAIRN_UNLIMITED);
    CHECK(status == CAIRN_OVER_BUDGET);
  }
}

TEST_CASE("a callback that fails ends the program with an error") {
  for (const char* source : {"(display 1)", "(read-real)"}) {
    Program program(source);
    Run run;
    run.fails = true;
    run.load(program);
    CHECK(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_PROGRAM_ERROR);
    CHECK(run.error().find("cannot be") != std::string::npos);
  }
}

TEST_CASE("input and arguments reach the program") {
  Program program("(cons (+ (read-real) (read-real)) (command-line))");
  const char* arguments[] = {"a", "b"};
  cairn_vm_options options = Run::initial();
  options.arguments = arguments;
  options.argument_count = 2;
  Run run(options);
  run.input = "40 2";
  run.load(program);
  REQUIRE(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(run.result() == "(42 \"a\" \"b\")");
}

TEST_CASE("a malformed schedule is refused with a message") {
  cairn_vm_options options = Run::initial();
  options.schedule = "bimonial";
  cairn_vm* vm = nullptr;
  char* error = nullptr;
  CHECK(cairn_vm_create(&options, &vm, &error) == CAIRN_BAD_ARGUMENT);
  CHECK(vm == nullptr);
  CHECK(taken(error) != "");
}

TEST_CASE("a machine plans with the table of costs that it was given, and a restored one with that of the run") {
  cairn_vm_options options = Run::initial();
  options.costs = "step 3\nbyte .25";
  Program program(kSum);
  Run run(options);
  run.load(program);
  char* given = nullptr;
  REQUIRE(cairn_vm_costs(run.vm, &given) == CAIRN_OK);
  const std::string table = taken(given);
  CHECK(table.find("step        3 ") != std::string::npos);
  CHECK(table.find("byte        0.25 ") != std::string::npos);
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_vm_save(run.vm, &bytes, &size) == CAIRN_OK);
  Run other;
  CHECK(cairn_vm_restore(other.vm, bytes, size, nullptr) == CAIRN_OK);
  cairn_free(bytes);
  char* restored = nullptr;
  REQUIRE(cairn_vm_costs(other.vm, &restored) == CAIRN_OK);
  CHECK(taken(restored) == table);

  options.costs = "step fast";
  cairn_vm* vm = nullptr;
  char* error = nullptr;
  CHECK(cairn_vm_create(&options, &vm, &error) == CAIRN_BAD_ARGUMENT);
  CHECK(vm == nullptr);
  CHECK(taken(error) == "costs: line 1: 'step' should be nanoseconds, a number from 0 to 1000000, not 'fast'");
}

TEST_CASE("calls at the wrong time and with NULL are refused") {
  Program program(kSum);
  char* text = nullptr;
  void* bytes = nullptr;
  size_t size = 0;
  Run run;
  CHECK(cairn_vm_run(run.vm, 1) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_save(run.vm, &bytes, &size) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_result(run.vm, &text) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_error(run.vm, &text) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_steps(run.vm) == 0);
  run.load(program);
  CHECK(cairn_vm_load(run.vm, program.module, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_run(nullptr, 1) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_load(nullptr, program.module, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_create(nullptr, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
  cairn_vm_options unset{};
  cairn_vm* vm = nullptr;
  CHECK(cairn_vm_create(&unset, &vm, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_compile(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
  cairn_vm_free(nullptr);
  cairn_module_free(nullptr);
  cairn_free(nullptr);
  cairn_compiler_free(nullptr);
}
