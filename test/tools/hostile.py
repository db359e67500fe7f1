#!/usr/bin/env python3
"""Programs that mean harm end in a clean error: one message, the documented exit code, within their budgets of memory, output and steps.

    hostile.py --bin FOLDER
"""
import os
import unittest

import driver
from driver import ToolTest


class Hostile(ToolTest):
    """Each with 32 MiB, 64 KiB of output and a number of steps that a machine makes in seconds."""

    LIMITS = ("--memory=32MiB", "--output-limit=64KiB", "--steps=20000000")

    def ends(self, text, code, message="", limits=LIMITS):
        self.write("hostile.scm", text)
        done = self.tool("vmrun", *limits, "hostile.scm", code=code)
        self.assertIn(message, done.errors)
        self.assertLess(len(done.errors), 4000, "a message is short")
        self.assertLessEqual(len(done.output), 65536)

    def test_lists_without_end(self):
        self.ends("(let loop ((l '())) (loop (cons l l)))", 3, "memory budget")

    def test_recursion_without_end(self):
        self.ends("(define (f n) (+ 1 (f (+ n 1))))\n(f 0)", 3, "hostile.scm:1:20: error: memory budget")

    def test_closures_without_end(self):
        self.ends("(let loop ((f (lambda (x) x))) (loop (lambda (x) (f (f x)))))", 3, "memory budget")

    def test_strings_that_double(self):
        self.ends('(let loop ((s "ab")) (loop (string-append s s)))', 3, "memory")

    def test_vectors_larger_than_any_memory(self):
        for length in ("1000000000", "100000000000000", "1e300", "-1"):
            self.ends(f"(make-vector {length} 0)", 3 if length[0] == "1" and "e" not in length else 1)

    def test_capsules_without_end(self):
        self.ends("(define (spin n) (spin (+ n 1)))\n(let loop ((l '())) (loop (cons (interrupt spin 0 50) l)))", 3, "memory budget")

    def test_gradients_without_end(self):
        self.ends("(define (f x) (let loop ((i 0) (x x)) (loop (+ i 1) (* x 1.0001))))\n(*j f 1.5 1)", 3, "memory budget")
        self.ends("(define (f x) (let loop ((i 0) (x x)) (loop (+ i 1) (* x 1.0001))))\n(checkpoint-*j f 1.5 1)", 75)

    def test_output_without_end(self):
        self.ends('(let loop () (display "more and more ") (loop))', 3, "may write 65536 bytes and no more")

    def test_a_small_value_with_a_huge_text(self):
        shared = "(define big (let loop ((i 0) (l 'x)) (if (= i 60) l (loop (+ i 1) (cons l l)))))\n"
        self.ends(shared + "(display big)", 3, "may write")
        self.ends(shared + "(car (vector big))", 1, "...")
        self.ends(shared + "(error \"bad:\" big)", 1, "...")
        self.ends(shared.replace("define big", "define (make)") + "(equal? (make) (make))", 75)
        self.ends(shared + "(*j (lambda (x) x) big 1)", 3)

    def test_loops_without_end(self):
        self.ends("(let loop () (loop))", 75)
        self.ends("(interrupt (lambda (x) (let loop () (loop))) 0 1e300)", 75)

    def test_sources_that_nest_without_end(self):
        for text in ("'" * 200000 + "x", "(" * 500000, "(" * 300000 + ")" * 300000, "#(" * 100000 + ")" * 100000, "`" * 100000 + "x",
                     "#|" * 300000, "(lambda (x) " * 100000 + "x" + ")" * 100000, "#;" * 100000 + "x y"):
            self.write("deep.scm", text)
            done = self.tool("vmrun", *self.LIMITS, "deep.scm")
            self.assertIn(done.returncode, (0, 1, 2, 3), text[:20])
            self.assertLess(len(done.errors), 4000)

    def test_names_and_texts_of_megabytes(self):
        name = "s" * 3_000_000
        self.ends(f"(define {name} 1) (display (+ {name} 1))", 0)
        self.ends(f"(display (string-length (symbol->string '{name})))", 0)
        self.ends(f"(car '{name})", 1, "...")
        self.ends(f"(define ({name} x) (+ 1 (car x))) ({name} 1)", 1)
        self.ends(f"({name})", 2, "unbound")
        self.ends("(display " + "9" * 2_000_000 + ")", 0)

    def test_a_budget_of_one_byte(self):
        self.ends("(cons 1 2)", 3, "memory budget", limits=("--memory=1",))


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["hostile.py", *arguments.tests])
