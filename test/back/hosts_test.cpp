// What the compiler does for programs that live in a host: definitions kept for it, and calls of its procedures.
#include "test/back/back_testing.h"

#include <doctest/doctest.h>

using namespace back_testing;

namespace {

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t n = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

compiler::Options exporting(int level = 2) {
  compiler::Options options = at_level(level);
  options.exports = true;
  return options;
}

compiler::Options with_hosts(int level = 2) {
  compiler::Options options = at_level(level);
  options.hosts = {{"clock", 0}, {"gauge", 2}, {"log-line", 1}};
  return options;
}

} // namespace

TEST_CASE("a definition that the program does not need is stored for a host that asks for it, and only then") {
  const char* text = "(define (unused x) (* x x))\n(define k 7)\n(define (used x) (+ x 1))\n(write (used 2))";
  for (int level : {0, 1, 2}) {
    bytecode::Module m = compiled(text, exporting(level));
    CHECK(complaint(m).empty());
    std::string all = bytecode::disassemble(m);
    CHECK(count(all, "set_global") == 3);
    CHECK(has(all, ":unused: "));
  }
  CHECK_FALSE(has(ir(text), "set_global"));
  CHECK_FALSE(has(bytecode::disassemble(compiled(text)), ":unused: "));
}

TEST_CASE("exported procedures are still called directly and copied to their calls") {
  const char* text =
      "(define (small x) (+ x 1))\n(define (big l) (if (null? l) 0 (+ (small (car l)) (big (cdr l)))))\n(write (big (list "
      "(read-real))))";
  std::string t = ir(text, exporting());
  CHECK(has(t, "set_global small"));
  CHECK(has(t, "set_global big"));
  CHECK(has(t, "call f"));
  CHECK_FALSE(has(t, "call_value"));
  CHECK_FALSE(has(t, "= global"));
  CHECK_FALSE(has(t, "check_global"));
  CHECK(count(t, "add") >= 3); // `small` inside `big`, and by itself
}

TEST_CASE("names of the library are never exported, those of the program are, whatever they hide") {
  bytecode::Module m =
      compiled("(define (length l) 5)\n(write (list-tail '(1 2) 1))\n(write (apply map car '(((1)))))", exporting());
  std::vector<std::string> user, library;
  for (const bytecode::Global& g : m.globals) (g.library ? library : user).push_back(g.name);
  CHECK(user == std::vector<std::string>{"length"});
  CHECK(!library.empty());
  CHECK(count(ir("(define (length l) 5)\n(write (list-tail '(1 2) 1))", exporting()), "set_global") == 1);
}

TEST_CASE("a name that is defined twice keeps its last value for the host") {
  bytecode::Module m = compiled("(define (f) 1)\n(define (f) 2)", exporting());
  CHECK(complaint(m).empty());
  CHECK(count(bytecode::disassemble(m), "set_global") == 2);
}

TEST_CASE("a call of a declared procedure is one instruction; the module names those it uses, in the order of declaration") {
  for (int level : {0, 1, 2}) {
    bytecode::Module m = compiled("(write (log-line 3))\n(write (clock))\n(define (f x) (gauge x 1))", with_hosts(level));
    CHECK(complaint(m).empty());
    REQUIRE(m.imports.size() == 2);
    CHECK(m.imports[0] == bytecode::Import{"clock", 0});
    CHECK(m.imports[1] == bytecode::Import{"log-line", 1});
  }
  std::string t = listing(compiled("(define (f x) (gauge x 1))\n(write (map f '(1)))", with_hosts()), "f");
  CHECK(t == "0 integer r1, 1\n1 host r0, gauge, (r0! r1!)\n3 ret r0!\n");
}

TEST_CASE("a declared procedure as a value is one procedure of its arity around the instruction") {
  bytecode::Module m = compiled("(write (map gauge '(1) '(2)))\n(write (eq? gauge gauge))", with_hosts());
  CHECK(complaint(m).empty());
  CHECK(m.imports == std::vector<bytecode::Import>{{"gauge", 2}});
  std::size_t wrappers = 0;
  for (const bytecode::Function& f : m.functions) {
    if (f.name != "gauge") continue;
    ++wrappers;
    CHECK(f.parameters == 2);
    CHECK_FALSE(f.rest);
    CHECK(f.library);
  }
  CHECK(wrappers == 1);
}

TEST_CASE("calls of the host are neither folded, dropped, doubled nor moved") {
  std::string t = ir("(define (f x) (let ((unused (gauge 1 2)) (a (clock)) (b (read-real))) (log-line 4) (cons (+ a a) b)))\n"
                     "(write (f 1))\n(write (map f '(1)))",
                     with_hosts());
  std::size_t at = t.find(":f (");
  REQUIRE(at != std::string::npos);
  std::string f = t.substr(at);
  CHECK(count(f, "host gauge") == 1);
  CHECK(count(f, "host clock") == 1);
  CHECK(count(f, "host log-line") == 1);
  CHECK(f.find("host gauge") < f.find("host clock"));
  CHECK(f.find("host clock") < f.find("read-real"));
  CHECK(f.find("read-real") < f.find("host log-line"));
  CHECK(f.find("host log-line") < f.find("add"));
  // A loop update may wait for its turn, the host's call may not.
  t = ir("(define (f n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s (log-line i))))))\n(write (f 3))", with_hosts());
  CHECK(count(t, "host log-line") == 1);
}

TEST_CASE("what the library calls by a name is never the host's") {
  compiler::Options options = at_level(2);
  options.hosts = {{"null?", 1}, {"car", 1}};
  bytecode::Module m = compiled("(write (length '(1 2)))\n(write (map (lambda (x) x) '(1)))", options);
  CHECK(m.imports.empty());
  m = compiled("(write (car 1))\n(write (map (lambda (x) x) '(1)))", options);
  CHECK(m.imports == std::vector<bytecode::Import>{{"car", 1}});
}
