// The exact code of small procedures: what a person would write by hand for this machine. A change that makes one of these
// longer makes programs slower.
#include "test/back/back_testing.h"

#include <doctest/doctest.h>

using back_testing::listing;

TEST_CASE("fib is seven instructions and no moves") {
  CHECK(listing("(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(fib 5)", "fib") ==
        "0 jump_not_lt_i r0, 2, -> 2\n"
        "1 ret r0!\n"
        "2: add_i r1, r0, -1\n"
        "3 call_1 r1, #1:fib, r1!\n"
        "4 add_i r0, r0!, -2\n"
        "5 call_1 r0, #1:fib, r0!\n"
        "6 add r0, r1!, r0!\n"
        "7 ret r0!\n");
}

TEST_CASE("a named let is a loop in its frame that repeats its test at the bottom") {
  CHECK(listing("(define (count n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s i)))))\n(write (map count '(1)))",
                "count") == "0 integer r1, 0\n"
                            "1 integer r2, 0\n"
                            "2 jump_not_eq r1, r0, -> 4\n"
                            "3: ret_drop_2 r2!, r0!, r1!\n"
                            "4: add r2, r2!, r1\n"
                            "5 add_i r1, r1!, 1\n"
                            "6 jump_not_eq r1, r0, -> 4\n"
                            "7 jump -> 3\n");
}

TEST_CASE("a self tail call is a jump and updates parameters in place") {
  CHECK(listing("(define (down n acc) (if (= n 0) acc (down (- n 1) (* acc 2.5))))\n(down 9 1)", "down") ==
        "0 jump_not_eq_i r0, 0, -> 2\n"
        "1: ret_drop_2 r1!, r0!\n"
        "2: add_i r0, r0!, -1\n"
        "3 mul_k r1, r1!, 2.5\n"
        "4 jump_not_eq_i r0, 0, -> 2\n"
        "5 jump -> 1\n");
}

TEST_CASE("tak calls itself three times and jumps once") {
  CHECK(listing("(define (tak x y z) (if (< y x) (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y)) z))\n(tak 3 2 1)",
                "tak") == "0: jump_not_lt r1, r0, -> 13\n"
                          "1 add_i r3, r0, -1\n"
                          "2 call r3, #1:tak, (r3! r1 r2)\n"
                          "4 add_i r4, r1, -1\n"
                          "5 call r4, #1:tak, (r4! r2 r0)\n"
                          "7 add_i r2, r2!, -1\n"
                          "8 call r2, #1:tak, (r2! r0! r1!)\n"
                          "10 move r0, r3!\n"
                          "11 move r1, r4!\n"
                          "12 jump -> 0\n"
                          "13: ret_drop_2 r2!, r0!, r1!\n");
}

TEST_CASE("car and cdr of a pair that dies are one uncons, and the empty list is the one at hand") {
  CHECK(listing("(define (each f l) (if (null? l) '() (cons (f (car l)) (each f (cdr l)))))\n(each car '((1)))", "each") ==
        "0 jump_not_null r1, -> 2\n"
        "1 ret_drop_2 r1!, r0!\n"
        "2: uncons r1, r2, r1!\n"
        "3 call_value_1 r1, r0, r1!\n"
        "4 call r0, #1:each, (r0! r2!)\n"
        "6 cons r0, r1!, r0!\n"
        "7 ret r0!\n");
}

TEST_CASE("the inner loop of mandel has one move") {
  CHECK(listing("(define (escape cx cy)\n"
                "  (let loop ((x 0.0) (y 0.0) (n 0))\n"
                "    (if (= n 100) n\n"
                "        (let ((x2 (* x x)) (y2 (* y y)))\n"
                "          (if (> (+ x2 y2) 4.0) n\n"
                "              (loop (+ (- x2 y2) cx) (+ (* 2.0 (* x y)) cy) (+ n 1)))))))\n"
                "(escape 1 1)",
                "escape") == "0 constant r2, 0.0\n"
                             "1 constant r3, 0.0\n"
                             "2 integer r4, 0\n"
                             "3 jump_not_eq_i r4, 100, -> 5\n"
                             "4: ret_drop r4!\n"
                             "5: mul r5, r2, r2\n"
                             "6 mul r6, r3, r3\n"
                             "7 add r7, r5, r6\n"
                             "8 jump_not_gt_k r7!, 4.0, -> 10\n"
                             "9 ret_drop r4!\n"
                             "10: sub r5, r5!, r6!\n"
                             "11 add r5, r5!, r0\n"
                             "12 mul r2, r2!, r3!\n"
                             "13 mul_k r2, r2!, 2.0\n"
                             "14 add r3, r2!, r1\n"
                             "15 add_i r4, r4!, 1\n"
                             "16 move r2, r5!\n"
                             "17 jump_not_eq_i r4, 100, -> 5\n"
                             "18 jump -> 4\n");
}

TEST_CASE("an update that cannot fail waits until the old value is not needed") {
  CHECK(
      listing(
          "(define (row cy) (let loop ((i 0) (cx -2.0) (acc 0)) (if (= i 400) acc (loop (+ i 1) (+ cx 0.5) (+ acc (cy cx))))))\n"
          "(write (map row '(1)))",
          "row") == "0 integer r1, 0\n"
                    "1 constant r2, -2.0\n"
                    "2 integer r3, 0\n"
                    "3 jump_not_eq_i r1, 400, -> 5\n"
                    "4: ret_drop r3!\n"
                    "5: add_i r1, r1!, 1\n"
                    "6 call_value_1 r4, r0, r2\n"
                    "7 add r3, r3!, r4!\n"
                    "8 add_k r2, r2!, 0.5\n"
                    "9 jump_not_eq_i r1, 400, -> 5\n"
                    "10 jump -> 4\n");
  // One that may fail does not: its error comes first.
  CHECK(listing("(define (f n x y) (if (null? n) x (f (cdr n) (+ x 1) (y x))))\n(write (map f '(1) '(2) '(3)))", "f") ==
        "0 jump_not_null r0, -> 2\n"
        "1: ret_drop_2 r1!, r0!, r2!\n"
        "2: cdr r0, r0!\n"
        "3 add_i r3, r1, 1\n"
        "4 call_value_1 r2, r2!, r1!\n"
        "5 move r1, r3!\n"
        "6 jump_not_null r0, -> 2\n"
        "7 jump -> 1\n");
}

TEST_CASE("a closure reads its captures once and moves them out of itself") {
  CHECK(listing("(define (compose f g) (define (composed x) (f (g x))) composed)\n(write (map (compose car car) '((1))))",
                "composed") == "0 capture r2, r1, 0\n"
                               "1 capture r1, r1!, 1\n"
                               "2 call_value_1 r0, r1!, r0!\n"
                               "3 tail_call_value_1 r2!, r0!\n");
}

TEST_CASE("and, or and not in a test make no boolean") {
  CHECK(listing(
            "(define (in a x b) (if (and (not (< x a)) (or (< x b) (= x b))) (car x) (cdr x)))\n(write (map in '(1) '(2) '(3)))",
            "in") == "0 jump_not_lt r1, r0!, -> 4\n"
                     "1 drop r2!\n"
                     "2: cdr r0, r1!\n"
                     "3 ret r0!\n"
                     "4: jump_not_lt r1, r2, -> 8\n"
                     "5 drop r2!\n"
                     "6: car r0, r1!\n"
                     "7 ret r0!\n"
                     "8: jump_not_eq r1, r2!, -> 2\n"
                     "9 jump -> 6\n");
}
