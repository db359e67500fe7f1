#!/usr/bin/env python3
"""The networks of samples/networks: of full size they have the numbers of parameters that are known of them, and small ones train."""
import json
import math
import os
import random
import time
import unittest

import driver
from driver import ToolTest

# What torchvision's models have; DarkNets as others count them, and U-Net with two classes as its authors describe it but for padding.
COUNTS = {
    "resnet.scm --blocks=18": 11_689_512,
    "resnet.scm --blocks=34": 21_797_672,
    "resnet.scm --blocks=50": 25_557_032,
    "resnet.scm --blocks=101": 44_549_160,
    "resnet.scm --blocks=152": 60_192_808,
    "resnet.scm --blocks=3,4,6,3 --bottleneck=1": 25_557_032,
    "resnet.scm --cifar=20 --classes=10": 272_474,
    "resnet.scm --cifar=110 --classes=10": 1_730_714,
    "resnet.scm --cifar=164 --classes=10 --bottleneck=1": 1_704_154,
    "densenet.scm": 7_978_856,
    "densenet.scm --blocks=169": 14_149_480,
    "densenet.scm --blocks=201": 20_013_928,
    "vgg.scm --name=vgg16": 138_357_544,
    "vgg.scm --name=vgg19": 143_667_240,
    "vgg.scm --name=alexnet": 61_100_840,
    "inception.scm": 23_834_568,
    "inception.scm --auxiliary": 27_161_264,
    "unet.scm": 31_030_658,
    "darknet.scm": 41_609_928,
    "darknet.scm --layers=19": 20_842_376,
}
# In these units, to a tenth; the first is GPT-2's with its shorter texts.
GPTS = {"small --context=1024": (124_439_808, 1), "small": (125.2, 1e6), "medium": (355.9, 1e6), "large": (760.3, 1e6), "xl": (1.3, 1e9), "2.7B": (2.7, 1e9),
        "6.7B": (6.7, 1e9), "13B": (12.9, 1e9), "85B": (85.0, 1e9), "175B": (174.6, 1e9)}
# Thin ones, and how many classes the loss before the first step is a guess among.
SMALL = {
    "resnet.scm --blocks=18 --width=4 --size=32": 10,
    "resnet.scm --blocks=50 --width=4 --size=32": 10,
    "resnet.scm --cifar=56 --width=4 --size=16": 10,
    "densenet.scm --growth=4 --size=32": 10,
    "vgg.scm --name=vgg16 --width=2 --size=32": 10,
    "vgg.scm --name=vgg19 --width=2 --size=32": 10,
    "vgg.scm --name=alexnet --width=4 --size=80 --rate=.0001": 10,
    "inception.scm --width=4 --size=75": 10,
    "inception.scm --width=2 --auxiliary": 10,
    "unet.scm --width=4 --size=32": 10,
    "darknet.scm --width=4 --size=64": 10,
    "darknet.scm --layers=19 --width=4 --size=64": 10,
    "dranet.scm --blocks=50 --width=4 --size=64": 10,
    "dranet.scm --middle=9 --width=4 --size=64": 10,
}


class Networks(ToolTest):
    samples = None

    def network(self, words, *more, options=(), code=0):
        name, *arguments = words.split()
        return self.vmrun(*options, os.path.join(self.samples, "networks", name), *arguments, *more, code=code)

    def numbers(self, *arguments, **options):
        return [float(word) for word in self.network(*arguments, **options).output.split()]

    def test_numbers_of_parameters(self):
        for words, count in COUNTS.items():
            with self.subTest(words):
                self.assertEqual(self.numbers(words, "--count"), [count])

    def test_sizes_of_gpt(self):
        for name, (count, unit) in GPTS.items():
            with self.subTest(name):
                number, = self.numbers(f"gpt.scm --name={name}", "--count")
                self.assertEqual(round(number / unit, 1), count)

    def test_each_trains_when_it_is_small(self):
        for words, classes in SMALL.items():
            with self.subTest(words):
                parameters, *losses = self.numbers(words, f"--classes={classes}", "--steps=3")
                self.assertGreater(parameters, 1000)
                self.assertEqual(len(losses), 3)
                for loss in losses:
                    self.assertTrue(0 < loss < 40, losses)
                self.assertEqual(len(set(losses)), 3)

    def test_gpt_trains_when_it_is_small(self):
        parameters, *losses = self.numbers("gpt.scm --width=32 --heads=4 --blocks=3 --tokens=50 --context=32 --length=16 --steps=40 --rate=.01")
        self.assertEqual(parameters, (50 + 32) * 32 + 3 * (12 * 32 * 32 + 13 * 32) + 64)
        self.assertAlmostEqual(losses[0], math.log(50), delta=.5)
        self.assertLess(losses[-1], 1)

    RECORDS = 96

    def records(self):
        """A file like CIFAR's, of pictures each as bright as its class says."""
        draw = random.Random(3)
        classes = [draw.randrange(10) for _ in range(self.RECORDS)]
        self.write("cifar.bin", b"".join(bytes([c, *(20 * c + draw.randrange(50) for _ in range(3072))]) for c in classes))

    def from_files(self, words, options=()):
        """Trained on files, split at random places and under other schedules, it says the same; killed and resumed, too."""
        began = time.monotonic()
        whole = self.network(words, options=["--checkpoint=tape", *options]).output
        seconds = time.monotonic() - began
        self.assertLess(float(whole.split()[-1]), float(whole.split()[1]))
        self.assertEqual(self.network(words, options=["--checkpoint=binomial,base=500,snapshots=2", *options]).output, whole)
        name, *arguments = words.split()
        first = ["--checkpoint=tape", *options, os.path.join(self.samples, "networks", name), *arguments]
        self.assertEqual(self.with_kills(first, options, seconds, 3000, most=3), whole)

    def test_batches_of_records_killed_and_resumed(self):
        self.records()
        self.from_files("resnet.scm --cifar=8 --width=4 --classes=10 --batch=8 --steps=20 --rate=.05 --data=cifar.bin")

    def test_batches_of_a_folder_of_pictures_killed_and_resumed(self):
        for name in ("bright", "dark"):
            os.makedirs(self.path(f"set/{name}"))
        self.write("pictures.scm", """(for-each (lambda (i) (for-each (lambda (name around) (write-png (format "set/~a/~a.png" name i) (cast (+ around (* 50 (rand '(20 24 3)))) 'u8)))
  '("bright" "dark") '(150 50))) (iota 12))""")
        self.vmrun("pictures.scm")
        self.from_files("resnet.scm --cifar=8 --width=4 --classes=2 --size=16 --batch=8 --steps=20 --rate=.02 --folder=set")

    def test_depth_costs_little_memory(self):
        """Of a thousand layers within 40 MiB the bits are those of one tape, which takes far more."""
        words = "resnet.scm --cifar=1001 --bottleneck=1 --width=2 --size=24 --classes=10 --batch=8 --steps=1"
        whole = self.network(words, options=["--checkpoint=tape", "--stats"])
        within = self.network(words, options=["--memory=40MiB", "--explain=report.json"])
        self.assertEqual(within.output, whole.output)
        self.assertGreater(self.peak(whole), 80 << 20)
        # The peaks of heap, tapes and tensors lie at different times, so their sum says too much.
        self.assertLessEqual(json.loads(self.read("report.json"))["gradients"][0]["peak"]["measured"], 40 << 20)

    def peak(self, done):
        stats = self.stats(done)
        return sum(stats[f"{part}_peak_bytes"] for part in ("heap", "tape", "tensor"))

    def test_names_of_scorch(self):
        with open(os.path.join(self.samples, "networks", "scorch.scm")) as file:
            self.write("scorch.scm", file.read())
        self.write("image.scm", """(import scorch)
(define (((block) (list a norm b shift)) x)
  (+ x ((sequential-layer ((convolution-layer-no-bias '(1 1) (list '(1 1) '(1 1))) a) ((batch-normalization-training-layer) norm) ((ReLU-layer))
                          ((convolution-layer '(2 2) (list '(1 1) '(2 2))) (list b shift))) x)))
(define ((head) weights)
  (sequential-layer ((max-pool-layer '(3 3) '(1 1) '(2 2))) ((GeLU-layer)) ((average-pool-layer '(2 2) '(0 0) '(1 1))) ((flatten-layer)) ((fc-layer) weights)))
(define (loss (list first last)) (cross-entropy-loss (((head) last) (((block) first) (randn '(2 3 4 4)))) (list->tensor '(0 1) 'i64)))
(write (check-gradient (lambda (p) (with-schedule "tape" (lambda () (sumall (square (((head) (cadr p)) (((block) (car p)) (fill '(2 3 4 4) .3))))))))
                       (list (list (randn '(3 3 3 3) 'f64) (list (ones '(3) 'f64) (zeros '(3) 'f64)) (randn '(3 3 3 3) 'f64) (ones '(3) 'f64))
                             (list (randn '(3 5) 'f64) (ones '(5) 'f64)))))
(loss (list (list (randn '(3 3 3 3)) (list (ones '(3)) (zeros '(3))) (randn '(3 3 3 3)) (ones '(3))) (list (randn '(3 5)) (ones '(5)))))""")
        self.assertIn("#t", self.vmrun("image.scm").output)
        self.write("text.scm", """(import scorch)
(define (((attention index) (list Wq Wk)) x)
  (let ((scores (mask (addmm (addmm x Wq) (transpose (addmm x Wk))) index)))
    (layer-normalization (concat (list x (addmm (softmax scores) x))) (list (ones '(4)) (zeros '(4))))))
(define x (list->tensor '((1 0) (0 2) (3 -1))))
(define weights (list (eye 2) (eye 2)))
(write (equal? (((attention 2) weights) x) (((attention 1) weights) x)))
(write (first (rest (tensor->list (mask (zeros '(2 3)) 0)))))""")
        self.assertEqual(self.vmrun("text.scm").output, "#f(0.0 -inf.0 -inf.0)")

    def test_names_that_are_none(self):
        for words, said in (("resnet.scm --blocks=19", "expected --blocks=18, 34, 50, 101, 152 or the blocks of each stage, such as 3,8,36,3, got \"19\""),
                            ("resnet.scm --blocks=3,,3", "such as 3,8,36,3, got \"3,,3\""), ("resnet.scm --blocks=3,0", "such as 3,8,36,3, got \"3,0\""),
                            ("resnet.scm --cifar=21", "expected --cifar=N with a depth N of 6n + 2, such as 20 or 110, or of 9n + 2 with --bottleneck=1, such as 164, got 21"),
                            ("resnet.scm --cifar=2", "such as 164, got 2"), ("resnet.scm --cifar=32 --bottleneck=1", "such as 164, got 32"),
                            ("resnet.scm --width", "write --width=NUMBER"), ("resnet.scm --data", "write --data=TEXT"),
                            ("densenet.scm --blocks=122", "expected --blocks=121, 169 or 201, got 122"),
                            ("dranet.scm --blocks=18", "expected --blocks=50, 101 or 152, or --middle, got 18"),
                            ("gpt.scm --name=smal", "expected --name=small, medium, large, xl, 2.7B, 6.7B, 13B, 85B, 175B, or --width, --blocks and --heads of your own, got \"smal\"")):
            self.assertIn(said, self.network(words, code=1).errors)
        self.assertIn("expected vgg11, vgg16, vgg19 or alexnet, got \"vgg12\"", self.network("vgg.scm --name=vgg12", code=1).errors)
        self.assertIn("expected 53 or 19 layers, got 20", self.network("darknet.scm --layers=20", code=1).errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__, samples="the folder of the samples")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Networks.samples = os.path.abspath(arguments.samples)
    unittest.main(argv=["networks.py", *arguments.tests])
