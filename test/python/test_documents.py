"""The code of docs/python.md runs in one go, block after block, and prints what the comments behind it say. Docstrings likewise."""
import contextlib
import doctest
import importlib.util
import io
import os
import re
import unittest
import warnings

import cairn

ROOT = os.environ.get("CAIRN_ROOT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


class Documents(unittest.TestCase):
    def test_the_page_of_python(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 8)
        names = {}
        for block in blocks:
            missing = [name for name in ("torch", "jax") if re.search(rf"\bimport {name}\b", block) and importlib.util.find_spec(name) is None]
            if missing:
                continue
            code, expected = re.fullmatch(r"(.*?)((?:^#.*\n)*)", block, re.DOTALL | re.MULTILINE).groups()
            with self.subTest(code=code), contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(code, "python.md", "exec"), names)
            self.assertEqual(printed.getvalue(), re.sub(r"^# ?", "", expected, flags=re.MULTILINE))

    def test_the_page_has_every_name(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            page = file.read()
        for name in cairn.__all__:
            self.assertRegex(page, rf"\b{name}\b")

    def test_docstrings(self):
        self.assertEqual(doctest.testmod(cairn).failed, 0)
        for name in cairn.__all__:
            self.assertTrue(getattr(cairn, name).__doc__, name)
        for kind in (cairn.Module, cairn.Run, cairn.Explanation):
            for name, member in vars(kind).items():
                if not name.startswith("_"):
                    self.assertTrue(member.__doc__, f"{kind.__name__}.{name}")

    def test_options_are_in_the_docstring(self):
        import inspect

        for name in inspect.signature(cairn.compile).parameters:
            if name not in ("source", "name"):
                self.assertRegex(cairn.compile.__doc__, rf"\b{name}\b")


if __name__ == "__main__":
    unittest.main()
