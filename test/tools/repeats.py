"""Gradients that come again are planned from what the call before has shown: the same bits, in fewer steps, from any saved state, and whatever
the next call turns out to be."""
import json
import os
import unittest

import driver
from driver import ToolTest

LAYERS = """(define (layer x w) (tanh (matmul x w)))
(define (deep n) (lambda (p) (let loop ((i 0) (x (car p))) (if (= i n) (sumall x) (loop (+ i 1) (layer x (cdr p)))))))
(define p (cons (rand '(96 32)) (* .2 (randn '(32 32)))))
"""
# Adam's state is older than the run from the second step on.
TRAINING = LAYERS + """(define (train p state n)
  (if (> n 0)
      (let (((list value p state) ({} (deep 80) p 1 (adam .01) state)))
        (write value) (newline) (train p state (- n 1)))))
(train (cons (rand '(96 32)) (* .2 (randn '(32 32)))) 0 5)
"""
LENGTHS = LAYERS + """(define (each lengths)
  (if (pair? lengths)
      (begin (write (checkpoint-*j (deep (car lengths)) p 1)) (newline) (each (cdr lengths)))))
(each '({}))
"""
MEMORY = "--memory=1200KiB"
KNOWN = "known from an earlier run"


class Repeats(ToolTest):
    """checkpoint-*j, called again."""

    def gradients(self, *options, name="a.scm"):
        done = self.vmrun(*options, "--explain=e.json", "--stats=s.json", name)
        return done.output, json.loads(self.read("e.json"))["gradients"]

    def test_steps_of_training(self):
        for update in ("checkpoint-*j-update", "checkpoint-*j-update!"):
            for memory in (MEMORY, "--memory=1800KiB", "--memory=8MiB"):
                with self.subTest(update=update, memory=memory):
                    self.write("a.scm", TRAINING.format(update))
                    whole = self.vmrun("--checkpoint=tape", "a.scm").output
                    output, (first, second, third) = self.gradients(memory)
                    self.assertEqual(output, whole)
                    self.assertNotIn(KNOWN, first["explanation"])
                    for known in (second, third):
                        self.assertIn(KNOWN, known["explanation"])
                        self.assertLessEqual(known["executed"], first["executed"])
                        self.assertEqual(known["replay"]["measured"], known["replay"]["predicted"])
                        self.assertLessEqual(known["states_kept"], first["states_kept"])
                    if memory == MEMORY:
                        self.assertLess(third["executed"], first["executed"])
                    if memory == "--memory=8MiB":
                        self.assertEqual((third["executed"], third["states_kept"]), (third["steps"], 0))

    def test_what_took_a_second_beginning_is_remembered(self):
        """Also where single intervals take much of a small budget, and a profile has a hundred of them."""
        self.write("a.scm", """(define (f w) (let loop ((i 0) (x (fill '(256 128) .1)))
  (if (= i 150) (mean (square x)) (loop (+ i 1) (tanh (+ x (* .05 (matmul x w))))))))
(define (go n w) (if (> n 0) (let ((r (checkpoint-*j f w 1))) (write-real (tensor->number (car r))) (go (- n 1) (- w (* .1 (cdr r)))))))
(go 3 (* .05 (randn '(128 128))))""")
        whole = self.vmrun("a.scm").output
        output, (first, *known) = self.gradients("--memory=1600KiB")
        self.assertEqual(output, whole)
        self.assertIn("began again", first["explanation"])
        self.assertGreater(len(first["profile"]), 96)
        for gradient in known:
            self.assertNotIn("again", gradient["explanation"])
            self.assertLess(gradient["executed"], first["executed"])

    def test_calls_of_other_lengths(self):
        for lengths, known in (("80 80 80", [False, True, True]), ("80 100 100", [False, False, False]), ("100 80 80", [False, False, False]),
                               ("80 80 70", [False, True, False])):
            with self.subTest(lengths=lengths):
                self.write("a.scm", LENGTHS.format(lengths))
                output, gradients = self.gradients(MEMORY)
                self.assertEqual(output, self.vmrun("--checkpoint=tape", "a.scm").output)
                self.assertEqual([KNOWN in g["explanation"] for g in gradients], known)

    def test_lengths_that_go_on_changing_are_soon_no_longer_foreseen(self):
        def steps(lengths):
            self.write("a.scm", LENGTHS.format(lengths))
            self.vmrun(MEMORY, "--stats=s.json", "a.scm")
            return json.loads(self.read("s.json"))["gradient_steps_executed"]
        alone = {n: steps(n) for n in (80, 90)}
        together = steps(" ".join(["80 90"] * 6))
        self.assertLess(together, 6 * (alone[80] + alone[90]) + 3 * alone[90])

    def test_operands_of_other_shapes_are_other_calls(self):
        self.write("a.scm", LAYERS + """(define (go x) (write (car (checkpoint-*j (deep 80) (cons x (cdr p)) 1))) (newline))
(define (loop i) (if (< i 6) (begin (go (rand (list (if (= (modulo i 3) 2) 48 96) 32))) (loop (+ i 1)))))
(loop 0)
""")
        output, _ = self.gradients(MEMORY)
        self.assertEqual(output, self.vmrun("--checkpoint=tape", "a.scm").output)

    def test_saved_and_resumed_at_any_step(self):
        memory = "--memory=1280KiB"  # saving takes some of it, too, and plans take what there is
        for program in (TRAINING.format("checkpoint-*j-update"), LENGTHS.format("80 80 90 80 80 80")):
            self.write("a.scm", program)
            whole = self.vmrun(memory, "--stats=s.json", "a.scm").output
            steps = json.loads(self.read("s.json"))["steps"]
            for i in range(1, 25):
                begun = self.vmrun(memory, f"--steps={steps * i // 25}", "--save=a.capsule", "a.scm", code=75)
                rest = self.vmrun(memory, "--resume=a.capsule", "--stats=r.json")
                self.assertEqual(begun.output + rest.output, whole, i)
                self.assertEqual(json.loads(self.read("r.json"))["steps"], steps, i)

    def test_parts_of_tensors_weigh_the_same_once_saved(self):
        self.write("a.scm", """(define-derivative (rule x) (value (tanh x)) (reverse (y c) (list (* c (- 1 (* y y))))))
(define w (* .15 (randn '(128 128))))
(define (f w) (let loop ((i 0) (x (fill '(8 128) .3))) (if (= i 40) (sumall x) (loop (+ i 1)
  (rule (matmul (concat-tensors (list (index x '(0 4) #t) (index x '(4 #f) #t)) 0) w))))))
(write-real (sumall (gradient f w)))
""")
        whole = self.vmrun("--memory=5MiB", "--stats=s.json", "a.scm").output
        self.vmrun("--memory=5MiB", "--steps=3000", "--save=a.capsule", "a.scm", code=75)
        self.assertEqual(self.vmrun("--memory=5MiB", "--resume=a.capsule", "--stats=r.json").output, whole)
        self.assertEqual(json.loads(self.read("r.json"))["steps"], json.loads(self.read("s.json"))["steps"])

    def test_what_a_capsule_of_the_language_runs_takes_the_same_steps_each_time(self):
        self.write("a.scm", LAYERS + """(define (go x) (car (checkpoint-*j (deep 80) (cons x (cdr p)) 1)))
(define (loop i) (if (< i 4) (begin (write (primops go (car p))) (newline) (loop (+ i 1)))))
(loop 0)
""")
        self.assertEqual(len(set(self.vmrun(MEMORY, "a.scm").output.split())), 1)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["repeats.py", *arguments.tests])
