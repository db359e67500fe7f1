// Sessions: texts compiled one after the other, each module what its text adds to those before, run on one machine.
#include "cairn.h"
#include "cairn_compiler.h"

#include "vm/bytecode/file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace cairn;

namespace {

bool same(const bytecode::Constant& a, const bytecode::Constant& b) {
  return a.kind == b.kind && a.integer == b.integer && a.flonum == b.flonum && a.text == b.text && a.parts == b.parts;
}
bool same(const bytecode::Function& a, const bytecode::Function& b) {
  return a.name == b.name && a.parameters == b.parameters && a.rest == b.rest && a.needs_closure == b.needs_closure &&
         a.slots == b.slots && a.code == b.code && a.span == b.span && a.library == b.library && a.spans == b.spans &&
         a.sites == b.sites;
}
bool same(const bytecode::Group& a, const bytecode::Group& b) { return a.functions == b.functions && a.captures == b.captures; }
bool same(const text::Source& a, const text::Source& b) { return a.name == b.name && a.text == b.text; }
bool same(const bytecode::Global& a, const bytecode::Global& b) { return a == b; }
bool same(const bytecode::Import& a, const bytecode::Import& b) { return a == b; }

template <class Table> bool begins_with(const Table& longer, const Table& shorter) {
  return longer.size() >= shorter.size() &&
         std::equal(shorter.begin(), shorter.end(), longer.begin(), [](const auto& a, const auto& b) { return same(a, b); });
}

bytecode::Module parsed(const void* bytes, size_t size) {
  bytecode::Module module;
  std::string fault;
  REQUIRE_MESSAGE(bytecode::read_module({static_cast<const std::byte*>(bytes), size}, module, fault), fault);
  return module;
}

struct TextSession {
  cairn_session* session = nullptr;
  cairn_vm* vm = nullptr;
  bytecode::Module module; // of all texts
  std::string output;
  int texts = 0;

  explicit TextSession(int level = 2) {
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.level = level;
    create(options);
  }
  explicit TextSession(const cairn_compiler_options& options) { create(options); }
  void create(const cairn_compiler_options& options) {
    REQUIRE(cairn_session_create(&options, &session, nullptr) == CAIRN_OK);
    cairn_vm_options machine;
    cairn_vm_options_init(&machine);
    machine.user = this;
    machine.output = [](void* user, const char* text, size_t bytes) {
      static_cast<TextSession*>(user)->output.append(text, bytes);
      return 0;
    };
    REQUIRE(cairn_vm_create(&machine, &vm, nullptr) == CAIRN_OK);
  }
  ~TextSession() {
    cairn_vm_free(vm);
    cairn_session_free(session);
  }
  TextSession(const TextSession&) = delete;
  TextSession& operator=(const TextSession&) = delete;

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
    last.assign(static_cast<const char*>(bytes), size);
    bytecode::Module added = parsed(bytes, size);
    cairn_compiler_free(bytes);
    CHECK(added.is_extension() == !module.functions.empty());
    CHECK(added.base.ends == ends_of(module));
    std::string file = whole();
    cairn_module* read = nullptr;
    REQUIRE(cairn_module_read(file.data(), file.size(), &read, nullptr) == CAIRN_OK); // verified, too
    cairn_module_free(read);
    bytecode::Module next = parsed(file.data(), file.size());
    CHECK_FALSE(next.is_extension());
    CHECK(begins_with(next.constants, module.constants));
    CHECK(begins_with(next.functions, module.functions));
    CHECK(begins_with(next.groups, module.groups));
    CHECK(begins_with(next.globals, module.globals));
    CHECK(begins_with(next.imports, module.imports));
    CHECK(begins_with(next.sources, module.sources));
    CHECK(next.entry >= module.functions.size());
    bytecode::append(module, added);
    CHECK(ends_of(module) == ends_of(next));
    CHECK(bytecode::begins_with(next, module));
    return {};
  }
  // The file of all texts so far.
  std::string whole() const {
    void* bytes = nullptr;
    size_t size = 0;
    REQUIRE(cairn_session_module(session, &bytes, &size, nullptr) == CAIRN_OK);
    std::string file(static_cast<const char*>(bytes), size);
    cairn_compiler_free(bytes);
    return file;
  }

  // Gives a machine a module; the message if it is refused.
  static cairn_status extend(cairn_vm* machine, const std::string& file, std::string* message = nullptr) {
    cairn_module* read = nullptr;
    char* error = nullptr;
    REQUIRE(cairn_module_read(file.data(), file.size(), &read, nullptr) == CAIRN_OK);
    cairn_status status = cairn_vm_extend(machine, read, &error);
    cairn_module_free(read);
    if (message != nullptr) *message = error == nullptr ? "" : error;
    cairn_free(error);
    return status;
  }
  // The value of a text, or the first line of its error.
  std::string run(const std::string& text, const std::string& name = {}) {
    std::string message = compile(text, name);
    if (!message.empty()) return message.substr(0, message.find('\n'));
    std::string refusal;
    CHECK_MESSAGE(extend(vm, last, &refusal) == CAIRN_OK, refusal);
    return outcome();
  }
  // Of what the machine stands before: its value or the first line of its error.
  std::string outcome() {
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

  std::string last; // the file of the last text
};

} // namespace

TEST_CASE("each text sees what the former ones defined, at every level of optimisation") {
  for (int level : {0, 1, 2}) {
    TextSession s(level);
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
  TextSession s;
  CHECK(s.run("(define (f) 1) (define (g) (+ (f) 10)) (g)") == "11");
  CHECK(s.run("(define (f) 2)") == "()");
  CHECK(s.run("(g)") == "12");
  CHECK(s.run("(define f 5) f") == "5");
  CHECK(s.run("(g)").find("error: ") != std::string::npos); // 5 is no procedure
  CHECK(s.run("(define (f) 3) (define (f) 4) (g)") == "14");
}

TEST_CASE("what a built-in name means changes for later texts only, never for the library") {
  TextSession s;
  CHECK(s.run("(define (first l) (car l)) (first '(1 2))") == "1");
  CHECK(s.run("(define (car l) 'mine) (car '(1))") == "mine");
  CHECK(s.run("(list (first '(1 2)) (car '(1 2)) (map (lambda (x) x) '(1 2)))") == "(1 mine (1 2))");
  CHECK(s.run("(define (if a) (list 'if a)) (if 3)") == "(if 3)");
}

TEST_CASE("forward references work inside a text; names that no text defines are unbound") {
  TextSession s;
  CHECK(s.run("(define (even n) (if (= n 0) #t (odd (- n 1)))) (define (odd n) (if (= n 0) #f (even (- n 1)))) (even 10)") ==
        "#t");
  CHECK(s.run("(define (h) (later))") == "text2:1:14: error: unbound name 'later'");
  CHECK(s.run("(h)") == "text3:1:2: error: unbound name 'h'");
  CHECK(s.run("(define (later) 1) (define (h) (later)) (h)") == "1");
  CHECK(s.run("(define (early) now) (early) (define now 1)").find("used before its definition has run") != std::string::npos);
}

TEST_CASE("a text that does not compile leaves the session as it was") {
  TextSession s;
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
  TextSession s;
  CHECK(s.run("(define a 1) (define b (vector-ref (vector 1) a)) (define c 3)").starts_with("text1:1:"));
  CHECK(s.run("a") == "1");
  CHECK(s.run("(+ a c)").find("used before its definition has run") != std::string::npos);
  CHECK(s.run("(define c 4) (+ a c)") == "5");
}

TEST_CASE("a text that is compiled and never run does no harm to the next") {
  TextSession s;
  CHECK(s.run("(define a 1)") == "()");
  CHECK(s.compile("(define z (map car '((1))))").empty());
  REQUIRE(TextSession::extend(s.vm, s.last) == CAIRN_OK);
  REQUIRE(cairn_vm_abandon(s.vm) == CAIRN_OK);
  CHECK(s.run("(map (lambda (x) (+ x a)) '(1 2))") == "(2 3)");
  CHECK(s.run("z").find("used before its definition has run") != std::string::npos);
}

TEST_CASE("messages name the text that they are about") {
  TextSession s;
  CHECK(s.run("(define (f x)\n  (car x))", "one") == "()");
  CHECK(s.run("(f 1)", "two") == "one:2:3: error: car: expected a pair, got 1");
  CHECK(s.run("\n (g)", "three") == "three:2:3: error: unbound name 'g'");
}

TEST_CASE("procedures of the library and wrappers of builtins are made once a session") {
  TextSession s;
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
    TextSession s(options);
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
  TextSession s;
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
  TextSession s(options);
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
  TextSession s(options);
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

TEST_CASE("an extension that goes over the budget leaves the machine as it was, and the next one works") {
  std::string large = "(define large '(";
  for (int i = 0; i < 20000; ++i) large += "\"text " + std::to_string(i) + "\" ";
  large += "))";
  const std::string first = "(define (f x) (list x 'of-the-first \"text\" 2.5))";
  TextSession heavy, light; // which begin alike
  REQUIRE(heavy.compile(first, "first").empty());
  REQUIRE(heavy.compile(large, "large").empty());
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.memory_bytes = 1 << 20;
  cairn_vm_free(light.vm);
  REQUIRE(cairn_vm_create(&options, &light.vm, nullptr) == CAIRN_OK);
  CHECK(light.run(first, "first") == "()");
  for (int again = 0; again < 3; ++again) {
    CHECK(TextSession::extend(light.vm, heavy.last) ==
          (again == 0 ? CAIRN_OVER_BUDGET : CAIRN_BAD_MODULE)); // then light has gone on by itself
    CHECK(light.run("(list (f 1) '(new #(constants)) (+ 2.5 " + std::to_string(again) + "))") ==
          "((1 of-the-first \"text\" 2.5) (new #(constants)) " + std::to_string(2 + again) + ".5)");
  }
}

TEST_CASE("what a text costs depends on what it adds: a module of 2000 texts later is as large") {
  auto size_of_next = [](cairn_session* session, const std::string& text) {
    void* bytes = nullptr;
    size_t size = 0;
    REQUIRE(cairn_session_compile(session, "entry", text.data(), text.size(), &bytes, &size, nullptr) == CAIRN_OK);
    cairn_compiler_free(bytes);
    return size;
  };
  cairn_session* session = nullptr;
  REQUIRE(cairn_session_create(nullptr, &session, nullptr) == CAIRN_OK);
  std::size_t value = 0, procedure = 0;
  for (int i = 100; i <= 1100; ++i) {
    const std::string n = std::to_string(1000 + i); // four digits
    const std::size_t v = size_of_next(session, "(define x" + n + " " + n + ")");
    const std::size_t p = size_of_next(session, "(define (f" + n + " x) (* x " + n + "))");
    if (i == 200) value = v, procedure = p;
    if (i == 1100) {
      CHECK(v == value);
      CHECK(p == procedure);
    }
  }
  cairn_session_free(session);
}

TEST_CASE("a machine takes the modules of a session in order; a whole one makes up for those it lacks") {
  TextSession s, other;
  CHECK(s.run("(define a 1)", "one") == "()");
  CHECK(other.run("(define b 1)", "one") == "()");
  std::string message;
  REQUIRE(other.compile("(+ b 1)", "two").empty());
  CHECK(TextSession::extend(s.vm, other.last, &message) == CAIRN_BAD_MODULE);
  CHECK(message == "this module does not continue the one that the machine has: it belongs to another session");
  REQUIRE(s.compile("(define c (+ a 1))", "two").empty());
  const std::string second = s.last;
  REQUIRE(s.compile("(+ a 10)", "three").empty());
  CHECK(TextSession::extend(s.vm, s.last, &message) == CAIRN_BAD_MODULE);
  CHECK(message ==
        "this module does not continue the one that the machine has: it comes behind 2 procedures, and the machine has 1; the "
        "modules of a session are given one after the other");
  REQUIRE(TextSession::extend(s.vm, second) == CAIRN_OK);
  CHECK(s.outcome() == "()");
  CHECK(TextSession::extend(s.vm, second) == CAIRN_BAD_MODULE);
  REQUIRE(TextSession::extend(s.vm, s.last) == CAIRN_OK);
  CHECK(s.outcome() == "11");
  REQUIRE(s.compile("(define d (+ c 100))", "four").empty());
  REQUIRE(s.compile("(define e 5) e", "five").empty());
  REQUIRE(TextSession::extend(s.vm, s.whole()) == CAIRN_OK);
  CHECK(s.outcome() == "5");
  CHECK(s.run("(list a c e)") == "(1 2 5)");
  CHECK(s.run("d").find("used before its definition has run") != std::string::npos);
}

TEST_CASE("an extension by itself is no program") {
  TextSession s;
  REQUIRE(s.compile("(define a 1)").empty());
  REQUIRE(s.compile("a").empty());
  std::string message;
  CHECK(TextSession::extend(s.vm, s.last, &message) == CAIRN_BAD_MODULE);
  CHECK(message == "this module continues another one, which the machine does not have");
  cairn_module* module = nullptr;
  REQUIRE(cairn_module_read(s.last.data(), s.last.size(), &module, nullptr) == CAIRN_OK);
  char* text = nullptr;
  CHECK(cairn_module_disassemble(module, &text) == CAIRN_BAD_ARGUMENT);
  CHECK(text == nullptr);
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_module_write(module, &bytes, &size) == CAIRN_OK);
  CHECK(std::string(static_cast<char*>(bytes), size) == s.last);
  cairn_free(bytes);
  cairn_module_free(module);
}

TEST_CASE("a text is taken back as if it had not been given") {
  TextSession s;
  CHECK(s.run("(define a 1)", "one") == "()");
  const std::string before = s.whole();
  const char* text = "(define (b l) (map car (cons '(new constants) l))) (define c \"new\") (b '((1) (2)))";
  REQUIRE(s.compile(text, "two").empty());
  const std::string first = s.last;
  REQUIRE(cairn_session_undo(s.session) == CAIRN_OK);
  CHECK(cairn_session_undo(s.session) == CAIRN_BAD_ARGUMENT);
  CHECK(s.whole() == before);
  CHECK(cairn_session_has_value(s.session) == 0);
  CHECK(s.names("c\n").empty());
  s.module = parsed(before.data(), before.size());
  REQUIRE(s.compile(text, "two").empty());
  CHECK(s.last == first);
  REQUIRE(TextSession::extend(s.vm, s.last) == CAIRN_OK);
  CHECK(s.outcome() == "(new 1 2)");
  CHECK_FALSE(s.compile("(car)").empty());
  CHECK(cairn_session_undo(s.session) == CAIRN_BAD_ARGUMENT);
  CHECK(s.run("(b '((3)))") == "(new 3)");
  CHECK(cairn_session_undo(nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("an entry that comes line by line is complete where its text is") {
  for (const char* text : {"(f\n x\n)\n", "\"a\nb\\\n   c\"\n", "#| a\n #| b |#\n c |#\n 'x\n", "'\n`\n(a ,\n b)\n",
                           "(f ; )\n \"x\\\"\n\"\n)\n", "(a .\n b\n c)\n(d)\n", "(\"\\q\"\n x)\n", "#(1\n#\\\n)\n", "(f))\n(\n",
                           "(a\n#;\n(b\n)\n)\n", "\"\\x41\n;\"\n", "(\xFF\n)\n", "(a #| b\n", "#\n|\n"}) {
    cairn_entry* entry = nullptr;
    REQUIRE(cairn_entry_create(&entry) == CAIRN_OK);
    std::string so_far, rest = text;
    while (!rest.empty()) {
      std::string line = rest.substr(0, rest.find('\n') + 1);
      rest.erase(0, line.size());
      so_far += line;
      CHECK_MESSAGE(cairn_entry_add(entry, line.data(), line.size()) == cairn_source_is_complete(so_far.data(), so_far.size()),
                    so_far);
    }
    cairn_entry_free(entry);
  }
  CHECK(cairn_entry_add(nullptr, "x", 1) == -1);
}

TEST_CASE("a session of many texts stays sound and small") {
  TextSession s;
  for (int i = 0; i < 200; ++i) REQUIRE(s.run("(define (f" + std::to_string(i) + " x) (+ x " + std::to_string(i) + "))") == "()");
  CHECK(s.run("(list (f0 1) (f199 1))") == "(1 200)");
  CHECK(s.module.functions.size() == 401);
}
