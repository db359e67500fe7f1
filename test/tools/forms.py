"""What tapes do without: less memory, the same bits, and little that is computed again, whatever a program is made of."""
import json
import os
import unittest

import driver
from driver import ToolTest

# Operations on single elements alone: whatever is computed again costs as much as what is kept.
ELEMENTS = """(define x (randn '(300 100)))
(define (deep x) (let loop ((i 0) (x x)) (if (= i 60) (mean x) (loop (+ i 1) (tanh (+ (* x 1.01) (exp (* x -.5))))))))
(write ({} deep x 1))
"""
NETWORK = """(define weights (map (lambda (c) (* .1 (randn (list 16 c 3 3)))) '(3 16 16)))
(define images (randn '(2 3 64 64)))
(define (network weights)
  (let loop ((weights weights) (x images))
    (if (null? weights) (mean (square x)) (loop (cdr weights) (max-pool (ReLU (convolve x (car weights) 1 1)) 2)))))
(write ({} network weights 1))
"""
CLIPPED = NETWORK.replace("(ReLU (convolve x (car weights) 1 1))", "(min (max (convolve x (car weights) 1 1) -.5) .5)")
# Layers whose products cost far more than what stands between them.
LAYERS = """(define w (* .05 (randn '(256 256))))
(define x (randn '(512 256)))
(define ones (fill '(256) 1.))
(define zeros (fill '(256) 0.))
(define (deep w) (let loop ((i 0) (x x)) (if (= i 10) (mean x) (loop (+ i 1) (+ x (tanh (layer-normalization (matmul x w) ones zeros)))))))
(write ({} deep w 1))
"""


class Forms(ToolTest):
    """Beside a plan with memory for all that rules ask for, which computes nothing again."""

    def both(self, program):
        self.write("whole.scm", program.format("checkpoint-*j"))
        whole = self.vmrun("--memory=4GiB", "--checkpoint=budget", "--stats=s.json", "--explain=e.json", "whole.scm").output
        all_kept = json.loads(self.read("s.json")), json.loads(self.read("e.json"))["gradients"][0]["kept"]
        less = self.vmrun("--checkpoint=tape", "--stats=s.json", "--explain=e.json", "whole.scm").output
        lean = json.loads(self.read("s.json")), json.loads(self.read("e.json"))["gradients"][0]["kept"]
        self.write("plain.scm", program.format("*j"))
        self.assertEqual(whole, less)
        self.assertEqual(whole, self.vmrun("plain.scm").output)
        return all_kept, lean

    def test_elements_alone_pay_little(self):
        (whole, all_kept), (less, kept) = self.both(ELEMENTS)
        self.assertLess(kept["bytes"], all_kept["bytes"])
        self.assertGreater(less["work"], whole["work"])
        self.assertLess(less["work"], 1.08 * whole["work"])

    def test_layers_keep_what_products_made(self):
        (whole, all_kept), (less, kept) = self.both(LAYERS)
        self.assertLess(kept["bytes"], .65 * all_kept["bytes"])
        self.assertLess(less["work"], 1.05 * whole["work"])

    def test_rectified_and_pooled_tensors_are_bits_and_places(self):
        (_, all_kept), (_, kept) = self.both(NETWORK)
        for found in (all_kept, kept):
            parts = {part["operator"]: 0 for part in found["parts"]}
            for part in found["parts"]:
                parts[part["operator"]] += part["bytes"]
            rectified = sum(2 * 16 * (64 >> i) ** 2 for i in range(3))  # elements
            self.assertEqual(parts["ReLU"], rectified // 8)
            self.assertEqual(parts["max-pool"], rectified // 4)

    def test_clipped_tensors_are_two_bits_an_element(self):
        (_, all_kept), (_, kept) = self.both(CLIPPED)
        for found in (all_kept, kept):
            bits = sum(part["bytes"] for part in found["parts"] if part["operator"] in ("max", "min"))
            self.assertEqual(bits, 2 * sum(2 * 16 * (64 >> i) ** 2 for i in range(3)) // 8)

    def test_a_saved_tape_goes_on_as_it_began(self):
        for program in (ELEMENTS, NETWORK, CLIPPED, LAYERS):
            self.write("a.scm", program.format("*j"))
            whole = self.vmrun("--stats=s.json", "a.scm").output
            stats = json.loads(self.read("s.json"))
            for i in range(1, 8):
                begun = self.vmrun(f"--steps={stats['steps'] * i // 8}", "--save=a.capsule", "a.scm", code=75)
                ended = self.vmrun("--stats=s.json", "--resume=a.capsule")
                self.assertEqual(begun.output + ended.output, whole)
                self.assertLessEqual(json.loads(self.read("s.json"))["tensor_peak_bytes"], stats["tensor_peak_bytes"])


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["forms.py", *arguments.tests])
