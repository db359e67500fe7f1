#!/usr/bin/env python3
"""The samples that are no networks: each finds what its data were made with, and is as long as it likes in little memory."""
import os
import unittest

import driver
from driver import ToolTest


class Simulations(ToolTest):
    samples = None

    def sample(self, name, *arguments, options=(), code=0):
        return self.vmrun(*options, os.path.join(self.samples, f"{name}.scm"), *arguments, code=code)

    def numbers(self, name, *arguments, **options):
        return [float(word) for word in self.sample(name, *arguments, **options).output.split()]

    def near(self, numbers, expected, delta):
        self.assertEqual(len(numbers), len(expected))
        for number, right in zip(numbers, expected):
            self.assertAlmostEqual(number, right, delta=delta)

    def test_pendulum(self):
        *found, deviation = self.numbers("pendulum")
        self.near(found, (1.2, .15), .005)
        self.assertAlmostEqual(deviation, .02, delta=.003)  # the noise
        self.assertEqual(self.numbers("pendulum", options=["--seed=1"])[0] == found[0], False)

    def test_nbody(self):
        *found, deviation = self.numbers("nbody", "--steps=200")
        self.near(found, (1, .1, .03), .001)
        self.assertLess(deviation, 1e-3)

    def test_heat(self):
        first, found = self.numbers("heat")
        self.assertAlmostEqual(first, .6, delta=1e-4)
        self.assertLess(found, .005)

    def test_rays(self):
        bounces, *found, deviation = self.numbers("rays")
        self.assertGreaterEqual(bounces, 3)
        self.near(found, (-1, 1.4, .95, .8, 1), .005)
        self.assertLess(deviation, .01)
        self.assertGreater(self.numbers("rays", "--rounds=0")[-1], .07)

    def test_hyper(self):
        first, rate, momentum, last = self.numbers("hyper")
        self.assertLess(last, first / 3)
        self.assertTrue(.02 < rate < 1, rate)
        self.assertTrue(.5 < momentum < 1, momentum)

    def test_the_same_bits_in_any_memory(self):
        for name, small, memory in (("pendulum", "--steps=2000", "256KiB"), ("nbody", "--steps=400", "1MiB"), ("heat", "--steps=400", "700KiB"),
                                    ("rays", "--width=16", "1MiB"), ("hyper", "--steps=100", "900KiB")):
            with self.subTest(name):
                whole = self.sample(name, small, "--rounds=2", options=["--checkpoint=tape"]).output
                self.sample(name, small, "--rounds=2", options=["--checkpoint=tape", f"--memory={memory}"], code=3)
                self.assertEqual(self.sample(name, small, "--rounds=2", options=[f"--memory={memory}"]).output, whole)

    def test_what_their_comments_say_about_memory(self):
        for name, length in (("pendulum", "--steps=2000000"), ("nbody", "--steps=20000"), ("heat", "--steps=40000"), ("rays", "--width=160"), ("hyper", "--steps=4000")):
            with self.subTest(name):
                with open(os.path.join(self.samples, f"{name}.scm")) as file:
                    line = next(line for line in file if "--memory" in line)
                memory, sample, *arguments = line.split("vmrun ")[1].split("  ")[0].split()
                self.assertEqual((sample, arguments), (f"samples/{name}.scm", [length, "--rounds=1"]))
                self.sample(name, *arguments, options=["--checkpoint=tape", memory], code=3)
                done = self.sample(name, *arguments, options=[memory, "--stats"])
                self.assertGreater(self.stats(done)["replay_factor"], 1)

    def test_pictures(self):
        for name, words in (("pendulum", "--rounds=1"), ("nbody", "--rounds=1"), ("heat", "--rounds=1"), ("rays", "--rounds=1 --width=8"), ("hyper", "--rounds=2")):
            self.sample(name, *words.split(), "--pictures=.")
        for picture in ("pendulum", "nbody", "heat", "heat-map", "rays-picture", "rays-first-guess", "rays-found", "hyper"):
            self.assertIn(b"</svg>", self.read(f"{picture}.svg"))


if __name__ == "__main__":
    arguments = driver.parse(__doc__, samples="the folder of the samples")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Simulations.samples = os.path.abspath(arguments.samples)
    unittest.main(argv=["simulations.py", *arguments.tests])
