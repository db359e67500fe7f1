"""checkpoint-*j of programs that take gradients of their own: to plans each of these is an operation, as long as it can be weighed."""
import os
import unittest

import driver
from driver import ToolTest

# The loss after 60 steps of gradient descent, by its rate.
TRAINED = """(define inputs (* .2 (randn '(96 48))))
(define (loss-of inputs) (lambda (w) (mean (square (- (tanh (matmul inputs w)) (sin inputs))))))
(define start (* .1 (randn '(48 48))))
(define (inner f w) (cdr (*j f w 1)))
(define (trained f w rate n) (if (= n 0) w (trained f (- w (* rate (inner f w))) rate (- n 1))))
(define (loss rate) (let ((f (loss-of inputs))) (f (trained f start rate 60))))
"""
GRADIENT = "(write (checkpoint-*j loss .5 1))\n"
TUNED = """(define (tuned rate n)
  (if (> n 0)
      (let ((r (checkpoint-*j loss rate 1)))
        (write r) (newline) (tuned (- rate (* .1 (cdr r))) (- n 1)))))
(tuned .5 4)
"""
# The gradient of the norm of a gradient.
TWICE = TRAINED.replace("(cdr (*j f w 1))", "(cdr (*j (lambda (w) (mean (square (cdr (*j f w 1))))) w 1))").replace("60", "16")


class GradientsInside(ToolTest):
    def planned(self, gradient):
        self.assertIn("then planned within", gradient["explanation"])
        replay, peak = gradient["replay"], gradient["peak"]
        self.assertEqual(replay["predicted"], replay["measured"])
        self.assertLess(abs(peak["predicted"] - peak["measured"]), 1 << 20)
        self.assertLessEqual(peak["measured"], gradient["budget"])

    def test_plans(self):
        for program, memories in ((TRAINED, (2, 3, 4, 6, 12)), (TWICE, (4, 6, 12))):
            self.write("a.scm", program + GRADIENT)
            whole = self.vmrun("--checkpoint=tape", "a.scm").output
            before = 0
            for memory in memories:
                with self.subTest(program=program, memory=memory):
                    output, (gradient,), _ = self.gradients(f"--memory={memory}MiB")
                    self.assertEqual(output, whole)
                    self.planned(gradient)
                    self.assertTrue(before == 0 or gradient["time"] <= 1.03 * before)
                    before = gradient["time"]

    def test_known_runs(self):
        self.write("a.scm", TRAINED + TUNED)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        output, (first, *rest), _ = self.gradients("--memory=3MiB")
        self.assertEqual(output, whole)
        self.assertNotIn("known", first["explanation"])
        for known in rest:
            self.assertIn("known from an earlier", known["explanation"])
            self.assertEqual(known["replay"]["measured"], known["replay"]["predicted"])

    def test_a_file_beside_the_memory(self):
        self.write("a.scm", TRAINED.replace("48", "160") + GRADIENT) # small tensors stay in memory
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        os.mkdir(self.path("spill"))
        self.write("slow.costs", "product .5\n") # then a file is faster
        output, (gradient,), _ = self.gradients("--memory=8MiB", "--costs=slow.costs", "--spill=" + self.path("spill"))
        self.assertEqual(output, whole)
        self.assertGreater(gradient["in_file"]["predicted"], 0)

    def test_saved_and_resumed(self):
        self.write("a.scm", TRAINED + TUNED)
        self.goes_on_anywhere(24, "--memory=3MiB")

    def test_a_schedule_inside_is_not_planned_around(self):
        self.write("a.scm", TRAINED.replace("(*j f w 1)", "(checkpoint-*j f w 1)") + GRADIENT)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        output, (gradient,), _ = self.gradients("--memory=6MiB")
        self.assertEqual(output, whole)
        self.assertNotIn("then planned within", gradient["explanation"])


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["gradients_inside.py", *arguments.tests])
