#!/usr/bin/env python3
"""Documents name what there is: links lead somewhere, dependencies are all named, and what CONTRIBUTING.md tells to touch is what its
examples are made of.

    documents.py --root SOURCE-FOLDER
"""
import argparse
import glob
import os
import re
import unittest


class Documents(unittest.TestCase):
    root = None

    def text(self, *path):
        with open(os.path.join(self.root, *path)) as file:
            return file.read()

    def pages(self):
        return [os.path.relpath(path, self.root) for pattern in ("*.md", "docs/**/*.md", "samples/**/*.md", "tools/**/*.md")
                for path in glob.glob(os.path.join(self.root, pattern), recursive=True)]

    @staticmethod
    def anchors(page):
        """As GitHub makes them of headings: the second of two alike has a number."""
        found = []
        for heading in re.findall(r"^#+ (.*)$", page, re.MULTILINE):
            found.append(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
        return {anchor + (f"-{found[:i].count(anchor)}" if anchor in found[:i] else "") for i, anchor in enumerate(found)}

    def test_links_lead_somewhere(self):
        self.assertGreaterEqual(len(self.pages()), 14)
        for page in self.pages():
            prose = re.sub(r"``.*?``|`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", self.text(page), flags=re.DOTALL | re.MULTILINE))  # code has brackets of its own
            for target in re.findall(r"\]\(([^)\s]+)\)", prose):
                if target.startswith(("http://", "https://")):
                    continue
                path, _, anchor = target.partition("#")
                file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                with self.subTest(page=page, target=target):
                    self.assertTrue(os.path.exists(os.path.join(self.root, file)))
                    if anchor:
                        self.assertIn(anchor, self.anchors(self.text(file)))

    def test_every_dependency_is_named(self):
        page = self.text("docs", "dependencies.md")
        packages = re.findall(r"\w+_packages=\((.*?)\)", self.text("tools", "common", "install.sh"), re.DOTALL)
        self.assertEqual(len(packages), 5)
        for package in " ".join(packages).split():
            self.assertIn(f"| `{package}` |", page)
        build = self.text("CMakeLists.txt") + self.text("gpu", "CMakeLists.txt")
        names = {"BLAS": "OpenBLAS", "Python3": "Python 3", "nlohmann_json": "nlohmann-json", "CUDAToolkit": "CUDA runtime",
                 "Threads": "C and C++ libraries", "dnnl": "oneDNN", "ZLIB": "zlib", "PNG": "libpng", "JPEG": "libjpeg-turbo"}  # where the page has another word
        asked = set(re.findall(r"^ *find_package\((\w+)", build, re.MULTILINE)) | set(re.findall(r"find_library\(\w+ (\w+)", build))
        self.assertGreaterEqual(len(asked), 8)
        for library in asked:
            self.assertIn(f"| {names.get(library, library)}", page)

    def test_every_role_of_instructions_is_explained(self):
        page = self.text("docs", "bytecode.md")
        used = set("".join(re.findall(r"^\| `\w+` \| `([A-Z]+)` \| ", page, re.MULTILINE)))
        self.assertEqual(set(re.findall(r"^\| `([A-Z])` \| ", page, re.MULTILINE)), used)

    @staticmethod
    def code(path):
        with open(path) as file:
            text = file.read()
        if path.endswith(".scm"):
            return re.sub(r";.*", "", text)
        return re.sub(r"//.*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))

    def test_the_table_of_what_to_touch(self):
        """A file more, or one less, that mentions the example, and the row in CONTRIBUTING.md has to be written again."""
        table = re.search(r"## What to touch to add something\n(.*?)(?=\n## )", self.text("CONTRIBUTING.md"), re.DOTALL).group(1)
        rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (`[^|]+) \|$", table, re.MULTILINE)
        self.assertGreaterEqual(len(rows), 9)
        sources = {os.path.relpath(path, self.root): self.code(path) for folder in ("vm", "compiler", "ops", "gpu")
                   for path in glob.glob(os.path.join(self.root, folder, "**", "*"), recursive=True)
                   if path.endswith((".cpp", ".h", ".def", ".scm", ".cu"))}
        # advice to those who bring names from other languages
        sources = {path: text for path, text in sources.items() if not path.startswith("compiler/front/elsewhere")}
        self.assertGreaterEqual(len(sources), 200)
        for thing, examples, files in rows:
            # The whole word of Cairn's language or C++: `asin` is not in `%asin`s derivative `asin_vjp`, nor `car` in `set-car!`.
            words = "|".join(map(re.escape, re.findall(r"`([^`]+)`", examples)))
            mentions = re.compile(rf"(?<![\w*>-])({words})(?![\w*>?!-])")
            with self.subTest(thing=thing):
                self.assertEqual(sorted(path for path, text in sources.items() if mentions.search(text)), sorted(re.findall(r"`([^`]+)`", files)))

    def test_no_name_of_the_library_is_defined_twice(self):
        """Files of the library share their names, those of helpers too, and the last definition would serve all."""
        text = "".join(self.text("compiler", "library", os.path.basename(path)) for path in glob.glob(os.path.join(self.root, "compiler", "library", "*.scm")))
        names = re.findall(r"^\(define \(*([^\s()]+)", text, re.MULTILINE)
        self.assertGreaterEqual(len(names), 500)
        self.assertEqual(sorted(name for name in set(names) if names.count(name) > 1), [])

    def test_every_target_and_script_that_is_named_exists(self):
        page = self.text("CONTRIBUTING.md")
        for path in re.findall(r"`((?:tools|test|docs|vm|compiler|ops|gpu)/[\w./-]+)`", page):
            self.assertTrue(os.path.exists(os.path.join(self.root, path)), path)
        for name in re.findall(r"\btest_([a-z]+)\b", page):
            self.assertTrue(os.path.isdir(os.path.join(self.root, "test", name)), name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Documents.root = os.path.abspath(arguments.root)
    unittest.main(argv=["documents.py", *arguments.tests])
