#!/usr/bin/env python3
"""The sample that learns to read digits: how well, how fast, its options, and runs that are killed and resumed."""
import csv
import os
import subprocess
import sys
import time
import unittest

import driver
from driver import ToolTest


class Digits(ToolTest):
    samples = None

    def command(self, *arguments, options=()):
        return [f"--read={self.samples}", *options, os.path.join(self.samples, "digits.scm"), f"--data={os.path.join(self.samples, 'data', 'digits.npy')}", *arguments]

    def digits(self, *arguments, options=(), code=0):
        return self.vmrun(*self.command(*arguments, options=options), code=code)

    def test_more_than_97_percent_are_read(self):
        numbers = [float(word) for word in self.digits().output.split()]
        self.assertEqual(len(numbers), 11)
        self.assertGreater(numbers[0], 1)
        self.assertLess(numbers[9], .1)
        self.assertGreater(numbers[10], .97)

    def test_other_seeds_do_as_well_and_are_others(self):
        outputs = [self.digits(options=[f"--seed={seed}"]).output for seed in (1, 2, 3)]
        self.assertEqual(len(set(outputs)), 3)
        for output in outputs:
            self.assertGreater(float(output.split()[-1]), .97)

    def test_parameters_go_into_a_file_and_come_back(self):
        trained = self.digits("--epochs=3", "--save=weights.safetensors").output.split()
        self.assertEqual(self.digits("--epochs=0", "--load=weights.safetensors").output.split(), trained[-1:])
        self.assertLess(float(self.digits("--epochs=0").output), .5)
        # Training goes on from there: the first epoch is better than it is without.
        self.assertLess(float(self.digits("--epochs=1", "--load=weights.safetensors").output.split()[0]), float(trained[0]) / 2)

    def test_the_budget_of_memory_changes_nothing(self):
        whole = self.digits("--epochs=1", options=["--checkpoint=tape"]).output
        for option in ("--memory=10MiB", "--checkpoint=bisection,base=64", "--checkpoint=binomial,base=64,snapshots=3"):
            self.assertEqual(self.digits("--epochs=1", options=[option]).output, whole)

    def test_options_that_are_none_are_refused(self):
        self.assertIn("there is no option --epoch=3; these there are, as --name=value: (epochs batch save load pictures data)",
                      self.digits("--epoch=3", code=1).errors)
        self.assertIn("expected a number behind --epochs=, got", self.digits("--epochs=many", code=1).errors)
        for name, kind in (("epochs", "NUMBER"), ("save", "TEXT"), ("load", "TEXT"), ("pictures", "TEXT")):
            self.assertIn(f"--{name} alone says nothing; write --{name}={kind}", self.digits(f"--{name}", code=1).errors)

    def test_metrics_and_pictures(self):
        output = self.digits("--epochs=2", "--pictures=.", options=["--metrics=digits.csv"]).output.split()
        header, *rows = csv.reader(self.read("digits.csv").decode().splitlines())
        self.assertEqual(header, ["#report", "#steps", "#time", "loss", "step", "of", "epoch-loss", "rate", "accuracy"])
        self.assertEqual(len(rows), 2 * 45 + 3)
        self.assertEqual([row[4:7] for row in rows if row[4]], [["1", "2", output[0]], ["2", "2", output[1]]])
        self.assertEqual(rows[-1][3:], ["", "", "", "", "", output[2]])
        self.assertIn(b"mean cross entropy", self.read("digits-loss.svg"))
        self.assertIn(b"read as", self.read("digits-confusion.svg"))

    def test_the_training_of_the_quickstart(self):
        tool = os.path.join(self.samples, "..", "tools", "common", "quickstart.py")
        program = f"import sys; sys.path.insert(0, {os.path.dirname(tool)!r}); import quickstart; quickstart.training(*sys.argv[1:])"
        done = subprocess.run([sys.executable, "-B", "-c", program, os.path.join(self.bin, "vmrun"), self.samples], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"epoch 5 +loss 0\.\d+ #+\n +accuracy +9[5-9]\.\d % of 359")

    def test_killed_and_resumed_it_ends_with_the_same_bits(self):
        began = time.monotonic()
        whole = self.digits("--epochs=4", "--save=whole.safetensors").output
        seconds = time.monotonic() - began
        resumed = self.with_kills(self.command("--epochs=4", "--save=resumed.safetensors"), [f"--read={self.samples}"], seconds, 20000)
        self.assertEqual(resumed, whole)
        self.assertEqual(self.read("resumed.safetensors"), self.read("whole.safetensors"))


if __name__ == "__main__":
    arguments = driver.parse(__doc__, samples="the folder of the samples")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Digits.samples = os.path.abspath(arguments.samples)
    unittest.main(argv=["digits.py", *arguments.tests])
