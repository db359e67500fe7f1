"""Tapes that keep operands with an error (--lossy): less memory, one gradient under every schedule, budget, device and number of threads, in slices through
capsule files, for random networks too; and what is counted."""
import json
import os
import random
import re
import unittest

import driver
from driver import ToolTest

NETWORK = """(define (seeded shape n) (* .2 (- (rand shape 'f32 'cpu n) .5)))
(define images (seeded '(2 4 32 32) 1))
(define weights (map (lambda (n) (seeded (list 8 (if (= n 2) 4 8) 3 3) n)) (iota 6 2)))
(define (network ws)
  (let loop ((ws ws) (x images)) (if (null? ws) (mean (square x)) (loop (cdr ws) (ReLU (+ (convolve x (car ws) 1 1) .01))))))
(write (OPERATOR network weights 1))
"""
NORMALISED = """(define (seeded shape n) (* .2 (- (rand shape 'f32 'cpu n) .5)))
(define images (seeded '(2 4 32 32) 1))
(define parameters (map (lambda (n) (list (seeded (list 8 (if (= n 2) 4 8) 3 3) n) (+ 1 (seeded '(8) n)) (seeded '(8) n))) (iota 5 2)))
(define (unit x (list w scale shift)) (car (batch-normalization-training (convolve x w 1 1) scale shift)))
(define (network ps)
  (let loop ((ps ps) (x images)) (if (null? (cdr ps)) (mean (sin (unit x (car ps)))) (loop (cdr ps) (ReLU (unit x (car ps)))))))
(write (OPERATOR network parameters 1))
"""
# Whose tensors are large beside everything else: one that nobody counted would show in the peak.
WIDE = """(define (seeded shape k) (- (rand shape 'f32 'cpu k) .5))
(define images (seeded '(2 8 96 96) 1))
(define parameters (map (lambda (n) (list (* .3 (seeded '(8 8 3 3) n)) (+ 1 (seeded '(8) n)) (seeded '(8) n))) (iota 12 2)))
(define (unit x (list w scale shift)) UNIT)
(define (network ps) (let loop ((ps ps) (x images)) (if (null? ps) (mean (square x)) (loop (cdr ps) (unit x (car ps))))))
(define (go n) (if (> n 0) (begin (write (checkpoint-*j network parameters 1)) (go (- n 1)))))
(go 2)
"""
UNITS = {"convolution": "(ReLU (convolve x w 1 1))", "both": "(ReLU (car (batch-normalization-training (convolve x w 1 1) scale shift)))",
         "batch-normalization": "(sin (car (batch-normalization-training (* x (mean w)) scale shift)))"}
LOSSY = "--lossy=relative=1e-2"
SCHEDULES = ("tape", "bisection,base=16", "binomial,base=16,snapshots=2", "sqrt,base=16", "budget", "auto")


# A random network: convolutions and products, with skips, pools, types of elements, policies of its own inside.
def random_network(seed):
    chosen = random.Random(seed)
    batch, channels, width, layers = chosen.randint(1, 3), chosen.choice((3, 4, 8)), chosen.choice((12, 16, 20)), chosen.randint(2, 6)
    elements = batch * channels * 16 * width
    lines = []
    for i in range(layers):
        convolved = f"(convolve x (index w {i}) 1 1)"
        if chosen.random() < .3:
            policy = chosen.choice(("none", "adaptive", "absolute=.02", "absolute=.02,form=small", "relative=.1,operators=convolution+product", "relative=.02,operators=batch-normalization",
                                    "relative=.02,operators=layer-normalization+group-normalization"))
            convolved = f"(with-lossy-tape \"{policy}\" (lambda () {convolved}))"
        lines.append(chosen.choice(("(ReLU {})", "(tanh {})", "(+ x (ReLU {}))", "(LeakyReLU {})", "(* .5 (+ {} x))")).format(convolved))
    for i in range(layers):
        if chosen.random() < .3:
            lines[i] = lines[i].replace("(convolve x", f"({chosen.choice(('normalised', 'in-rows', 'by-squares', 'in-groups'))} (convolve x").replace(" 1 1)", " 1 1))")
    body = "x"
    for line in lines:
        body = f"(let ((x {body})) {line})"
    if chosen.random() < .5:
        body, elements = f"(max-pool {body} 2)", elements // 4
    kind = chosen.choice(("f32", "f64", "bf16"))
    allowed = chosen.choice(("p", "(allow-error p .02)", "(allow-error p '(.03 0))", "(list (allow-error (car p) .05) (cadr p))"))
    return f"""(define (normalised x) (let ((m (mean x '(0 2 3)))) (car (batch-normalization-training x (+ m 1) m))))
(define (in-rows x) (let ((m (mean x '(0 1 2)))) (layer-normalization x (+ m 1) m)))
(define (by-squares x) (let ((m (mean x '(0 1)))) (rms-normalization x (+ m 1) .01)))
(define (in-groups x) (let ((m (mean x '(0 2 3)))) (group-normalization x (+ m 1) m {1 if channels == 3 else 2})))
(define images (cast (- (rand '({batch} {channels} 16 {width}) 'f32 'cpu 1) .4) '{kind}))
(define weights (list (cast (* .3 (- (rand '({layers} {channels} {channels} 3 3) 'f32 'cpu 2) .5)) '{kind}) (rand '(64 3) 'f32 'cpu 3)))
(define (network p)
  (let* ((p {allowed}) (w (car p)) (x images) (y {body}) (z (matmul (view (narrow-tensor (view y '(-1)) 0 0 {elements // 64 * 64}) '(-1 64)) (cadr p))))
    (+ (mean (square z)) (mean (square y)))))
(write (OPERATOR network weights 1))
"""


class Lossy(ToolTest):
    """vmrun --lossy"""

    def made(self, text):
        self.write("taped.scm", text.replace("OPERATOR", "*j"))
        self.write("a.scm", text.replace("OPERATOR", "checkpoint-*j"))

    def in_slices(self, steps, *options):
        done = self.vmrun(*options, f"--steps={steps}", "--save=s.capsule", "a.scm", code=None)
        output = done.output
        while done.returncode == 75:
            done = self.vmrun(f"--steps={steps}", "--save=s.capsule", "--resume=s.capsule", code=None)
            output += done.output
        self.assertEqual(done.returncode, 0, done.errors)
        return output

    def test_less_memory_and_what_was_encoded_is_counted(self):
        self.made(NETWORK)
        found = {}
        for option in ("--lossy=none", LOSSY):
            self.vmrun(option, "--checkpoint=tape", "--stats=s", "a.scm")
            found[option] = json.loads(self.read("s"))
        exact, lossy = found["--lossy=none"], found[LOSSY]
        self.assertEqual((exact["encoded_bytes"], exact["encoding_bytes"]), (0, 0))
        self.assertEqual(lossy["encoded_bytes"], (4 + 5 * 8) * 2 * 32 * 32 * 4)
        self.assertLess(4 * lossy["encoding_bytes"], lossy["encoded_bytes"])
        self.assertEqual(exact["largest_bound"], 0)
        self.assertTrue(1e-4 < lossy["largest_bound"] < 1e-2, lossy["largest_bound"])
        self.assertLess(lossy["tensor_peak_bytes"], .8 * exact["tensor_peak_bytes"])

    def test_the_small_form_is_the_same_gradient_in_fewer_bytes(self):
        self.made(NETWORK)
        found = []
        for option in (LOSSY, LOSSY + ",form=fast", LOSSY + ",form=small"):
            output = self.vmrun(option, "--checkpoint=tape", "--stats=s", "a.scm").output
            counted = json.loads(self.read("s"))
            found.append((output, counted["encoded_bytes"], counted["encoding_bytes"]))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0][:2], found[2][:2])
        self.assertLess(found[2][2], .95 * found[0][2])
        small = LOSSY + ",form=small"
        self.assertEqual(self.in_slices(37, small, "--checkpoint=binomial,base=16"), found[0][0])
        for more in (("--memory=1MiB",), ("--device=emulated,memory=512KiB,host=64MiB",)):
            self.assertEqual(self.vmrun(small, *more, "a.scm").output, found[0][0], more)

    def test_one_gradient_however_it_is_computed(self):
        self.made(NETWORK)
        right = self.vmrun(LOSSY, "taped.scm").output
        self.assertNotEqual(right, self.vmrun("taped.scm").output)
        for schedule in SCHEDULES:
            self.assertEqual(self.vmrun(LOSSY, f"--checkpoint={schedule}", "a.scm").output, right, schedule)
        for more in (("--memory=1MiB",), ("--device=emulated",), ("--device=emulated,memory=512KiB,host=64MiB",)):
            self.assertEqual(self.vmrun(LOSSY, *more, "a.scm").output, right, more)
        self.assertEqual(self.in_slices(37, LOSSY, "--checkpoint=binomial,base=16"), right)

    def test_batch_normalization_keeps_an_encoding_and_masks_of_what_is_rectified(self):
        self.made(NORMALISED)
        policy = "--lossy=relative=1e-2,operators=convolution+batch-normalization"
        self.vmrun(policy, "--checkpoint=tape", "--explain=e.json", "a.scm")
        kept = json.loads(self.read("e.json"))["gradients"][0]["kept"]
        told = {part["operator"]: part for part in kept["parts"]}
        of_each = 2 * 8 * 32 * 32 * 4
        self.assertEqual(sum(part.get("encoded", 0) for part in kept["parts"] if part["operator"] == "batch-normalization-training with an error"), 5 * of_each)
        self.assertEqual(sum(part["bytes"] for part in kept["parts"] if part["operator"] == "ReLU"), 4 * of_each // 32)
        self.assertLess(told["batch-normalization-training"]["bytes"], 5 * 200)
        self.vmrun("--checkpoint=tape", "--explain=e.json", "a.scm")
        exact = json.loads(self.read("e.json"))["gradients"][0]["kept"]
        self.assertLess(2.5 * kept["bytes"], exact["bytes"])
        right = self.vmrun(policy, "taped.scm").output
        self.assertNotEqual(right, self.vmrun("taped.scm").output)
        for more in (*((f"--checkpoint={schedule}",) for schedule in SCHEDULES), ("--memory=1MiB",), ("--device=emulated",), ("--device=emulated,memory=1MiB,host=64MiB",)):
            self.assertEqual(self.vmrun(policy, *more, "a.scm").output, right, more)
        self.assertEqual(self.in_slices(37, policy, "--checkpoint=binomial,base=16"), right)

    def test_modelled_time_has_what_encodings_take(self):
        """Exactly: half of the rate for each byte that is encoded, and half for each that is decoded, however the gradient is planned."""
        self.made(NORMALISED)
        rates = "step 0\nrecord 0\noperation 0\ntaped 0\nproduct 0\nflop 0\nbyte 0\nfresh 0\n"
        policy, ticks = "--lossy=relative=1e-2,operators=convolution+batch-normalization", {}
        for schedule in ("--memory=64MiB", "--checkpoint=tape", "--checkpoint=binomial,base=16"):
            for form, name in (("", "lossy"), (",form=small", "lossy_small")):
                for rate in (0, 3):
                    self.write("here.costs", f"{rates}lossy 0\nlossy_small 0\n".replace(f"{name} 0", f"{name} {rate}"))
                    done = self.vmrun(policy + form, schedule, "--costs=here.costs", "--explain=e.json", "--stats=s", "a.scm")
                    told = json.loads(self.read("e.json"))["gradients"][0]
                    ticks[rate] = told["time"], round(told["seconds_of_one_tape"] * 1e10)
                encoded = json.loads(self.read("s"))["encoded_bytes"]
                # The first convolution's operand is encoded, too.
                self.assertEqual(encoded, (4 + 9 * 8) * 2 * 32 * 32 * 4)
                for kind in (0, 1):
                    self.assertEqual(ticks[3][kind] - ticks[0][kind], 30 * encoded, (schedule, form, kind))
                self.assertEqual(done.output, self.vmrun(policy, "taped.scm").output)

    def test_plans_weigh_encodings(self):
        """Steps that come again are a smaller part of a longer time; tapes that a first run let go of are encoded once more."""
        self.write("a.scm", WIDE.replace("UNIT", UNITS["both"]))
        policy, found, tables = "--lossy=relative=1e-2,operators=convolution+batch-normalization", {}, {}
        for rate in (0, 100):
            self.write("here.costs", f"lossy {rate}\nfresh 0\n")
            options = (policy, "--memory=8MiB", "--costs=here.costs")
            done = self.vmrun(*options, "--explain=e.json", "a.scm")
            found[rate] = json.loads(self.read("e.json"))["gradients"], done.output
            tables[rate] = self.vmrun(*options, "--plan", "a.scm").output
        self.assertEqual(found[0][1], found[100][1], "the same gradients")
        self.assertNotEqual(tables[0], tables[100])
        for free, dear in zip(found[0][0], found[100][0]):
            self.assertAlmostEqual(dear["seconds_of_one_tape"] - free["seconds_of_one_tape"], 100e-9 * 24 * 2 * 8 * 96 * 96 * 4, delta=1e-9)
            # The meter counts what the plan foresees.
            self.assertAlmostEqual(dear["time"] * 1e-10 / dear["seconds_of_one_tape"], dear["time_of_one_tape"], delta=.005)
        for gradients, _ in found.values():
            self.assertGreater(gradients[1]["time_of_one_tape"], 1)
        self.assertLess(found[100][0][1]["time_of_one_tape"], 1 + (found[0][0][1]["time_of_one_tape"] - 1) / 20)
        self.assertGreater(found[100][0][0]["time_of_one_tape"], 1.2, "encoded twice")

    def test_random_networks(self):
        for seed in range(int(os.environ.get("CAIRN_LOSSY_NETWORKS", "8"))):
            chosen = random.Random(seed)
            self.made(random_network(seed))
            policy = "--lossy=" + chosen.choice(("relative=.03,operators=convolution+product", "absolute=.01", "relative=.2,operators=product", "adaptive,operators=convolution+product", "relative=.02,operators=batch-normalization+convolution",
                                                     "absolute=.03,operators=layer-normalization+group-normalization+rms-normalization", "relative=.02,operators=group-normalization+convolution,form=small"))
            right = self.vmrun(policy, "taped.scm").output
            for schedule in chosen.sample(SCHEDULES, 2):
                self.assertEqual(self.vmrun(policy, f"--checkpoint={schedule}", "a.scm").output, right, (seed, schedule))
            self.assertEqual(self.in_slices(chosen.randint(9, 60), policy, "--checkpoint=bisection,base=16"), right, seed)

    def test_explanations_tell_encodings(self):
        self.made(NETWORK.replace("network weights", "network (allow-error weights (map (lambda (n) (* .001 n)) (iota 6 1)))"))
        self.vmrun("--lossy=adaptive", "--checkpoint=tape", "--explain=e.json", "a.scm")
        told = [part for part in json.loads(self.read("e.json"))["gradients"][0]["kept"]["parts"] if "encoded" in part]
        self.assertEqual(sum(part["encoded"] for part in told), (4 + 5 * 8) * 2 * 32 * 32 * 4)
        self.assertEqual((min(part["least_bound"] for part in told), max(part["largest_bound"] for part in told)), (.001, .006))
        for part in told:
            self.assertEqual(part["operator"], "convolve with an error")
            self.assertLess(2 * part["bytes"], part["encoded"])
        # A report reads no elements, so nothing is spent for it.
        work = [json.loads(self.vmrun("--lossy=adaptive", "--checkpoint=tape", "--stats=s", *more, "a.scm") and self.read("s"))["work"] for more in ((), ("--explain=e.json",))]
        self.assertEqual(*work)
        text = self.vmrun("--lossy=adaptive", "--checkpoint=tape", "--explain=profile", "a.scm").errors
        self.assertRegex(text, r"for convolve with an error, encodings of [\d.]+ KiB, 1/[\d.]+ of them, with errors of at most 0.001")

    def test_a_gradient_is_compared_with_the_exact_one(self):
        self.write("a.scm", NETWORK.replace("(OPERATOR network weights 1)", "(list 'found (check-lossy network (allow-error weights '(.01 .01 .01 .02 .02 0))))"))
        output = self.vmrun("--lossy=adaptive", "a.scm").output
        said = re.findall(r"check-lossy: tensor \d, sizes \(8 [48] 3 3\): angle ([\d.]+) degrees, relative error ([\d.]+)\n", output)
        found = [tuple(map(float, pair.split(" . "))) for pair in re.findall(r"\(([\d.e-]+ \. [\d.e-]+)\)", output.split("found")[1])]
        self.assertEqual((len(said), len(found)), (5, 7))
        self.assertIn("check-lossy: tensor 6, sizes (8 8 3 3): exact\n", output)
        for (angle, error), (text_of_angle, text_of_error) in zip(found[1:], said):
            self.assertTrue(0 < error < .1 and 0 < angle < 6, (angle, error))
            self.assertAlmostEqual(angle, float(text_of_angle), delta=1e-3)
            self.assertAlmostEqual(error, float(text_of_error), delta=1e-5)
        self.assertEqual(found[6], (0, 0))

    def test_plans_count_what_encodings_take_for_a_while(self):
        for name, unit in UNITS.items():
            self.write("a.scm", WIDE.replace("UNIT", unit))
            for policy in ("relative=1e-2,operators=convolution+batch-normalization", "absolute=1e-2,operators=batch-normalization,form=small"):
                right = self.vmrun(f"--lossy={policy}", "--checkpoint=tape", "a.scm").output
                for mebibytes in (5, 8, 12, 20):
                    done = self.vmrun(f"--lossy={policy}", f"--memory={mebibytes}MiB", "--explain=e.json", "a.scm")
                    self.assertEqual(done.output, right)
                    for gradient in json.loads(self.read("e.json"))["gradients"]:
                        peak, told = gradient["peak"], (name, policy, mebibytes, gradient["peak"])
                        self.assertIsNotNone(peak["predicted"], told)
                        self.assertLess(peak["measured"], 1.02 * peak["predicted"], told)
                        self.assertLessEqual(peak["measured"], mebibytes << 20, told)

    def test_a_policy_is_part_of_the_saved_state(self):
        self.made(NETWORK)
        self.vmrun(LOSSY, "--steps=20", "--save=s.capsule", "a.scm", code=75)
        self.assertIn("--lossy is part of the saved state", self.vmrun(LOSSY, "--resume=s.capsule", code=2).errors)

    def test_what_is_no_policy(self):
        self.made(NETWORK)
        for text, said in (("absolute=-1", "a bound is a number from 1e-25 to 1e+25"), ("relative=+nan.0", "a bound is a number"),
                           ("adaptive=1", "adaptive has no bound of its own"), ("adapt", "there is no lossy policy 'adapt'"), ("relative=1e-2,operators=", "'' names no operators"), ("relative=1e-2,form=", "there is no form ''")):
            error = self.vmrun(f"--lossy={text}", "a.scm", code=2).errors
            self.assertIn("--lossy: ", error)
            self.assertIn(said, error)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["lossy.py", *arguments.tests])
