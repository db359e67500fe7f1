#!/usr/bin/env python3
"""The grammar for editors has the names that the compiler knows, and finds in programs what is there.

    editor.py --folder tools/editor --library LIBCAIRN_COMPILER
"""
import argparse
import io
import json
import os
import plistlib
import re
import subprocess
import sys
import unittest


class Grammar(unittest.TestCase):
    folder = library = None

    @classmethod
    def setUpClass(cls):
        cls.grammar = cls.read("cairn.tmLanguage.json")

    @classmethod
    def read(cls, name):
        with open(os.path.join(cls.folder, name)) as file:
            return json.load(file)

    def test_it_is_what_the_compiler_knows(self):
        done = subprocess.run([sys.executable, os.path.join(self.folder, "generate.py"), "--library", self.library, "--check"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def rules(self, name):
        """The rules outside of comments and strings, in their order, with includes replaced by what they include."""
        entry = self.grammar["repository"][name]
        if "match" in entry or "begin" in entry:
            return [entry]
        return [rule for pattern in entry["patterns"]
                for rule in (self.rules(pattern["include"][1:]) if "include" in pattern else [pattern])]

    def found(self, line):
        """[(text, scope)] of one line, as an editor finds them: the rule that matches first, the earlier one of two at the same place."""
        rules = [(re.compile(rule.get("match") or rule["begin"]), rule) for rule in self.rules("datum")]
        at, result = 0, []
        while at < len(line):
            matches = [(match.start(), order, match, rule) for order, (pattern, rule) in enumerate(rules) if (match := pattern.search(line, at))]
            if not matches:
                break
            _, _, match, rule = min(matches, key=lambda entry: entry[:2])
            end = match.end()
            if "end" in rule:
                end = re.compile(rule["end"]).search(line, end).end()
            if "captures" in rule:
                result += [(match.group(int(group)), scope["name"]) for group, scope in sorted(rule["captures"].items())]
            else:
                result.append((line[match.start():end], rule["name"]))
            at = max(end, at + 1)
        return [(text, scope.removesuffix(".cairn")) for text, scope in result]

    def test_definitions_forms_and_procedures(self):
        self.assertEqual(self.found("(define ((f car) g) (if car (checkpoint-*j g f 1.5e3) #f))"), [
            ("define", "keyword.other"), ("f", "entity.name.function"), ("car", "support.function"), ("if", "keyword.control"),
            ("car", "support.function"), ("checkpoint-*j", "support.function"), ("1.5e3", "constant.numeric"), ("#f", "constant.language")])
        self.assertEqual(self.found("(let* ((if-not cart)) (*j-update! 1+ +))"), [
            ("let*", "keyword.control"), ("*j-update!", "support.function"), ("1+", "support.function"), ("+", "support.function")])

    def test_numbers_characters_and_comments(self):
        self.assertEqual(self.found("-.5 #xff +inf.0 x2 #\\; #\\space \"a ; b\" 7 ; (car 1)"), [
            ("-.5", "constant.numeric"), ("#xff", "constant.numeric"), ("+inf.0", "constant.numeric"), ("#\\;", "constant.character"),
            ("#\\space", "constant.character"), ("\"a ; b\"", "string.quoted.double"), ("7", "constant.numeric"), ("; (car 1)", "comment.line.semicolon")])
        self.assertEqual(self.found("#| car |# #;(car x) #;car cdr 'a"), [
            ("#| car |#", "comment.block"), ("#;(car x)", "comment.block.datum"), ("#;car", "comment.block.datum"), ("cdr", "support.function"),
            ("'", "keyword.operator.quotation")])

    def test_what_editors_are_told_fits_together(self):
        package = self.read("package.json")["contributes"]
        self.assertEqual(package["grammars"][0]["scopeName"], self.grammar["scopeName"])
        self.assertEqual({ending.lstrip(".") for ending in package["languages"][0]["extensions"]}, set(self.grammar["fileTypes"]))
        for path in (package["grammars"][0]["path"], package["languages"][0]["configuration"]):
            self.read(path)
        written = io.BytesIO()
        plistlib.dump(self.grammar, written)  # for Sublime Text
        self.assertEqual(plistlib.loads(written.getvalue()), self.grammar)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("folder", "library"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Grammar.folder, Grammar.library = os.path.abspath(arguments.folder), os.path.abspath(arguments.library)
    unittest.main(argv=["editor.py", *arguments.tests])
