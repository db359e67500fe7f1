#!/usr/bin/env python3
"""Places and chains of calls are those of the program as it was written, however much of it the compiler copies into one another.

    chains.py --bin FOLDER
"""
import os
import unittest

import driver
from driver import ToolTest

HALF = """(define (half x) (/ (car x) 2))
(define (area p) (* 3 (half p)))
(define (total ps) (+ 1 (area ps)))
(display (total 5))
"""

CASES = {
    "helpers": (HALF, "a.scm:1:21: error: car: expected a pair, got 5",
                ["half at a.scm:1:21", "area at a.scm:2:23", "total at a.scm:3:25", "the top level at a.scm:4:10"]),
    "a procedure of the library in a helper":
        ("(define (third l) (+ 0 (list-ref l 2)))\n(define (sum l) (+ 1 (third l)))\n(display (sum '(1 2)))\n",
         "a.scm:1:24: error: list-ref: ",
         ["third at a.scm:1:24", "sum at a.scm:2:22", "the top level at a.scm:3:10"]),
    "a local procedure":
        ("(define (f x)\n  (let ((g (lambda (y) (+ 1 (car y)))))\n    (+ 2 (g x))))\n(display (f 5))\n",
         "a.scm:2:29: error: car: expected a pair, got 5",
         ["g at a.scm:2:29", "f at a.scm:3:10", "the top level at a.scm:4:10"]),
    "a procedure as an operand":
        ("(define (thrice f x) (* 3 (f x)))\n(define (start x) (+ 1 (thrice (lambda (y) (+ 1 (car y))) x)))\n(display (start 5))\n",
         "a.scm:2:49: error: car: expected a pair, got 5",
         ["a procedure at a.scm:2:49", "thrice at a.scm:1:27", "start at a.scm:2:24", "the top level at a.scm:3:10"]),
    "a helper in a loop":
        ("(define (look v i) (+ 0 (vector-ref v i)))\n"
         "(define (sum v) (+ 0 (let loop ((i 0) (t 0)) (if (= i 4) t (loop (+ i 1) (+ t (look v i)))))))\n(display (sum (vector 1 2)))\n",
         "a.scm:1:25: error: vector-ref: ",
         ["look at a.scm:1:25", None, "the top level at a.scm:3:10"]),
    "the same helper twice in one expression":
        ("(define (half x) (/ (car x) 2))\n(define (both a b)\n  (+ (half a)\n     (half b)))\n(display (both '(1) 2))\n",
         "a.scm:1:21: error: car: expected a pair, got 2",
         ["half at a.scm:1:21", "both at a.scm:4:6", "the top level at a.scm:5:10"]),
    "a pattern of a helper":
        ("(define (swap (list a b)) (list b a))\n(define (turn p) (cons 0 (swap p)))\n(display (turn '(1 2 3)))\n",
         "a.scm:1:15: error: no pattern matches (3); are there more elements than the pattern has names?",
         ["swap at a.scm:1:15", "turn at a.scm:2:26", "the top level at a.scm:3:10"]),
}


class Chains(ToolTest):
    def errors(self, source, level, *options):
        self.write("a.scm", source)
        self.tool("vmc", "-w", "-O", level, *options, "a.scm", code=0)
        return self.vmrun("a.bc", code=1).errors

    def test_the_chain_is_the_same_at_every_level(self):
        for name, (source, message, chain) in CASES.items():
            for level in 0, 1, 2:
                with self.subTest(name, level=level):
                    lines = self.errors(source, level).splitlines()
                    self.assertTrue(lines[0].startswith(message), lines[0])
                    line, column = map(int, lines[0].split(":")[1:3])
                    self.assertEqual(lines[1].strip(), source.splitlines()[line - 1].strip())
                    self.assertEqual(lines[2].index("^") - lines[1].index(lines[1].strip()[0]),
                                     column - 1 - (len(source.splitlines()[line - 1]) - len(source.splitlines()[line - 1].lstrip())))
                    said = [text.strip().removeprefix("in ") for text in lines[3:] if "left by tail calls" not in text]
                    if None in chain:  # a loop is a procedure of its own, or part of the one around it
                        said[1:-1] = [None]
                    self.assertEqual(said, chain)

    def test_a_stripped_module_names_procedures_only(self):
        errors = self.errors(HALF, 2, "--strip")
        self.assertIn("error: car: expected a pair, got 5", errors)
        self.assertNotIn(":1:", errors)
        self.assertLess(len(self.read("a.bc")), 2000)

    def test_many_procedures_copied_into_one_another_leave_some_out(self):
        count = 60
        program = "(define (f0 x) (+ 1 (car x)))\n" + "".join(
            f"(define (f{i} x) (+ 1 (f{i - 1} x)))\n" for i in range(1, count)) + f"(display (f{count - 1} 5))\n"
        for level in 0, 1, 2:
            lines = self.errors(program, level).splitlines()
            self.assertEqual(lines[0], "a.scm:1:21: error: car: expected a pair, got 5")
            self.assertEqual([text.strip() for text in lines[3:6]], ["in f0 at a.scm:1:21", "in f1 at a.scm:2:21", "in f2 at a.scm:3:21"])

    def test_an_error_in_a_gradient_names_helpers(self):
        self.write("a.scm", "(define (half x) (/ (car x) 2))\n(define (f x) (* x (half 5)))\n(display (gradient f 2.))\n")
        errors = self.vmrun("a.scm", code=1).errors
        self.assertTrue(errors.startswith("a.scm:1:21: error: car: expected a pair, got 5"), errors)
        self.assertIn("in half at a.scm:1:21\n  in f at a.scm:2:20\n", errors)

    def test_profile_trace_and_listing_name_the_procedure_that_was_copied(self):
        self.write("a.scm", HALF.replace("5)", "'(5))"))
        self.tool("vmc", "a.scm", code=0)
        self.assertIn("; a.scm:1: in half: (define (half x)", self.tool("vmdis", "a.bc", code=0).output)
        self.assertRegex(self.vmrun("--trace", "a.bc").errors, r"a\.scm:1:18  half  div_k")
        procedures = self.vmrun("--profile", "a.bc").errors.split("\n\n")[1]
        for name in "half", "area", "total":
            self.assertRegex(procedures, rf"(?m)  {name}$")

    def test_the_holders_of_memory_are_named_by_the_helper_that_made_them(self):
        self.write("a.scm", "(define (big n) (fill (list n) 1))\n(define (grow l n) (if (= n 0) l (grow (cons (+ 0 (big 100000)) l) (- n 1))))\n"
                            "(display (length (grow '() 1000)))\n")
        errors = self.vmrun("--memory=20MB", "a.scm", code=3).errors
        self.assertRegex(errors, r"tensors made by (big at a\.scm:1:17|grow at a\.scm:2:46)")

    def test_the_chain_of_calls_says_where_tail_calls_left_a_gap(self):
        self.write("a.scm", "(define (boom x) (car x))\n"
                            "(define (hop n x) (if (= n 0) (boom x) (hop (- n 1) x)))\n"
                            "(define (start x) (+ 1 (hop (vector-length x) 5)))\n"
                            "(define (list-boom l) (map start l))\n"
                            "(display (list-boom (list (vector 1 2 3))))\n")
        plain = self.tool("vmc", "-O", "1", "a.scm", code=0)
        self.assertEqual(plain.errors, "")
        errors = self.vmrun("a.bc", code=1).errors
        self.assertIn("a.scm:1:18: error: car: expected a pair, got 5", errors)
        chain = [line.strip() for line in errors.splitlines()[3:]]
        self.assertTrue(chain[0].startswith("in boom at a.scm:1:"), errors)
        self.assertEqual(chain[1], "... hop, left by tail calls")
        self.assertTrue(chain[2].startswith("in start at a.scm:3:"), errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["chains.py", *arguments.tests])
