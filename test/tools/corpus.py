#!/usr/bin/env python3
"""The seeds of test/fuzz are files of today's formats: a fuzzer that starts from files that are refused at once finds nothing. Whoever changes a
format runs test/fuzz/make_corpus.py.

    corpus.py --bin FOLDER --corpus FOLDER
"""
import os
import re
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

    def test_every_reader_of_files_has_a_case(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        texts = {}
        for folder in ("compiler/library", "test/fuzz"):
            for name in sorted(os.listdir(os.path.join(root, folder))):
                if name.endswith(".scm"):
                    with open(os.path.join(root, folder, name), encoding="utf-8") as file:
                        texts[f"{folder}/{name}"] = file.read()
        with open(os.path.join(root, "vm/bytecode/tensor_procedures.def"), encoding="utf-8") as file:
            names = re.findall(r'^X\(\w+, +"([^"]+)"', file.read(), re.MULTILINE)
        for name, text in texts.items():
            if name.startswith("compiler/"):
                names += re.findall(r"^\(define \(([^%\s()]\S*)", text, re.MULTILINE)
        readers = {name for name in names if re.fullmatch(r"(read|load)-.+|.+-arrays?", name)} - {"read-ahead"}  # what is wrong with a file is said by read-rows
        self.assertGreater(len(readers), 15)
        calls = " ".join(re.findall("(?m)^;;; (.*)$", texts["test/fuzz/readers.scm"]))
        self.assertEqual([name for name in sorted(readers) if f"({name} " not in calls], [])

    def test_modules_are_sound(self):
        for seed in self.seeds("module_loader"):
            with open(seed, "rb") as file:
                self.write("seed.bc", file.read())
            self.vmrun("--verify-only", "seed.bc")

    def test_capsules_can_go_on(self):
        for seed in self.seeds("capsule_loader"):
            device = ["--device=emulated,memory=8KiB,host=256KiB"] * ("streaming" in os.path.basename(seed))
            self.assertIn(self.vmrun("--steps=1", f"--resume={seed}", *device, code=None).returncode, (0, 75), seed)

    def test_plans_are_sound(self):
        self.write("follow.scm", '(call-with-streaming-plan (read-bytes (car (command-line)) 0 (file-size (car (command-line)))) cdr 1)')
        for seed in self.seeds("plan_loader"):
            done = self.vmrun(f"--read={seed}", "follow.scm", seed, code=1)
            self.assertIn("of another procedure", done.errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__, corpus="the folder of the seeds")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Corpus.corpus = os.path.abspath(arguments.corpus)
    unittest.main(argv=["corpus.py", *arguments.tests])
