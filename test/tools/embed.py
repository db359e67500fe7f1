#!/usr/bin/env python3
"""samples/embed: each program prints what the comment at its end promises."""
import glob
import os
import re
import unittest

import driver


def promised(source):
    """What stands in the last comment of a C program, `/* Prints:`."""
    return re.search(r"/\* Prints:\n(.*)\*/\s*\Z", source, re.DOTALL).group(1)


class Embedding(driver.ToolTest):
    folder_of_samples = None

    def test_each_sample_prints_what_it_promises(self):
        sources = glob.glob(os.path.join(self.folder_of_samples, "*.c"))
        self.assertGreaterEqual(len(sources), 4)
        for path in sources:
            name = os.path.splitext(os.path.basename(path))[0]
            with self.subTest(name=name), open(path) as file:
                done = self.tool(f"sample_{name}", code=0)
                self.assertEqual(done.output, promised(file.read()))
                if name == "gradient":
                    self.assertGreater(self.stats(done)["replay_factor"], 1)
                else:
                    self.assertEqual(done.errors, "")
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    arguments = driver.parse(__doc__, samples="the folder of the samples in C")
    driver.ToolTest.bin = os.path.abspath(arguments.bin)
    Embedding.folder_of_samples = os.path.abspath(arguments.samples)
    unittest.main(argv=["embed.py", *arguments.tests])
