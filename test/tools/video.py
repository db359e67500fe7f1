#!/usr/bin/env python3
"""The sample of videos: both networks learn, and longer clips fit."""
import os
import unittest

import driver
from driver import ToolTest


class Videos(ToolTest):
    samples = None

    def video(self, *arguments, options=(), code=0):
        done = self.vmrun(*options, os.path.join(self.samples, "video.scm"), *arguments, code=code)
        return done.errors if code else done.output.split()

    def test_directions_are_told_by_shifts_in_time(self):
        parameters, loss, accuracy = map(float, self.video("--steps=40"))
        self.assertEqual(parameters, 51444)
        self.assertGreater(accuracy, .9)

    def test_without_a_second_frame_directions_are_a_guess(self):
        # So it is the shifts by which the classifier knows.
        self.assertLess(float(self.video("--steps=40", "--frames=1")[-1]), .6)

    def test_the_square_is_found(self):
        parameters, loss, accuracy, distance = map(float, self.video("--model=yolo3d", "--steps=60"))
        self.assertEqual(parameters, 45551)
        self.assertGreater(accuracy, .9)
        self.assertLess(distance, 3)  # of 32 points

    def test_longer_clips_within_less_than_a_tape(self):
        words = ("--frames=64", "--steps=1")
        with open(os.path.join(self.samples, "video.scm")) as file:
            self.assertIn("vmrun --memory=150MiB samples/video.scm " + " ".join(words), file.read())
        self.video(*words, options=["--memory=150MiB", "--checkpoint=tape"], code=3)
        self.assertEqual(self.video(*words, options=["--memory=150MiB"]), self.video(*words, options=["--checkpoint=tape"]))

    def test_a_model_that_is_none(self):
        self.assertIn('expected tsm or yolo3d, got "yolo"', self.video("--model=yolo", code=1))


if __name__ == "__main__":
    arguments = driver.parse(__doc__, samples="the folder of the samples")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Videos.samples = os.path.abspath(arguments.samples)
    unittest.main(argv=["video.py", *arguments.tests])
