#!/usr/bin/env python3
"""The reference is what tools/reference writes now, and has every name that a program may mention, with what it is and in use.

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

    def entries(self):
        """Of each entry: its names, the paragraphs that say what they are, and its example without what that gives."""
        folder = os.path.join(self.root, "docs", "reference")
        for page in sorted(name for name in os.listdir(folder) if name.endswith(".md") and name != "README.md"):
            with open(os.path.join(folder, page)) as file:
                for entry in file.read().split("\n### ")[1:]:
                    heading, rest = entry.split("\n", 1)
                    told, example = rest.split("```scheme\n", 1)
                    yield heading.split(", "), told.strip().split("\n\n"), [line for line in example.split("```")[0].splitlines() if not line.startswith(";")]

    def test_every_name_is_told_what_it_is_and_used(self):
        for names, told, example in self.entries():
            # What a paragraph is of stands in front of the first colon, in code: a name, or a call that begins with it.
            parts = [re.match(r"((?:`[^`]+`|``.+?``)(?:, (?:`[^`]+`|``.+?``))*): \S", paragraph) for paragraph in told]
            self.assertNotIn(None, parts, (names, told))
            of = {name for part in parts for name in re.findall(r"`\(?([^\s()`]+)", part.group(1))}
            used = set(re.split(r"[\s()'`,@\[\]]+", "\n".join(example)))
            with self.subTest(names=names):
                self.assertEqual({name for name in names if name not in of}, set())
                self.assertEqual({name for name in names if name not in used and not re.fullmatch("c[ad]{2,4}r", name)}, set())  # one of those tells all

    def test_rows_of_other_tables_are_not_taken_for_what_a_name_is(self):
        rows = {True: set(), False: set()}
        for page in ("language.md", "network.md"):
            with open(os.path.join(self.root, "docs", page)) as file:
                for table in re.findall(r"(?:^\|.+\|\n)+", file.read(), re.MULTILINE):
                    rows[table.startswith(("| procedure |", "| form |"))] |= {line.split(" | ")[1].strip(" |") for line in table.splitlines()[2:]}
        foreign = rows[False] - rows[True]
        self.assertGreaterEqual(len(foreign), 30)
        for names, told, _ in self.entries():
            texts = {re.sub(r" \(\[\S+\]\(\S+\)\)$", "", paragraph.split(": ", 1)[-1]) for paragraph in told}
            self.assertEqual(texts & foreign, set(), names)

    def test_every_name_has_an_example(self):
        sys.path.insert(0, os.path.join(self.root, "tools", "editor"))
        from generate import names
        forms, procedures = names(os.path.join(self.build, "lib", "libcairn_compiler.so"))
        with open(os.path.join(self.root, "docs", "reference", "README.md")) as file:
            links = re.findall(r"\[`([^`]+)`\]\(([^)]*)\)", file.read())
        told = {name for name, _ in links}
        self.assertEqual([name for name, place in links if "#" not in place and re.search(r"\w", name)], [])  # pages are long: links lead to the entry
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
