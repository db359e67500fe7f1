#!/usr/bin/env python3
"""The pages about the C interfaces hold what they promise: their programs compile and print what they say, their tables are complete.

    docs.py --root SOURCE-FOLDER --build BUILD-FOLDER
"""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from embed import promised

PAGES_WITH_PROGRAMS = {"c-api.md": 6, "embedding.md": 2}  # and how many at least

R4RS = """
    quote lambda if cond case and or let let* letrec begin do quasiquote unquote unquote-splicing define else => not boolean? eq? eqv? equal?
    pair? cons null? list? list length append reverse list-tail list-ref memq memv member assq assv assoc symbol? symbol->string string->symbol
    number? complex? real? rational? integer? exact? inexact? = < > <= >= zero? positive? negative? odd? even? max min + * - / abs quotient
    remainder modulo gcd lcm numerator denominator floor ceiling truncate round rationalize exp log sin cos tan asin acos atan sqrt expt real-part
    imag-part magnitude angle exact->inexact inexact->exact number->string string->number char? char=? char<? char>? char<=? char>=? char-ci=?
    char-ci<? char-ci>? char-ci<=? char-ci>=? char-alphabetic? char-numeric? char-whitespace? char-upper-case? char-lower-case? char->integer
    integer->char char-upcase char-downcase string? make-string string string-length string-ref string=? string-ci=? string<? string>? string<=?
    string>=? string-ci<? string-ci>? string-ci<=? string-ci>=? substring string-append string->list list->string string-copy vector?
    make-vector vector vector-length vector-ref vector->list list->vector procedure? apply map for-each write display newline write-char"""


class Pages(unittest.TestCase):
    root = build = None

    def text(self, *path):
        with open(os.path.join(self.root, *path)) as file:
            return file.read()

    def page(self):
        return self.text("docs", "c-api.md")

    def headers(self):
        return self.text("vm", "api", "cairn.h"), self.text("compiler", "api", "cairn_compiler.h")

    def output(self, *command, **options):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_every_program_compiles_and_prints_what_it_promises(self):
        library = os.path.join(self.build, "lib")
        for page, least in PAGES_WITH_PROGRAMS.items():
            programs = [block for block in re.findall(r"^```c\n(.*?)^```$", self.text("docs", page), re.DOTALL | re.MULTILINE)
                        if "int main" in block]
            self.assertGreaterEqual(len(programs), least)
            for number, program in enumerate(programs):
                with self.subTest(page=page, number=number), tempfile.TemporaryDirectory() as folder:
                    with open(f"{folder}/program.c", "w") as file:
                        file.write(program)
                    self.output("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", f"{self.root}/vm/api", "-I",
                                f"{self.root}/compiler/api", "program.c", f"-L{library}", "-lcairn_compiler", "-lcairn", "-lm",
                                f"-Wl,-rpath,{library}", "-o", "program", cwd=folder)
                    self.assertEqual(self.output("./program", cwd=folder), promised(program))

    def test_programs_of_the_language_run(self):
        for path in (("README.md",), ("docs", "language.md")):
            programs = re.findall(r"^```scheme\n(.*?)^```$", self.text(*path), re.DOTALL | re.MULTILINE)
            self.assertGreaterEqual(len(programs), 1)
            for number, program in enumerate(programs):
                with self.subTest(page=path[-1], number=number), tempfile.TemporaryDirectory() as folder:
                    with open(f"{folder}/program.scm", "w") as file:
                        file.write(program)
                    self.output(f"{self.build}/bin/vmrun", "program.scm", cwd=folder)

    def test_every_name_of_the_language_is_in_a_page(self):
        """The pages name what there is beyond R4RS, whose names they do not repeat, and the names of SCORCH, of which they tell the pattern."""
        sys.path.insert(0, os.path.join(self.root, "tools", "editor"))
        from generate import names
        forms, procedures = names(os.path.join(self.build, "lib", "libcairn_compiler.so"))
        self.assertGreaterEqual(len(procedures), 300)
        pages = "".join(self.text("docs", page) for page in ("language.md", "operators.md", "network.md"))
        told = set(re.split(r"[\s`()|,;\[\]']+", pages)) | set(R4RS.split())
        told |= {f"c{''.join(path)}r" for length in (1, 2, 3, 4) for path in itertools.product("ad", repeat=length)}
        scorch = re.compile(r"(^|-|>)(cpu|gpu|streaming)-")
        self.assertEqual([name for name in forms + procedures if name not in told and not scorch.search(name)], [])

    def test_every_status_is_in_the_page(self):
        entries = re.findall(r'X\((\w+), (\d+), "([^"]*)"\)', self.headers()[0])
        self.assertGreaterEqual(len(entries), 14)
        for name, code, text in entries:
            self.assertIn(f"\n| `CAIRN_{name}` | {code} | {text} |\n", self.page())

    def test_every_type_of_elements_is_in_the_page(self):
        table = re.search(r"#define CAIRN_ELEMENT_TABLE\(X\)(.*?)typedef", self.headers()[0], re.DOTALL).group(1)
        entries = re.findall(r'X\((\w+), (\d+), (\w+), "(\w+)"\)', table)
        self.assertGreaterEqual(len(entries), 8)
        for name, code, kind, text in entries:
            self.assertRegex(self.page(), rf"\n\| `CAIRN_{name}` \| {code} \| `{kind}`.* \| `{text}` \|\n")

    def test_every_kind_is_in_the_page(self):
        table = re.search(r"#define CAIRN_KIND_TABLE\(X\)(.*?)typedef", self.headers()[0], re.DOTALL).group(1)
        entries = re.findall(r"X\((\w+), (\d+)\)", table)
        self.assertGreaterEqual(len(entries), 12)
        for name, code in entries:
            self.assertIn(f"\n| `CAIRN_KIND_{name}` | {code} | ", self.page())

    def test_every_function_is_in_a_table(self):
        rows = "\n".join(line.split("|")[1] for line in self.page().splitlines() if line.startswith("| "))
        for header in self.headers():
            functions = re.findall(r"^CAIRN_API [^;(]*?(cairn_\w+)\(", header, re.MULTILINE)
            self.assertGreaterEqual(len(functions), 5)
            for function in functions:
                self.assertRegex(rows, rf"\b{function}\b")

    def test_every_option_is_in_a_table(self):
        rows = "\n".join(line.split("|")[1] for line in self.page().splitlines() if line.startswith("| "))
        for header, name in zip(self.headers(), ("cairn_vm_options", "cairn_compiler_options")):
            body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", header, re.DOTALL).group(1)
            declarations = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).split(";")
            fields = [re.search(r"\(\*(\w+)\)|(\w+)\s*$", text.strip()).group(0).strip("(*)") for text in declarations if text.strip()]
            self.assertGreaterEqual(len(fields), 8)
            for field in fields:
                if field != "struct_size":
                    self.assertRegex(rows, rf"`{field}\b")

    def test_the_counters_are_in_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/a.scm", "w") as file:
                file.write("1")
            self.output(f"{self.build}/bin/vmrun", "--stats=stats", "a.scm", cwd=folder)
            with open(f"{folder}/stats") as file:
                keys = set(json.load(file))
        table = re.search(r"The keys of `cairn_vm_statistics`:\n\n(.*?)\n\n", self.page(), re.DOTALL).group(1)
        self.assertEqual(set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)), keys - {"live_objects_at_exit"} | {"device", "other_devices"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("root", "build"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Pages.root, Pages.build = os.path.abspath(arguments.root), os.path.abspath(arguments.build)
    unittest.main(argv=["docs.py", *arguments.tests])
