#!/usr/bin/env python3
"""The pages that lead through the language: their programs run and print what they say, and both columns of those for people from PyTorch and JAX agree.

In these pages a program, ```scheme, prints what its last comment, `; Prints:`, says. A program behind a line `NAME.scm`: is kept under that name for ```console, whose lines
behind `$ ` are executed in the order of the page and print what follows; `...` in it stands for anything. Tables whose second column is "Cairn" have an expression of each language
in a row; a program in front of it, ```scheme and ```python, defines what they mention. Where the other language is installed, the values are compared.

    pages.py --bin FOLDER --root SOURCE-FOLDER
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest

import driver
from driver import ToolTest

# Prints a value as a list of sizes and one of numbers.
SHOWN = """(define (shown-numbers v)
  (cond ((tensor? v) (append-map shown-numbers (tensor->list (view (cast v 'f64) '(-1))))) ((pair? v) (append (shown-numbers (car v)) (shown-numbers (cdr v))))
        ((number? v) (list v)) ((boolean? v) (list (if v 1 0))) (else '())))
(define (show v) (write (append (if (tensor? v) (size v) '()) '(:) (shown-numbers v))) (newline))
"""


def shown(value):
    """The same of a value in Python."""
    if hasattr(value, "shape"):
        import numpy
        return list(value.shape) + [":"] + [float(x) for x in numpy.asarray(value.detach() if hasattr(value, "detach") else value, dtype=float).ravel()]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [":"] + [x for part in value for x in shown(part)[shown(part).index(":") + 1:]]
    return [":"] + ([float(value)] if isinstance(value, (bool, int, float)) else [])


class Pages(ToolTest):
    root = None

    def page(self, name):
        with open(os.path.join(self.root, "docs", name)) as file:
            return file.read()

    def follow(self, name, programs, consoles):
        """The programs and consoles of a page, so many at least, in their order."""
        seen = {"scheme": 0, "console": 0}
        for match in re.finditer(r"(?:^`([\w.-]+)`:\n\n)?^```(scheme|console)\n(.*?)^```$", self.page(name), re.DOTALL | re.MULTILINE):
            file, kind, text = match.groups()
            seen[kind] += 1
            with self.subTest(page=name, kind=kind, number=seen[kind]):
                if kind == "console":
                    self.console(text)
                    continue
                self.write(file or "program.scm", text)
                if not file:
                    self.prints(text, self.vmrun("program.scm").output)
        self.assertGreaterEqual(seen["scheme"], programs)
        self.assertGreaterEqual(seen["console"], consoles)

    def prints(self, text, output):
        promise = re.search(r"^; Prints:\n((?:; .*\n)*)\Z", text, re.MULTILINE)
        if promise:
            self.assertEqual(output.splitlines(), [line[2:] for line in promise.group(1).splitlines()])

    def console(self, text):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "PATH": f"{os.path.abspath(self.bin)}:{os.environ['PATH']}"})
            pattern = ".*?".join(re.escape(piece) for piece in expected.strip().split("..."))
            self.assertRegex(done.stdout.strip(), re.compile(rf"\A{pattern}\Z", re.DOTALL), command)

    def test_the_tutorial(self):
        shutil.copytree(os.path.join(self.root, "samples", "data"), self.path("data"))
        self.follow("tutorial.md", 6, 6)

    def test_from_pytorch(self):
        self.follow("from-pytorch.md", 10, 0)
        self.beside("from-pytorch.md", "torch", 60)

    def test_tiles(self):
        self.follow("tiles.md", 4, 0)

    def test_slow_or_too_large(self):
        self.follow("slow-or-too-large.md", 1, 0)

    def test_from_jax(self):
        self.follow("from-jax.md", 4, 0)
        self.beside("from-jax.md", "jax", 30)

    def beside(self, name, module, least):
        """Of each table, the rows as pairs."""
        page, rows = self.page(name), []
        setup = {kind: "" for kind in ("scheme", "python")}
        for match in re.finditer(r"^```(scheme|python)\n; ?#? ?setup\n(.*?)^```$|^```(python)\n# setup\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
            setup[match.group(1) or match.group(3)] += match.group(2) or match.group(4)
        for row in re.findall(r"^\| (.*) \|$", page, re.MULTILINE):
            cells = [re.findall(r"(?<!`)`` ?(.*?) ?``(?!`)|(?<!`)`([^`]+)`(?!`)", cell.replace("\\|", "|")) for cell in row.split(" | ")]
            if len(cells) >= 2 and len(cells[0]) == 1 and len(cells[1]) == 1:
                rows.append(tuple("".join(cell[0]) for cell in cells[:2]))
        self.assertGreaterEqual(len(rows), least)
        program = SHOWN + setup["scheme"] + "".join(f"(show {cairn})\n" for _, cairn in rows)
        ours = [[word if word == ":" else float(word) for word in line.strip("()").split()] for line in self.vmrun(self.write("rows.scm", program)).output.splitlines()]
        self.assertEqual(len(ours), len(rows))
        if importlib.util.find_spec(module) is None:
            print(f"{name}: {module} is not here; its column was not compared", file=sys.stderr)
            return
        space = {}
        exec(setup["python"], space)
        for (theirs, cairn), got in zip(rows, ours):
            with self.subTest(theirs=theirs, cairn=cairn):
                expected = shown(eval(theirs, space))
                self.assertEqual(got[:got.index(":")], expected[:expected.index(":")])
                self.assertEqual(len(got), len(expected))
                if "rand" not in theirs and "dropout" not in theirs:
                    for a, b in zip(got, expected):
                        if a != b and not (a != a and b != b):
                            self.assertAlmostEqual(a, b, delta=1e-4 * max(1, abs(b)))


if __name__ == "__main__":
    arguments = driver.parse(__doc__, root="the folder of the sources")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Pages.root = os.path.abspath(arguments.root)
    unittest.main(argv=["pages.py", *arguments.tests])
