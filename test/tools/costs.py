"""--costs and --calibrate: tables of costs come from measuring or from files, change plans alone, and stay with a run."""
import json
import os
import re
import unittest

import driver
from driver import ToolTest

RATES = ("step", "record", "operation", "taped", "product", "flop", "byte", "fresh", "spill", "encode", "lossy", "lossy_small")
# Products of matrices of 32 by 32 and sums of 200 numbers by turns: what is run again depends on which of them is said to be dear.
MIXED = """(define w (rand '(32 32)))
(define (sums x n) (if (= n 0) x (sums (+ x (* 1e-3 (sin x))) (- n 1))))
(define (layer x n) (if (= 0 (remainder n 5)) (sums x 8) (tanh (matmul x w))))
(define (f x) (let loop ((i 0) (x x)) (if (= i 300) (sumall x) (loop (+ i 1) (layer x i)))))
(write (checkpoint-*j f (rand '(32 32)) 1))
"""
MEMORY = "--memory=2MiB"


class Costs(ToolTest):
    """Tables of costs."""

    def table(self, text):
        found = dict(re.findall(r"^(\w+) +([\d.e+-]+) +# .+$", text, re.MULTILINE))
        self.assertEqual(tuple(found), RATES)
        return {name: float(rate) for name, rate in found.items()}

    def test_what_was_measured_is_a_table(self):
        done = self.vmrun("--calibrate")
        self.assertGreater(self.table(done.output)["step"], 0)
        self.assertEqual(self.table(done.output)["spill"], 1, "nobody said where")
        self.vmrun("--calibrate=here.costs", "--spill=.")
        encode = [self.table(text)["encode"] for text in (done.output, self.read("here.costs").decode())]
        self.assertNotEqual(encode, [5, 5], "the built-in rate")
        self.assertTrue(all(.1 < rate < 200 for rate in encode), encode)
        self.assertGreater(self.table(self.read("here.costs").decode())["spill"], 0)
        self.assertIn("--spill: none: cannot be written", self.vmrun("--calibrate", "--spill=none", code=2).errors)
        self.assertGreater(self.table(self.read("here.costs").decode())["step"], 0)
        self.write("a.scm", MIXED)
        self.assertEqual(self.vmrun("--costs=here.costs", MEMORY, "a.scm").output, self.vmrun("--checkpoint=tape", "a.scm").output)

    def test_a_table_changes_what_is_run_again_and_nothing_else(self):
        self.write("a.scm", MIXED)
        self.write("steps.costs", "step 1000\noperation 0\nproduct 0\nflop 0\nbyte 0\n")
        self.write("products.costs", "step .1\noperation 0\nproduct 1000\nflop 0\nbyte 0\n")
        runs = {name: self.vmrun(f"--costs={name}.costs", MEMORY, "--stats", "a.scm") for name in ("steps", "products")}
        self.assertEqual(runs["steps"].output, runs["products"].output)
        steps, products = (self.stats(runs[name])["gradient_steps_executed"] for name in ("steps", "products"))
        self.assertLess(steps, products)

    def test_the_sweep_of_a_product_takes_as_much_for_each_operand_with_a_cotangent(self):
        layers = """(define w (rand '(32 32)))
(define ((layers w) x) (let loop ((i 0) (x x)) (if (= i 400) (sumall x) (loop (+ i 1) (matmul x w)))))
(define (both (cons w x)) ((layers w) x))
(write (cons checkpoint-*j 1))
"""
        self.write("products.costs", "step 0\noperation 0\ntaped 0\nproduct 1\nflop 0\nbyte 0\nfresh 0\n")
        seconds = {}
        for name, gradient in (("one", "(checkpoint-*j (layers w) (rand '(32 32)) 1)"), ("both", "(checkpoint-*j both (cons w (rand '(32 32))) 1)")):
            self.write(f"{name}.scm", layers.replace("(cons checkpoint-*j 1)", f"(car {gradient})"))
            self.vmrun("--costs=products.costs", MEMORY, f"--explain={name}.json", f"{name}.scm")
            seconds[name] = json.loads(self.read(f"{name}.json"))["gradients"][0]["seconds_of_one_tape"]
        # Of the last interval, which is short, nobody is told.
        self.assertLess(seconds["one"], .75 * seconds["both"])
        self.assertGreater(seconds["one"], .65 * seconds["both"])

    def test_a_sweep_takes_what_the_rules_of_its_operations_do(self):
        """Of flops one by one: tanh has 10 an element, and its rule 1."""
        self.write("flops.costs", "step 0\nrecord 0\noperation 0\ntaped 0\nproduct 0\nflop 1\nbyte 0\nfresh 0\n")
        self.write("a.scm", "(define (f x) (let loop ((i 0) (x x)) (if (= i 400) (sumall x) (loop (+ i 1) (tanh x)))))\n"
                            "(write (car (checkpoint-*j f (rand '(32 32)) 1)))")
        self.vmrun("--costs=flops.costs", MEMORY, "--explain=a.json", "a.scm")
        seconds = json.loads(self.read("a.json"))["gradients"][0]["seconds_of_one_tape"]
        self.assertAlmostEqual(seconds / (400 * 1024 * (10 + 1) * 1e-9), 1, delta=.02)

    def test_an_operation_on_a_tape_takes_something_by_itself(self):
        """On one tape it is there once, whether the run is planned or not, and what is foreseen is what the clock of reports counts."""
        self.write("taped.costs", "step 0\nrecord 0\noperation 0\ntaped 1000\nproduct 0\nflop 0\nbyte 0\nfresh 0\n")
        self.write("a.scm", "(define (f x) (let loop ((i 0) (x x)) (if (= i 400) (sumall x) (loop (+ i 1) (tanh x)))))\n"
                            "(write (car (checkpoint-*j f (rand '(32 32)) 1)))")
        for options in (["--checkpoint=tape"], ["--checkpoint=sqrt"], [MEMORY]):
            self.vmrun("--costs=taped.costs", *options, "--explain=a.json", "a.scm")
            gradient = json.loads(self.read("a.json"))["gradients"][0]
            self.assertAlmostEqual(gradient["time"] / 10, 401 * 1000, delta=4 * 1000, msg=options)  # ticks; sums of cotangents are operations, too
            self.assertAlmostEqual(gradient["seconds_of_one_tape"], 401e-6, delta=4e-6, msg=options)

    def test_a_saved_run_keeps_its_table(self):
        self.write("a.scm", MIXED)
        self.write("steps.costs", "step 1000\noperation 0\nproduct 0\nflop 0\nbyte 0\n")
        whole = self.vmrun("--costs=steps.costs", MEMORY, "--stats", "a.scm")
        for steps in (1, 1000, 3000):
            self.vmrun("--costs=steps.costs", MEMORY, f"--steps={steps}", "--save=a.capsule", "a.scm", code=75)
            resumed = self.vmrun("--resume=a.capsule", MEMORY, "--stats")
            self.assertEqual(resumed.output, whole.output)
            for count in ("steps", "gradient_steps_executed"):
                self.assertEqual(self.stats(resumed)[count], self.stats(whole)[count], (steps, count))
        done = self.vmrun("--costs=steps.costs", "--resume=a.capsule", code=2)
        self.assertIn("--costs is part of the saved state and cannot be given with --resume", done.errors)

    def test_bad_tables(self):
        self.write("a.scm", "(write 1)\n")
        self.write("bad.costs", "# mine\nspeed 3\n")
        self.assertIn("--costs: line 2: no rate is called 'speed'; there are step,", self.vmrun("--costs=bad.costs", "a.scm", code=2).errors)
        self.assertIn("--costs: missing.costs: cannot be read: ", self.vmrun("--costs=missing.costs", "a.scm", code=2).errors)
        self.write("long.costs", "#" * 70000)
        for name, said in (("long.costs", "is longer than 65536 bytes"), ("/dev/zero", "is no text"), (".", "cannot be read")):
            self.assertIn(f"--costs: {name}: {said}", self.vmrun(f"--costs={name}", "a.scm", code=2).errors)
        self.write("zeros.costs", "step 1\0\n")
        self.assertIn("zeros.costs: is no text", self.vmrun("--costs=zeros.costs", "a.scm", code=2).errors)

    def test_calibrating_stands_alone(self):
        self.write("a.scm", "(write 1)\n")
        for others in (("a.scm",), ("--memory=1MiB",), ("--seed=1",)):
            self.assertIn("--calibrate stands alone, but for --spill", self.vmrun("--calibrate", *others, code=2).errors)
        self.assertIn("here/there", self.vmrun("--calibrate=here/there", code=2).errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["costs.py", *arguments.tests])
