"""Everything public has type hints and a docstring, the extension has what its stub says, and a type checker takes what users write."""
import ast
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import cairn

RIGHT = """
import pathlib
import pickle
from typing import Dict, List, Tuple

import numpy as np

import cairn


def doubled(x: float) -> float:
    return 2 * x


m: cairn.Module = cairn.compile("(define (f x) (double x))", memory="2GiB", output_bytes="1MiB", read="data", libraries=["a", pathlib.Path("b")], hosts={"double": cairn.host(doubled, derivative=lambda x, y: [[2.0]])})
print(m.f(np.ones(3)), m["f"](2.0), m.memory["all"] + m.steps)
gradient = cairn.grad(m.f, 0, memory="1MiB")
second: cairn.Procedure = cairn.grad(cairn.grad(m.f, (0, 1)), checkpoint="bisection")
explained = cairn.value_and_grad(gradient, explain=True, device="cpu")
value = explained(2.0)
if explained.explanation is not None:
    rows: List[Dict[str, object]] = explained.explanation.gradients
run: cairn.Run = gradient.start(2.0).resume(steps=10, progress=True)
for progress in run.slices(steps=10):
    steps: int = progress.steps
kept: bytes = pickle.dumps(run) + run.capsule
y, pullback = cairn.vjp(m.f, 2.0)
cotangents: Tuple[object, ...] = pullback(1.0)
step = cairn.update(m.f, m.rule)
try:
    m.copy().f(1)
except cairn.ProgramError as error:
    line: int = error.line + len(error.calls)
"""
WRONG = """
import cairn

m = cairn.compile("(define (f x) x)")
cairn.compile(3)  # wrong
cairn.compile("1", memory=[])  # wrong
cairn.compile("1", budget=3)  # wrong
cairn.compile("1", arguments=3)  # wrong
cairn.grad(m.f, "x")  # wrong
cairn.jacobian(m.f, (0, 1))  # wrong
cairn.grad(m.f).explanation  # wrong
cairn.grad(m.f).start(3).resume(steps="many")  # wrong
cairn.grad(abs)  # wrong
"""


def owned(kind):
    """Members that the class defines itself and that are not private; what makes it and calls it."""
    for name, member in vars(kind).items():
        if not name.startswith("_") or name in ("__init__", "__call__"):
            yield name, getattr(member, "fget", getattr(member, "__func__", member))


class Types(unittest.TestCase):
    def checked(self, function, name):
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if parameter.name != "self":
                self.assertIsNot(parameter.annotation, inspect.Parameter.empty, f"{name}: {parameter.name}")
        self.assertIsNot(signature.return_annotation, inspect.Signature.empty, name)

    def test_everything_public_has_hints_and_docstrings(self):
        modules = [cairn]
        for name in ("torch", "jax"):
            if importlib.util.find_spec(name) is not None:
                modules.append(importlib.import_module(f"cairn.{name}"))
        seen = 0
        for module in modules:
            self.assertTrue(module.__doc__)
            for name in module.__all__:
                thing = getattr(module, name)
                self.assertTrue(thing.__doc__, name)
                if inspect.isfunction(thing):
                    self.checked(thing, name)
                elif isinstance(thing, type) and not thing.__module__.startswith("cairn._cairn") and thing not in (cairn.Array, cairn.Procedure):
                    for member, function in owned(thing):
                        if inspect.isfunction(function):
                            seen += 1
                            self.checked(function, f"{name}.{member}")
                            if not member.startswith("_") or member == "__call__":
                                self.assertTrue(function.__doc__, f"{name}.{member}")
        self.assertGreater(seen, 25)

    def test_the_extension_has_what_its_stub_says(self):
        with open(os.path.join(os.path.dirname(cairn.__file__), "_cairn.pyi"), encoding="utf-8") as file:
            stub = ast.parse(file.read())
        listed = set()
        for part in stub.body:
            name = getattr(part, "name", None) or getattr(getattr(part, "target", None), "id", None)
            if name is None:
                continue
            listed.add(name)
            self.assertTrue(hasattr(cairn._cairn, name), name)
            if isinstance(part, ast.ClassDef):
                kind = getattr(cairn._cairn, name)
                said = {getattr(m, "name", None) or m.target.id for m in part.body if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}
                missing = {member for member in said if not hasattr(kind, member)}
                self.assertEqual(missing - {"__buffer__"}, set())  # CPython from 3.12 on shows that
                self.assertEqual({member for member in vars(kind) if not member.startswith("_")} - said, set())
        self.assertEqual({name for name in vars(cairn._cairn) if not name.startswith("_")} - listed, set())

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_a_type_checker_takes_what_is_right_and_nothing_else(self):
        def told(text):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "user.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(textwrap.dedent(text))
                done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, path], cwd=folder, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
                return [line for line in done.stdout.splitlines() if "error:" in line]

        self.assertEqual(told(RIGHT), [])
        expected = [number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")]
        self.assertEqual(sorted({int(line.split(":")[1]) for line in told(WRONG)}), expected)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_a_type_checker_takes_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            copied = shutil.copytree(os.path.dirname(cairn.__file__), os.path.join(folder, "cairn"), ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            for name in ("torch", "jax"):
                if importlib.util.find_spec(name) is None:
                    os.remove(os.path.join(copied, f"{name}.py"))
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.join(folder, "cache"), "cairn"], cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
