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
