// Machines as a host program meets them: cancelled, given up, moved, given memory of the host's own, many at once, extended.
#include "testing.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <unistd.h>

using namespace testing;

namespace {

const char* const kEndless = "(define kept 5) (define (spin i) (spin (+ i 1))) (define (start) (spin 0)) (start)";

// Memory that knows what it gave.
struct Ledger {
  std::map<void*, size_t> given;
  size_t most = 0, total = 0, refuse_beyond = SIZE_MAX;
  static void* allocate(void* user, size_t bytes, size_t alignment) {
    auto* l = static_cast<Ledger*>(user);
    if (l->total + bytes > l->refuse_beyond) return nullptr;
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) return nullptr;
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0);
    l->given[memory] = bytes;
    l->total += bytes;
    l->most = std::max(l->most, l->total);
    return memory;
  }
  static void release(void* user, void* memory, size_t bytes) {
    auto* l = static_cast<Ledger*>(user);
    REQUIRE(l->given.count(memory) == 1);
    CHECK(l->given[memory] == bytes);
    l->given.erase(memory);
    l->total -= bytes;
    std::free(memory);
  }
};

cairn_vm_options writing_to(std::string& output) {
  cairn_vm_options options = vm_options();
  options.user = &output;
  options.output = [](void* user, const char* text, size_t bytes) {
    static_cast<std::string*>(user)->append(text, bytes);
    return 0;
  };
  return options;
}

struct Session {
  cairn_session* session = nullptr;
  Session() { REQUIRE(cairn_session_create(nullptr, &session, nullptr) == CAIRN_OK); }
  ~Session() { cairn_session_free(session); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  cairn_module* compile(const std::string& text) {
    void* bytes = nullptr;
    size_t size = 0;
    char* error = nullptr;
    cairn_status status = cairn_session_compile(session, "entry", text.data(), text.size(), &bytes, &size, &error);
    REQUIRE_MESSAGE(status == CAIRN_OK, (error == nullptr ? "" : error));
    cairn_module* module = nullptr;
    REQUIRE(cairn_module_read(bytes, size, &module, nullptr) == CAIRN_OK);
    cairn_compiler_free(bytes);
    return module;
  }
  // Runs a text in a machine; what comes of it, as text.
  std::string run(Vm& vm, const std::string& text) {
    cairn_module* module = compile(text);
    REQUIRE(cairn_vm_extend(vm.vm, module, nullptr) == CAIRN_OK);
    cairn_module_free(module);
    if (cairn_vm_run(vm.vm, CAIRN_UNLIMITED) != CAIRN_OK) return vm.error();
    char* result = nullptr;
    REQUIRE(cairn_vm_result(vm.vm, &result) == CAIRN_OK);
    return taken(result);
  }
};

} // namespace

TEST_CASE("another thread cancels a run, which can go on or be given up") {
  Compiled program(kEndless);
  Vm vm;
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  for (int i = 0; i < 2; ++i) {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cairn_vm_cancel(vm.vm);
    });
    CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
    other.join();
  }
  uint64_t steps = cairn_vm_steps(vm.vm);
  CHECK(steps > 0);
  CHECK(cairn_vm_run(vm.vm, 10) == CAIRN_OUT_OF_STEPS);
  CHECK(cairn_vm_steps(vm.vm) == steps + 10);
  cairn_capsule* capsule = nullptr;
  CHECK(cairn_vm_capsule(vm.vm, &capsule) == CAIRN_OK);
  cairn_capsule_free(capsule);
  CHECK(cairn_vm_abandon(vm.vm) == CAIRN_OK);
  CHECK(vm.text(vm.lookup("kept")) == "5");
}

TEST_CASE("there is nothing to give up in a machine that is idle") {
  Vm vm("(+ 1 2)");
  CHECK(cairn_vm_abandon(vm.vm) == CAIRN_BAD_ARGUMENT);
  char* text = nullptr;
  REQUIRE(cairn_vm_result(vm.vm, &text) == CAIRN_OK);
  CHECK(taken(text) == "3");
}

TEST_CASE("a machine that refused its program is empty, and keeps its budget") {
  cairn_vm_options options = vm_options();
  options.memory_bytes = 8 << 20;
  Vm vm(options);
  const Compiled needs_host("(ask)", {{.name = "ask", .parameters = 0}});
  const Compiled greedy("(define (f n l) (if (= n 0) l (f (- n 1) (cons n l)))) (f 3000000 '())");
  CHECK(cairn_vm_load(vm.vm, needs_host.module, nullptr) == CAIRN_BAD_MODULE);
  CHECK(cairn_vm_extend(vm.vm, needs_host.module, nullptr) == CAIRN_BAD_MODULE);
  CHECK(cairn_vm_restore(vm.vm, "hello", 5, nullptr) == CAIRN_BAD_CAPSULE);
  REQUIRE(cairn_vm_extend(vm.vm, greedy.module, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OVER_BUDGET);
}

TEST_CASE("a cancellation before the run counts for the next one, once") {
  Vm vm("(define (f) 1)");
  cairn_value f = vm.lookup("f");
  cairn_vm_cancel(vm.vm);
  REQUIRE(cairn_vm_begin(vm.vm, f, nullptr, 0) == CAIRN_OK);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  cairn_value_release(vm.vm, f);
}

TEST_CASE("all memory of a machine comes from the host's allocator, and goes back") {
  Ledger ledger;
  cairn_allocator allocator = {Ledger::allocate, Ledger::release, &ledger};
  cairn_vm_options options = vm_options();
  options.allocator = &allocator;
  {
    Vm vm(Compiled("(define v (make-vector 100000 1.5)) (define l (iota 50000)) (define s \"" + std::string(3000, 'x') +
                   "\")\n"
                   "(define (f x) (let loop ((i 0) (x x)) (if (= i 30000) x (loop (+ i 1) (* x 1.00001)))))\n"
                   "(define g (*j f 1.5 1))"),
          options);
    CHECK(vm.text(vm.lookup("l")).size() > 50000);
    CHECK(ledger.most > 2'000'000);
  }
  CHECK(ledger.given.empty());
}

TEST_CASE("a host that has no more memory ends the program cleanly") {
  Ledger ledger;
  ledger.refuse_beyond = 9u << 20;
  cairn_allocator allocator = {Ledger::allocate, Ledger::release, &ledger};
  cairn_vm_options options = vm_options();
  options.allocator = &allocator;
  {
    Vm vm(Compiled(
              "(define (grow n l) (if (= n 0) l (grow (- n 1) (cons n l)))) (define (big n) (vector-length (make-vector n 0)))"),
          options);
    cairn_value value = cairn_unspecified();
    CHECK(vm.call("grow", {cairn_integer(10'000'000), cairn_null()}, &value) == CAIRN_OVER_BUDGET);
    CHECK(vm.error().find("refused") != std::string::npos);
    CHECK(vm.call("big", {cairn_integer(10'000'000)}, &value) == CAIRN_OVER_BUDGET);
    CHECK(vm.called("grow", {cairn_integer(3), cairn_null()}) == "(1 2 3)");
  }
  CHECK(ledger.given.empty());
}

TEST_CASE("output beyond its budget ends the program before it is written") {
  cairn_vm_options options = vm_options();
  options.output_bytes = 10;
  Vm vm(options);
  Compiled program("(let loop ((i 0)) (display \"abcd\") (loop (+ i 1)))");
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OVER_BUDGET);
  CHECK(vm.output == "abcdabcd");
  CHECK(cairn_vm_output_bytes(vm.vm) == 8);
}

TEST_CASE("a capsule is handed to machines in other threads, and refused by one with another program") {
  Compiled program("(define (f x) (let loop ((i 0) (x x)) (if (= i 3000) x (loop (+ i 1) (* 2.8 x (- 1 x))))))\n"
                   "(write (checkpoint-*j f 0.3 1))");
  Vm whole(program);
  Vm first;
  REQUIRE(cairn_vm_load(first.vm, program.module, nullptr) == CAIRN_OK);
  REQUIRE(cairn_vm_run(first.vm, 15000) == CAIRN_OUT_OF_STEPS);
  cairn_capsule* capsule = nullptr;
  REQUIRE(cairn_vm_capsule(first.vm, &capsule) == CAIRN_OK);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      std::string output;
      cairn_vm_options options = writing_to(output);
      cairn_vm* vm = nullptr;
      if (cairn_vm_create(&options, &vm, nullptr) != CAIRN_OK) return;
      if (cairn_vm_resume(vm, capsule, nullptr) == CAIRN_OK && cairn_vm_run(vm, CAIRN_UNLIMITED) == CAIRN_OK &&
          output == whole.output && cairn_vm_steps(vm) == cairn_vm_steps(whole.vm))
        ++good;
      cairn_vm_free(vm);
    });
  for (std::thread& t : threads) t.join();
  CHECK(good == 4);

  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_capsule_write(capsule, &bytes, &size) == CAIRN_OK);
  cairn_capsule* again = nullptr;
  REQUIRE(cairn_capsule_read(bytes, size, &again, nullptr) == CAIRN_OK);
  Vm same;
  REQUIRE(cairn_vm_load(same.vm, program.module, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_resume(same.vm, again, nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(same.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(same.output == whole.output);
  CHECK(cairn_vm_resume(same.vm, again, nullptr) == CAIRN_BAD_ARGUMENT);
  Compiled other("(display 1)");
  Vm stranger;
  REQUIRE(cairn_vm_load(stranger.vm, other.module, nullptr) == CAIRN_OK);
  char* error = nullptr;
  CHECK(cairn_vm_resume(stranger.vm, again, &error) == CAIRN_BAD_CAPSULE);
  CHECK(taken(error) == "the capsule belongs to another module");
  CHECK(cairn_vm_run(stranger.vm, CAIRN_UNLIMITED) == CAIRN_OK); // its own program is still there
  CHECK(stranger.output == "1");
  static_cast<char*>(bytes)[size / 2] ^= 1;
  cairn_capsule* damaged = nullptr;
  CHECK(cairn_capsule_read(bytes, size, &damaged, nullptr) == CAIRN_BAD_CAPSULE);
  CHECK(damaged == nullptr);
  CHECK(cairn_reseal(bytes, size, nullptr) == CAIRN_OK);
  CHECK(cairn_capsule_read(bytes, size, &damaged, nullptr) == CAIRN_OK);
  CHECK(cairn_reseal(bytes, 4, nullptr) == CAIRN_BAD_ARGUMENT);
  for (cairn_capsule* c : {capsule, again, damaged}) cairn_capsule_free(c);
  cairn_free(bytes);
}

TEST_CASE("many machines run in threads at once, each as if it were alone") {
  Compiled program("(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n"
                   "(define (f x) (let loop ((i 0) (x x)) (if (= i 1000) x (loop (+ i 1) (+ 0.1 (sin x))))))\n"
                   "(write (list (fib 15) (checkpoint-*j f 0.3 1) (random-real) (symbol->string 'abc)))");
  Vm alone(program);
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(8);
  for (std::string& output : outputs)
    threads.emplace_back([&program, &output] {
      cairn_vm_options options = writing_to(output);
      cairn_vm* vm = nullptr;
      if (cairn_vm_create(&options, &vm, nullptr) == CAIRN_OK && cairn_vm_load(vm, program.module, nullptr) == CAIRN_OK)
        while (cairn_vm_run(vm, 997) == CAIRN_OUT_OF_STEPS) {
        }
      cairn_vm_free(vm);
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& output : outputs) CHECK(output == alone.output);
}

TEST_CASE("a session goes on in one machine, through redefinitions and errors") {
  Session session;
  Vm vm;
  CHECK(session.run(vm, "(define x 1) (define (f) (* x 10)) (f)") == "10");
  CHECK(session.run(vm, "(define x 2) (f)") == "20");
  CHECK(session.run(vm, "(define (g) (car x)) (g)").find("car: expected a pair") != std::string::npos);
  CHECK(session.run(vm, "(define x '(7)) (list (g) (map (lambda (v) (+ v 1)) x))") == "(7 (8))");
  CHECK(session.run(vm, "(define never (car '())) 1").find("error") != std::string::npos);
  CHECK(session.run(vm, "never").find("used before its definition") != std::string::npos);
  CHECK(session.run(vm, "(checkpoint-*j (lambda (v) (* v v v)) 2 1)") == "(8.0 . 12.0)");
  CHECK(vm.text(vm.lookup("x")) == "(7)");
  cairn_capsule* capsule = nullptr;
  cairn_module* module = session.compile("(let loop ((i 0)) (if (= i 1000) (list i (g)) (loop (+ i 1))))");
  REQUIRE(cairn_vm_extend(vm.vm, module, nullptr) == CAIRN_OK);
  cairn_module_free(module);
  CHECK(cairn_vm_run(vm.vm, 500) == CAIRN_OUT_OF_STEPS);
  REQUIRE(cairn_vm_capsule(vm.vm, &capsule) == CAIRN_OK);
  Vm moved; // the whole session goes along
  REQUIRE(cairn_vm_resume(moved.vm, capsule, nullptr) == CAIRN_OK);
  cairn_capsule_free(capsule);
  REQUIRE(cairn_vm_run(moved.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(session.run(moved, "(define (h) (g)) (h)") == "7");
  REQUIRE(cairn_vm_abandon(vm.vm) == CAIRN_OK);
}

TEST_CASE("a module that does not continue the machine's is refused") {
  Session session;
  Vm vm;
  CHECK(session.run(vm, "(define a 1) a") == "1");
  Compiled stranger("(define b 2)");
  char* error = nullptr;
  CHECK(cairn_vm_extend(vm.vm, stranger.module, &error) == CAIRN_BAD_MODULE);
  CHECK(taken(error).find("does not continue") != std::string::npos);
  CHECK(session.run(vm, "a") == "1");
}

TEST_CASE("files are written in one go and read whole") {
  std::string path = "/tmp/cairn-api-" + std::to_string(getpid());
  char* error = nullptr;
  CHECK(cairn_file_write(path.c_str(), "abc\0def", 7, nullptr) == CAIRN_OK);
  CHECK(cairn_file_write(path.c_str(), "second", 6, nullptr) == CAIRN_OK);
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_file_read(path.c_str(), &bytes, &size, nullptr) == CAIRN_OK);
  CHECK(std::string(static_cast<char*>(bytes), size) == "second");
  cairn_free(bytes);
  for (const auto& file : std::filesystem::directory_iterator("/tmp"))
    CHECK_FALSE(file.path().string().starts_with(path + ".")); // what it was written as
  if (truncate(path.c_str(), off_t{1} << 43) == 0) {           // of nothing; not every file system has such files
    CHECK(cairn_file_read(path.c_str(), &bytes, &size, &error) == CAIRN_OUT_OF_MEMORY);
    CHECK(bytes == nullptr);
    CHECK(taken(error).find("has 8796093022208 bytes, more than there is memory for") != std::string::npos);
  }
  unlink(path.c_str());
  CHECK(cairn_file_read(path.c_str(), &bytes, &size, &error) == CAIRN_NO_FILE);
  CHECK(taken(error).find("No such file") != std::string::npos);
  CHECK(cairn_file_write("/nowhere/at/all", "x", 1, &error) == CAIRN_NO_FILE);
  CHECK(taken(error).find("cannot be written") != std::string::npos);
}

TEST_CASE("progress tells the phase of a gradient and what is left of it") {
  Compiled program("(define (f x) (let loop ((i 0) (x x)) (if (= i 20000) x (loop (+ i 1) (* 3.7 x (- 1 x))))))\n"
                   "(write (with-schedule \"binomial,base=256,snapshots=4\" (lambda () (checkpoint-*j f 0.3 1))))");
  Vm vm;
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  cairn_progress progress;
  bool seen[3] = {};
  uint64_t executed = 0, predicted = 0, total = 0;
  cairn_status status = CAIRN_OUT_OF_STEPS;
  while (status == CAIRN_OUT_OF_STEPS) {
    REQUIRE(cairn_vm_progress(vm.vm, &progress) == CAIRN_OK);
    seen[progress.phase] = true;
    if (progress.phase == CAIRN_PHASE_BACKWARD) {
      CHECK(progress.gradient_steps_executed >= executed);
      executed = progress.gradient_steps_executed;
      predicted = progress.gradient_steps_predicted;
      total = progress.gradient_steps;
    }
    status = cairn_vm_run(vm.vm, 1000);
  }
  CHECK(status == CAIRN_OK);
  CHECK((seen[0] && seen[1] && seen[2]));
  CHECK(total > 20000 * 4);
  CHECK(executed <= predicted);
  CHECK(static_cast<double>(executed) > 0.9 * static_cast<double>(predicted));
}

TEST_CASE("a loop of nothing but itself says where it stands") {
  for (const auto& [text, place] : {std::pair{"(let loop () (loop))", "guest.scm:1:14: stopped"},
                                    {"(display 1)\n(letrec ((loop (lambda () (loop)))) (loop))", "guest.scm:2:27: stopped"},
                                    {"(let loop ((a 1) (b 2)) (loop b a))", "guest.scm:1:25: stopped"}}) {
    Compiled program(text);
    Vm vm;
    REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
    REQUIRE(cairn_vm_run(vm.vm, 1000) == CAIRN_OUT_OF_STEPS);
    char* where = nullptr;
    REQUIRE(cairn_vm_where(vm.vm, &where) == CAIRN_OK);
    CHECK(taken(where).starts_with(place));
  }
}

TEST_CASE("a machine that was stopped says where it stands") {
  Compiled program(
      "(define (spin i)\n  (if (= i 0) 0 (spin (- i 1))))\n(define (work n) (+ 1 (spin n)))\n(display (work 1000000))");
  Vm vm;
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, 1001) == CAIRN_OUT_OF_STEPS);
  char* text = nullptr;
  REQUIRE(cairn_vm_where(vm.vm, &text) == CAIRN_OK);
  std::string where = taken(text);
  CHECK(where.starts_with("guest.scm:2:"));
  CHECK(where.find(": stopped: after 1001 steps\n  (if (= i 0) 0 (spin (- i 1))))\n") != std::string::npos);
  CHECK(where.find("  in spin at guest.scm:2:") != std::string::npos);
  CHECK(where.find("  in work at guest.scm:3:23\n  in the top level at guest.scm:4:10\n") != std::string::npos);
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(cairn_vm_where(vm.vm, &text) == CAIRN_BAD_ARGUMENT);
  CHECK(text == nullptr);
}

TEST_CASE("a traced machine shows each instruction, a profiled one counts them all") {
  cairn_vm_options options = vm_options();
  options.profile = 1;
  Vm vm(options);
  Compiled program(
      "(define (twice x)\n  (* 2 x))\n(define (loop i t) (if (= i 50) t (loop (+ i 1) (+ t (twice i)))))\n(display (loop 0 0))");
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  char* text = nullptr;
  REQUIRE(cairn_vm_instruction(vm.vm, &text) == CAIRN_OK);
  CHECK(taken(text).find("the top level") != std::string::npos);
  while (cairn_vm_run(vm.vm, 3) == CAIRN_OUT_OF_STEPS) {
  }
  CHECK(vm.output == "2450");
  REQUIRE(cairn_vm_profile(vm.vm, &text) == CAIRN_OK);
  std::string profile = taken(text);
  CHECK(profile.starts_with(std::to_string(cairn_vm_steps(vm.vm)) + " steps"));
  CHECK(profile.find("guest.scm:3") != std::string::npos);
  CHECK(cairn_vm_instruction(vm.vm, &text) == CAIRN_BAD_ARGUMENT);
  Vm plain("1");
  CHECK(cairn_vm_profile(plain.vm, &text) == CAIRN_BAD_ARGUMENT);
}
