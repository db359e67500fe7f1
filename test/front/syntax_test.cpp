// Every form of the language becomes the core it stands for.
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

using front_testing::core;

TEST_CASE("definitions and calls") {
  CHECK(core("(define (f x) (+ x 1)) (f 2)") == "(define f (lambda (x) (+ x 1)))\n(f 2)");
  CHECK(core("(let ((x 1) (y 2)) (if (< x y) x y))") == "(let ((x 1) (y 2)) (if (< x y) x y))");
}
