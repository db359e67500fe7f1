"""Programs whose tensors are on a GPU, or stream to one, on a CUDA that is no GPU: the CUDA module as vmrun loads it."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import driver
from driver import ToolTest
from streaming import UPDATES as NET

STREAMS = "memory=300KiB,host=1MiB,disk=disk"


class Programs(ToolTest):
    module = None

    def setUp(self):
        super().setUp()
        self.write("net.scm", NET)
        os.mkdir(self.path("disk"))
        self.right = self.vmrun("net.scm").output

    def on_gpu(self, settings, *arguments, **more):
        return self.vmrun(f"--device=cuda{settings}", *arguments, env=os.environ | {"CAIRN_MODULES": self.module}, **more)

    def test_the_same_numbers_as_on_the_processor(self):
        for settings, streams in (("", False), (":0", False), (",memory=64MiB", False), (",host=1GiB", True), (":0,memory=300KiB,host=1GiB", True),
                                  ("," + STREAMS, True), (f",{STREAMS},pinned=off", True), (f",{STREAMS},policy=demand", True)):
            with self.subTest(settings=settings):
                self.assertEqual(self.on_gpu(settings, "--stats=s", "net.scm").output, self.right)
                device = json.loads(self.read("s"))["device"]
                self.assertEqual(device["bytes_in"] > 0, streams and "memory" in settings)
                self.assertGreater(device["execute_s"], 0)
                if streams:
                    self.assertEqual(device["staged_bytes"] > 0, "pinned=off" in settings and device["bytes_in"] > 0)
                    self.assertEqual(device["pinned_bytes"] > 0, "pinned=off" not in settings and device["bytes_in"] > 0)

    def test_what_is_saved_goes_on_on_another_device(self):
        steps = self.stats(self.on_gpu("," + STREAMS, "--stats", "net.scm"))["steps"]
        for first, then in (("cuda," + STREAMS, "emulated"), ("emulated," + STREAMS, "cuda"), ("cuda," + STREAMS, "cuda," + STREAMS)):
            for part in (1, 2, 3):
                with self.subTest(first=first, then=then, part=part):
                    module = {"env": os.environ | {"CAIRN_MODULES": self.module}}
                    saved = self.vmrun(f"--device={first}", f"--steps={steps * part // 4}", "--save=z", "net.scm", code=75, **module)
                    self.assertEqual(saved.output + self.vmrun(f"--device={then}", "--resume=z", **module).output, self.right)

    def test_a_gradient_begins_again_with_less_to_keep(self):
        self.write("deep.scm", NET.replace("-update! (lambda (w) (net w x)) w 1.0 momentum v", " (lambda (w) (net w x)) w 1.0")
                   .replace("(cadr r) (caddr r)", "(map (lambda (a g) (- a (* 0.1 g))) w (cdr r)) v").replace("(32 128)", "(256 64)")
                   .replace("(128 128)", "(64 64)").replace("(iota 16)", "(iota 40)"))
        right = self.vmrun("deep.scm").output
        done = self.on_gpu(",memory=4MiB", "--stats", "deep.scm")
        self.assertEqual(done.output, right)
        self.assertGreater(self.stats(done)["device"]["relieved"], 0)

    def test_what_does_not_fit_is_refused_with_a_cure(self):
        for settings, code, told in ((",memory=2GiB", 2, "cuda:0: memory= asks for 2147483648 bytes, but 1073741824 of its 1073741824 bytes are free"),
                                     (":3", 2, "cuda:3: there is no such device: this machine has 1, counted from 0"),
                                     (",memory=64KiB", 3, "what would have been enough for this operation: memory="),
                                     (",memory=64KiB,host=1GiB", 3, "what would have been enough for this operation: memory=")):
            with self.subTest(settings=settings):
                self.assertIn(told, self.on_gpu(settings, "net.scm", code=code).errors)


if __name__ == "__main__":
    options = driver.parse(__doc__, module="the folder of the CUDA module")
    ToolTest.bin, Programs.module = options.bin, options.module
    unittest.main(argv=[__file__, *options.tests])
