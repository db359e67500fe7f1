#!/usr/bin/env python3
"""What vmrun shows of a run: profiles, traces, chains of calls, and files past their checksum.

    observing.py --bin FOLDER
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


class Observing(ToolTest):
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

    def test_output_within_its_limit_is_whole(self):
        self.write("a.scm", '(display "12345") (display "678")')
        self.assertEqual(self.vmrun("--output-limit=8", "a.scm").output, "12345678")
        done = self.vmrun("--output-limit=7", "a.scm", code=3)
        self.assertEqual(done.output, "12345")
        self.assertIn("a.scm:1:19: error: the program may write 7 bytes and no more", done.errors)
        self.vmrun("--output-limit=x", "a.scm", code=2)

    def test_resealing_gets_a_damaged_file_past_its_checksum_and_no_further(self):
        self.write("a.scm", PROGRAM)
        self.tool("vmc", "a.scm", code=0)
        self.vmrun("--steps=100", "--save=a.capsule", "a.scm", code=75)
        for name, start in (("a.bc", 72), ("a.capsule", 24)):
            whole = self.read(name)
            self.tool("vmc", "--reseal", name, code=0)
            self.assertEqual(self.read(name), whole)
            refused = 0
            for at in range(start, len(whole), max(1, len(whole) // 120)):
                damaged = bytearray(whole)
                damaged[at] ^= 0x55
                self.write("damaged" + os.path.splitext(name)[1], bytes(damaged))
                file = "damaged" + os.path.splitext(name)[1]
                run = [file] if name == "a.bc" else [f"--resume={file}"]
                self.assertIn("checksum", self.vmrun(*run, code=2).errors)
                self.tool("vmc", "--reseal", file, "-o", "sealed" + file, code=0)
                done = self.tool("vmrun", "--steps=100000", "--memory=64MiB", *([f"sealed{file}"] if name == "a.bc" else [f"--resume=sealed{file}"]))
                self.assertIn(done.returncode, (0, 1, 2, 3, 75))
                self.assertNotIn("checksum", done.errors)
                refused += done.returncode == 2
            self.assertGreater(refused, 5)
        self.write("short.bc", b"\x89CAIRN")
        for name in ("short.bc", "a.scm", "missing.bc"):
            self.assertIn("error", self.tool("vmc", "--reseal", name, code=2).errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["observing.py", *arguments.tests])
