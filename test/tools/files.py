#!/usr/bin/env python3
"""Files of programs: what is granted, formats byte by byte, files that lie, that change, and that cannot be written."""
import json
import os
import random
import struct
import unittest

import driver
from driver import ToolTest


def npy(descr, shape, data, fortran=False, version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(11 + len(text)) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text.encode() + data


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


class Files(ToolTest):
    def value(self, text, *options):
        self.write("a.scm", f"(write {text})")
        return self.vmrun(*options, "a.scm").output

    def refused(self, text, *options):
        self.write("a.scm", text)
        done = self.vmrun(*options, "a.scm", code=1)
        self.assertRegex(done.errors, r"^a\.scm:1:\d+: error: ")
        return done.errors


class Granted(Files):
    def test_a_path_that_is_not_there_is_said_to_be_seen_from_the_current_folder(self):
        os.mkdir(self.path("program"))
        self.write("program/a.scm", '(write (read-text "b.txt"))')
        self.write("program/b.txt", "text")
        self.assertIn("read-text: b.txt: cannot be opened: No such file or directory; what is not absolute is named as seen from the current folder",
                      self.vmrun("program/a.scm", code=1).errors)
        self.write("program/a.scm", '(write (read-text "program/b.txt")) (read-text "/nowhere.txt")')
        self.assertNotIn("as seen from", self.vmrun("--read=/", "program/a.scm", code=1).errors)

    def test_files_beneath_the_current_folder(self):
        os.mkdir(self.path("data"))
        self.write("data/a.txt", "h\u00e9llo")
        for path in ("data/a.txt", "./data//a.txt", "data/../data/a.txt", self.path("data/a.txt")):
            self.assertEqual(self.value(f'(read-text "{path}")'), '"h\u00e9llo"')
        self.assertEqual(self.value('(file-size "data/a.txt")'), "6")
        self.assertEqual(self.value('(tensor->list (read-bytes "data/a.txt" 1 2))'), "(195 169)")
        os.symlink("data/a.txt", self.path("link"))
        self.assertEqual(self.value('(file-size "link")'), "6")

    def test_what_was_not_granted_is_refused(self):
        os.makedirs(self.path("in/deep"))
        self.write("secret", "hush")
        os.symlink("../secret", self.path("in/link"))
        os.symlink("/proc/self/environ", self.path("in/environ"))
        self.write("in/a.scm", "")
        for path in ("../secret", "deep/../../secret", "/etc/passwd", "/dev/zero", self.path("secret"), "link", "environ"):
            with self.subTest(path=path):
                self.write("in/a.scm", f'(read-text "{path}")')
                done = self.inside(1)
                self.assertIn("--read=PATH", done.errors)
                self.write("in/a.scm", f'(write-text "{path}" "x")')
                self.assertRegex(self.inside(1).errors, "--write=PATH|is a link")
        self.assertEqual(self.read("secret"), b"hush")
        self.write("in/a.scm", '(display (read-text "../secret"))')
        for grant in ("--read=..", "--read=../secret"):
            self.assertEqual(self.inside(0, grant).output, "hush")
        self.inside(1, "--write=..")
        self.write("in/a.scm", '(write-text "../secret" "told")')
        self.inside(1, "--read=..")
        self.inside(0, "--write=../secret")
        self.assertEqual(self.read("secret"), b"told")
        self.inside(2, "--read=../no/such")

    def inside(self, code, *options):
        folder, self.folder = self.folder, self.path("in")
        try:
            return self.vmrun(*options, "a.scm", code=code)
        finally:
            self.folder = folder

    def test_only_regular_files_are_read_and_written(self):
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("folder"))
        for path in ("pipe", "folder", "missing", "no/such", ""):
            self.refused(f'(read-text "{path}")')
        for path in ("pipe", "folder", "no/such", ""):
            self.refused(f'(write-text "{path}" "x")')
        self.refused("(read-text 'symbol)")
        self.refused('(read-text (make-string 5000 #\\a))')

    def test_parts_that_are_not_there(self):
        self.write("x", b"\xff123")
        for text in ('(read-bytes "x" 5)', '(read-bytes "x" 1 4)', '(read-bytes "x" -1)', '(read-bytes "x" 0 1.5)', '(read-text "x")'):
            self.refused(text)
        self.assertEqual(self.value('(size (read-bytes "x" 4))'), "(0)")


class WrittenByVmrun(Files):
    OPTIONS = {"--output": "f", "--stats": "f", "--profile": "f", "--save": "f", "--metrics": "f.csv", "--report": "f.html", "--explain": "f.json"}

    def test_a_program_does_not_write_over_the_files_of_options(self):
        os.mkdir(self.path("d"))
        for option, name in self.OPTIONS.items():
            link = "d/link" + name
            if not os.path.lexists(self.path(link)):
                os.symlink(f"../{name}", self.path(link))
            for named, path in ((name, f"./d/..//{name}"), (f"d/../{name}", self.path(name)), (self.path(name), name), (link, name)):
                with self.subTest(option=option, named=named, path=path):
                    self.write(name, "")
                    errors = self.refused(f'(report "a" 1) (write-text "{path}" "the guest was here")', f"{option}={named}")
                    self.assertIn(f"is the file of {option}, which the host writes itself; write another one", errors)
                    self.assertNotEqual(self.read(name), b"the guest was here")
            os.remove(self.path(name))
        errors = self.refused('(write-text "e/events.out.tfevents.cairn" "x")', "--events=e")
        self.assertIn("is the file of --events", errors)

    def test_every_way_to_write_is_refused_and_files_beside_are_not(self):
        for text in ('(write-npy "f" (ones (list 2)))', '(write-safetensors "f" (list (cons "a" (ones (list 2)))))', '(write-csv "f" (ones (list 2 2)))',
                     '(write-json "f" 1)', '(write-npz "f" (list (cons "a" (ones (list 2)))))', '(write-text "hard" "x")'):
            with self.subTest(text):
                self.write("f", "")
                if not os.path.exists(self.path("hard")):
                    os.link(self.path("f"), self.path("hard"))
                self.assertIn("is the file of --output", self.refused(text, "--output=f"))
        self.write("a.scm", '(write-text "g" "x") (display "y") (write-text "d/f" "z")')
        os.mkdir(self.path("d"))
        self.vmrun("--output=f", "a.scm")
        self.assertEqual((self.read("f"), self.read("g"), self.read("d/f")), (b"y", b"x", b"z"))

    def test_standard_output_in_a_file(self):
        for stream, name in (("stdout", "standard output"), ("stderr", "standard error")):
            with open(self.path("out"), "wb") as file:
                self.write("a.scm", '(display "y") (call-with-error-handler (lambda (m l) (display m)) (lambda () (write-text "out" "x")))')
                done = driver.subprocess.run([os.path.join(self.bin, "vmrun"), "a.scm"], cwd=self.folder, check=True, **{"stdout": driver.subprocess.PIPE, stream: file})
            said = self.read("out") if stream == "stdout" else done.stdout
            self.assertEqual(said.decode(), f"ywrite-text: out: is the file of {name}, which the host writes itself; write another one")

    def test_a_file_that_another_process_replaced_is_an_error(self):
        self.write("a.scm", '(report "a" (read-real)) (display 1)')
        for option, name in self.OPTIONS.items():
            if option in ("--save", "--report", "--explain"):
                continue  # are made at the end
            with self.subTest(option):
                run = driver.subprocess.Popen([os.path.join(self.bin, "vmrun"), f"{option}={name}", "a.scm"], cwd=self.folder, stdin=driver.subprocess.PIPE,
                                              stdout=driver.subprocess.DEVNULL, stderr=driver.subprocess.PIPE)
                while not os.path.exists(self.path(name)):
                    pass
                self.write("other", "of somebody else")
                os.replace(self.path("other"), self.path(name))
                _, errors = run.communicate(b"1\n", timeout=60)
                self.assertEqual(errors.decode(), f"{name}: error: cannot be written: it was moved, replaced or removed while the program ran\n")
                self.assertEqual(run.returncode, 2)
                os.remove(self.path(name))

    def test_a_check_leaves_the_files_of_earlier_runs(self):
        self.write("a.scm", "1")
        self.write("p", "earlier")
        self.vmrun("--verify-only", "--profile=p", "--stats=p2", "a.scm")
        self.assertEqual(self.read("p"), b"earlier")
        self.assertFalse(os.path.exists(self.path("p2")))


class DataSets(Files):
    def test_what_is_wrong_about_a_file_is_said_with_the_byte_where_it_is(self):
        for content, says in ((b"ab", "expected the 4 bytes that an IDX file begins with, but the file has 2 (byte 0)"),
                              (b"\x1f\x8b\x08\x00", "got 31 and 139; it is compressed, gunzip unpacks it (byte 0)"),
                              (b"\x89PNG", "got 137 and 80; is it another file? (byte 0)"),
                              (b"\0\0\x07\x01", "one of (8 9 11 12 13 14), got 7 (byte 2)"),
                              (b"\0\0\x08\x00a", "expected at least one axis, got a file of 0 axes"),
                              (b"\0\0\x08\x03aaaaa", "expected the sizes of 3 axes, 4 bytes each, but the file ends at byte 9"),
                              (b"\0\0\x0b\x01\0\0\0\x02aaa", "expected 4 bytes for elements of the sizes (2), but 3 follow; it is cut off, get it anew (byte 8)"),
                              (b"\0\0\x08\x01\0\0\0\x02aaa", "expected 2 bytes for elements of the sizes (2), but 3 follow; is it another file? (byte 8)")):
            self.write("x", content)
            with self.subTest(content):
                errors = self.refused('(read-idx "x")')
                self.assertIn(": x: ", errors)
                self.assertIn(says, errors)
        self.write("x", b"\0" * 3074)
        self.assertIn("but the last one has 1; is it cut off, or of CIFAR-100, whose records have 2 labels: (cifar-array path 2)? (byte 3073)", self.refused('(read-cifar "x")'))


class Formats(Files):
    def test_npy(self):
        floats = struct.pack("<6f", *range(6))
        for name, content, value in (
                ("rows", npy("<f4", "(2, 3)", floats), "((0.0 1.0 2.0) (3.0 4.0 5.0))"),
                ("second", npy("<f4", "(2, 3)", floats, version=2), "((0.0 1.0 2.0) (3.0 4.0 5.0))"),
                ("columns", npy("<f4", "(2, 3)", floats, fortran=True), "((0.0 2.0 4.0) (1.0 3.0 5.0))"),
                ("swapped", npy(">i4", "(2,)", struct.pack(">2i", 1, -2)), "(1 -2)"),
                ("halves", npy("<f2", "(5,)", bytes.fromhex("003c00c001000080ff7b")), "(1.0 -2.0 5.960464477539063e-08 -0.0 65504.0)"),
                ("words", npy(">u2", "(2,)", b"\xff\xff\x00\x01"), "(65535 1)"), ("double words", npy("<u4", "(1,)", b"\xff" * 4), "(4294967295)"),
                ("long", npy("<i8", "(1,)", struct.pack("<q", -5)), "(-5)"),
                ("none", npy("<f8", "()", struct.pack("<d", 2.5)), "2.5"),
                ("empty", npy("|u1", "(0, 3)", b""), "()")):
            with self.subTest(name):
                self.write("x.npy", content)
                self.assertEqual(self.value('(tensor->list (read-npy "x.npy"))'), value)

    def test_npy_that_lies(self):
        good = npy("<f4", "(2,)", bytes(8))
        for content, message in (
                (b"", "npy"), (good[:9], "header"), (good[:40], "header"), (good[:-1], "takes more"), (good + b"x", "goes on"),
                (b"\x93NUMPY\x09\0" + good[8:], "version"), (npy("<f4", "(-1,)", b""), "not negative"), (npy("<f4", f"({1 << 62}, 8)", b""), "multiply"),
                (npy("<f4", f"({1 << 40},)", b""), "takes more"), (npy("<f4", f"({1 << 64},)", b""), "too large"), (npy("<f4", "(1,1,1,1,1,1,1,1,1)", bytes(4)), "axes"),
                (npy("<c8", "(1,)", bytes(8)), "astype\\(numpy.float32"), (npy("<u8", "(1,)", bytes(8)), "int64"), (npy("|O", "(1,)", bytes(8)), "numbers"),
                (b"\x93NUMPY\x02\0\xff\xff\xff\xff{}", "header of 4294967295"), (npy("<f4", "(2,), 'shape': (2,)", bytes(8)), "twice"),
                (npy("<f4", "((2,),)", bytes(8)), "number")):
            with self.subTest(message):
                self.write("x.npy", content)
                self.assertRegex(self.refused('(read-npy "x.npy")'), rf"read-npy: x.npy: .*{message}.*byte \d+")

    def test_safetensors(self):
        data = struct.pack("<2f", 1, 2) + b"\x80\x3f" + struct.pack("<q", 7)
        self.write("x", safetensors({"__metadata__": {"format": "pt"}, "b.\u00e9\"": entry("I64", [1], 10, 18), "a": entry("F32", [2], 0, 8),
                                     "h": entry("BF16", [], 8, 10)}, data))
        self.assertEqual(self.value('(map (lambda (x) (cons (car x) (tensor->list (cdr x)))) (read-safetensors "x"))'),
                         '(("a" 1.0 2.0) ("h" . 1.0) ("b.\u00e9\\"" 7))')

    def test_safetensors_that_lie(self):
        one = entry("F32", [1], 0, 4)
        for content, message in (
                (b"123", "too short"), (struct.pack("<Q", 1 << 63), "header would have"), (struct.pack("<Q", 100) + b"{}", "header"),
                (safetensors({"a": one}), "speaks of 4"), (safetensors({"a": one, "b": entry("F32", [1], 2, 6)}, bytes(6)), "overlap"),
                (safetensors({"a": one, "b": entry("F32", [1], 5, 9)}, bytes(9)), "gap"), (safetensors({"a": entry("F32", [2], 0, 4)}, bytes(4)), "fit the shape"),
                (safetensors({"a": entry("F32", [1 << 62, 8], 0, 4)}, bytes(4)), "multiply"), (safetensors({"a": entry("F8_E4M3", [4], 0, 4)}, bytes(4)), "BF16"),
                (safetensors(b'{"a":' + json.dumps(one).encode() + b',"a":' + json.dumps(one).encode() + b"}", bytes(4)), "one name"),
                (safetensors(b'{"a":' + b"[" * 100000), "expected"), (safetensors(b'{"\xff":{}}'), "UTF-8"), (safetensors(b'{"\\ud800x":{}}'), "surrogates"),
                (safetensors(b"{} x"), "follows"), (safetensors({"a": entry("F32", [-1], 0, 4)}, bytes(4)), "not negative"),
                (safetensors({"a": entry("F32", [1], 4, 0)}, bytes(4)), "fit the shape"), (safetensors({"a": {"dtype": "F32"}}), "without")):
            with self.subTest(message):
                self.write("x", content)
                self.assertRegex(self.refused('(read-safetensors "x")'), rf"read-safetensors: x: .*{message}.*byte \d+")

    def test_csv(self):
        self.write("x.csv", 'a,"b ""c""",d\n1, 2,-3e2\r\n\n4,,NA\n"5",+6,7')
        self.assertEqual(self.value('(let ((t (read-csv "x.csv"))) (cons (car t) (tensor->list (cdr t))))'),
                         '(("a" "b \\"c\\"" "d") (1.0 2.0 -300.0) (4.0 +nan.0 +nan.0) (5.0 6.0 7.0))')
        self.write("x.csv", "1,2\n3,4\n")
        self.assertEqual(self.value("(let ((t (read-csv \"x.csv\" 'f64))) (list (car t) (tensor-type (cdr t)) (size (cdr t))))"), "(() f64 (2 2))")
        for content in ("a,b\r1,2\r3 ,\r", "a,b\r\n1,2\r\n3,\r\n", "\r\ra,b\r\r1,2\n3,", '"a",b\r"1",2\r3,""\r'):
            self.write("x.csv", content)
            self.assertEqual(self.value('(let ((t (read-csv "x.csv"))) (cons (car t) (tensor->list (cdr t))))'), '(("a" "b") (1.0 2.0) (3.0 +nan.0))', repr(content))
        for content, message in (("1,2\n3\n", "line 2: 1 fields"), ("1,2\r3\r", "line 2: 1 fields"), ('a\r"1\r\n"\rx\r', "line 2: field 1 is no number"),
                                 ('"a\r\nb\rc"\r1\rx\r', "line 5: field 1 is no number: x"), ("1\nx\n", "line 2: field 1 is no number: x"), ('"a\n', "quote")):
            self.write("x.csv", content)
            self.assertIn(message, self.refused('(read-csv "x.csv")'))

    def test_tables_with_texts(self):
        self.write("x.csv", b'\xef\xbb\xbfa;b;c;d\n1;x y;"q;""r\nn";\n\n 2 ;z;NA;-.5\r\n')
        self.assertEqual(self.value('(map (lambda (c) (if (tensor? c) (tensor->list c) c)) (cdr (read-table "x.csv" #\\;)))'),
                         '((1.0 2.0) ("x y" "z") ("q;\\"r\\nn" "NA") (+nan.0 -0.5))')
        self.write("x.csv", "1 2  x\n3  4\ty \n")
        self.assertEqual(self.value('(let ((t (read-table "x.csv" " " (quote f64)))) (list (car t) (tensor-type (cadr t)) (cadddr t) (text-classes (cadddr t))))'),
                         '(() f64 ("x" "y") (("x" "y") . #<tensor i64 (2) [0 1]>))')
        self.write("x.csv", "1\t\t3\n\t4\t5\n")
        self.assertEqual(self.value('(map tensor->list (cdr (read-table "x.csv" #\\tab)))'), "((1.0 +nan.0) (+nan.0 4.0) (3.0 5.0))")
        self.write("x.csv", "inf,1/2,+1e400\n-Infinity,+inf.0,1d3\n")
        self.assertEqual(self.value('(map (lambda (c) (if (tensor? c) (tensor->list c) c)) (cdr (read-table "x.csv")))'),
                         '((+inf.0 -inf.0) ("1/2" "+inf.0") ("+1e400" "1d3"))')
        self.write("x.csv", "")
        self.assertEqual(self.value('(read-table "x.csv")'), "(())")
        self.write("x.csv", "a,b\n")
        self.assertEqual(self.value('(read-table "x.csv")'), '(("a" "b") () ())')
        for content in ('a,"b\rc"\r1, x \r"2",\r', '\r\ra,"b\rc"\r\n1,x\r\r2,""'):
            self.write("x.csv", content)
            self.assertEqual(self.value('(let ((t (read-table "x.csv"))) (list (car t) (tensor->list (cadr t)) (caddr t)))'), '(("a" "b\\rc") (1.0 2.0) ("x" ""))', repr(content))
        self.write("x.csv", "1  x\r2 y \r")
        self.assertEqual(self.value('(let ((t (read-table "x.csv" #\\space))) (list (tensor->list (cadr t)) (caddr t)))'), '((1.0 2.0) ("x" "y"))')
        for content, message in (("1,2\r3\r", "line 2: 1 fields, and 2 in the line before"), ("1,2\n3\n", "line 2: 1 fields, and 2 in the line before"), ('a\n"b\n\n', "line 2: a quote that does not end"), ('a\n"b"c\n', "line 2: something follows a quote")):
            self.write("x.csv", content)
            self.assertIn(message, self.refused('(read-table "x.csv")'))
        self.assertIn("expected a separator", self.refused('(read-table "x.csv" 3)'))
        self.assertIn("a\\tb", self.refused('(begin (write-text "y.csv" "1,2\\n2,a\\tb\\n") (read-csv "y.csv"))'))

    def test_whole_numbers_of_tables_are_held(self):
        types = '(map tensor-type (cdr (read-table "x.csv"%s)))'
        self.write("x.csv", "id,time,price,large,gap,small\n123456789,1700000000,16777217.5,1e30,16777217,16777216\n5,1700000001,1,2,,-16777216\n")
        self.assertEqual(self.value(types % ""), "(f64 f64 f32 f32 f64 f32)")
        self.assertEqual(self.value('(tensor->list (cadr (read-table "x.csv")))'), "(123456789.0 5.0)")
        self.assertEqual(self.value(types % " (quote f32)"), "(f32 f32 f32 f32 f32 f32)")
        self.assertEqual(self.value(types % " #\\, (quote bf16)"), "(bf16 bf16 bf16 bf16 bf16 bf16)")
        self.write("x.csv", "1,2\n")
        self.assertEqual(self.value(types % " (quote f64)"), "(f64 f64)")
        self.assertIn("read-table: expected a type of elements: one of", self.refused("(read-table \"x.csv\" 'float64)"))

    def test_integers_of_tables_are_none_that_are_missing_or_cut(self):
        self.write("x.csv", "a,b,c,d\n\n1,-128,x,1\n2,127,1.5,\n")
        self.assertEqual(self.value("(let ((t (read-table \"x.csv\" 'f64))) (map tensor-type (list (cadr t) (caddr t))))"), "(f64 f64)")
        self.assertIn("read-table: x.csv: line 4: field 4 is missing, which no i64 is; leave the type out or give 'f64", self.refused("(read-table \"x.csv\" 'i64)"))
        # A column of texts has no numbers to be held.
        self.write("x.csv", "a,b,c\n1,-128,x\n2,127,1.5\n")
        self.assertEqual(self.value("(map (lambda (c) (if (tensor? c) (tensor->list c) c)) (cdr (read-table \"x.csv\" 'i8)))"), '((1 2) (-128 127) ("x" "1.5"))')
        self.assertIn("line 2: field 2 is -128, which no u8 is", self.refused("(read-table \"x.csv\" 'u8)"))
        for number, type, held in (("1.5", "i64", False), ("255", "u8", True), ("256", "u8", False), ("128", "i8", False), ("-32768", "i16", True), ("32768", "i16", False),
                                   ("-2147483648", "i32", True), ("2147483648", "i32", False), ("-9223372036854775808", "i64", True), ("9223372036854775808", "i64", False),
                                   ("inf", "i64", False), ("NaN", "u8", False)):
            self.write("x.csv", f"a\n{number}\n")
            if held:
                self.assertEqual(self.value(f"(cadr (read-table \"x.csv\" '{type}))"), f"#<tensor {type} (1) [{number}]>")
            else:
                self.assertIn(f", which no {type} is; leave the type out or give 'f64", self.refused(f"(read-table \"x.csv\" '{type})"))

    def test_known_classes_of_texts(self):
        self.assertEqual(self.value("""(text-classes '("b" "a" "b") '("c" "b" "a"))"""), '(("c" "b" "a") . #<tensor i64 (3) [1 2 1]>)')
        self.assertIn('text-classes: "d" is none of the classes ("a" "b")', self.refused("""(text-classes '("b" "d") '("a" "b"))"""))
        self.assertIn("text-classes: a class is given twice: (\"a\" \"a\")", self.refused("""(text-classes '("a") '("a" "a"))"""))

    def test_tables_that_are_written(self):
        self.value("""(write-table "x.csv" '("n" "a \\"b\\",c" "t" "v") (list (list->tensor '(1 9007199254740991) 'i64) (list->tensor '(.1 +nan.0)) '("x, \\"y\\"\\nz" "") (vector +inf.0 -.5)))""")
        with open(self.path("x.csv")) as file:
            self.assertEqual(file.read(), '"n","a ""b"",c","t","v"\n1,0.1,"x, ""y""\nz",inf\n9007199254740991,,"",-0.5\n')
        self.assertEqual(self.value('(let ((t (read-table "x.csv"))) (list (car t) (map (lambda (c) (if (tensor? c) (tensor->list c) c)) (cdr t))))'),
                         '(("n" "a \\"b\\",c" "t" "v") ((1.0 9007199254740991.0) (0.10000000149011612 +nan.0) ("x, \\"y\\"\\nz" "") (+inf.0 -0.5)))')
        self.value("""(write-table "x.csv" '() (list (zeros '(0)) '()))""")
        with open(self.path("x.csv")) as file:
            self.assertEqual(file.read(), "")
        for program, message in (("'(\"a\") (list '(1) '(2))", "write-table: 1 names for 2 columns: (\"a\")"), ("'() (list '(1 2) '(2))", "columns of a table are equally long; these have the lengths (2 1)"),
                                 ("'() (list (eye 2))", "expected a column, a tensor of one axis, got one of the sizes (2 2)"), ("'() '((a))", "expected numbers or texts in a column, got a"),
                                 ("'() (list '(\"x\" \"y\"))", "would be read back as names"), ("'() '()", "expected at least one column")):
            self.assertIn(message, self.refused(f'(write-table "x.csv" {program})'))

    def test_tables_are_read_as_they_are_written(self):
        """Random tables against what was written into them, in all separators, with fields in quotes, ends of lines of both kinds and blanks around fields."""
        draw = random.Random(7)
        for mark in ",;|:\t":
            kinds = [draw.choice(("number", "text", "quoted")) for _ in range(6)]
            rows = [[draw.choice(("", "NA", "1", "-2.5", "3e2", "+.5", "1e-30", "12345678901234567890", "0.1234567890123456789")) if kind == "number" else
                     draw.choice(("a", "b c", "x1", "#", "-", "1x", "\u00e9")) if kind == "text" else "".join(draw.choices('a"\n' + mark, k=4)) for kind in kinds] for _ in range(40)]
            end = draw.choice(("\n", "\r\n"))
            table = [["n%d" % i for i in range(6)]] + rows
            quoted = lambda field, kind: '"' + field.replace('"', '""').replace("\n", end) + '"' if kind == "quoted" else field
            lines = [mark.join(draw.choice(("", " ")) + quoted(field, kind) + draw.choice(("", " ")) for field, kind in zip(row, kinds)) for row in table]
            self.write("x.csv", end.join(lines + [""] * draw.randrange(3)))
            self.write("a.scm", f"""(define (cell x) (if (= x x) x "missing"))
(define t (read-table "x.csv" (integer->char {ord(mark)}) 'f64))
(display (json->string (map (lambda (c) (list->vector (if (tensor? c) (map cell (tensor->list c)) c))) (cdr t))))""")
            got = json.loads(self.vmrun("a.scm").output)
            for column, kind, i in zip(got, kinds, range(6)):
                own = [row[i] for row in rows]
                self.assertEqual(column, [float(field) if field not in ("", "NA") else "missing" for field in own] if kind == "number" else own, (mark, kind))

    def test_a_table_takes_no_more_than_its_parts(self):
        self.write("x.csv", "a,b\n" + "1.5,t\n" * 20_000)
        self.write("a.scm", '(define t (read-table "x.csv")) (write (list (car t) (sumall (cadr t)) (length (caddr t))))')
        self.assertEqual(self.vmrun("--memory=4MiB", "a.scm").output, '(("a" "b") 30000.0 20000)')
        self.assertIn("memory budget", self.vmrun("--memory=1MiB", "a.scm", code=3).errors)
        self.write("x.csv", b"a,b\n1,\xff\n")
        self.assertIn("read-table: x.csv: is no text in UTF-8 (byte 6)", self.refused('(read-table "x.csv")'))
        self.assertIn("read-table: expected a type of elements", self.refused('(read-table "x.csv" #\\, (quote f99))'))

    def test_data_sets(self):
        self.write("x", b"\0\0\x08\x02" + struct.pack(">2I", 2, 3) + b"abcdef")
        self.assertEqual(self.value('(tensor->list (read-idx "x"))'), "((97 98 99) (100 101 102))")
        self.write("x", b"\0\0\x08\x02" + struct.pack(">2I", 2, 3) + b"abcde")
        self.assertIn("but 5 follow; it is cut off, get it anew (byte 12)", self.refused('(read-idx "x")'))
        self.write("x", (b"\x07" + b"r" * 1024 + b"g" * 1024 + b"b" * 1024) * 2)
        self.assertEqual(self.value('(let (((cons l i) (read-cifar "x"))) (list (tensor->list l) (size i) (tensor->number (slice (view i (list -1)) 0 3071 3072))))'),
                         "((7 7) (2 3 32 32) 98)")


class Writing(Files):
    def test_what_is_written_is_what_others_write(self):
        self.value('(begin (write-text "t" "h\u00e9\\n") (write-npy "n" (list->tensor \'((1 2) (3 4)))) '
                   '(write-safetensors "s" (list (cons "a\\"" (list->tensor \'(1 2) \'i16)))))')
        self.assertEqual(self.read("t"), "h\u00e9\n".encode())
        self.assertEqual(self.read("n"), npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4)))
        content = self.read("s")
        length, = struct.unpack("<Q", content[:8])
        self.assertEqual(json.loads(content[8:8 + length]), {'a"': entry("I16", [2], 0, 4)})
        self.assertEqual(content[8 + length:], struct.pack("<2h", 1, 2))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.scm", "n", "s", "t"])
        self.assertIn("bf16", self.refused("(write-npy \"n\" (list->tensor '(1) 'bf16))"))
        self.assertIn("one name", self.refused("(let ((t (list->tensor '(1)))) (write-safetensors \"s\" (list (cons \"a\" t) (cons \"a\" t))))"))
        self.assertEqual(self.read("s"), content)

    def test_replays_do_not_write_again(self):
        self.write("x", npy("<f8", "()", struct.pack("<d", 3)))
        self.write("a.scm", """(define (f x) (let loop ((i 0) (y x))
  (if (= i 50) y (begin (write-text (string-append "out" (number->string i)) "x")
                        (loop (+ i 1) (* y (tensor->number (read-npy "x"))))))))
(write (cdr (checkpoint-*j f 1. (expt 3. -50))))""")
        done = self.vmrun("--checkpoint=binomial,snapshots=3", "a.scm")
        self.assertAlmostEqual(float(done.output), 1)
        self.assertEqual(len([name for name in os.listdir(self.folder) if name.startswith("out")]), 50)
        self.vmrun("--checkpoint=binomial,snapshots=3", f"--output-limit={50 * 4097 + 100}", "a.scm")
        self.vmrun("--checkpoint=binomial,snapshots=3", f"--output-limit={50 * 4097 - 1}", "a.scm", code=3)

    def test_a_program_may_write_what_it_has_read_but_not_read_it_in_a_gradient(self):
        self.write("x", "1")
        self.assertEqual(self.value('(begin (read-text "x") (write-text "x" "2") (read-text "x"))'), '"2"')
        self.assertIn("read it before", self.refused(
            '(begin (read-text "x") (write-text "x" "3") (checkpoint-*j (lambda (y) (begin (read-text "x") y)) 1. 1.))'))

    def folder_of(self, *names):
        for name in names:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            if not name.endswith("/"):
                self.write(name, "")

    def test_names_in_a_folder(self):
        self.folder_of("d/b/x", "d/a/", "d/z", "d/Z", "d/\u00e9", "d/.hidden", "d/a.b", "empty/", "d/a.b.41-0.cairn-part", "d/.1-2.cairn-part")
        os.symlink("b", self.path("d/link"))
        os.mkfifo(self.path("d/pipe"))
        for path in ("d", "./d/", "d/b/..", self.path("d")):
            self.assertEqual(self.value(f'(list-folder "{path}")'), '("Z" "a.b" "a/" "b/" "link" "z" "\u00e9")')
        self.assertEqual(self.value('(list (list-folder "d/a") (list-folder "empty") (list-folder "d/b") (pair? (list-folder ".")))'), '(() () ("x") #t)')
        self.folder_of("f/a.cairn-part", "f/a.1-.cairn-part", "f/a-1.cairn-part", "f/a1-1.cairn-part", "f/a.1-1.part", "f/a.1-1.cairn-parts", "f/1-1.cairn-part", "f/-1.cairn-part")
        self.assertEqual(self.value('(length (list-folder "f"))'), "8")
        os.mkdir(os.path.join(self.folder.encode(), b"d", b"\xff"))
        self.assertIn("list-folder: d: has a name that is no UTF-8", self.refused('(list-folder "d")'))

    def test_folders_that_may_not_be_listed(self):
        self.folder_of("d/a/x", "run/y")
        os.symlink("..", self.path("run/up"))
        self.write("run/a.scm", '(write (list-folder (car (command-line))))')
        for path, message in (("..", "may not be read"), ("../d", "may not be read"), ("/", "may not be read"), ("up", "a link leads out"), ("up/d", "a link leads out"), ("no", "cannot be opened: No such file"),
                              ("y", "cannot be opened: Not a directory")):
            self.assertIn(f"list-folder: {path}: {message}" if "link" not in message else message,
                          self.tool("vmrun", "a.scm", path, code=1, cwd=self.path("run")).errors)
        for granted, path, names in (("../d", "../d", '("a/")'), ("../d/a", "../d/a", '("x")'), ("../d", "../d/a", '("x")')):
            self.assertEqual(self.tool("vmrun", f"--read={granted}", "a.scm", path, code=0, cwd=self.path("run")).output, names)
        for granted, path in (("../d/a", "../d"), ("../d/a/x", "../d/a")):
            self.assertIn("may not be read", self.tool("vmrun", f"--read={granted}", "a.scm", path, code=1, cwd=self.path("run")).errors)

    def test_a_folder_is_the_same_or_it_is_said(self):
        self.folder_of(*(f"d/{i:0200}" for i in range(50)))  # more than two pages of names
        self.write("a.scm", '(define (wait n) (if (= n 0) (length (list-folder "d")) (wait (- n 1))))(list-folder "d")(write (wait 1000))')
        self.vmrun("--steps=500", "--save=c", "a.scm", code=75)
        self.vmrun("--steps=500", "--save=e", "a.scm", code=75)
        self.assertEqual(self.read("c"), self.read("e"))
        self.assertEqual(self.vmrun("--resume=c").output, "50")
        self.write(f"d/{3:0200}", "content is another matter")
        self.assertEqual(self.vmrun("--resume=c").output, "50")
        os.rename(self.path(f"d/{49:0200}"), self.path(f"d/{51:0200}"))
        self.assertIn("list-folder: d: has changed since this program read it", self.vmrun("--resume=c", code=1).errors)
        os.rename(self.path(f"d/{51:0200}"), self.path(f"d/{49:0200}"))
        self.assertEqual(self.vmrun("--resume=c").output, "50")
        self.folder_of("d/more")
        self.assertIn("list-folder: d: has changed since", self.vmrun("--resume=c", code=1).errors)

    def test_a_program_that_writes_into_a_folder_sees_that_but_not_in_a_gradient(self):
        self.folder_of("d/x")
        names = '(begin (list-folder "d") (write-text "d/y" "2") (write-text "d/x" "1") (list-folder "d"))'
        self.assertEqual(self.value(names), '("x" "y")')
        self.assertEqual(self.value(names), '("x" "y")')
        self.assertIn("read it before", self.refused(
            '(begin (list-folder "d") (write-text "d/z" "3") (checkpoint-*j (lambda (y) (begin (list-folder "d") y)) 1. 1.))'))
        self.write("a.scm", "(write (cdr (checkpoint-*j (lambda (x) (let loop ((i 0) (y x)) (if (= i 50) y (loop (+ i 1) (* y (- (length (list-folder \"d\")) 1)))))) 1. 1.)))")
        self.assertEqual(float(self.vmrun("--checkpoint=binomial,snapshots=3", "a.scm").output), 2.**50)

    def test_parameters(self):
        self.write("a.scm", """(define p (list (list 'fc (cons 'weight (list->tensor '((1 2) (3 4)))) (cons 'bias (list->tensor '(5 6)))) (vector 1.5 2)))
(save-parameters "p" p)
(write (map car (read-safetensors "p")))
(write (equal? p (load-parameters "p" p)))
(write (load-parameters "p" (list 0.) '(("1.0" . "0"))))""")
        self.assertEqual(self.vmrun("a.scm").output, '("fc.weight" "fc.bias" "1.0" "1.1")#t(1.5)')
        self.assertRegex(self.refused('(load-parameters "p" (list (list (cons \'weight (zeros \'(2 3))))) \'(("fc.weight" . "0.weight")))'),
                         r"parameter 0\.weight .*\(2 3\) \(2 2\)")
        self.assertIn("no tensor 0", self.refused('(load-parameters "p" (list 0.))'))

    def test_what_names_of_parameters_say(self):
        self.write("a.scm", """(define p (list (list 'conv (ones '(2 3)) (zeros '(3)))))
(save-parameters "p" p)
(write (map car (read-safetensors "p")))
(write-safetensors "q" (list (cons "w" (ones '(2 3))) (cons "b" (zeros '(3)))))
(write (equal? p (load-parameters "q" p '(("w" . "conv.0") ("b" . "conv.1") ("b" . "conv.2")))))""")
        self.assertEqual(self.vmrun("a.scm").output, '("conv.0" "conv.1")#t')
        like = "(list (list 'conv (ones '(2 3)) (zeros '(3))))"
        for names, message in (('("w" . "conv.1") ("b" . "conv.2")', r"""q has no tensor conv.0 for the parameter conv.0, to which none of the names """
                                r"""\(\("w" . "conv.1"\) \("b" . "conv.2"\)\) gives another one; it has \("w" "b"\)"""),
                               ('("v" . "conv.0")', r"""q has no tensor "v", which the names give to the parameter conv.0; it has \("w" "b"\)"""),
                               ('("v" . "conv.2")', r"""of the names, "v" is no tensor of q and "conv.2" no parameter; those are \("w" "b"\) \("conv.0" "conv.1"\)""")):
            self.assertRegex(self.refused(f"(load-parameters \"q\" {like} '({names}))"), message)
        self.assertRegex(self.refused('(load-parameters "q" (list (ones \'(3 2))) \'(("w" . "0")))'), r"differ; load it with the sizes in the file and \(transpose t\) .*\(3 2\) \(2 3\)")
        self.assertRegex(self.refused('(load-parameters "q" (list (ones \'(2 4))) \'(("w" . "0")))'), r"differ: \(2 4\) \(2 3\)")
        self.assertRegex(self.refused('(load-parameters "p" (list (list \'conv (ones \'(2 3)) (zeros \'(3))) 0))'), r"no tensor 1 for the parameter 1 \(for a first state of 0 write \(rule-state rule p\)\)")

    def test_a_training_goes_on_from_files(self):
        self.write("a.scm", """(define (loss (list w b)) (square (- (sumall (* w w)) b)))
(define (train state n rule)
  (if (= n 0) state (let (((list v p s) (checkpoint-*j-update loss (car state) 1 rule (cadr state)))) (train (list p s) (- n 1) rule))))
(define start (list (ones '(2)) .5))
(define (same? rule)
  (let ((once (train (list start 0) 4 rule)))
    (save-parameters "p" (train (list start 0) 2 rule))
    (equal? once (train (load-parameters "p" (list start (rule-state rule start))) 2 rule))))
(write (map same? (list (sgd .1) (momentum .1) (adam .1) (adamw .1) (lion .1) (clip-by-value 1 (rmsprop .1)))))""")
        self.assertEqual(self.vmrun("a.scm").output, "(#t #t #t #t #t #t)")

    def test_values_of_a_dictionary_are_named_by_its_keys(self):
        self.write("a.scm", """(define p (list (dict 'w (ones '(2)) 'b .5 3 1. "in" (dict 'w 2.) 2.5 3.)))
(save-parameters "p" p)
(write (map car (read-safetensors "p")))
(write (equal? p (load-parameters "p" p)))
(define like (dict 'b 0. 'w 0.))
(write (dict->list (load-parameters "p" like '(("0.b" . "b") ("0.in.w" . "w")))))""")
        self.assertEqual(self.vmrun("a.scm").output, '("0.2.5" "0.3" "0.in.w" "0.b" "0.w")#t((b . 0.5) (w . 2.0))')
        self.assertIn("save-parameters: two parameters have the name 1, as keys of a dictionary look alike", self.refused('(save-parameters "p" (dict 1 2. "1" 3.))'))


class Changed(Files):
    PROGRAM = """(define a (read-bytes "x" 100 10))
(define (wait i) (if (= i 1000) i (wait (+ i 1))))
(wait 0)
(write (tensor->list (read-bytes "x" 105 1)))"""

    def test_a_resumed_run_reads_what_it_read_or_says_that_it_cannot(self):
        content = bytearray(os.urandom(200_000))
        self.write("x", bytes(content))
        self.write("a.scm", self.PROGRAM)
        self.vmrun("--steps=500", "--save=c", "a.scm", code=75)
        expected = f"({content[105]})"
        self.assertEqual(self.vmrun("--resume=c").output, expected)
        content[150_000] ^= 1  # in a block that was not read
        self.write("x", bytes(content))
        self.assertEqual(self.vmrun("--resume=c").output, expected)
        content[3] ^= 1
        self.write("x", bytes(content))
        self.assertIn("read-bytes: x: has changed since this program read it", self.vmrun("--resume=c", code=1).errors)
        content[3] ^= 1
        self.write("x", bytes(content) + b"more")
        self.assertIn("has changed since", self.vmrun("--resume=c", code=1).errors)
        self.vmrun("--steps=500", "--save=d", "a.scm", code=75)
        self.vmrun("--steps=500", "--save=e", "a.scm", code=75)
        self.assertEqual(self.read("d"), self.read("e"))

    def test_a_run_resumed_from_before_a_write_writes_again_and_reads_that(self):
        self.write("x", "one")
        self.write("a.scm", self.PROGRAM.replace('(read-bytes "x" 100 10)', '(read-text "x")').replace(
            "(write (tensor->list (read-bytes \"x\" 105 1)))", '(write-text "x" "two")(wait 0)(write (read-text "x"))'))
        for at in range(1, 4000, 600):
            self.write("x", "one")
            self.vmrun(f"--steps={at}", "--save=c", "a.scm", code=75)
            for _ in range(2):  # the second time the file has been written by what was resumed before
                self.assertEqual(self.vmrun("--resume=c").output, '"two"')



if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["files.py", *arguments.tests])
