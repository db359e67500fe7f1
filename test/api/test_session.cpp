// Sessions: texts compiled one after the other, each module continuing the ones before, run on one machine.
#include "cairn.h"
#include "cairn_compiler.h"

#include "vm/bytecode/file.h"
#include "vm/bytecode/verifier.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace cairn;

namespace {

struct Session {
  cairn_session* session = nullptr;
  cairn_vm* vm = nullptr;
  bytecode::Module module; // of all texts together
  std::string output;
  int texts = 0;

  explicit Session(int level = 2) {
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.level = level;
    create(options);
  }
  explicit Session(const cairn_compiler_options& options) { create(options); }
  void create(const cairn_compiler_options& options) {
    REQUIRE(cairn_session_create(&options, &session, nullptr) == CAIRN_OK);
    cairn_vm_options machine;
    cairn_vm_options_init(&machine);
    machine.user = this;
    machine.output = [](void* user, const char* text, size_t bytes) {
      static_cast<Session*>(user)->output.append(text, bytes);
      return 0;
    };
    REQUIRE(cairn_vm_create(&machine, &vm, nullptr) == CAIRN_OK);
  }
  ~Session() {
    for (cairn_module* m : pending_) cairn_module_free(m);
    cairn_vm_free(vm);
    cairn_session_free(session);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The message of a text that does not compile; else empty, and its module is the last one.
  std::string compile(const std::string& text, const std::string& name = {}) {
    void* bytes = nullptr;
    size_t size = 0;
    char* error = nullptr;
    std::string called = name.empty() ? "text" + std::to_string(++texts) : name;
    cairn_status status = cairn_session_compile(session, called.c_str(), text.data(), text.size(), &bytes, &size, &error);
    std::string message = error == nullptr ? "" : error;
    cairn_compiler_free(error);
    CHECK((status == CAIRN_OK) == message.empty());
    if (status != CAIRN_OK) return message;
    cairn_module* read = nullptr;
    REQUIRE(cairn_module_read(bytes, size, &read, nullptr) == CAIRN_OK);
    pending_.push_back(read);
    bytecode::Module next;
    std::string fault;
    REQUIRE(bytecode::read_module({static_cast<const std::byte*>(bytes), size}, next, fault));
    cairn_compiler_free(bytes);
    bytecode::Beginning end;
    bytecode::advance(end, module);
    CHECK(next.after == end);
    CHECK(next.entry >= module.functions.size());
    bytecode::append(module, std::move(next));
    std::vector<bytecode::FunctionFacts> facts;
    bytecode::VerifyError unsound;
    CHECK(bytecode::verify(module, facts, unsound));
    return {};
  }

  // The value of a text, or the first line of its error.
  std::string run(const std::string& text, const std::string& name = {}) {
    std::string message = compile(text, name);
    if (!message.empty()) return message.substr(0, message.find('\n'));
    while (!pending_.empty()) {
      char* error = nullptr;
      cairn_status status = cairn_vm_extend(vm, pending_.front(), &error);
      CHECK_MESSAGE(status == CAIRN_OK, (error == nullptr ? "" : error));
      cairn_free(error);
      cairn_module_free(pending_.front());
      pending_.erase(pending_.begin());
      if (!pending_.empty()) CHECK(cairn_vm_abandon(vm) == CAIRN_OK); // only the last one is to run
    }
    char* result = nullptr;
    if (cairn_vm_run(vm, CAIRN_UNLIMITED) == CAIRN_OK)
      REQUIRE(cairn_vm_result(vm, &result) == CAIRN_OK);
    else
      REQUIRE(cairn_vm_error(vm, &result) == CAIRN_OK);
    std::string out = result;
    cairn_free(result);
    return out.substr(0, out.find('\n'));
  }

  std::string names(const char* prefix) const {
    char* text = nullptr;
    REQUIRE(cairn_session_names(session, prefix, &text) == CAIRN_OK);
    std::string out = text;
    cairn_compiler_free(text);
    return out;
  }

private:
  std::vector<cairn_module*> pending_; // compiled and not given to the machine
};

} // namespace

TEST_CASE("each text sees what the former ones defined, at every level of optimisation") {
  for (int level : {0, 1, 2}) {
    Session s(level);
    CHECK(s.run("(define (square x) (* x x))") == "()");
    CHECK(s.run("(square 7)") == "49");
    CHECK(s.run("(define k 3) (define (scaled l) (map (lambda (x) (* k x)) l)) (scaled '(1 2))") == "(3 6)");
    CHECK(s.run("(scaled (list 4 (square 2)))") == "(12 12)");
    CHECK(s.run("(map square '(1 2 3))") == "(1 4 9)");
    CHECK(s.run("((lambda (x . y) (cons k y)) 1 2 3)") == "(3 2 3)");
    CHECK(s.run("(cdr (*j (lambda (x) (* x (square x))) 2 1))") == "12.0");
    CHECK(s.run("(gradient square 5)") == "10.0");
    CHECK(s.run("") == "()");
    CHECK(s.run("\"text\" 'symbol") == "symbol");
  }
}

TEST_CASE("a name may be defined again, and older procedures see the new value") {
  Session s;
  CHECK(s.run("(define (f) 1) (define (g) (+ (f) 10)) (g)") == "11");
  CHECK(s.run("(define (f) 2)") == "()");
  CHECK(s.run("(g)") == "12");
  CHECK(s.run("(define f 5) f") == "5");
  CHECK(s.run("(g)").find("error: ") != std::string::npos); // 5 is no procedure
  CHECK(s.run("(define (f) 3) (define (f) 4) (g)") == "14");
}

TEST_CASE("what a built-in name means changes for later texts only, never for the library") {
  Session s;
  CHECK(s.run("(define (first l) (car l)) (first '(1 2))") == "1");
  CHECK(s.run("(define (car l) 'mine) (car '(1))") == "mine");
  CHECK(s.run("(list (first '(1 2)) (car '(1 2)) (map (lambda (x) x) '(1 2)))") == "(1 mine (1 2))");
  CHECK(s.run("(define (if a) (list 'if a)) (if 3)") == "(if 3)");
}

TEST_CASE("forward references work inside a text; names that no text defines are unbound") {
  Session s;
  CHECK(s.run("(define (even n) (if (= n 0) #t (odd (- n 1)))) (define (odd n) (if (= n 0) #f (even (- n 1)))) (even 10)") ==
        "#t");
  CHECK(s.run("(define (h) (later))") == "text2:1:14: error: unbound name 'later'");
  CHECK(s.run("(h)") == "text3:1:2: error: unbound name 'h'");
  CHECK(s.run("(define (later) 1) (define (h) (later)) (h)") == "1");
  CHECK(s.run("(define (early) now) (early) (define now 1)").find("used before its definition has run") != std::string::npos);
}

TEST_CASE("a text that does not compile leaves the session as it was") {
  Session s;
  CHECK(s.run("(define a 1)") == "()");
  std::size_t functions = s.module.functions.size(), sources = s.module.sources.size();
  for (const char* bad : {"(define b 2) (car)", "(define b 2) (", "(define b 2) nothing", "(import nowhere)", "\xFF"})
    CHECK(s.compile(bad).find("error: ") != std::string::npos);
  CHECK(s.names("b\n").empty());
  CHECK(s.run("a") == "1");
  CHECK(s.module.functions.size() == functions + 1);
  CHECK(s.module.sources.size() == sources + 1);
  CHECK(s.run("b").find("unbound name 'b'") != std::string::npos);
}

TEST_CASE("what a failed text did not get to define is declared, and an error to read until it is defined") {
  Session s;
  CHECK(s.run("(define a 1) (define b (vector-ref (vector 1) a)) (define c 3)").starts_with("text1:1:"));
  CHECK(s.run("a") == "1");
  CHECK(s.run("(+ a c)").find("used before its definition has run") != std::string::npos);
  CHECK(s.run("(define c 4) (+ a c)") == "5");
}

TEST_CASE("a text that is compiled and never run does no harm to the next") {
  Session s;
  CHECK(s.run("(define a 1)") == "()");
  CHECK(s.compile("(define z (map car '((1))))").empty());
  CHECK(s.run("(map (lambda (x) (+ x a)) '(1 2))") == "(2 3)");
  CHECK(s.run("z").find("used before its definition has run") != std::string::npos);
}

TEST_CASE("messages name the text that they are about") {
  Session s;
  CHECK(s.run("(define (f x)\n  (car x))", "one") == "()");
  CHECK(s.run("(f 1)", "two") == "one:2:3: error: car: expected a pair, got 1");
  CHECK(s.run("\n (g)", "three") == "three:2:3: error: unbound name 'g'");
}

TEST_CASE("procedures of the library and wrappers of builtins are made once a session") {
  Session s;
  CHECK(s.run("(map car '((1) (2)))") == "(1 2)");
  std::size_t functions = s.module.functions.size(), constants = s.module.constants.size(), sources = s.module.sources.size();
  CHECK(s.run("(map car '((1) (2)))") == "(1 2)");
  CHECK(s.module.functions.size() == functions + 1);
  CHECK(s.module.constants.size() == constants);
  CHECK(s.module.sources.size() == sources + 1);
  CHECK(s.run("(define first car)") == "()");
  CHECK(s.run("(eq? first car)") == "#t");
}

TEST_CASE("a file is imported once a session, and an included one is read each time") {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / "cairn_session_files";
  fs::create_directories(folder);
  std::ofstream(folder / "counted.scm") << "(display \"read.\")(define x 7)";
  std::string name = (folder / "input").string();
  {
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.read = cairn_read_beneath;
    Session s(options);
    CHECK(s.run("(import counted) x", name) == "7");
    CHECK(s.run("(import counted) (+ x 1)", name) == "8");
    CHECK(s.output == "read.");
    CHECK(s.run("(include \"counted.scm\") x", name) == "7");
    CHECK(s.output == "read.read.");
    CHECK(s.run("(import counted)", name) == "()");
    CHECK(cairn_session_has_value(s.session) == 0);
  }
  fs::remove_all(folder);
}

TEST_CASE("a session says whether its last text has a value") {
  Session s;
  CHECK(cairn_session_has_value(s.session) == 0);
  s.compile("(define x 1) x");
  CHECK(cairn_session_has_value(s.session) == 1);
  s.compile("x (define y 1)");
  CHECK(cairn_session_has_value(s.session) == 0);
  s.compile("(+ 1");
  CHECK(cairn_session_has_value(s.session) == 0);
  s.compile("; nothing");
  CHECK(cairn_session_has_value(s.session) == 0);
}

TEST_CASE("names in force: the program's, the host's, the language's; no private ones") {
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  cairn_host_declaration host{"vec-host", 1};
  options.hosts = &host;
  options.host_count = 1;
  Session s(options);
  s.compile("(define vectorised 1)");
  std::string names = s.names("vec");
  CHECK(names.starts_with("vec-host\nvector\n"));
  CHECK(names.find("\nvector-map\n") != std::string::npos);
  CHECK(names.ends_with("\nvectorised\n"));
  CHECK(s.names("letr") == "letrec\nletrec*\n");
  CHECK(s.names("%").empty());
  CHECK(s.names("no-such-name").empty());
  CHECK(s.names(nullptr).find("\ncheckpoint-*j\n") != std::string::npos);
}

TEST_CASE("imports of the host keep their numbers from text to text") {
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  cairn_host_declaration hosts[] = {{"first", 1}, {"second", 2}};
  options.hosts = hosts;
  options.host_count = 2;
  Session s(options);
  CHECK(s.compile("(define (f) (second 1 2))").empty());
  CHECK(s.compile("(first (second 3 4))").empty());
  CHECK(s.module.imports == std::vector<bytecode::Import>{{"second", 2}, {"first", 1}});
  CHECK(s.compile("(first 1 2)").find("takes 1 argument") != std::string::npos);
}

TEST_CASE("text that breaks off is incomplete; what is wrong for good is complete") {
  auto complete = [](const std::string& text) { return cairn_source_is_complete(text.data(), text.size()); };
  for (const char* text : {"", "x", "(f x)", "(f) (g)", "; comment", "#| done |#", "'x", "\"a\"", ")", "(f))", "[", "\"\\q\"",
                           "(. x)", "\xFF", "#!"})
    CHECK_MESSAGE(complete(text) == 1, text);
  for (const char* text : {"(", "(f x", "(f (g)", "'", "(f) '", "`(a ,", "#(1 2", "\"abc", "\"abc\\", "#| a", "#| #| a |#", "#;",
                           "(f ; )", "(f \"x)", "(a . "})
    CHECK_MESSAGE(complete(text) == 0, text);
  CHECK(cairn_source_is_complete(nullptr, 0) == 1);
}

TEST_CASE("a session of many texts stays sound and small") {
  Session s;
  for (int i = 0; i < 200; ++i) REQUIRE(s.run("(define (f" + std::to_string(i) + " x) (+ x " + std::to_string(i) + "))") == "()");
  CHECK(s.run("(list (f0 1) (f199 1))") == "(1 200)");
  CHECK(s.module.functions.size() == 401);
}
