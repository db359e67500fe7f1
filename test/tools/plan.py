"""--plan: what gradients would take within which memory, and the budgets that messages name where memory is gone."""
import json
import os
import re
import unittest

import driver
from driver import ToolTest

ORBIT = """(define (f x)
  (let loop ((i 0) (x x)) (if (= i 200) x (loop (+ i 1) (* (* 2.8 x) (- 1.0 x))))))
"""
NUMBERS = ORBIT + "(write (cdr (checkpoint-*j f 0.3 1)))\n"
TENSORS = """(define w (rand '(128 128)))
(define (layer x) (tanh (matmul x w)))
(define (f x) (let loop ((i 0) (x x)) (if (= i 150) (sumall x) (loop (+ i 1) (layer x)))))
(display 'begins)
(write (car (checkpoint-*j f (rand '(128 128)) 1)))
"""

# Parameters of four layers take a MiB, the states that Adam makes of them two.
TRAINING = """(define (net x p) (if (null? p) (mean x) (net (tanh (matmul x (car p))) (cdr p))))
(define (loss p) (tensor->number (net x p)))
(define (weights n) (if (= n 0) '() (cons (cast (* .1 (randn '(256 256))) 'f32) (weights (- n 1)))))
(define x (cast (rand '(64 256)) 'f32))
(define rule {})
(define (train p state n)
  (if (> n 0)
      (let (((list value p state) (checkpoint-*j-update! loss p 1 rule state)))
        (write value) (newline) (train p state (- n 1)))))
(train (weights 4) {} 3)
"""


class Plan(ToolTest):
    """--plan: what budgets would buy, without a gradient."""
    NEAR = 128 << 10 # bytes

    def curve(self, output):
        return [(size * (1024 if unit == "M" else 1), float(time))
                for size, unit, time in ((int(a), b, c) for a, b, c in re.findall(r"^ +(\d+)([MK])iB +([\d.]+)", output, re.MULTILINE))]

    def test_a_run_of_tensors(self):
        self.write("a.scm", TENSORS)
        done = self.vmrun("--plan", "--stats=s.json", "a.scm")
        lines = done.output.splitlines()
        self.assertRegex(lines[0], r"^beginsgradient at a\.scm:5:\d+, a run of [\d,]+ steps$")
        curve = self.curve(done.output)
        self.assertGreaterEqual(len(curve), 4)
        self.assertEqual(curve, sorted(curve))
        self.assertEqual(curve[-1][1], 1)
        self.assertGreater(curve[0][1], 1)
        stats = json.loads(self.read("s.json"))
        self.assertLess(stats["tensor_peak_bytes"], curve[-1][0] * 1024 // 3)
        # What it names works, and the gradient is the one of the whole tape.
        exact = self.vmrun("--checkpoint=tape", "a.scm").output
        for size, time in (curve[1], curve[-1]):
            self.assertEqual(self.vmrun(f"--memory={size}KiB", "--stats=s.json", "a.scm").output, exact)
            self.assertEqual(json.loads(self.read("s.json"))["replay_factor"] == 1, time == 1)

    def test_the_least_budget_does_and_hardly_less(self):
        layers = os.path.join(os.path.dirname(__file__), "..", "..", "samples", "layers.scm")
        planned = self.vmrun("--plan", layers).output
        self.assertRegex(planned, r"MiB +\d\.\d+   the least that a plan is known for; a first gradient begins again\n")
        least = self.curve(planned)[0][0]
        self.vmrun(f"--memory={least}KiB", layers)
        self.vmrun(f"--memory={int(least * .9)}KiB", layers, code=3)

    def test_a_run_of_numbers(self):
        self.write("a.scm", NUMBERS.replace("200", "2000000"))
        output = self.vmrun("--plan", "a.scm").output
        self.assertIn("it is a run of numbers", output)
        self.assertGreaterEqual(len(self.curve(output)), 3)

    def test_a_run_of_few_numbers_is_foreseen_as_it_will_be_within_a_budget(self):
        self.write("a.scm", """(define (spin k) (if (= k 0) 0 (spin (- k 1))))
            (define (f x) (let loop ((i 0) (x x)) (if (= i 2000000) x (begin (spin 20) (loop (+ i 1) (* x 1.0000001))))))
            (write (checkpoint-*j f 1. 1.))""")
        size, runs = self.curve(self.vmrun("--plan", "a.scm").output)[-1]
        self.assertEqual(runs, 1)  # a longer tape takes less time than the steps, where somebody offers the memory
        self.vmrun(f"--memory={size}KiB", "--stats=s.json", "a.scm")
        self.assertEqual(json.loads(self.read("s.json"))["replay_factor"], 1)

    def test_a_survey_may_need_more_than_the_gradient(self):
        self.write("a.scm", """(define w (* .3 (randn '(8 8))))
            (define (f w) (let loop ((k 0) (z (fill '(4 8) .5))) (if (= k 60000) (sumall z) (loop (+ k 1) (+ z (* 1e-5 (tanh (matmul z w))))))))
            (write (sumall (cdr (checkpoint-*j f w 1))))""")
        self.vmrun("--memory=4MiB", "a.scm")
        refused = self.vmrun("--plan", "--memory=4MiB", "a.scm", code=3)
        named = re.search(r"a survey of a long run takes more memory than its gradient may.* --memory=(\d+KiB) with --plan", refused.errors)
        self.assertIn("the budget of this run", self.vmrun("--plan", f"--memory={named[1]}", "a.scm").output)

    def test_what_cannot_be_planned(self):
        self.write("a.scm", NUMBERS)
        self.assertIn("all of it fits on a tape of", self.vmrun("--plan", "a.scm").output)
        self.write("a.scm", "(display 1)\n")
        done = self.vmrun("--plan", "a.scm", code=2)
        self.assertEqual(done.output, "1")
        self.assertIn("--plan: the program ended, and there was no checkpoint-*j to plan", done.errors)
        inner = TENSORS.replace("(tanh (matmul x w))", "(* x (sumall (cdr (checkpoint-*j sumall (matmul x w) 1))))")
        self.write("a.scm", inner)
        self.assertIn("no plan can be made", self.vmrun("--plan", "a.scm").output)
        for option in ("--checkpoint=tape", "--explain", "--save=x"):
            self.assertIn("--plan reverses nothing", self.vmrun("--plan", option, "a.scm", code=2).errors)
        self.assertIn("needs a program", self.vmrun("--plan", code=2).errors)

    def test_where_memory_is_gone_a_budget_is_named(self):
        self.write("a.scm", TENSORS.replace("128 128", "224 224").replace("150", "60"))
        errors = self.vmrun("--checkpoint=tape", "--memory=3MiB", "a.scm", code=3).errors
        far = re.search(r"had come (\d+) steps far under the schedule tape; auto, the default, plans what fits the budget", errors)
        self.assertIsNotNone(far, errors)
        self.assertGreater(int(far.group(1)), 20)
        layers = os.path.join(os.path.dirname(__file__), "..", "..", "samples", "layers.scm")
        memory, names = 12 << 10, []
        while (done := self.vmrun(f"--memory={memory}KiB", layers, "checkpoint-*j", "48", code=None)).returncode != 0:
            self.assertEqual(done.returncode, 3)
            named = re.search(r"the gradient of its 344 steps should do with --memory=(\d+)KiB", done.errors)
            self.assertIsNotNone(named, done.errors)
            self.assertGreater(int(named.group(1)), memory)
            memory = int(named.group(1))
            names.append(memory)
            self.assertLess(len(names), 4)
        self.assertTrue(names)

    def test_runs_do_what_was_planned(self):
        layers = os.path.join(os.path.dirname(__file__), "..", "..", "samples", "layers.scm")
        planned = self.vmrun("--plan", "--memory=55MiB", layers).output
        self.assertRegex(planned, r"55MiB +1\.1\d +the budget of this run")
        self.assertIn("within the 14MiB of this run no plan is known", self.vmrun("--plan", "--memory=14MiB", layers).output)
        curve = self.curve(planned)
        self.assertEqual(len(curve), 11)
        for size, time in curve[2:]:
            self.vmrun(f"--memory={size}KiB", "--explain=e.json", layers)
            done = json.loads(self.read("e.json"))["gradients"][0]["time_of_one_tape"]
            self.assertLess(abs(done / time - 1), 0.06, size)

    def test_products_are_computed_again_rather_than_steps(self):
        layers = os.path.join(os.path.dirname(__file__), "..", "..", "samples", "layers.scm")
        one_tape = self.vmrun("--checkpoint=tape", "--stats=tape.json", layers).output
        self.assertEqual(self.vmrun("--memory=30MiB", "--stats=s.json", layers).output, one_tape)  # which takes 116
        counts = self.counts("s.json")
        self.assertEqual(counts["replay_factor"], 1)
        self.assertGreater(counts["work"], self.counts("tape.json")["work"] * 1.1)

    def test_long_chains_of_what_costs_little(self):
        # Longer than what is computed again one behind the other, with products of which no part is kept.
        self.write("a.scm", """(define w (rand '(64 1024)))
(define (layer i x) (if (= 0 (remainder i 97)) (tanh (matmul (matmul x (transpose w)) w)) (sin x)))
(define (f x) (let loop ((i 0) (x x)) (if (= i 600) (sumall (square x)) (loop (+ i 1) (layer i x)))))
(define r (checkpoint-*j f (rand '(16 1024)) 1))
(write (car r)) (write (sumall (square (cdr r))))
""")
        one_tape = self.vmrun("--checkpoint=tape", "a.scm").output
        for memory in ("2MiB", "12MiB"):
            self.assertEqual(self.vmrun(f"--memory={memory}", "a.scm").output, one_tape)

    def test_what_costs_little_behind_what_costs_more_is_read_again(self):
        # Chains are bounded at each level, and what costs little is in those of all levels.
        self.write("a.scm", """(define w (* .1 (rand '(64 64))))
(define (layer i x) (if (= 0 (remainder i 3)) (matmul x w) (tanh x)))
(define (f x) (let loop ((i 0) (x x)) (if (= i 300) (sumall (square x)) (loop (+ i 1) (layer i x)))))
(define r (checkpoint-*j f (rand '(64 64)) 1))
(write (car r)) (write (sumall (square (cdr r))))
""")
        whole = self.vmrun("--memory=2MiB", "--stats=whole.json", "a.scm")
        self.assertEqual(whole.output, self.vmrun("--checkpoint=tape", "a.scm").output)
        work = self.counts("whole.json")["work"]
        for part in range(1, 16):
            begun = self.vmrun(f"--work={work * part // 16}", "--memory=2MiB", "--save=c.capsule", "a.scm", code=None)
            rest = self.vmrun("--memory=2MiB", "--stats=rest.json", "--resume=c.capsule")
            self.assertEqual(begun.output + rest.output, whole.output, part)
            self.assertEqual(self.counts("rest.json")["work"], work, part)

    def test_a_run_with_lean_tapes_goes_on_from_anywhere(self):
        layers = os.path.join(os.path.dirname(__file__), "..", "..", "samples", "layers.scm")
        command = ("--memory=30MiB", layers, "checkpoint-*j", "24")
        self.vmrun("--stats=whole.json", *command)
        whole = self.counts("whole.json")
        output = self.vmrun(*command).output
        for part in range(1, 12):
            begun = self.vmrun(f"--work={whole['work'] * part // 12}", "--save=c.capsule", *command, code=None)
            rest = self.vmrun("--memory=30MiB", "--stats=rest.json", "--resume=c.capsule")
            self.assertEqual(begun.output + rest.output, output, part)
            counts = self.counts("rest.json")
            self.assertEqual((counts["steps"], counts["work"]), (whole["steps"], whole["work"]), part)

    def test_rows_for_different_budgets_do_not_look_alike(self):
        samples = os.path.join(os.path.dirname(__file__), "..", "..", "samples")
        for words in (("gpt.scm", "--width=64", "--blocks=16", "--rounds=2"), ("layers.scm",)):
            rows = re.findall(r"(?m)^ +(\d+)(KiB|MiB) +\d", self.vmrun("--plan", os.path.join(samples, words[0]), *words[1:]).output)
            self.assertGreater(len(rows), 5)
            self.assertEqual(len(set(rows)), len(rows), rows)
            self.assertEqual({unit for number, unit in rows}, {"KiB" if words[0] == "gpt.scm" else "MiB"})

    def test_more_memory_takes_no_longer(self):
        for layers, size, budget in ((60, 128, 1900), (100, 128, 2300), (150, 96, 4000)):
            self.write("a.scm", TENSORS.replace("128", str(size)).replace("150", str(layers)))
            times = [time for size, time in self.curve(self.vmrun("--plan", f"--memory={budget}KiB", "a.scm").output)]
            self.assertEqual(times, sorted(times, reverse=True), (layers, size, budget))

    def test_a_budget_below_the_least_has_no_time(self):
        self.write("a.scm", TENSORS.replace("128", "256"))
        least = self.curve(self.vmrun("--plan", "a.scm").output)[0][0]
        for budget in (least, least - least // 50):
            output = self.vmrun("--plan", f"--memory={budget}KiB", "a.scm").output
            self.assertEqual("the budget of this run" in output, budget == least, output)
            self.assertEqual(f"within the {budget}KiB of this run no plan is known" in output, budget != least, output)

    def test_a_file_is_counted(self):
        self.write("a.scm", TENSORS.replace("128", "256").replace("150", "80"))
        options = ("--memory=2900KiB", "a.scm")
        without, with_file = (re.search(r"([\d.]+) +the budget of this", self.vmrun("--plan", *file, *options).output) for file in ((), ("--spill=.",)))
        self.vmrun("--explain=a.json", "--spill=.", *options)
        real = json.loads(self.read("a.json"))["gradients"][0]
        self.assertLess(real["time_of_one_tape"], 1.3)
        self.assertLess(abs(float(with_file[1]) - real["time_of_one_tape"]), .1)
        self.assertGreater(float(without[1]), 1.5)

    def test_what_rules_make_is_counted(self):
        adam = "(adam .01)"
        self.write("a.scm", TRAINING.format(adam, 0))
        least = self.curve(self.vmrun("--plan", "a.scm").output)[0][0] * 1024
        self.vmrun("--explain=e.json", "a.scm")
        first, second, third = json.loads(self.read("e.json"))["gradients"]
        self.assertGreaterEqual(least, first["peak"]["measured"])
        self.assertLess(least, 1.25 * first["peak"]["measured"])
        for known in (second, third):
            self.assertLess(abs(known["peak"]["predicted"] - known["peak"]["measured"]), self.NEAR)
        # States that somebody else holds are there beside those that rules make.
        self.write("b.scm", TRAINING.format(adam, "held").replace("(train (weights 4)", "(define p (weights 4))\n"
                   "(define held (rule-state rule p))\n(train (weights 4)").replace(" 3)\n", " 1)\n"))
        self.vmrun("--explain=e.json", "b.scm")
        held = json.loads(self.read("e.json"))["gradients"][0]
        self.assertLess(abs(held["peak"]["predicted"] - held["peak"]["measured"]), self.NEAR)
        # Without a state leaves take the place of their cotangents, and nothing comes to them.
        self.write("c.scm", TRAINING.format("(sgd .01)", "'()"))
        self.vmrun("--explain=e.json", "c.scm")
        for gradient in json.loads(self.read("e.json"))["gradients"]:
            self.assertLess(abs(gradient["peak"]["predicted"] - gradient["peak"]["measured"]), self.NEAR)

    def test_the_budget_that_is_named_is_enough_for_what_rules_make(self):
        self.write("a.scm", TRAINING.format("(adam .01)", 0))
        whole = self.vmrun("a.scm").output
        errors = self.vmrun("--memory=3MiB", "a.scm", code=3).errors
        named = re.search(r"should do with --memory=(\d+)KiB", errors)
        self.assertIsNotNone(named, errors)
        self.assertEqual(self.vmrun(f"--memory={named.group(1)}KiB", "a.scm").output, whole)

    def test_rules_run_once_in_a_survey(self):
        rule = "(lambda (leaf cotangent state) (display 'rule) (cons (- leaf cotangent) (+ state cotangent)))"
        self.write("a.scm", TRAINING.format(rule, 0))
        output = self.vmrun("--plan", "a.scm").output
        self.assertEqual(output.count("rule"), 4)
        self.assertIn("every interval stays on tape", output)
        # Gradients inside of rules, and updates before, are as they are without a survey.
        rule = "(lambda (leaf cotangent state) (cons (- leaf (cdr (checkpoint-*j (lambda (c) (sumall (* c c))) cotangent 1))) 0))"
        before = "(write (*j-update! (lambda (p) (* p p)) 3.0 1 (lambda (leaf c state) (cons (- leaf c) (+ state c))) 0))\n"
        self.write("a.scm", before + TRAINING.format(rule, 0))
        output = self.vmrun("--plan", "a.scm").output
        self.assertTrue(output.startswith("(9.0 -3.0 6.0)"), output)
        self.assertRegex(output, r"(?m)^gradient at a\.scm:9:\d+, a run of 25 steps$")

    def test_a_rule_that_fails_in_a_survey_does_not_end_it(self):
        self.write("a.scm", """(define (loss p) (sumall (* p p)))
(define (failing leaf cotangent state) (cons (car 5) (+ state cotangent)))
(display (call-with-error-handler (lambda (message irritants) 'failed) (lambda () (checkpoint-*j-update loss (fill '(50 50) .1) 1 failing 0))))
(display (checkpoint-*j loss (fill '(50 50) .2) 1))
(display 'behind)
""")
        output = self.vmrun("--plan", "a.scm").output
        self.assertTrue(output.startswith("failed"), output)
        self.assertRegex(output, r"gradient at a\.scm:4:\d+, a run of ")
        self.assertNotIn("behind", output)

    def test_what_fits_is_run_once(self):
        pendulum = """(define (f v)
  (let loop ((i 0) (a 1.0) (v v)) (if (= i 400) (+ (* a a) (* v v)) (let ((v (- v (* .01 (sin a))))) (loop (+ i 1) (+ a (* .01 v)) v)))))
(write (cdr (checkpoint-*j f .3 1)))
"""
        for program in (NUMBERS, pendulum, TENSORS, TRAINING.format("(adam .01)", 0)):
            self.write("a.scm", program)
            done = []
            for options in ((), ("--checkpoint=tape",)):
                self.vmrun("--stats=s.json", *options, "a.scm")
                done.append(self.counts("s.json"))
            planned, tape = done
            self.assertEqual(planned["gradient_steps_executed"], tape["gradient_steps_executed"], program)
            self.assertEqual(tape["replay_factor"], 1)
            self.assertLessEqual(planned["work"], 1.05 * tape["work"], program)

    def counts(self, name):
        return json.loads(self.read(name))


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["plan.py", *arguments.tests])
