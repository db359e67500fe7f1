"""Procedures with rules (define-derivative) in a gradient: to plans, known runs and files beside the memory a call of one is an operation among
others."""
import json
import os
import random
import unittest

import driver
from driver import ToolTest

GELU = """(define-derivative (gelu x)
  (value (* x (sigmoid (* 1.702 x))))
  (reverse (y c) (let ((s (sigmoid (* 1.702 x)))) (list (* c (+ s (* 1.702 x s (- 1 s))))))))
"""
LAYERS = GELU + """(define x (* .1 (randn '(128 64))))
(define (layer p x) (+ x (linear (cadr p) (gelu (linear (car p) x)))))
(define (loss ps) (mean (square (stacked layer ps x))))
(define (new n) (build-list n (lambda (i) (list (new-linear 64 256) (new-linear 256 64)))))
"""
GRADIENT = LAYERS + """(define r (checkpoint-*j loss (new 24) 1))
(write (map sumall (cons (car r) (parameters->list (cdr r)))))
"""
TRAINING = LAYERS + """(define (train ps state n)
  (if (> n 0)
      (let (((list value ps state) (checkpoint-*j-update! loss ps 1 (adam .01) state)))
        (write value) (newline) (train ps state (- n 1)))))
(train (new 24) 0 4)
"""


class Ruled(ToolTest):
    """checkpoint-*j of losses with rules."""

    def test_plans(self):
        self.write("a.scm", GRADIENT)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        before = 0
        for memory in (15, 18, 22, 40):
            with self.subTest(memory=memory):
                output, (gradient,), _ = self.gradients(f"--memory={memory}MiB")
                self.assertEqual(output, whole)
                self.assertIn("then planned within", gradient["explanation"])
                replay, peak = gradient["replay"], gradient["peak"]
                self.assertEqual(replay["predicted"], replay["measured"])
                self.assertLess(abs(peak["predicted"] / peak["measured"] - 1), .1)
                self.assertTrue(before == 0 or gradient["executed"] <= before)
                before = gradient["executed"]
        self.assertEqual(gradient["executed"], gradient["steps"])
        self.assertIn("every interval stays on tape", self.vmrun("--plan", "a.scm").output)

    def test_what_the_value_computes_is_time(self):
        self.write("a.scm", GRADIENT.replace("(value (* x", "(value (* (sumall (matmul (transpose x) (ones '(128 64)))) 0 x", 1))
        self.gradients("--memory=40MiB")
        costs = [sum(i["cost"] for i in json.loads(self.read("e.json"))["gradients"][0]["profile"])]
        self.write("a.scm", GRADIENT)
        self.gradients("--memory=40MiB")
        costs.append(sum(i["cost"] for i in json.loads(self.read("e.json"))["gradients"][0]["profile"]))
        # 24 products of 256 x 128 by 128 x 64 at .15 ticks a flop, beside the rest of these operations.
        self.assertGreater(costs[0] - costs[1], 23 * .15 * 2 * 256 * 128 * 64)

    def test_known_runs(self):
        self.write("a.scm", TRAINING)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        output, (first, second, third), _ = self.gradients("--memory=22MiB")
        self.assertEqual(output, whole)
        self.assertNotIn("known", first["explanation"])
        for known in (second, third):
            self.assertIn("known from an earlier", known["explanation"])
            self.assertEqual(known["replay"]["measured"], known["replay"]["predicted"])

    def test_a_file_beside_the_memory(self):
        self.write("a.scm", GRADIENT)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        os.mkdir(self.path("spill"))
        self.write("slow.costs", "product .5\n") # then a file is faster
        output, (gradient,), _ = self.gradients("--memory=13MiB", "--costs=slow.costs", "--spill=" + self.path("spill"))
        self.assertEqual(output, whole)
        self.assertGreater(gradient["in_file"]["predicted"], 0) # what is written at last depends on the disk
        self.assertEqual(gradient["replay"]["measured"], gradient["replay"]["predicted"])

    def test_saved_and_resumed(self):
        self.write("a.scm", TRAINING)
        self.goes_on_anywhere(20, "--memory=18MiB")


# Procedures with rules of many kinds, from a tensor [rows, 32] and a matrix to such a tensor.
KINDS = """(define-derivative (scaled x) (value (* x (sigmoid x))) (forward (y dx) (* dx (+ (sigmoid x) (* y (- 1 (sigmoid x)))))))
(define-derivative (product x w) (value (matmul x w)) (reverse (y c) (list (matmul c (transpose w)) (matmul (transpose x) c))))
(define-derivative (both x w) (value (list (tanh (matmul x w)) (mean x))) (reverse (y c) (let ((d (* (car c) (- 1 (square (car y))))))
  (list (+ (matmul d (transpose w)) (* (/ (cadr c) (* 32 (car (size x)))) (ones (size x)))) (matmul (transpose x) d)))))
(define-derivative (inside x) (value (scaled (* 1.1 x))) (reverse (y c) (list (* 1.1 (cdr (*j scaled (* 1.1 x) c))))))
(define-derivative (slope x) (value (cdr (*j (lambda (x) (sumall (tanh x))) x 1))) (reverse (y c) (list (* -2 c (tanh x) y))))
(define-derivative (cut x) (value (* x 1)) (reverse (y c) (list (max -.001 (min .001 c)))))
(define-derivative (number a b) (value (+ (* a b) (sin a))) (reverse (y c) (list (* c (+ b (cos a))) (* c a))))
(define-derivative (loop x) (value (let loop ((i 0) (y x)) (if (= i 5) y (loop (+ i 1) (* .9 (tanh y)))))) (reverse (y c) (list (* c .5))))
"""
STEPS = ["(scaled x)", "(product x w)", "(let (((list a b) (both x w))) (+ a b))", "(inside x)", "(slope x)", "(cut x)", "(* x (number (mean-of x) .5))",
         "(loop x)", "(dropout x .2)", "(tanh (matmul x w))", "(+ x (scaled (product x w)))", "(softmax x)", "(if (> (mean-of x) 0) (scaled x) (cut x))"]


def mixed(seed, update):
    """A random training or gradient of some thirty such steps."""
    r = random.Random(seed)
    steps = " ".join(f"((= k {k}) {r.choice(STEPS)})" for k in range(6))
    rows, turns = r.choice((96, 128)), r.randrange(25, 50)
    text = KINDS + f"""(define (mean-of x) (tensor->number (mean x)))
(define (step x w k) (cond {steps} (else (scaled (+ x (matmul x w))))))
(define (loss p) (let loop ((i 0) (x (car p))) (if (= i {turns}) (mean (square x)) (loop (+ i 1) (step x (list-ref (cdr p) (remainder i 3)) (remainder i 7))))))
(define (new) (cons (rand '({rows} 32)) (build-list 3 (lambda (i) (* .2 (randn '(32 32)))))))
(define (show p) (write (map sumall (parameters->list p))) (newline))
"""
    if update:
        return text + """(define (train p state n)
  (if (= n 0) (show p) (let (((list value p state) (checkpoint-*j-update! loss p 1 (adam .01) state))) (write-real value) (train p state (- n 1)))))
(train (new) 0 3)
"""
    return text + "(define r (checkpoint-*j loss (new) 1))\n(write-real (car r))\n(show (cdr r))\n"


class Mixed(ToolTest):
    """Rules of all kinds between operators, choices and random numbers: the bits are those of one tape, under plans, known, in a file, saved."""

    def test_random_programs(self):
        os.mkdir(self.path("spill"))
        self.write("slow.costs", "product 3\nflop 3\n")
        planned = 0
        for seed in range(12):
            with self.subTest(seed=seed):
                r = random.Random(1000 + seed)
                self.write("a.scm", mixed(seed, seed % 2 == 0))
                whole = self.vmrun("--checkpoint=tape", "a.scm").output
                self.assertNotIn("nan", whole)
                for memory in (f"{r.randrange(2200, 3200)}KiB", "6MiB"):
                    options = ["--memory=" + memory, "--stats=s.json", "--explain=e.json"]
                    if r.random() < .5:
                        options += ["--costs=slow.costs", "--spill=" + self.path("spill")]
                    self.assertEqual(self.vmrun(*options, "a.scm").output, whole, options)
                    planned += b"planned within" in self.read("e.json")
                    steps = json.loads(self.read("s.json"))["steps"]
                    stop = r.randrange(steps // 2) # the run without a file may be shorter
                    first = self.vmrun(*options[:1], f"--steps={stop}", "--save=c", "a.scm", code=75).output
                    self.assertEqual(first + self.vmrun(*options[:1], "--resume=c").output, whole, (memory, stop))
        self.assertGreater(planned, 8)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["ruled.py", *arguments.tests])
