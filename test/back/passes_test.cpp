// What the passes promise about meaning: order, errors, what closures capture, arithmetic of the machine.
#include "test/back/back_testing.h"

#include <doctest/doctest.h>

using namespace back_testing;

TEST_CASE("constants fold as the machine computes") {
  CHECK(has(ir("(write (+ 140737488355327 1))"), "'140737488355328.0"));
  CHECK(has(ir("(write (* 3 4))"), "'12"));
  CHECK(has(ir("(write (/ 6 3))"), "'2"));
  CHECK(has(ir("(write (/ 1 4))"), "'0.25"));
  CHECK(has(ir("(write (remainder -7 2))"), "'-1"));
  CHECK(has(ir("(write (modulo -7 2))"), "'1"));
}

TEST_CASE("what would be an error stays for run time") {
  CHECK(has(ir("(write (/ 1 0))"), "div '1 '0"));
  CHECK(has(ir("(write (+ 1 'a))"), "add '1 'a"));
  CHECK(has(ir("(define (f x) (car x) 5)\n(write (f 1))"), "car"));
  CHECK(has(ir("(write (let ((unused (vector-ref (vector 1) 5))) 3))"), "vector_ref"));
}

TEST_CASE("x - 0 is not turned into x + 0, which differs on -0.0") {
  CHECK(has(listing("(define (f x) (- x 0))\n(write (f (read-real)))\n(write (map f '(1)))", "f"), "sub"));
}

TEST_CASE("pure results that nobody needs vanish") {
  std::string text = ir("(define (f x) (let ((p (cons x x)) (v (vector x))) x))\n(write (f (read-real)))");
  CHECK_FALSE(has(text, "cons"));
  CHECK_FALSE(has(text, "vector"));
}

TEST_CASE("fields of a pair made here are known") {
  std::string text =
      ir("(define (swap (cons a b)) (cons b a))\n(define (f x y) (car (swap (cons x y))))\n(write (f (read-real) 2))");
  CHECK_FALSE(has(text, "pair"));
  CHECK_FALSE(has(text, "cons"));
}

TEST_CASE("a literal that an escaping lambda captures stays captured") {
  std::string text = ir("(define (f) (let ((k 3.0)) (lambda (x) (* k x))))\n(write ((f) 2))\n(write (map (f) '(1)))");
  CHECK(has(text, "capture"));
  CHECK(has(text, "| '3.0"));
  // One that only a loop of the same frame reads is a constant there.
  text = ir("(define (f n) (let ((k 3.0)) (let loop ((i 0)) (if (= i n) i (loop (+ i k))))))\n(write (f 9))");
  CHECK_FALSE(has(text, "capture"));
  CHECK(has(text, "add i"));
}

TEST_CASE("local procedures that do not escape make no closure") {
  std::string text =
      ir("(define (f x l) (define (help l) (if (null? l) 0 (+ x (help (cdr l))))) (+ 1 (help l)))\n(write (f 1 '(1 2)))");
  CHECK_FALSE(has(text, "group"));
}

TEST_CASE("procedures of one recursive binding that escape share one block") {
  bytecode::Module m = compiled(
      "(define (f k) (letrec ((a (lambda (n) (if (= n 0) b (k n)))) (b (lambda (n) (if (= n 0) a (k n))))) (list a b)))\n"
      "(write (f car))");
  REQUIRE(m.groups.size() == 1);
  CHECK(m.groups[0].functions.size() == 2);
  CHECK(m.groups[0].captures == 1);
  CHECK(complaint(m).empty());
}

TEST_CASE("procedures that capture nothing are constants") {
  CHECK(compiled("(define (f) (lambda (x) (+ x 1)))\n(write (map (f) '(1)))").groups.empty());
}

TEST_CASE("a reference that may run before its definition is checked, others are not") {
  CHECK(has(ir("(define (f) (g))\n(write (f))\n(define (g) 1)"), "check_global g"));
  CHECK_FALSE(has(ir("(define (f) (g 1))\n(define (g x) (f))\n(write (f))"), "check_global"));
  CHECK_FALSE(has(ir("(define (f) (g 1))\n(define table (list 1 2))\n(define (g x) (f))\n(write (f))"), "check_global"));
  CHECK(has(ir("(define (f) (g 1))\n(define table (list (f)))\n(define (g x) (f))\n(write (f))"), "check_global"));
}

TEST_CASE("a name that is defined twice is always read") {
  std::string text = ir("(define (f) 1)\n(define (f) 2)\n(write (f))");
  CHECK(has(text, "global f"));
  CHECK(has(text, "set_global f"));
}

TEST_CASE("operands are evaluated from left to right whatever the instruction wants") {
  std::string text = ir("(write (> (read-real) (random-real)))");
  CHECK(text.find("read-real") < text.find("random-real"));
  CHECK(has(text, "lt"));
}

TEST_CASE("instructions of an inlined library procedure carry the place of the user's call") {
  bytecode::Module m = compiled("(define (f l) (cadr l))\n(write (f '(1 2)))\n(write (map f '((1 2))))");
  for (const bytecode::Function& f : m.functions)
    if (!f.library)
      for (const bytecode::PcSpan& s : f.spans) CHECK(m.sources.at(s.span.file).name == "test.scm");
}

TEST_CASE("the intermediate text is stable") {
  CHECK(ir("(define (f x) (if (< x 1) 'low (car x)))\n(write (f 1))\n(write (map f '()))")
            .find("if lt x.0 '1\n    return 'low\n  else\n") != std::string::npos);
  std::string program = "(define (g l) (map (lambda (x) (* x x)) l))\n(write (g '(1 2)))";
  CHECK(ir(program) == ir(program));
}
