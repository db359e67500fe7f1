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
        printed = self.value("""(let (((list signals notes) (read-edf "a.edf")))
          (map (lambda ((list name unit rate t)) (list name unit rate (size t) (tensor->list (narrow-tensor t 0 0 5)) (sumall (cast t 'f64)))) signals))""")
        words = printed.replace("(", " ").replace(")", " ").split()
        self.assertEqual(len(words), 3 * 10)
        for at, signal in zip((0, 10, 20), told["signals"]):
            name, unit, rate, samples, *numbers = words[at:at + 10]
            self.assertEqual((name, unit, float(rate), int(samples)), (f'"{signal["name"]}"', f'"{signal["unit"]}"', signal["rate"], signal["samples"]))
            for ours, theirs in zip(map(float, numbers), [*signal["first"], signal["sum"]]):
                self.assertAlmostEqual(ours, theirs, delta=2e-7 * abs(theirs) * max(1, len(numbers)) + 1e-3)
        notes = self.value('(cadr (read-edf "a.edf"))')
        expected = " ".join(f'({onset!r} {"#f" if length is None else repr(length)} "{text}")' for onset, length, text in told["annotations"])
        plain = lambda text: text.replace(".0 ", " ")
        self.assertEqual(plain(notes), plain(f"({expected})"))

    def header(self, signals=1, **fields):
        """A recording of two records of three samples a signal."""
        known = {"version": "0", "bytes": str(256 * (signals + 1)), "reserved": "", "records": "2", "duration": "1", "count": str(signals), "low": "-1", "high": "1",
                 "digital_low": "-32768", "digital_high": "32767", "samples": "3", "label": "a", **fields}
        first = "".join(f"{known.get(name, ''):{width}}" for name, width in (
            ("version", 8), ("patient", 80), ("recording", 80), ("date", 8), ("time", 8), ("bytes", 8), ("reserved", 44), ("records", 8), ("duration", 8), ("count", 4)))
        columns = "".join(f"{known.get(name, ''):{width}}" * signals for name, width in (
            ("label", 16), ("transducer", 80), ("unit", 8), ("low", 8), ("high", 8), ("digital_low", 8), ("digital_high", 8), ("filter", 80), ("samples", 8), ("more", 32)))
        return (first + columns).encode()

    def test_samples_are_scaled_and_signed(self):
        self.write("a.edf", self.header(low="0", high="65535") + b"\0\0\1\0\xff\xff" + b"\0\x80\xff\x7f\0\1")
        self.assertEqual(self.value('(tensor->list (cadddr (caar (read-edf "a.edf"))))'), "(32768.0 32769.0 32767.0 0.0 65535.0 33024.0)")
        # Two signals take turns in a record; a number of records that nobody knew is told by the size.
        self.write("a.edf", self.header(2, records="-1", duration=".5", low="-32768", high="32767") + bytes(range(12)) * 2)
        self.assertEqual(self.value('(map (lambda (s) (cons (caddr s) (tensor->list (cadddr s)))) (car (read-edf "a.edf")))'),
                         "((6.0 256.0 770.0 1284.0 256.0 770.0 1284.0) (6.0 1798.0 2312.0 2826.0 1798.0 2312.0 2826.0))")

    def test_recordings_that_lie(self):
        good = self.header() + bytes(12)
        for content, message in (
                (b"", "shorter than a header"), (good[:255], "shorter than a header"), (good[:400], "ends within the header"), (good[:-1], "does not fit"), (good + b"x", "does not fit"),
                (self.header(version="1") + bytes(12), "format EDF"), (self.header(records="3") + bytes(12), "does not fit"), (self.header(records="-2") + bytes(12), "does not fit"),
                (self.header(records="x") + bytes(12), "a number is wanted"), (self.header(count="0") + bytes(12), "number of signals"),
                (self.header(count="-1") + bytes(12), "number of signals"), (self.header(count="9999") + bytes(12), "ends within the header"),
                (self.header(count="1.5") + bytes(12), "number of signals"), (self.header(bytes="256") + bytes(12), "size of the header"),
                (self.header(samples="0") + bytes(12), "number of samples"), (self.header(samples="-3") + bytes(12), "number of samples"),
                (self.header(samples="99999999") + bytes(12), "does not fit"), (self.header(samples="") + bytes(12), "a number is wanted"),
                (self.header(digital_high="-32768") + bytes(12), "same"), (self.header(duration="0") + bytes(12), "duration"),
                (self.header(duration="-1") + bytes(12), "duration"), (self.header(reserved="EDF+D") + bytes(12), "EDF\\+D"), (self.header(low="+nan.0") + bytes(12), "a number is wanted"),
                (self.header(high="1e999") + bytes(12), "a number is wanted")):
            with self.subTest(message):
                self.write("a.edf", content)
                done = self.vmrun(self.write("program.scm", '(write (read-edf "a.edf"))'), code=1)
                self.assertRegex(done.errors, rf"read-edf: a\.edf: .*{message}.*\(byte \d+\)")

    def test_annotations_that_are_none(self):
        def noted(text):
            self.write("a.edf", self.header(label="EDF Annotations", samples=str(30), records="1", reserved="EDF+C") + text.ljust(60, b"\0"))
            return self.vmrun(self.write("program.scm", '(write (cadr (read-edf "a.edf")))'), code=None)
        self.assertEqual(noted(b"+0\x14\x14\0+1\x152\x14a\x14b\x14\0-.5\x14\xc3\xa4\xff\x14").output, '((1 2 "a") (1 2 "b") (-0.5 #f "\u00e4\u00ff"))')
        self.assertEqual(noted(b"").output, "()")
        self.assertIn("the onset of an annotation is no number", noted(b"x\x14a\x14").errors)
        self.assertIn("the onset of an annotation is no number", noted(b"\x14a\x14").errors)

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
