"""Planned gradients that turn out not to fit begin again with less to keep: the same bits, effects that happen once, and states that can be saved
and resumed before and after."""
import json
import os
import unittest

import driver
from driver import ToolTest

# A tree of layers, large old tensors beside it, output and random numbers on the way.
TREE = """(define w (rand '(64 64)))
(define (tree x d)
  (if (= d 0)
      (tanh (matmul (+ x (* .01 (randn '(16 64)))) w))
      (begin (if (= d 5) (write-char #\\.)) (+ (tree (sin x) (- d 1)) (tree (matmul (cos x) w) (- d 1))))))
(define (f x) (sumall (tree x 6)))
(write (checkpoint-*j f (fill '(16 64) .5) 1))
"""
# Adam's state is as large as all that runs; in the second step it is older than the run.
STEPS = """(define (f p) (let loop ((i 0) (x (car p))) (if (= i 60) (sumall x) (loop (+ i 1) (tanh (matmul x (cdr p)))))))
(define (train p state n)
  (if (= n 0) p (let (((list value p state) ({} f p 1 (adam .01) state))) (write value) (newline) (train p state (- n 1)))))
(write (train (cons (fill '(16 48) .5) (rand '(48 48))) 0 3))
"""
AGAIN = "memory had run out, and it began again"


class BeginningAgain(ToolTest):
    """checkpoint-*j, where its plan does not fit."""

    def gradients(self, memory, name="a.scm"):
        done = self.vmrun(f"--memory={memory}", "--explain=e.json", "--stats=s.json", name)
        return done.output, json.loads(self.read("e.json"))["gradients"]

    def least(self, name="a.scm", low=64, high=4096):
        """KiB that do, to 3 percent, if everything above does."""
        while high > low * 1.03:
            middle = int((low * high) ** .5)
            if self.vmrun(f"--memory={middle}KiB", name, code=None).returncode == 0:
                high = middle
            else:
                low = middle
        return high

    def test_whatever_is_above_a_budget_that_does_does(self):
        self.write("a.scm", TREE)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        least = self.least()
        again = 0
        for i in range(24):
            output, gradients = self.gradients(f"{int(least * 1.07 ** i)}KiB")
            self.assertEqual(output, whole)
            self.assertEqual(len(gradients), 1)
            self.assertEqual(gradients[0]["gradient"], 1)
            self.assertLessEqual(gradients[0]["peak"]["measured"], int(least * 1.07 ** i) * 1024)
            again += AGAIN in gradients[0]["explanation"]
        self.assertGreater(again, 0)

    def one_that_begins_again(self, program, name="a.scm"):
        """The program is written, and a budget found under which its gradient begins again."""
        self.write(name, program)
        least = self.least(name)
        for i in range(40, 0, -1):  # the largest, as saving takes memory too
            memory = f"{int(least * 1.04 ** i)}KiB"
            if any(AGAIN in g["explanation"] for g in self.gradients(memory, name)[1]):
                return memory
        self.fail("no gradient began again")

    def test_saved_and_resumed_at_any_step(self):
        memory = self.one_that_begins_again(TREE)
        whole = self.vmrun(f"--memory={memory}", "--stats=s.json", "a.scm").output
        steps = json.loads(self.read("s.json"))["steps"]
        saved = 0
        for i in range(1, 30):
            begun = self.vmrun(f"--memory={memory}", f"--steps={steps * i // 30}", "--save=a.capsule", "a.scm", code=None)
            if begun.returncode == 3:  # saving takes memory too
                self.assertIn("the state cannot be saved", begun.errors)
                continue
            self.assertEqual(begun.returncode, 75)
            saved += 1
            rest = self.vmrun(f"--memory={memory}", "--resume=a.capsule")
            self.assertEqual(begun.output + rest.output, whole, i)
        self.assertGreater(saved, 3)

    def test_steps_of_training(self):
        for update in ("checkpoint-*j-update", "checkpoint-*j-update!"):
            with self.subTest(update=update):
                self.write("a.scm", STEPS.replace("{}", update))
                whole = self.vmrun("--checkpoint=tape", "a.scm").output
                least = self.least()
                for i in range(12):
                    self.assertEqual(self.vmrun(f"--memory={int(least * 1.1 ** i)}KiB", "a.scm").output, whole)

    def test_under_an_outer_derivative(self):
        memory = self.one_that_begins_again(TREE)
        program = TREE.replace("(write (checkpoint-*j f (fill '(16 64) .5) 1))",
                               "(write (j* (lambda (s) (cdr (checkpoint-*j f (fill '(16 64) s) 1))) .5 1))")
        self.write("outer.scm", program)
        whole = self.vmrun("--checkpoint=tape", "outer.scm").output
        least = self.least("outer.scm", 256, 8192)
        for i in range(8):
            self.assertEqual(self.vmrun(f"--memory={int(least * 1.12 ** i)}KiB", "outer.scm").output, whole, memory)

    def test_a_schedule_that_was_asked_for_is_kept(self):
        memory = self.one_that_begins_again(TREE)
        done = self.vmrun("--checkpoint=tape", f"--memory={memory}", "a.scm", code=3)
        self.assertIn("auto, the default, plans what fits the budget", done.errors)

    def test_what_fits_nowhere_names_a_budget(self):
        self.write("a.scm", TREE)
        self.assertRegex(self.vmrun(f"--memory={self.least() // 2}KiB", "a.scm", code=3).errors, "memory budget of .* exceeded")


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["beginning_again.py", *arguments.tests])
