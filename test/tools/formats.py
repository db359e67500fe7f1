#!/usr/bin/env python3
"""Formats of data beside arrays: lines, tables, JSON, archives and pictures, as others write and read them, and files that lie."""
import json
import os
import random
import unittest

import driver
from driver import ToolTest


class Formats(ToolTest):
    def value(self, text, *options):
        self.write("a.scm", text)
        return self.vmrun(*options, "a.scm").output

    def refused(self, text, message):
        self.write("a.scm", text)
        done = self.vmrun("a.scm", code=1)
        self.assertRegex(done.errors, message)
        self.assertEqual(done.errors.count("error:"), 1)


class Lines(Formats):
    def test_lines(self):
        self.write("x", "one\r\n\ntwo\u00e9\nlast")
        self.assertEqual(self.value('(write (read-lines "x"))'), '("one" "" "two\u00e9" "last")')
        self.assertEqual(self.value('(write (read-lines "x" 6 1))(write (read-lines "x" 6 0))(write (read-lines "x" 16))'), '("two\u00e9")()()')
        self.write("x", "")
        self.assertEqual(self.value('(write (read-lines "x"))'), "()")
        long = ["a" * n for n in (0, 65535, 65536, 65537, 200000, 1)]
        self.write("x", "\n".join(long) + "\n")
        self.assertEqual(self.value('(write (map string-length (read-lines "x")))'), "(0 65535 65536 65537 200000 1)")
        self.write("x", b"good\nb\xffd\n")
        self.refused('(read-lines "x")', r"x: is no text in UTF-8 \(byte 6\)")
        self.refused('(read-lines "x" 11)', "none from byte 11")

    def test_a_large_file_is_not_held_beside_its_lines(self):
        self.write("x", b"0123456789\n" * 3_000_000)
        self.assertEqual(self.value('(define (count at n) (if (= at (file-size "x")) n (count (+ at 1100000) (+ n (length (read-lines "x" at 100000))))))(write (count 0 0))',
                                    "--memory=16MiB"), "3000000")


class Tables(Formats):
    def test_tables_are_read_back(self):
        self.assertEqual(self.value("""(define t (list->tensor '((1 0.1) (-2.5e30 3)) 'f32))
(write-csv "x.csv" t '("a" "b\\"c"))
(write (read-csv "x.csv"))
(write (equal? (cdr (read-csv "x.csv")) t))
(write-csv "y.csv" (list->tensor '((140737488355327 -1)) 'i64))
(write-csv "z.csv" (/ (list->tensor '((1 -1 0)) 'f64) 0.))"""), '(("a" "b\\"c") . #<tensor f32 (2 2)\n[[     1.0      0.1]\n [-2.5e+30      3.0]]>)#t')
        self.assertEqual(self.read("x.csv"), b'"a","b""c"\n1,0.1\n-2.5e+30,3\n')
        self.assertEqual(self.read("y.csv"), b"140737488355327,-1\n")
        self.assertEqual(self.read("z.csv"), b"inf,-inf,nan\n")
        for text, message in (("(write-csv \"x\" (ones '(2)))", "a matrix"), ("(write-csv \"x\" (ones '(2 2)) '(\"a\"))", "1 names for 2 columns"), ("(write-csv \"x\" (ones '(2 2)) '(a b))", "names")):
            self.refused(text, message)


def values(draw, depth):
    kind = draw.randrange(8 if depth else 6)
    if kind < 6:
        return [None, True, draw.randrange(-10**6, 10**6), draw.uniform(-1, 1) * 10.0 ** draw.randrange(-300, 300), "", "".join(draw.choices('ab"\\/\n\u0001\u00e9\u2028\U0001f600', k=5))][kind]
    many = draw.randrange(4)
    return [values(draw, depth - 1) for _ in range(many)] if kind == 6 else {str(i) + draw.choice(['', '"', '\u00e9']): values(draw, depth - 1) for i in range(many)}


class Json(Formats):
    def test_any_value_comes_back(self):
        draw = random.Random(3)
        for ascii_only in (True, False):
            all_values = [values(draw, 5) for _ in range(300)]
            self.write("x.json", json.dumps(all_values, ensure_ascii=ascii_only, indent=1 if ascii_only else None))
            self.value('(write-json "y.json" (read-json "x.json"))')
            self.assertEqual(json.loads(self.read("y.json")), all_values)

    def test_what_stands_for_what(self):
        self.assertEqual(self.value("""(write (string->json "{\\"a\\": [1, 2.0, 1e3, true, false, null, \\"\\"], \\"b\\": {}, \\"c\\": []}"))
(display (json->string (list 1 'x "y" #t (vector) '() (list (cons 'a 2) (cons "b" '())) (list->tensor '((1 2.5) (0.1 4))) (zeros '(2 0)) (zeros '()))))
(write (cdr (j* (lambda (x) (begin (write-json "x" (list x)) (* x x))) 3. 1.)))(display (read-text "x"))"""),
                         '(("a" . #(1 2.0 1000.0 #t #f null "")) ("b") ("c" . #()))[1,"x","y",true,[],{},{"a":2,"b":{}},[[1,2.5],[0.1,4]],[[],[]],0]6.0[3.0]\n')
        for text, message in (("(json->string car)", "values that JSON has"), ("(json->string (/ 1. 0.))", "no number"), ("(json->string (cons 1 2))", "lists that end"),
                              ("(json->string (list->tensor '(1 +nan.0)))", "no number")):
            self.refused(text, message)

    def test_texts_that_are_none(self):
        for text, at in (("", 0), ("01", 2), ("1.", 2), ("[1,]", 3), ('{"a" 1}', 5), ('{"a":1,}', 7), ("{1:2}", 1), ("nul", 0), ("[1] 2", 4), ("[", 1), ('"a', 2), ('"\\x"', 3), ('"\\ud800"', 8),
                         ('"\n"', 2), ("-", 1), ("1e", 2), ("[1 2]", 3), ("]", 0), ("[}", 1), (b'"\xff"', 1), ("+1", 0), ("NaN", 0), ("'a'", 0)):
            self.write("x", text)
            self.refused('(read-json "x")', rf"read-json: x: .*\(byte {at}\)")

    def test_depth_is_no_matter(self):
        self.write("x", "[" * 1_000_000 + "]" * 1_000_000)
        self.assertEqual(self.value('(write-json "y" (read-json "x"))(write (file-size "y"))'), "2000001")


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["formats.py", *arguments.tests])
