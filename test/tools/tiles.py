"""Images by tiles from files: runs that stop in the middle of a tile go on from a saved state, and memory does not grow with tiles."""
import json
import os
import unittest

import driver
from driver import ToolTest

IMAGE = """(write-npy "image.npy" (view (sin (arange (* 3 96 80))) '(1 3 96 80)))
"""
NETWORK = """(define weights (list (randn '(4 3 3 3) 'f64 'cpu 1) (randn '(4 4 3 3) 'f64 'cpu 2)))
(define (net w x)
  (let ((y (ReLU (convolve (cast x 'f64) (car w) 1 1))))
    (max-pool (+ y (car (batch-normalization-training (convolve y (cadr w) 1 1) (ones '(4) 'f64) (zeros '(4) 'f64)))) 2)))
(define (loss w) (sum (square (mean (tiled (lambda (x) (net w x)) (npy-array "image.npy") '(4 3)) '(2 3)))))
"""


class Tiles(ToolTest):
    def test_runs_go_on_from_the_middle_of_a_tile(self):
        self.write("image.scm", IMAGE)
        self.vmrun("image.scm")
        self.write("a.scm", NETWORK + "(write (map sumall (cons (car (*j loss weights 1)) (cdr (checkpoint-*j loss weights 1)))))")
        whole = self.vmrun("--stats", "a.scm")
        steps = json.loads(whole.errors)["steps"]
        for parts in (7, 23):
            state, output = ["a.scm"], ""
            for _ in range(parts + 2):
                done = self.vmrun(f"--steps={steps // parts}", "--save=state.capsule", *state, code=None)
                output += done.output
                if done.returncode == 0:
                    break
                self.assertEqual(done.returncode, 75)
                state = ["--resume=state.capsule"]
            self.assertEqual(output, whole.output)

    def test_memory_does_not_grow_with_tiles(self):
        # Two full layers of 32 channels are 16 MiB; a border of one is 64 KiB.
        self.write("a.scm", """(define n (string->number (car (command-line))))
(define w (randn '(32 1 3 3) 'f32 'cpu 1))
(define (net w x) (max-pool (tanh (convolve x w 1 1)) 32))
(define (loss w) (sum (square (tiled (lambda (x) (net w x)) (fill '(1 1 256 256) .5) n))))
(write (cdr (*j loss w 1)))""")
        peaks = [json.loads(self.vmrun("--stats", "a.scm", tiles).errors)["tensor_peak_bytes"] for tiles in (1, 2, 4, 8)]
        for fewer, more in zip(peaks, peaks[1:]):
            self.assertLessEqual(more, fewer)
        self.assertLess(peaks[3], 2 << 20)
        self.assertGreater(peaks[0], 16 << 20)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["tiles.py", *arguments.tests])
