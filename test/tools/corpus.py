#!/usr/bin/env python3
"""The seeds of test/fuzz are files of today's formats: a fuzzer that starts from files that are refused at once finds nothing. Whoever changes a
format runs test/fuzz/make_corpus.py.

    corpus.py --bin FOLDER --corpus FOLDER
"""
import os
import unittest

import driver
from driver import ToolTest


class Corpus(ToolTest):
    corpus = None

    def seeds(self, target):
        folder = os.path.join(self.corpus, target)
        names = sorted(name for name in os.listdir(folder) if not name.startswith("found-"))
        self.assertGreater(len(names), 8)
        return [os.path.join(folder, name) for name in names]

    def test_modules_are_sound(self):
        for seed in self.seeds("module_loader"):
            with open(seed, "rb") as file:
                self.write("seed.bc", file.read())
            self.vmrun("--verify-only", "seed.bc")

    def test_capsules_can_go_on(self):
        for seed in self.seeds("capsule_loader"):
            self.assertIn(self.vmrun("--steps=1", f"--resume={seed}", code=None).returncode, (0, 75), seed)


if __name__ == "__main__":
    arguments = driver.parse(__doc__, corpus="the folder of the seeds")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Corpus.corpus = os.path.abspath(arguments.corpus)
    unittest.main(argv=["corpus.py", *arguments.tests])
