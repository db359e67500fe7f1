#!/usr/bin/env python3
"""Formats of data beside arrays: lines, tables, JSON, archives and pictures, as others write and read them, and files that lie."""
import io
import json
import os
import random
import struct
import unittest
import warnings
import zipfile
import zlib

import driver
from driver import ToolTest
from files import npy

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


def archive(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in members.items():
            with file.open(name, "w", force_zip64=True) as member:  # as NumPy writes
                member.write(content)
    return out.getvalue()


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, content, *more, kind=0):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, kind, 0, 0, 0)) + b"".join(more) + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b""))


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
        for text, message in (("(write-csv \"x\" (ones '(2)))", "a matrix"), ("(write-csv \"x\" (ones '(2 2)) '(\"a\"))", "1 names for 2 columns"), ("(write-csv \"x\" (ones '(2 2)) '(\"1\" \"\"))", "read back as a row"),
                              ("(write-table \"x\" '(\"a\" \"1e5\") '((1) (2)))", "read back as a row"), ("(write-csv \"x\" (ones '(2 2)) '(a b))", "names")):
            self.refused(text, message)


    def test_numbers_are_rounded_right(self):
        draw = random.Random(11)
        texts = ["0", "-0.0", "007", ".5", "5.", "+1", "1e22", "1e23", "9007199254740993", "9007199254740992e-22", "123456789012345678", "1234567890123456789", "0.1e-300", "4.9e-324", "1e400",
                 "-1e400", "1e-400", "1e0005", "-.25", "00000000000000000000001", "0.00000000000000000000000000000001", "1e+05", "1e-05",
                 f"0.{400 * '0'}1", f"-0.{400 * '0'}1", f"1{400 * '0'}e-10", f"-1{400 * '0'}E-10", "0.1e400"]
        for _ in range(3000):
            digits = "".join(draw.choices("0123456789", k=draw.randrange(1, 22)))
            at = draw.randrange(len(digits) + 1)
            texts.append(draw.choice(["", "-"]) + digits[:at] + draw.choice([".", "." if at < len(digits) else ""]) + digits[at:] + draw.choice(["", "", f"e{draw.randrange(-40, 40)}"]))
        self.write("x.csv", "\n".join(f"{text},{draw.choice(['', ' '])}{text}{draw.choice(['', ' '])}" for text in texts))
        self.value("(write-npy \"x.npy\" (cdr (read-csv \"x.csv\" 'f64)))")
        content = self.read("x.npy")
        ours = struct.unpack(f"<{2 * len(texts)}d", content[-16 * len(texts):])
        for i, text in enumerate(texts):
            self.assertEqual([struct.pack("<d", x) for x in ours[2 * i:2 * i + 2]], [struct.pack("<d", float(text))] * 2, text)
        for text in ("1e", "-", "1.2.3", "1e5e5", "--1", "1 2", "e5", "0x10", "."):
            self.write("x.csv", "1\n" + text)
            self.refused('(read-csv "x.csv")', "is no number")


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

    def test_numbers_out_of_range(self):
        texts = [f"0.{400 * '0'}1", f"1{400 * '0'}e-10", "0.1e400", "-1e-400"]
        self.write("x.json", f"[{','.join(texts)}]")
        self.assertEqual(self.value('(write (read-json "x.json"))'), "#(0.0 +inf.0 +inf.0 -0.0)")

    def test_integers_are_whole(self):
        self.assertEqual(self.value("(display (json->string (+ 1 (* (list->tensor '(1048576 -65536) 'i64) (list->tensor '(1099511627776 1099511627776) 'i64)))))"), f"[{2**60 + 1},{1 - 2**56}]")

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


class Archives(Formats):
    X, Y = npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4)), npy(">i2", "(2, 3)", struct.pack(">6h", *range(6)), fortran=True)

    def test_archives_are_read(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.write("x.npz", archive({"x.npy": self.X, "read me": b"no array", "deep/y.npy": self.Y, "none.npy": npy("<f8", "(0,)", b"")}, method) + b"")
            for device in ((), ("--device=emulated",)):
                self.assertEqual(self.value('(write (map (lambda (p) (cons (car p) (tensor->list (cdr p)))) (read-npz "x.npz")))', *device),
                                 '(("x" (1.0 2.0) (3.0 4.0)) ("deep/y" (0 2 4) (1 3 5)) ("none"))')
        large = archive({"z.npy": npy("<f8", "(1000, 1000)", bytes(8_000_000))})
        self.assertLess(len(large), 10_000)
        self.write("x.npz", large + b"")
        self.assertEqual(self.value('(write (map (lambda (p) (size (cdr p))) (read-npz "x.npz")))', "--memory=10MiB"), "((1000 1000))")

    def test_archives_are_written(self):
        for compressed in ("", "#t"):
            self.value(f"""(define l (list (cons "aé" (list->tensor '((1 2) (3 4)))) (cons "" (zeros '())) (cons "z" (zeros '(300000) 'i8))))
(write-npz "x.npz" l {compressed})
(write (equal? l (read-npz "x.npz")))""")
            with zipfile.ZipFile(io.BytesIO(self.read("x.npz"))) as file:
                self.assertIsNone(file.testzip())
                self.assertEqual(file.namelist(), ["aé.npy", ".npy", "z.npy"])
                self.assertEqual(file.read("aé.npy"), self.X)
            self.assertEqual(self.vmrun("a.scm").output, "#t")
            self.assertEqual(len(self.read("x.npz")) < 5000, compressed != "")
        self.refused("(write-npz \"y\" (list (cons \"a\" (zeros '(1) 'bf16))))", "bf16")
        self.refused("(write-npz \"y\" (list (cons \"a\" (zeros '(1)))) 0)", "write-npz: operand 3: expected #t or #f, got 0")
        self.refused("(write-npz \"y\" (list (cons \"a\" (zeros '(1))) (cons \"a\" (zeros '(1)))))", "one name")

    def test_an_array_of_texts_is_named_and_can_be_left_out(self):
        self.write("x.npz", archive({"x.npy": self.X, "labels.npy": npy("<U2", "(1,)", "ab".encode("utf-32-le")), "y.npy": self.Y, "o.npy": npy("|O", "(1,)", b"\x80\x04N.")}))
        self.refused('(read-npz "x.npz")', r"read-npz: x.npz: its member o.npy: .*its elements are objects of Python.*; arrays of certain names are read by \(read-npz path '\(\"name\" \.\.\.\)\)")
        self.refused("(read-npz \"x.npz\" '(\"labels\"))", r"its member labels.npy: .*its elements are texts \(type <U2\); numbers of them are made by numpy.unique\(a, return_inverse=True\)")
        for names, read in (('"y" "x" "y"', '("x" "y")'), ("", "()")):
            self.assertEqual(self.value(f"(write (map car (read-npz \"x.npz\" '({names}))))"), read)
        self.refused("(read-npz \"x.npz\" '(\"x\" \"z\"))", "has no array of the name z; it has x, labels, y, o")
        self.refused('(read-npz "x.npz" "x")', "expected a list of names, strings, got")

    def test_files_of_torch_save_are_told_from_others(self):
        how = r"a file of torch.save, which holds objects of Python; there, safetensors.torch.save_file\(torch.load\("
        self.write("m.pt", archive({"archive/data.pkl": b"\x80\x02.", "archive/version": b"3"}))
        self.refused('(read-npz "m.pt")', "read-npz: m.pt: is " + how)
        self.refused('(read-safetensors "m.pt")', r"read-safetensors: m.pt: is an archive, and no safetensors file; one of numpy.savez is read by \(read-npz path\). If torch.save wrote it, it is " + how)
        self.refused("(load-parameters \"m.pt\" (zeros '(2)))", how)
        self.write("old.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
        self.refused('(read-safetensors "old.pt")', "read-safetensors: old.pt: is " + how)

    def test_archives_with_two_members_of_one_name(self):
        content = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as file:
            warnings.simplefilter("ignore")
            for name in ("b.npy", "x.npy", "a.npy", "x.npy"):
                file.writestr(name, self.X)
        self.write("x.npz", content.getvalue())
        self.refused('(read-npz "x.npz")', "has two members of the name x.npy")

    def test_archives_that_lie(self):
        good = archive({"x.npy": self.X})
        entry, local = good.index(b"PK\1\2"), 0
        data = good.index(b"x.npy") + len(b"x.npy") + 20

        def changed(at, form, value):
            return good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form):]
        self.write("good", good)
        self.value('(read-npz "good")')
        for content, message in (
                (b"", "too short"), (b"PK" * 40, "no archive"), (good[:-1], "no archive"), (changed(len(good) - 6, "<I", 5000), "directory"),
                (changed(len(good) - 12, "<H", 9), "too short for its entries"), (changed(entry, "<I", 0), "no entry"), (changed(entry + 28, "<H", 60000), "beyond its directory"),
                (changed(entry + 8, "<H", 1), "encrypted"), (changed(entry + 10, "<H", 12), "compression 12"), (changed(entry + 24, "<I", 4_000_000_000), "impossible"),
                (changed(entry + 24, "<I", 145), "shorter than|takes more|goes on"), (changed(entry + 24, "<I", 143), "takes more"), (changed(entry + 16, "<I", 7), "checksum"),
                (changed(entry + 42, "<I", 9999), "not in it"), (changed(entry + 42, "<I", 5), "no member"), (changed(entry + 20, "<I", 99999), "beyond its end"),
                (changed(data, "<I", 0xFFFFFFFF), "compressed bytes that are none"), (changed(local, "<I", 0), "no member"),
                (archive({"x.npy": b"no array"}), "no file of NumPy"), (archive({"x.npy": self.X + b"more"}), "goes on"), (archive({"x.npy": self.X[:-1]}), "takes more")):
            with self.subTest(message):
                self.write("x.npz", content)
                self.refused('(read-npz "x.npz")', rf"read-npz: x.npz: .*({message}).*\(byte \d+( of what is compressed behind byte \d+)?\)")

    def test_a_bomb_is_refused_by_the_budget(self):
        bomb = archive({"x.npy": npy("<f8", "(50000000,)", bytes(400_000_000))})
        self.assertLess(len(bomb), 1_000_000)
        self.write("x.npz", bomb)
        self.write("a.scm", '(read-npz "x.npz")')
        self.assertIn("memory budget", self.vmrun("--memory=32MiB", "a.scm", code=3).errors)


class Pictures(Formats):
    def test_pictures_are_what_pillow_reads(self):
        with open(os.path.join(DATA, "pictures", "expected.json")) as file:
            expected = json.load(file)
        self.assertEqual(len(expected), 11)
        for name, elements in expected.items():
            with open(os.path.join(DATA, "pictures", name), "rb") as file:
                self.write(name, file.read())
            for device in ((), ("--device=emulated",)):
                ours = json.loads(self.value(f'(display (json->string (read-image "{name}")))', *device))
                self.assertEqual([len(ours), len(ours[0]), len(ours[0][0])], [len(elements), len(elements[0]), len(elements[0][0])])
                flat = [abs(a - b) for r, s in zip(ours, elements) for p, q in zip(r, s) for a, b in zip(p, q)]
                self.assertLessEqual(max(flat), 2 if name.endswith("jpg") and "grey" not in name else 0, name)  # versions of libjpeg differ in colours

    def test_pictures_are_written(self):
        for channels in (1, 2, 3, 4):
            self.assertEqual(self.value(f"(define p (cast (* 255 (rand '(37 23 {channels}))) 'u8))(write-png \"x.png\" p)(write (equal? p (read-image \"x.png\")))"), "#t")
        self.assertEqual(self.value("(write-png \"x.png\" (transpose (ones '(2 3) 'u8)))(write (size (read-image \"x.png\")))"), "(3 2 1)")
        for text in ("(write-png \"x\" (ones '(2 2)))", "(write-png \"x\" (ones '(2 2 5) 'u8))", "(write-png \"x\" (ones '(0 2) 'u8))"):
            self.refused(text, "a picture")
        self.refused("(write-png \"x\" 5)", "a tensor")

    def test_interlaced_pictures(self):
        rows = []
        for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
            rows += [b"\0" + bytes((16 * y + x) % 256 for x in range(x0, 9, dx)) for y in range(y0, 9, dy)]
        self.write("x.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 9, 9, 8, 0, 0, 0, 1)) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b""))
        self.assertEqual(json.loads(self.value('(display (json->string (read-image "x.png")))')), [[[(16 * y + x) % 256] for x in range(9)] for y in range(9)])

    def test_pictures_that_are_none(self):
        good = png(2, 2, b"\0ab\0cd")
        with open(os.path.join(DATA, "pictures", "rgb.jpg"), "rb") as file:
            jpeg = file.read()
        with open(os.path.join(DATA, "pictures", "cmyk.jpg"), "rb") as file:
            cmyk = file.read()
        large = jpeg.index(b"\xff\xc0") + 5
        for content, message in (
                (b"", "neither"), (b"GIF89a", "neither"), (good[:8], "ends too early"), (good[:40], "ends too early"), (good[:-20], "ends too early"), (good.replace(b"IDAT", b"IDAX"), "picture"),
                (png(2, 3, b"\0ab\0cd"), "picture"), (png(0, 3, b""), "picture"), (png(100000, 100000, b"\0ab"), "too few"), (png(2**31 - 1, 2**31 - 1, b""), "too few"),
                (good[:-30] + b"\0" + good[-29:], "picture"), (jpeg[:3], "picture"), (jpeg[:len(jpeg) // 2], "picture"), (jpeg[:large] + b"\xff\xff\xff\xff" + jpeg[large + 4:], "picture"),
                (jpeg[:large] + b"\xea\x60\xea\x60" + jpeg[large + 4:], "too few"), (cmyk, "CMYK"), (b"\xff\xd8\xff" + bytes(500), "picture")):
            with self.subTest(message, length=len(content)):
                self.write("x", content)
                self.refused('(read-image "x")', rf"read-image: x: .*({message}).*\(byte 0\)")

    def test_a_picture_larger_than_the_budget(self):
        self.write("x.png", png(20000, 20000, b"\0" * 20001 * 20000))
        self.write("a.scm", '(read-image "x.png")')
        self.assertIn("memory budget", self.vmrun("--memory=32MiB", "a.scm", code=3).errors)
        self.write("x.png", png(100000, 100, b"\0" * 300001 * 100, kind=2))
        self.value('(read-image "x.png")', "--memory=64MiB")

    def test_without_the_module(self):
        self.write("a.scm", '(read-image "x.png")')
        os.mkdir(self.path("bin"))
        os.link(os.path.join(self.bin, "vmrun"), self.path("bin/vmrun"))
        ours, ToolTest.bin = ToolTest.bin, self.path("bin")
        try:
            self.assertIn("libcairn_codecs.so", self.vmrun("a.scm", code=1).errors)
        finally:
            ToolTest.bin = ours


class Recordings(Formats):
    def test_recordings_are_what_edfio_reads(self):
        with open(os.path.join(DATA, "recordings", "expected.json")) as file:
            expected = json.load(file)
        for name, recording in expected.items():
            with open(os.path.join(DATA, "recordings", name), "rb") as file:
                self.write(name, file.read())
            ours = json.loads(self.value(f'(display (json->string (read-edf "{name}")))'))
            self.assertEqual([[a, b, c] for a, b, c in ours["annotations"] or []], [[a, b or False, c] for a, b, c in recording["annotations"]])
            self.assertEqual((ours["records"], ours["duration"]), (3, 1))
            self.assertEqual(len(ours["signals"]), 2)
            for signal, theirs in zip(ours["signals"], recording["signals"]):
                self.assertEqual((signal["label"], signal["unit"], signal["rate"]), (theirs["label"], theirs["unit"], theirs["rate"]))
                self.assertEqual(len(signal["samples"]), len(theirs["samples"]))
                self.assertLess(max(abs(a - b) for a, b in zip(signal["samples"], theirs["samples"])), 1e-4)
            part = json.loads(self.value(f'(display (json->string (read-edf "{name}" 1 1)))'))
            self.assertEqual(part["signals"][0]["samples"], ours["signals"][0]["samples"][32:64])

    def test_recordings_that_lie(self):
        with open(os.path.join(DATA, "recordings", "plain.edf"), "rb") as file:
            good = file.read()

        def changed(at, text):
            return good[:at] + text + good[at + len(text):]
        for content, message in ((b"", "too short"), (good[:300], "ends inside"), (good[:-1], "does not fit"), (good + b"x", "does not fit"), (changed(0, b"1"), "no EDF"), (changed(184, b"9"), "no EDF"),
                                 (changed(252, b"-1  "), "no count"), (changed(252, b"x"), "no number"), (changed(236, b"9999"), "does not fit"), (changed(236, b"-2 "), "does not fit"),
                                 (changed(256 + 2 * 216, b"99999999"), "does not fit"), (changed(256 + 2 * 216, b"1e9     "), "does not fit|no count"), (changed(256 + 2 * 104, b"x"), "no number"),
                                 (changed(256 + 2 * 120, b"32767   "), "one digital value")):
            self.write("x.edf", content)
            self.refused('(read-edf "x.edf")', f"read-edf: x.edf: .*({message})")
        self.write("x.edf", changed(236, b"-1      "))
        self.assertEqual(self.value('(write (cdr (assoc "records" (read-edf "x.edf"))))'), "3")
        self.refused('(read-edf "x.edf" 2 2)', "not there")
        self.write("x.edf", changed(252, b"0   ")[:184] + b"256     " + changed(252, b"0   ")[192:256])
        self.refused('(read-edf "x.edf")', "its header counts no signals")

    def test_recordings_whose_times_lie(self):
        with open(os.path.join(DATA, "recordings", "plain.edf"), "rb") as file:
            plain = file.read()
        for duration, message in ((b"-1      ", "the duration of its records is none; its byte and its number are 244 -1"), (b"1e-320  ", "the duration of its records is none"),
                                  (b"+inf.0  ", r'is no number; its byte and its text are 244 "\+inf.0"'), (b"+nan.0  ", "is no number; its byte and its text are 244 "),
                                  (b"1e999   ", "is no number")):
            self.write("x.edf", plain[:244] + duration + plain[252:])
            self.refused('(read-edf "x.edf")', message)
        self.write("x.edf", plain[:236] + b"none    " + plain[244:])
        self.refused('(read-edf "x.edf")', 'is no number; its byte and its text are 236 "none"')
        self.write("x.edf", plain[:256 + 2 * 104 + 8] + b"high    " + plain[256 + 2 * 104 + 16:])
        self.refused('(read-edf "x.edf")', f'is no number; its byte and its text are {256 + 2 * 104 + 8} "high"')

    def test_annotations_that_are_damaged(self):
        good = b"+0\x14\x14\0+1\x1520\x14ev\x14\0\0\0\0"

        def recording(notes):
            fields = [("EDF Annotations", 16), ("", 80), ("", 8), ("-1", 8), ("1", 8), ("-32768", 8), ("32767", 8), ("", 80), (len(notes) // 2, 8), ("", 32)]
            head = [("0", 8), ("", 160), ("", 16), (512, 8), ("EDF+C", 44), (1, 8), (1, 8), (1, 4)]
            return b"".join(str(text).ljust(width).encode() for text, width in head + fields) + notes
        self.write("x.edf", recording(good))
        self.assertEqual(self.value('(write (cdr (assoc "annotations" (read-edf "x.edf"))))'), '((1 20 "ev"))')
        for notes in (good[:14] + b"xxxx", good.replace(b"+1", b"+x"), good.replace(b"20", b"2x"), good.replace(b"\x1520\x14ev\x14", b"\x1520_ev_")):
            self.write("x.edf", recording(notes))
            self.refused('(read-edf "x.edf")', "read-edf: x.edf: an annotation is damaged, which begins at byte 517")

    def test_recordings_of_24_bits(self):
        """BDF: three bytes a sample, here of two signals and one of annotations, in two records of a second."""
        def field(values, width):
            return b"".join(str(value).ljust(width).encode() for value in values)
        samples = [[[0, 1, -1, 8388607], [-8388608, 256]], [[65536, -65537, 255, 4660], [2, -2]]]
        notes = [b"+0\x14\x14\x00+0.5\x150.25\x14blink\x14\x00", b"+1\x14\x14\x00"]
        header = b"\xffBIOSEMI" + field(["patient"], 80) + field(["recording"], 80) + field(["01.01.26", "00.00.00", 256 * 4], 8) + field(["24BIT"], 44)
        header += field([2, 1], 8) + field([3], 4)
        header += field(["Fz", "Cz", "BDF Annotations"], 16) + field([""] * 3, 80) + field(["uV", "mV", ""], 8) + field([-8388608, -1, -1], 8)
        header += field([8388607, 1, 1], 8) + field([-8388608] * 3, 8) + field([8388607] * 3, 8) + field([""] * 3, 80) + field([4, 2, 12], 8) + field([""] * 3, 32)
        records = b"".join(b"".join((x & 0xFFFFFF).to_bytes(3, "little") for signal in record for x in signal) + note.ljust(36, b"\0")
                           for record, note in zip(samples, notes))
        self.write("x.bdf", header + records)
        ours = json.loads(self.value('(display (json->string (read-edf "x.bdf")))'))
        self.assertEqual([signal["label"] for signal in ours["signals"]], ["Fz", "Cz"])
        self.assertEqual(ours["signals"][0]["samples"], [0, 1, -1, 8388607, 65536, -65537, 255, 4660])
        for got, x in zip(ours["signals"][1]["samples"], [-8388608, 256, 2, -2]):
            self.assertAlmostEqual(got, (x + .5) / 8388607.5, places=6)
        self.assertEqual(ours["annotations"], [[.5, .25, "blink"]])
        self.assertEqual(json.loads(self.value('(display (json->string (read-edf "x.bdf" 1 1)))'))["signals"][0]["samples"], [65536, -65537, 255, 4660])
        gaps = header.replace(b"24BIT", b"BDF+D")
        self.write("x.bdf", gaps + records)
        self.refused('(read-edf "x.bdf")', r"there are gaps between its records, which would be lost; read one at a time, \(read-edf path 0 1\)")
        self.assertEqual(json.loads(self.value('(display (json->string (read-edf "x.bdf" 1 1)))'))["signals"][0]["samples"], [65536, -65537, 255, 4660])
        self.write("x.bdf", header + records[:-1])
        self.refused('(read-edf "x.bdf")', "does not fit")


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["formats.py", *arguments.tests])
