// Programs of unusual size compile, or complain with a place.
#include "test/back/back_testing.h"

#include <doctest/doctest.h>

using namespace back_testing;

namespace {
std::string repeated(const std::string& piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}
} // namespace

TEST_CASE("a quoted list of 100,000 different elements") {
  std::string list;
  for (int i = 0; i < 100000; ++i) list += std::to_string(i) + " ";
  for (int level : {0, 2})
    CHECK(complaint(compiled("(write (length '(" + list + ")))\n(write (+ (read-real) 123456.5))", level)).empty());
}

TEST_CASE("a quoted datum nested 100,000 deep") {
  CHECK(complaint(compiled("(write '" + repeated("(", 100000) + repeated(")", 100000) + ")")).empty());
}

TEST_CASE("a body of 10,000 forms, and 10,000 internal definitions") {
  CHECK(complaint(compiled("(define (f x) " + repeated("(write (car x)) ", 10000) + "5)\n(f '(1))")).empty());
  std::string definitions;
  for (int i = 0; i < 10000; ++i)
    definitions += "(define (f" + std::to_string(i) + " x) (if x (f" + std::to_string(i) + " x) 1)) ";
  for (int level : {0, 2}) CHECK(complaint(compiled("(define (f x) " + definitions + " (f0 x))\n(f '(1))", level)).empty());
}

TEST_CASE("10,000 top-level forms") { CHECK(complaint(compiled(repeated("(write (car '(1 2)))\n", 10000))).empty()); }

TEST_CASE("a branch over more code than a short jump reaches") {
  std::string program = "(define (f x) (if (null? x) 1 (begin " + repeated("(write (vector-ref x 1)) ", 15000) + " 2)))\n(f '())";
  CHECK(complaint(compiled(program)).empty());
  std::string loop = "(define (f x) (let loop ((i 0)) (if (= i x) 1 (begin " + repeated("(write (car i)) ", 15000) +
                     " (loop (+ i 1))))))\n(f 5)";
  CHECK(complaint(compiled(loop)).empty());
}

TEST_CASE("deep expressions compile, deeper ones are a located complaint") {
  CHECK(complaint(compiled("(write " + repeated("(+ 1 ", 1000) + "1" + repeated(")", 1000) + ")")).empty());
  CHECK(
      complaint(compiled("(define (f x) " + repeated("(if (car x) ", 1000) + "1" + repeated(" (cdr x))", 1000) + ")\n(f '(#f))"))
          .empty());
  CHECK(complaint(compiled("(write " + repeated("(lambda (x) ", 1000) + "1" + repeated(")", 1000) + ")")).empty());
}

TEST_CASE("five thousand variables alive at once") {
  std::string lets, sum;
  for (int i = 0; i < 5000; ++i) {
    lets += "(v" + std::to_string(i) + " (read-real)) ";
    sum += " v" + std::to_string(i);
  }
  CHECK(complaint(compiled("(write (let (" + lets + ") (+" + sum + ")))")).empty());
}

namespace {

// What a large program does not get past, "FILE offset: message"; empty if it compiles to a sound module.
std::string fate(const std::string& text, int level) {
  try {
    return complaint(compiled(text, level)).substr(0, 200);
  } catch (const cairn::compiler::Failure& failure) {
    return failure.source.name + " " + std::to_string(failure.diagnostic.span.begin) + ": " + failure.diagnostic.message;
  }
}
std::string numbered(const std::string& before, const std::string& after, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += before + std::to_string(i) + after;
  return out;
}

} // namespace

TEST_CASE("what nests because there is much of it compiles") {
  // Each procedure calls the next one, so that a group of labels nests through them all.
  std::string chain, both;
  for (int i = 0; i < 4000; ++i) {
    const std::string next = std::to_string((i + 1) % 4000), last = std::to_string(i == 0 ? 0 : i - 1);
    chain += "(f" + std::to_string(i) + " (lambda (x) (f" + next + " x)))";
    both += "(f" + std::to_string(i) + " (lambda (x) (if (< x y) (+ 1 (f" + next + " x)) (f" + last + " x))))";
  }
  for (int level : {0, 1, 2}) {
    CHECK(fate("(define (g) (letrec (" + chain + ") (f0 1)))(g)", level) == "");
    if (level > 0) CHECK(fate("(define (g y) (letrec (" + both + ") (f0 1)))(g 1)", level) == "");
    CHECK(fate("(define (f x) (cond " + numbered("((= x ", ") 1)", 10000) + " (else 0)))(f 1)", level) == "");
    CHECK(fate("(define (f x) (cond " + numbered("((memv x '(", ")) => car)", 3000) + " (else 0)))(f 1)", level) == "");
    CHECK(fate("(define (f x) (case x " + numbered("((", ") 'a)", 5000) + " (else 0)))(f 1)", level) == "");
    CHECK(fate("(define (f x) (and " + numbered("(< x ", ") ", 15000) + " x))(f 1)", level) == "");
    CHECK(fate("(define (f x) (or " + numbered("(= x ", ") ", 15000) + " x))(f 1)", level) == "");
    CHECK(fate("(define (f x) (let* (" + numbered("(x", " (+ x 1)) ", 10000) + ") (+ x0 x9999)))(f 1)", level) == "");
  }
}

TEST_CASE("too many variables at once are a complaint at the procedure, not a module that no machine takes") {
  const std::string wide =
      "(define (g y) " + numbered("(define (f", " x) (+ x y))", 12000) + "(list " + numbered("f", " ", 12000) + "))(g 1)";
  for (int level : {1, 2})
    CHECK(fate(" " + wide, level) == "test.scm 1: this procedure has too many variables in use at once; split it");
  CHECK(fate("(define (g y) " + numbered("(define (f", " x) (+ x y))", 4000) + "(list " + numbered("f", " ", 4000) + "))(g 1)",
             2) == "");
}

TEST_CASE("what the source nests too deeply is one complaint at the place") {
  for (const char* open : {"(let ((x 1)) ", "(and x ", "(or x ", "`(a ", "(lambda (x) ", "(if x x "})
    CHECK(fate("(define (f x) " + repeated(open, 50000) + "x" + repeated(")", 50000) + ")", 2).find("nested too deeply") !=
          std::string::npos);
}

TEST_CASE("strings, symbols and names of ten million characters") {
  const std::string large = repeated("a", 10'000'000);
  CHECK(fate("(write (string-length \"" + large + "\"))", 2) == "");
  CHECK(fate("(write '" + large + ")", 2) == "");
  CHECK(fate("(define " + large + " 1)(write " + large + ")", 2) == "");
}
