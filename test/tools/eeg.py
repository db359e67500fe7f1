#!/usr/bin/env python3
"""Recordings in the format EDF, one of which EDFlib wrote (tools/golden/recording.py), others that lie; and the sample that tells trials of EEG apart."""
import json
import os
import unittest

import driver
from driver import ToolTest


class Recordings(ToolTest):
    root = None

    def data(self, name):
        return os.path.join(self.root, "test", "data", name)

    def value(self, expression):
        return self.vmrun(self.write("program.scm", f"(write {expression})")).output

    def recording(self):
        with open(self.data("recording.edf"), "rb") as file:
            return file.read()

    def test_a_recording_that_edflib_wrote(self):
        self.write("a.edf", self.recording())
        with open(self.data("recording.json")) as file:
            told = json.load(file)
        printed = self.value("""(map (lambda (signal)
               (let (((list name unit rate t) (map cdr signal)))
                 (list name unit rate (size t) (tensor->list (narrow-tensor t 0 0 5)) (sumall (cast t 'f64)))))
             (cdr (assoc "signals" (read-edf "a.edf"))))""")
        words = printed.replace("(", " ").replace(")", " ").split()
        self.assertEqual(len(words), 3 * 10)
        for at, signal in zip((0, 10, 20), told["signals"]):
            name, unit, rate, samples, *numbers = words[at:at + 10]
            self.assertEqual((name, unit, float(rate), int(samples)), (f'"{signal["name"]}"', f'"{signal["unit"]}"', signal["rate"], signal["samples"]))
            for ours, theirs in zip(map(float, numbers), [*signal["first"], signal["sum"]]):
                self.assertAlmostEqual(ours, theirs, delta=2e-7 * abs(theirs) * max(1, len(numbers)) + 1e-3)
        notes = self.value('(cdr (assoc "annotations" (read-edf "a.edf")))')
        expected = " ".join(f'({onset!r} {"#f" if length is None else repr(length)} "{text}")' for onset, length, text in told["annotations"])
        plain = lambda text: text.replace(".0 ", " ")
        self.assertEqual(plain(notes), plain(f"({expected})"))

    def test_damaged_recordings_end_in_an_error_or_a_value(self):
        good = self.recording()
        for place in [*range(168, 260, 3), *range(260, 1024, 37), *range(1024, len(good), 1499)]:
            self.write("a.edf", good[:place] + bytes([good[place] ^ 0x15]) + good[place + 1:])
            done = self.tool("vmrun", "--memory=64MiB", self.write("program.scm", '(read-edf "a.edf")'))
            self.assertIn(done.returncode, (0, 1), (place, done.errors))

    # --- the sample

    def eeg(self, *arguments, options=(), code=0):
        done = self.vmrun(*options, os.path.join(self.root, "samples", "eeg.scm"), *arguments, code=code)
        return [float(word) for word in done.output.split()] if code == 0 else done.errors

    def test_every_classifier_learns(self):
        chance = 1 / 4
        for model, parameters, epochs, least in (("eegnet", 1492, 12, .8), ("cnn", 23812, 6, .8), ("mlp", 65860, 10, .45), ("lstm", 5508, 20, .45)):
            with self.subTest(model):
                count, loss, accuracy = self.eeg(f"--model={model}", f"--epochs={epochs}")
                self.assertEqual(count, parameters)
                self.assertGreater(accuracy, least)
                self.assertGreater(accuracy, chance)

    def test_trials_of_a_recording(self):
        count, loss, accuracy = self.eeg(f"--edf={self.data('recording.edf')}", "--model=cnn", "--epochs=30", "--rate=.01", "--batch=16",
                                         options=[f"--read={self.data('')}"])
        self.assertGreaterEqual(accuracy, .9)

    def test_the_same_bits_within_any_budget(self):
        for model in ("eegnet", "lstm"):
            words = [f"--model={model}", "--epochs=1", "--trials=64"]
            whole = self.eeg(*words, options=["--checkpoint=tape"])
            for option in ("--checkpoint=bisection,base=128", "--memory=6MiB"):
                self.assertEqual(self.eeg(*words, options=[option]), whole)

    def test_a_model_that_is_none(self):
        self.assertIn('expected eegnet, cnn, mlp or lstm, got "svm"', self.eeg("--model=svm", code=1))


if __name__ == "__main__":
    arguments = driver.parse(__doc__, root="the folder of the sources")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Recordings.root = os.path.abspath(arguments.root)
    unittest.main(argv=["eeg.py", *arguments.tests])
