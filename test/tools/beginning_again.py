"""Planned gradients that turn out not to fit begin again with less to keep: the same bits, effects that happen once, and states that can be saved
and resumed before and after."""
import json
import os
import re
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
# Programs whose least budget is more than a MiB, below which auto does not plan: a chain, a stack with shortcuts whose parameters weigh most, one with
# attention, and a recurrence with many old tensors.
REFUSED = {
    "chain": """(define w (* .05 (rand '(96 96))))
(define (f x) (sumall (let loop ((i 0) (x x)) (if (= i 60) x (loop (+ i 1) (tanh (matmul x w)))))))
(define (gradient) (checkpoint-*j f (fill '(512 96) .5) 1))
""",
    "shortcuts": """(define w (build-list 12 (lambda (i) (* .05 (rand '(128 128))))))
(define (layer x w) (+ x (tanh (matmul (sin (cos x)) w))))
(define (f w) (sumall (square (fold-left layer (fill '(128 128) .5) w))))
(define (gradient) (checkpoint-*j f w 1))
""",
    "attention": """(define w (build-list 6 (lambda (i) (* .05 (rand '(64 64))))))
(define (layer x w) (let ((q (matmul x w))) (+ x (matmul (softmax (matmul q (transpose x)) -1) q))))
(define (f w) (sumall (fold-left layer (fill '(256 64) .1) w)))
(define (gradient) (checkpoint-*j f w 1))
""",
    "recurrence": """(define inputs (build-list 100 (lambda (i) (rand '(32 64)))))
(define (f w) (sumall (fold-left (lambda (h x) (tanh (+ x (matmul h w)))) (fill '(32 64) 0) inputs)))
(define (gradient) (checkpoint-*j f (* .1 (rand '(64 64))) 1))
""",
    "tangents": """(define x (randn '(500 64)))
(define (f w)
  (let loop ((i 0) (x x)) (if (= i 20) (mean (square x)) (loop (+ i 1) (cdr (j* (lambda (z) (tanh (matmul z w))) x (* .9 x)))))))
(define (gradient) (checkpoint-*j f (* .1 (randn '(64 64))) 1))
""",
    "list": """(define x (randn '(600 128)))
(define (squash z) (/ z (+ 1 (square z))))
(define (all xs) (if (null? xs) 0 (+ (mean (square (car xs))) (all (cdr xs)))))
(define (f w)
  (let loop ((i 0) (x x) (xs '()))
    (if (= i 20) (all xs) (loop (+ i 1) (+ (* .9 x) (squash (matmul x w))) (if (= 0 (remainder i 2)) (cons x xs) xs)))))
(define (gradient) (checkpoint-*j f (* .05 (randn '(128 128))) 1))
""",
}
# A gradient inside, whose sweep is swept.
INSIDE = """(define x (randn '(600 64)))
(define (f w) (let loop ((i 0) (x x)) (if (= i 32) (mean (square x)) (loop (+ i 1) (+ (* .9 x) (ReLU (matmul (* 1.01 x) w)))))))
(write (sumall (cdr (checkpoint-*j (lambda (w) (sumall (square (cdr (*j f w 1))))) (* .05 (randn '(64 64))) 1))))
"""
# The second gradient finds more that is older than it.
GROWN = """(define (f x) (write-char #\\.) (sumall (let loop ((i 0) (x x)) (if (= i 200) x (loop (+ i 1) (tanh (matmul x w)))))))
(define w (rand '(64 64)))
(write (car (checkpoint-*j f (fill '(64 64) .5) 1)))
(define more (rand (list 1024 (string->number (car (command-line))))))
(write (car (checkpoint-*j f (fill '(64 64) .5) 1)))
(write (sumall more))
"""
# Trainings whose rules have run when memory is short, so that nothing can begin again: N layers of W by W numbers, a batch of B rows. RULE
# is of the program or of the library, and layers are CELL: one of products, or one that takes a gradient itself, within less memory.
TRAINING = """(import network)
(define x (randn '(B W)))
(define (dense p h) (tanh (+ (matmul h (car p)) (cdr p))))
(define (noisy h) (* h (+ 1 (* .1 (randn (size h))))))
(define (inner p h)
  (let ((g (cdr (with-memory "200KiB" (lambda () (checkpoint-*j (lambda (q) (mean (square (dense (cons q (cdr p)) (noisy h))))) (car p) 1))))))
    (+ h (* .5 (matmul h g)))))
(define (loss ps) (let go ((ps ps) (h x)) (if (null? ps) (mean (square h)) (go (cdr ps) (+ h (CELL (car ps) h))))))
(define (own leaf c state)
  (let* ((s (if (equal? state 0) (cons (zeros-like leaf) (zeros-like leaf)) state))
         (m (+ (* .9 (car s)) (* .1 c))) (v (+ (* .999 (cdr s)) (* .001 (square c)))))
    (cons (- leaf (/ (* .01 m) (+ 1e-8 (sqrt v)))) (cons m v))))
(define (train ps state n)
  (if (= n 0)
      (write-real (sumall (abs (caar ps))))
      (let (((list value ps state) (checkpoint-*j-update! loss ps 1 RULE state))) (write-real (tensor->number value)) (train ps state (- n 1)))))
(train (build-list N (lambda (i) (cons (* .2 (randn '(W W))) (* .1 (randn '(W)))))) 0 STEPS)
"""
AGAIN = "with less to keep"  # from its start, or from what it had
ON = "and it went on with less to keep"
AHEAD = "memory would have run out"
# A long recurrence with a small state beside a sequence that takes most of the memory: too many intervals for a plan.
SEQUENCE = """(define inputs (build-list 1000 (lambda (i) (rand '(32 64)))))
(define (step h x w) (let ((g (tanh (+ x (matmul h w))))) (* (sigmoid (sin g)) (tanh (+ g (cos h))))))
(define (f w) (sumall (fold-left (lambda (h x) (step h x w)) (fill '(32 64) 0) inputs)))
(write (cdr (checkpoint-*j f (* .1 (rand '(64 64))) 1)))
"""
# What comes last makes and keeps more than anything before it.
BROADER = """(define w (* .1 (rand '(32 32))))
(define (narrow x) (tanh (matmul x w)))
(define (broad x) (sumall (exp (sin (concat-tensors (list x x x x x x x x) 1)))))
(define (f x) (let loop ((i 0) (x x)) (if (= i 90) (broad x) (loop (+ i 1) (narrow x)))))
(write (cdr (checkpoint-*j f (rand '(512 32)) 1)))
"""
# Of each layer the operation in the middle takes nearly all that such a budget has beside parameters and their cotangents.
BROAD_LAYERS = """(define (layers ps x) (if (null? ps) x (layers (cdr ps) (+ x (matmul (GeLU (matmul x (caar ps))) (cdar ps))))))
(define parameters (build-list 24 (lambda (i) (cons (* .1 (randn '(32 128))) (* .05 (randn '(128 32)))))))
(define inputs (randn '(256 32)))
(define (loss ps) (mean (square (layers ps inputs))))
(define r (checkpoint-*j loss parameters 1))
(for-each (lambda (p) (write-real (sumall (abs (car p)))) (write-real (sumall (cdr p)))) (cdr r))
"""


class BeginningAgain(ToolTest):
    """checkpoint-*j, where its plan does not fit."""

    def gradients(self, memory, name="a.scm"):
        done = self.vmrun(f"--memory={memory}", "--explain=e.json", "--stats=s.json", name)
        gradients = json.loads(self.read("e.json"))["gradients"]
        for gradient in gradients:  # however often memory ran out
            self.assertEqual(gradient["replay"]["predicted"], gradient["replay"]["measured"], (memory, gradient["explanation"]))
            self.assertEqual(gradient["swept"], gradient["steps"], (memory, gradient["explanation"]))
        return done.output, gradients

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

    def test_what_is_reversed_stays_reversed(self):
        self.write("a.scm", TREE)
        least = self.least()
        explanations = [self.gradients(f"{int(least * 1.04 ** i)}KiB")[1][0]["explanation"] for i in range(40)]
        self.assertTrue(any(ON in explanation for explanation in explanations))

    def test_a_first_run_goes_on_where_a_stretch_takes_more_than_those_before_it(self):
        self.write("a.scm", BROADER)
        exact = self.vmrun("--checkpoint=tape", "--explain=e.json", "a.scm").output
        steps = json.loads(self.read("e.json"))["gradients"][0]["steps"]
        for memory in range(3000, 6500, 500):
            output, (gradient,) = self.gradients(f"{memory}KiB")
            self.assertEqual(output, exact)
            self.assertNotIn("began again", gradient["explanation"], memory)
            self.assertIn(ON, gradient["explanation"], memory)
            self.assertLessEqual(gradient["peak"]["measured"], memory << 10)
            self.assertLessEqual(abs(gradient["peak"]["predicted"] - gradient["peak"]["measured"]), memory << 4, memory)  # a 64th
            self.assertLess(gradient["executed"], 2.5 * steps)  # beginning again takes more than three times as many

    def test_just_above_the_least_budget_no_budget_fails(self):
        self.write("a.scm", BROAD_LAYERS)
        exact = self.vmrun("--checkpoint=tape", "a.scm").output
        least = None
        for memory in range(1_980_000, 2_110_000, 7_000):
            done = self.vmrun(f"--memory={memory}", "a.scm", code=None if least is None else 0)
            if done.returncode == 0:
                self.assertEqual(done.output, exact)
                least = least or memory
        self.assertIsNotNone(least)

    def test_where_planning_ends_what_is_older_counts(self):
        self.write("a.scm", SEQUENCE)
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        for memory in (9100, 9200, 9300, 9400):
            output, gradients = self.gradients(f"{memory}KiB")
            self.assertEqual(output, whole)
            self.assertNotIn(AGAIN, gradients[0]["explanation"])
            self.assertIn("steps planned, then base", gradients[0]["explanation"])
            self.assertAlmostEqual(gradients[0]["replay"]["predicted"], gradients[0]["replay"]["measured"], 6)

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

    def named(self, name, memory):
        """KiB that a refusal names."""
        errors = self.vmrun(f"--memory={memory}KiB", name, code=3).errors
        self.assertRegex(errors, r"the gradient of its [\d,]+ steps should do with --memory=\d+KiB")
        return int(re.search(r"--memory=(\d+)KiB", errors)[1])

    def test_a_refusal_names_the_least_budget_that_does(self):
        for name, program in REFUSED.items():
            with self.subTest(name):
                self.write("a.scm", program + "(write (cdr (gradient)))")
                whole = self.vmrun("--checkpoint=tape", "--stats=s.json", "a.scm").output
                least = self.least(low=1024, high=16384)
                for part in (.95, .8, .65):
                    if least * part < 1024:  # KiB; auto plans within a MiB or more
                        continue
                    named = self.named("a.scm", int(least * part))
                    self.assertEqual(self.vmrun(f"--memory={named}KiB", "a.scm").output, whole)
                    self.assertEqual(self.vmrun(f"--memory={int(named * .9)}KiB", "a.scm", code=3).returncode, 3)

    def test_tangents_in_states_are_foreseen(self):
        self.write("a.scm", REFUSED["tangents"] + "(write (cdr (gradient)))")
        for size in ("1600KiB", "3MiB", "6MiB", "12MiB"):
            self.vmrun(f"--memory={size}", "--explain=r.json", "a.scm")
            peak = json.loads(self.read("r.json"))["gradients"][0]["peak"]
            self.assertLess(peak["measured"], peak["predicted"] * 1.02)

    def test_a_refusal_in_the_sweep_of_a_gradient_inside_names_a_budget(self):
        self.write("a.scm", INSIDE)
        for size in ("5MiB", "7MiB"):
            self.assertRegex(self.vmrun(f"--memory={size}", "a.scm", code=3).errors, r"should do with --memory=\d+KiB|try --memory=\d+KiB")

    def test_what_is_known_beforehand_is_refused_before_it_runs(self):
        self.write("a.scm", GROWN)
        self.assertEqual(self.vmrun("--memory=4MiB", "a.scm", "100").output.count("."), 5)  # a point of each run, and of each number
        refused = self.vmrun("--memory=4MiB", "a.scm", "1012", code=3)
        self.assertEqual(refused.output.count("."), 2)
        self.assertIn("whatever is run again, the gradient takes", refused.errors)
        named = re.search(r"known from an earlier call, and should do with --memory=(\d+KiB)", refused.errors)
        self.vmrun(f"--memory={named[1]}", "a.scm", "1012")


# Little is left beside activations when the rule makes its states.
STATES = """(define (new) (build-list 12 (lambda (i) (list (new-linear 64 128) (new-linear 128 64)))))
(define x (* .1 (randn '(600 64))))
(define (layer p x) (+ x (linear (cadr p) (tanh (linear (car p) x)))))
(define (loss ps) (mean (square (stacked layer ps x))))
(define rule (adam .01))
(define (train ps state n)
  (if (> n 0)
      (let (((list value ps state) (UPDATE loss ps 1 rule state)))
        (write value) (newline) (train ps state (- n 1)))))
(let* ((ps (new)) (state ARGUMENT)) (train ps state 2))
"""


# Many small leaves, and most of the memory where what reads the first of them is swept: by then all states are there.
SMALL_STATES = """(define x (fill '(4096 16) .1))
(define (first w) (mean (tanh (sin (* (tanh (sin (* x w))) w))) 0))
(define (loss ps) (sumall (fold-left * (first (car ps)) (cdr ps))))
(define (rule leaf cotangent state) (cons leaf state))
(write (car (checkpoint-*j-update! loss (build-list 400 (lambda (i) (rand '(16)))) 1 rule STATE)))
"""


class FirstStates(ToolTest):
    """Nothing begins again once a rule has run, so the first plan must leave room for what it makes of the state 0."""

    def test_a_training_begins_wherever_one_goes_on(self):
        for update in ("checkpoint-*j-update", "checkpoint-*j-update!"):
            for name, state in (("begins.scm", "0"), ("goes on.scm", "(rule-state rule ps)")):
                self.write(name, STATES.replace("UPDATE", update).replace("ARGUMENT", state))
            went = 0
            for memory in range(4600, 5800, 50 if update[-1] == "e" else 100):
                goes_on = self.vmrun(f"--memory={memory}KiB", "goes on.scm", code=None)
                self.assertIn(goes_on.returncode, (0, 3))
                if goes_on.returncode == 0:
                    went += 1
                    self.assertEqual(self.vmrun(f"--memory={memory}KiB", "begins.scm").output, goes_on.output, (update, memory))
            self.assertGreater(went, 8)

    def test_budgets_are_monotone(self):
        """Once rules have run, what is known not to fit is not tried: so no budget above one that does fails."""
        self.write("a.scm", SMALL_STATES.replace("STATE", "0"))
        whole = self.vmrun("--checkpoint=tape", "a.scm").output
        works, ahead = False, []
        for memory in range(1880, 2480, 6):
            done = self.vmrun(f"--memory={memory}KiB", "--explain=e.json", "a.scm", code=None if not works else 0)
            self.assertIn(done.returncode, (0, 3), memory)
            if done.returncode != 0:
                continue
            works = True
            self.assertEqual(done.output, whole, memory)
            (gradient,) = json.loads(self.read("e.json"))["gradients"]
            self.assertLessEqual(gradient["peak"]["measured"], memory << 10)
            if AHEAD in gradient["explanation"]:
                ahead.append(memory)
        self.assertGreater(len(ahead), 3)
        memory = f"{ahead[-1]}KiB"
        self.vmrun(f"--memory={memory}", "--stats=s.json", "a.scm")
        steps, saved = json.loads(self.read("s.json"))["steps"], 0
        for i in range(1, 24):
            begun = self.vmrun(f"--memory={memory}", f"--steps={steps * i // 24}", "--save=a.capsule", "a.scm", code=None)
            if begun.returncode == 3:  # saving takes memory too
                continue
            self.assertEqual(begun.returncode, 75)
            saved += 1
            self.assertEqual(begun.output + self.vmrun(f"--memory={memory}", "--resume=a.capsule").output, whole, i)
        self.assertGreater(saved, 3)

    def test_whatever_is_above_a_budget_that_does_does_for_trainings_too(self):
        """What was planned, what is not planned as the budget is small, and what has gradients inside: each had budgets that failed above others that
        did, or a gradient that tried the same again and again."""
        for cell, rule, layers, width, rows, steps, budgets in (
                ("dense", "own", 10, 64, 64, 3, range(800, 1000, 8)),
                ("dense", "own", 20, 32, 256, 2, range(704, 1000, 16)),
                ("dense", "own", 40, 64, 128, 2, range(2460, 2530, 15)),
                ("dense", "(adam .003)", 60, 64, 64, 2, range(3340, 3420, 16)),
                ("inner", "own", 12, 48, 96, 2, range(2000, 2400, 32))):
            program = TRAINING
            for name, value in (("CELL", cell), ("RULE", rule), ("N ", f"{layers} "), ("W", width), ("(B ", f"({rows} "), ("STEPS", steps)):
                program = program.replace(name, str(value))
            self.write("a.scm", program)
            whole = self.vmrun("a.scm").output
            for memory in budgets:
                with self.subTest(cell=cell, layers=layers, memory=memory):
                    self.assertEqual(self.vmrun(f"--memory={memory}KiB", "a.scm").output, whole)

    def test_what_stands_beside_small_tensors_of_states_is_foreseen(self):
        peaks = []
        for state in ("0", "'()"):
            self.write("a.scm", SMALL_STATES.replace("STATE", state))
            self.vmrun("--memory=2500KiB", "--explain=e.json", "a.scm")
            (gradient,) = json.loads(self.read("e.json"))["gradients"]
            self.assertEqual((gradient["steps"], gradient["executed"]), (4806, 4816))
            peaks.append(gradient["peak"]["predicted"])
        elements, beside, tensor, pair = 16 * 4, 256, 192, 32
        self.assertEqual(peaks[0] - peaks[1], 400 * 2 * (elements + beside + tensor + pair))


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["beginning_again.py", *arguments.tests])
