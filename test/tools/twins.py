#!/usr/bin/env python3
"""Samples and their twins in PyTorch, tools/bench/peers/samples: no sample takes more than 1.3 times the lines; and where PyTorch is installed, they say the same.

    twins.py --bin FOLDER --root SOURCE-FOLDER
"""
import glob
import importlib.util
import os
import re
import subprocess
import sys
import unittest

import driver
from driver import ToolTest

# What both print, to so many digits, of all that they print or of the first number alone, where what follows is random.
SAME = [("eeg", "--epochs=1 --trials=32", "first"), ("eeg", "--epochs=1 --trials=32 --model=cnn", "first"), ("eeg", "--epochs=1 --trials=32 --model=mlp", "first"),
        ("video", "--steps=1", "first"), ("video", "--steps=1 --model=yolo3d", "first"),
        ("nbody", "--rounds=10 --steps=200", "all"), ("heat", "--rounds=20", "all"), ("rays", "--width=12 --rounds=2", "all"),
        *[(f"networks/{words.partition(' ')[0]}", words.partition(" ")[2], "first") for words in (
            "resnet --blocks=18 --width=8 --size=32", "resnet --blocks=50 --width=8 --size=32", "resnet --cifar=56 --size=16 --classes=10",
            "resnet --cifar=164 --bottleneck=1 --size=16 --classes=10", "densenet --growth=8 --size=32", "vgg --width=4 --size=32", "vgg --name=alexnet --width=4 --size=80",
            "inception --width=4 --size=75", "inception --width=4 --auxiliary", "unet --width=4 --size=32", "darknet --width=4 --size=64", "darknet --layers=19 --width=4 --size=64",
            "dranet --width=4 --size=64", "dranet --middle=5 --width=4 --size=64", "gpt --width=32 --heads=4 --blocks=3 --tokens=50 --context=32 --length=16")]]


class Twins(ToolTest):
    root = None

    def twins(self):
        return sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(self.root, "tools", "bench", "peers", "samples", "*.py")))

    def sample(self, name):
        found = [path for path in (os.path.join(self.root, "samples", folder, f"{name}.scm") for folder in ("", "networks")) if os.path.exists(path)]
        return found[-1]  # the GPT among the networks, not the small one

    def lines(self, path):
        """How many hold more than a comment, without what the twin lacks: pictures. A long line counts as if it were folded after 120 characters."""
        with open(path) as file:
            text = file.read()
        if path.endswith(".py"):
            text = re.sub(r'^""".*?"""', "", text, flags=re.DOTALL)
        else:
            text = re.sub(r"^\(define \(draw .*?(?=^\S|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
        return sum(-(-len(line) // 120) for line in text.splitlines() if line.strip() and not line.strip().startswith((";", "#")))

    def test_no_sample_is_much_longer_than_its_twin(self):
        self.assertGreaterEqual(len(self.twins()), 17)
        for name in self.twins():
            twin = os.path.join(self.root, "tools", "bench", "peers", "samples", f"{name}.py")
            ours, theirs = self.lines(self.sample(name)), self.lines(twin)
            with self.subTest(name, ours=ours, theirs=theirs):
                self.assertLessEqual(ours, 1.3 * theirs)

    def test_every_network_has_a_twin(self):
        names = {os.path.basename(path)[:-4] for path in glob.glob(os.path.join(self.root, "samples", "networks", "*.scm"))} - {"scorch"}
        self.assertEqual(names - set(self.twins()), set())

    def test_both_say_the_same(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("PyTorch is not here")
        for name, words, how in SAME:
            with self.subTest(name, words=words):
                ours = self.vmrun(os.path.join(self.root, "samples", f"{name}.scm"), *words.split()).output.split()
                twin = os.path.join(self.root, "tools", "bench", "peers", "samples", f"{os.path.basename(name)}.py")
                theirs = subprocess.run([sys.executable, "-B", twin, *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout.split()
                self.assertEqual(len(ours), len(theirs))
                for a, b in zip(ours[:1] if how == "first" else ours, theirs):
                    self.assertAlmostEqual(float(a), float(b), delta=1e-6 * abs(float(b)))


if __name__ == "__main__":
    arguments = driver.parse(__doc__, root="the folder of the sources")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Twins.root = os.path.abspath(arguments.root)
    unittest.main(argv=["twins.py", *arguments.tests])
