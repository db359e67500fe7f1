#!/usr/bin/env python3
"""What vmrun shows of a run instruction by instruction: profiles and traces.

    profiles.py --bin FOLDER
"""
import os
import re
import unittest

import driver
from driver import ToolTest

PROGRAM = """(define (twice x) (+ x x))
(define (sum i t)
  (if (= i 100) t
      (sum (+ i 1) (+ t (twice i)))))
(display (length (map (lambda (x) (* x x)) (iota 10))))
(display (sum 0 0))
"""


class Profiles(ToolTest):
    def test_a_profile_counts_every_step_and_changes_nothing(self):
        self.write("a.scm", PROGRAM)
        plain = self.vmrun("--stats", "a.scm")
        done = self.vmrun("--profile=profile.txt", "--stats", "a.scm")
        self.assertEqual(done.output, plain.output)
        steps = self.stats(plain)["steps"]
        self.assertEqual(self.stats(done)["steps"], steps)
        profile = self.read("profile.txt").decode()
        self.assertTrue(profile.startswith(f"{steps} steps, "), profile)
        tables = profile.split("\n\n")
        self.assertEqual(len(tables), 3)
        for table in tables[1:]:
            rows = [line.split(maxsplit=5) for line in table.splitlines()[1:]]
            self.assertEqual(sum(int(row[0]) for row in rows), steps)
        self.assertIn("  a.scm:4", tables[2])
        self.assertIn("map", tables[1])
        self.assertIn("steps", self.vmrun("--profile", "a.scm").errors)

    def test_a_profile_of_a_gradient_names_the_operator(self):
        self.write("a.scm", "(define (f x) (let loop ((i 0) (x x)) (if (= i 200) x (loop (+ i 1) (* x 1.01)))))\n(checkpoint-*j f 2 1)")
        self.assertIn("checkpoint-*j", self.vmrun("--profile", "--checkpoint=bisection,base=64", "a.scm").errors)

    def test_a_profile_is_written_after_an_error_and_a_stop(self):
        self.write("a.scm", "(define (f n) (f (+ n 1)))\n(f 0)")
        self.assertIn("a.scm:1", self.vmrun("--profile", "--steps=1000", "a.scm", code=75).errors)
        self.write("b.scm", "(define (f n) (if (= n 0) (car n) (f (- n 1))))\n(f 50)")
        self.assertIn("b.scm:1", self.vmrun("--profile", "b.scm", code=1).errors)
        self.vmrun("--profile=no/such/folder", "a.scm", code=2)

    def test_a_trace_has_a_line_for_each_step(self):
        self.write("a.scm", PROGRAM)
        steps = self.stats(self.vmrun("--stats", "a.scm"))["steps"]
        done = self.vmrun("--trace", "a.scm")
        self.assertEqual(done.output, "109900")
        lines = done.errors.splitlines()
        self.assertEqual(len(lines), steps)
        for number, line in enumerate(lines):
            self.assertRegex(line, rf"^{number}  \S+  .+  \w+")
        self.assertTrue(any(re.match(r"\d+  a\.scm:1:\d+  (twice|sum)  add", line) for line in lines))


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["profiles.py", *arguments.tests])
