#!/usr/bin/env python3
"""The reference is what tools/reference writes now, and has every name that a program may mention.

    reference.py --root SOURCE-FOLDER --build BUILD-FOLDER
"""
import argparse
import os
import re
import subprocess
import sys
import unittest


class Reference(unittest.TestCase):
    root = build = None

    def test_the_pages_are_what_the_tool_writes(self):
        done = subprocess.run([sys.executable, os.path.join(self.root, "tools", "reference"), "--check", "--vmrun", os.path.join(self.build, "bin", "vmrun")],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_name_has_an_example(self):
        sys.path.insert(0, os.path.join(self.root, "tools", "editor"))
        from generate import names
        forms, procedures = names(os.path.join(self.build, "lib", "libcairn_compiler.so"))
        with open(os.path.join(self.root, "docs", "reference", "README.md")) as file:
            told = set(re.findall(r"\[`([^`]+)`\]\(", file.read()))
        self.assertGreaterEqual(len(told), 400)
        scorch = re.compile(r"(^|-|>)(cpu|gpu|streaming)-")  # names that mean the same operators
        self.assertEqual({name for name in forms + procedures if not scorch.search(name)} - told, set())
        self.assertEqual(told - set(forms + procedures), set())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("root", "build"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Reference.root, Reference.build = os.path.abspath(arguments.root), os.path.abspath(arguments.build)
    unittest.main(argv=["reference.py", *arguments.tests])
