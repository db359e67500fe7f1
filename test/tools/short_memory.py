#!/usr/bin/env python3
"""Where the system refuses memory, programs end in a documented code, or do without: however much there is, nothing kills the process and
nothing hangs.

    short_memory.py --bin FOLDER
"""
import os
import resource
import subprocess
import unittest

import driver

PRODUCTS = """
(define a (randn '(300 300)))
(define d (cast a 'f64))
(define x (randn '(2 64 32 32)))
(define w (randn '(64 64 3 3)))
(write (map (lambda (t) (tensor? t)) (list (matmul a a) (matmul d d) (convolve x w) (matmul (cast a 'bf16) (cast a 'bf16)))))
"""


class ShortMemory(driver.ToolTest):
    def run_with(self, mebibytes):
        limit = mebibytes << 20
        return subprocess.run([os.path.join(self.bin, "vmrun"), "--memory=24MiB", "products.scm"], cwd=self.folder, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    def test_products_with_few_addresses(self):
        self.write("products.scm", PRODUCTS)
        for mebibytes in (80, 120, 160, 240, 320, 400, 480, 560, 640, 720, 800, 1000, 1500):
            with self.subTest(mebibytes=mebibytes):
                done = self.run_with(mebibytes)
                self.assertIn(done.returncode, (0, 3), done.stderr)
                if done.returncode == 0:
                    self.assertEqual(done.stdout, "(#t #t #t #t)")
                else:
                    self.assertRegex(done.stderr, "memory")
        self.assertEqual(self.run_with(1500).returncode, 0)

    def test_a_request_that_no_system_grants(self):
        self.write("huge.scm", "(write (expand-tensor (fill '(1) 1.0) '(1000000000000000)))")
        done = subprocess.run([os.path.join(self.bin, "vmrun"), "huge.scm"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120)
        self.assertIn(done.returncode, (0, 3), done.stderr)  # a printer shows some elements, or says that there is no memory


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    driver.ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["short_memory.py", *arguments.tests])
