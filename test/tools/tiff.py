#!/usr/bin/env python3
"""Pages of TIFF as arrays in files: every kind that is read, by regions and by tiles, what is decoded once and found again, and files that lie."""
import json
import os
import random
import struct
import unittest

import driver
import tiffs
from driver import ToolTest
from files import npy
from tiffs import DEFLATE, JPEG, LONG, LZW, NONE, OLD_DEFLATE, PACKBITS, RATIONAL, SHORT, page, tiff

PICTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "pictures")


def numbers(kind, samples, height, width, seed=1):
    """Smooth and rough in turn, with the least and the largest there are."""
    generator = random.Random(seed)
    code = tiffs.KINDS[kind][0]
    if code in "efd":
        draw = lambda i: struct.unpack(code, struct.pack(code, generator.choice([i / 8, generator.gauss(0, 100), 0.0, -0.5])))[0]
    else:
        bits = 8 * struct.calcsize("<" + code)
        least, most = (0, 2 ** bits - 1) if code.isupper() else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
        most, least = min(most, 2 ** 53), max(least, -2 ** 53)  # a test compares floats
        draw = lambda i: generator.choice([max(least, min(most, i)), generator.randint(least, most), least, most])
    return [[[draw(y * width + x) for x in range(width)] for y in range(height)] for _ in range(samples)]


def as_npy(value):
    flat = [n for plane in value for row in plane for n in row]
    return npy("<f8", (1, len(value), len(value[0]), len(value[0][0])), struct.pack(f"<{len(flat)}d", *flat))


class Tiffs(ToolTest):
    def value(self, text, *options):
        self.write("a.scm", text)
        return self.vmrun(*options, "a.scm").output

    def refused(self, text, message, *options):
        self.write("a.scm", text)
        done = self.vmrun(*options, "a.scm", code=1)
        self.assertRegex(done.errors, message)
        self.assertEqual(done.errors.count("error:"), 1)

    def library(self):
        if not os.path.exists(os.path.join(self.bin, "..", "lib", "libcairn_tiff.so")):
            self.skipTest("it was built without libtiff")


class Kinds(Tiffs):
    def same(self, files, *options):
        """Of pairs of a file and its value: the whole and regions of it are what they should be."""
        generator = random.Random(2)
        text = ["(define (same name a b) (if (if (equal? (size a) (size b)) (equal? (cast a 'f64) (to-device b (tensor-residence a))) #f) (write 1) (begin (display name) (write (list a b)))))"]
        for i, (file, value) in enumerate(files):
            self.write(f"{i}.tif", file)
            self.write(f"{i}.npy", as_npy(value))
            sizes = [1, len(value), len(value[0]), len(value[0][0])]
            text.append(f'(define t (tiff-array "{i}.tif"))(define n (npy-array "{i}.npy"))(same "{i} " (read-rows t 0 1) (read-rows n 0 1))')
            for _ in range(4):
                parts = [sorted(generator.sample(range(size + 1), 2)) for size in sizes]
                starts, extents = (" ".join(str(f(*part)) for part in parts) for f in (lambda a, b: a, lambda a, b: b - a))
                text.append(f"(same \"{i} {starts}, {extents} \" (read-region t '({starts}) '({extents})) (read-region n '({starts}) '({extents})))")
        self.assertEqual(self.value("\n".join(text), *options), "1" * 5 * len(files))

    def test_what_is_not_compressed(self):
        files = []
        for kind in tiffs.KINDS:
            for samples, planar, tile, rows in ((1, False, None, None), (3, False, (16, 16), None), (2, True, None, 3), (4, True, (16, 32), None)):
                value = numbers(kind, samples, 21, 37)
                for big_endian in (False, True):
                    files.append((tiff(page(value, kind, tile, rows, planar), big_endian=big_endian, wide=samples == 3), value))
        self.same(files)

    def test_what_the_library_decodes(self):
        self.library()
        files = []
        for kind in tiffs.KINDS:
            for compression, predictor in ((LZW, 1), (DEFLATE, 1), (OLD_DEFLATE, 1), (PACKBITS, 1), (LZW, 2), (DEFLATE, 2), (DEFLATE, 3)):
                if predictor == 3 and kind not in ("f16", "f32", "f64") or predictor == 2 and kind in ("f16", "f32", "f64", "i64"):
                    continue
                samples, planar, tile, rows = random.Random(len(files)).choice([(1, False, None, 5), (3, False, (16, 16), None), (2, True, None, 7), (3, True, (16, 32), None), (5, False, None, None)])
                value = numbers(kind, samples, 21, 37)
                files.append((tiff(page(value, kind, tile, rows, planar, compression, predictor), big_endian=len(files) % 2 == 1, wide=len(files) % 3 == 0), value))
        self.same(files)

    def test_long_pieces(self):
        # Codes of all lengths, and tables that are begun again.
        self.library()
        files = []
        for compression in (LZW, DEFLATE, PACKBITS):
            value = numbers("u8", 1, 150, 200)
            files.append((tiff(page(value, "u8", None, None, False, compression)), value))
        self.same(files)

    def test_devices_get_the_elements(self):
        value = numbers("i16", 3, 21, 37)
        self.same([(tiff(page(value, "i16", (16, 16))), value)], "--device=emulated")

    def test_jpeg(self):
        self.library()
        for name, photometric, sampling in (("rgb.jpg", 6, 1), ("halved.jpg", 6, 2), ("rgb.jpg", 6, 0), ("halved.jpg", 6, 0), ("grey.jpg", 1, 1)):
            with open(os.path.join(PICTURES, name), "rb") as file:
                picture = file.read()
            self.write("x.jpg", picture)
            samples = 3 if photometric == 6 else 1
            empty = [[[0] * 25] * 19] * samples
            more = [(530, SHORT, [sampling, sampling])] if photometric == 6 and sampling else []
            self.write("x.tif", tiff(page(empty, "u8", compression=JPEG, photometric=photometric, pieces=[picture], more=more)))
            self.assertEqual(self.value('(define t (read-rows (tiff-array "x.tif") 0 1))(define p (read-image "x.jpg"))'
                                        "(write (list (size t) (equal? (index t 0) (contiguous (permute p '(2 0 1))))))"), f"((1 {samples} 19 25) #t)", name)

    def test_jpegs_that_are_refused(self):
        """What would leave elements as they were, go over them many times, or is damaged."""
        self.library()
        pictures = {}
        for name in ("grey.jpg", "progressive.jpg"):
            with open(os.path.join(PICTURES, name), "rb") as file:
                pictures[name] = file.read()
        grey = pictures["grey.jpg"]
        frame = grey.index(b"\xff\xc0") + 5  # its rows and columns
        narrow = grey[:frame + 2] + (8).to_bytes(2, "big") + grey[frame + 4:]
        low = grey[:frame] + (3).to_bytes(2, "big") + grey[frame + 2:]
        for samples, photometric, piece, message in ((1, 1, narrow, "Improper JPEG"), (1, 1, low, "cannot be decoded"), (1, 1, grey[:len(grey) * 2 // 3], "cannot be decoded"),
                                                     (3, 6, pictures["progressive.jpg"], "progressive or has several scans")):
            self.write("x.tif", tiff(page([[[0] * 25] * 19] * samples, "u8", compression=JPEG, photometric=photometric, pieces=[piece])))
            self.refused('(read-rows (tiff-array "x.tif") 0 1)', "x.tif: has a strip that cannot be decoded, number 0: .*" + (message if message != "cannot be decoded" else ""))

    def test_pages(self):
        first, second = numbers("u8", 1, 4, 5, 1), numbers("f32", 2, 3, 2, 2)
        self.write("x.tif", tiff(page(first, "u8"), page(second, "f32"), wide=True))
        self.assertEqual(self.value('(write (list (tiff-array "x.tif") (tiff-array "x.tif" 1)))'), '((tiff "x.tif" 0 (1 1 4 5) u8) (tiff "x.tif" 1 (1 2 3 2) f32))')
        self.write("y.npy", as_npy(second))
        self.assertEqual(self.value('(write (equal? (cast (read-region (tiff-array "x.tif" 1) \'(0 0 0 0) \'(1 2 3 2)) \'f64) (read-npy "y.npy")))'), "#t")
        self.refused('(tiff-array "x.tif" 2)', "tiff-array: x.tif: has 2 pages, counted from 0 on; there is no page 2")
        self.write("x.tif", tiff(page(first, "u8")))
        self.refused('(tiff-array "x.tif" 70000)', "x.tif: has one page, counted from 0 on; there is no page 70000")

    def test_regions_of_other_arrays(self):
        self.write("x.npy", npy("<i4", (4, 5), struct.pack("<20i", *range(20))))
        self.write("y.npy", npy("<i4", (6,), struct.pack("<6i", *range(6))))
        self.assertEqual(self.value("""(write (map tensor->list (list (read-region (npy-array "x.npy") '(1 2) '(2 3)) (read-region (npy-array "y.npy") '(2) '(3))
            (read-region (list "x.npy" 'i32 128 '(2 2) 10) '(0 1) '(2 1)))))"""), "(((7 8 9) (12 13 14)) (2 3 4) ((1) (11)))")
        self.assertEqual(self.value("""(define a (npy-array "x.npy"))
            (write (map (lambda (sizes) (let ((t (read-region a '(0 0) sizes))) (list (size t) (tensor-type t)))) '((0 3) (2 0) (0 0))))"""), "(((0 3) i32) ((2 0) i32) ((0 0) i32))")
        self.refused("(read-region (npy-array \"x.npy\") '(0 4) '(1 3))", "read-region: x.npy: along axis 1 there are")


class Tiles(Tiffs):
    PROGRAM = """(define weights (list (view (sin (arange 108 'f64)) '(4 3 3 3)) (view (cos (arange 144 'f64)) '(4 4 3 3))))
(define (net w x)
  (let ((y (ReLU (convolve (cast x 'f64) (car w) 1 1))))
    (max-pool (+ y (car (batch-normalization-training (convolve y (cadr w) 1 1) (ones '(4) 'f64) (zeros '(4) 'f64)))) 2)))
(define (loss array) (lambda (w) (sum (square (mean (tiled (lambda (x) (net w x)) array '(4 3)) '(2 3))))))
"""

    def images(self):
        value = numbers("u8", 3, 96, 80)
        self.write("x.npy", npy("|u1", (1, 3, 96, 80), bytes(n for plane in value for row in plane for n in row)))
        self.write("x.tif", tiff(page(value, "u8", (32, 16), compression=DEFLATE, predictor=2)))
        self.write("strips.tif", tiff(page(value, "u8", rows=7)))

    def test_tiles_of_files_of_either_kind(self):
        self.images()
        self.assertEqual(self.value(self.PROGRAM + "(define (all array) (list (*j (loss array) weights 1) (checkpoint-*j (loss array) weights 1)))"
                                    '(define a (all (npy-array "x.npy")))(write (equal? a (all (tiff-array "strips.tif"))))'
                                    '(write (tile-plan (lambda (x) (tanh (cast x \'f32))) (tiff-array "strips.tif") 2))'
                                    '(write (cdr (*j (lambda (a) (sumall (tiled (lambda (x) (cast x \'f32)) a 2))) (tiff-array "strips.tif") 1)))'),
                         '#t(((cast tanh) (2 2) 74880 1.0 0))(tiff "strips.tif" 0 (0 0 0 0) u8)')
        self.library()
        self.assertEqual(self.value(self.PROGRAM + "(define (all array) (list (*j (loss array) weights 1) (checkpoint-*j (loss array) weights 1)))"
                                    '(write (equal? (all (npy-array "x.npy")) (all (tiff-array "x.tif"))))'), "#t")

    def test_runs_go_on_and_count_the_same(self):
        # A run that goes on decodes again what the whole one found decoded; steps and work do not tell.
        self.library()
        self.images()
        self.write("a.scm", self.PROGRAM + '(write (map sumall (cons (car (*j (loss (tiff-array "x.tif")) weights 1)) (cdr (checkpoint-*j (loss (tiff-array "x.tif")) weights 1)))))')
        whole = self.vmrun("--stats", "a.scm")
        stats = json.loads(whole.errors)
        for parts in (5, 19):
            state, output = ["a.scm"], ""
            for _ in range(parts + 2):
                done = self.vmrun(f"--steps={stats['steps'] // parts}", "--save=state.capsule", "--stats=s.json", *state, code=None)
                output += done.output
                state = ["--resume=state.capsule"]
                if done.returncode == 0:
                    break
                self.assertEqual(done.returncode, 75, done.errors)
            self.assertEqual(output, whole.output)
            last = json.loads(self.read("s.json"))
            self.assertEqual([last["steps"], last["work"]], [stats["steps"], stats["work"]])

    def test_an_image_larger_than_the_budget(self):
        self.library()
        # 48 MiB, of which tiles and the pieces they share are in memory.
        side, tile = 4096, 256
        pieces = [tiffs.COMPRESS[DEFLATE](bytes([block]) * 3 * tile * tile) for block in range(side * side // tile ** 2)]
        self.write("x.tif", tiff(page([[[0]]] * 3, "u8", (tile, tile), compression=DEFLATE, pieces=pieces, more=[(256, LONG, [side]), (257, LONG, [side])])))
        text = """(define (f x) (mean (max-pool (cast x 'f32) 64) '(2 3)))(write (tensor->list (tiled f (tiff-array "x.tif"))))"""
        for memory in ("12MiB", "100MiB"):
            self.assertEqual(self.value(text, "--memory=" + memory), "((127.5 127.5 127.5))")

    def test_pieces_give_way(self):
        # What is kept of pieces is given up before anything is refused.
        self.library()
        value = [[[x % 256 for x in range(1024)]] * 1024]
        self.write("x.tif", tiff(page(value, "u8", (256, 256), compression=DEFLATE)))
        self.write("a.scm", """(define t (read-region (tiff-array "x.tif") '(0 0 100 100) '(1 1 600 600)))
(define (fill-up n) (if (= n 0) '() (cons (ones (list 1000) 'f64) (fill-up (- n 1)))))
(write (length (fill-up 1900)))""")
        self.assertEqual(self.vmrun("--memory=16MiB", "a.scm").output, "1900")

    def test_loaders_take_pages(self):
        value = numbers("u8", 1, 3, 4)
        self.write("x.tif", tiff(page(value, "u8")))
        flat = " ".join(str(n) for row in value[0] for n in row)
        self.assertEqual(self.value("""(define a (tiff-array "x.tif"))(read-ahead a 0 1)(write (tensor->list (view (car (loader-batch (loader (list a (zeros '(1))) 1 1) 0)) '(12))))
(write (size (read-rows a '(0 0))))"""), f"({flat})(2 1 3 4)")


class Wrong(Tiffs):
    VALUE = [[[1, 2, 3], [4, 5, 6]]]

    def lies(self, message, *more, text="(read-region (tiff-array \"x.tif\") '(0 0 0 0) '(1 1 1 1))", **others):
        for big_endian in (False, True):
            self.write("x.tif", tiff(page(self.VALUE, "u8", more=more, **others), big_endian=big_endian))
            with self.subTest(message):
                self.refused(text, message)

    def test_files_that_are_none(self):
        for content, message in ((b"", "is no TIFF"), (b"GIF89a..", "is no TIFF"), (b"II*\0", "is no TIFF"), (b"II+\0\4\0\0\0" + b"\0" * 8, "is no BigTIFF"),
                                 (b"II*\0\0\0\0\0", r"a directory that is not in the file \(byte 0\)"), (b"MM\0*\xff\0\0\0", r"a directory that is not in the file \(byte 8\)"),
                                 (b"II*\0\x08\0\0\0\xff\xff", "has a directory of 65535 entries"), (b"II*\0\x08\0\0\0\0\0", "has a directory of 0 entries"),
                                 (b"II*\0\x08\0\0\0\1\0", "ends inside of a directory of 1 entries")):
            self.write("x.tif", content)
            self.refused('(tiff-array "x.tif")', "tiff-array: x.tif: .*" + message)

    def test_files_that_lie(self):
        for message, *more in (("a page of 0 columns", (256, LONG, [0])), ("a page of 4294967295 rows", (257, LONG, [2 ** 32 - 1])), ("a page of 0 samples", (277, SHORT, [0])),
                               ("integers of 1 bits, which no tensor has", (258, SHORT, [1])), ("complex numbers of 64 bits", (258, SHORT, [64]), (339, SHORT, [6])),
                               ("floats of 24 bits", (258, SHORT, [24]), (339, SHORT, [3])), ("samples that differ in tag 258", (277, SHORT, [2]), (258, SHORT, [8, 16])),
                               (r"in a way, Zstandard \(number 50000\), .*tiffcp -c zip", (259, SHORT, [50000])), ("in a way, number 9,", (259, SHORT, [9])),
                               ("a predictor, 7,", (259, SHORT, [LZW]), (317, SHORT, [7])), ("a predictor, 3,", (259, SHORT, [DEFLATE]), (317, SHORT, [3])),
                               ("the bits of its bytes in reverse", (266, SHORT, [2])), ("arranged in a way, 3,", (284, SHORT, [3])), ("strips without rows", (278, LONG, [0])),
                               ("luminance and differences without JPEG", (262, SHORT, [6])), ("JPEG of other than", (258, SHORT, [16]), (259, SHORT, [JPEG])),
                               ("tables of JPEG that are none", (259, SHORT, [JPEG]), (347, SHORT, [1])), ("no integers for tag 256", (256, RATIONAL, [3])),
                               ("2 pieces and says of 1 where they are", (278, LONG, [1])), ("no strip 0 there", (273, LONG, [9000])), ("no strip 0 there", (279, LONG, [9000])),
                               (r"no bytes for strip 0: it is a sparse file; `gdal_translate -co SPARSE_OK=FALSE` writes it with all of its pieces", (273, LONG, [0]), (279, LONG, [0])), (r"5 bytes for strip 0, which are too few for 6 \(byte 8\)", (279, LONG, [5])),
                               ("70000 for tag 259", (259, LONG, [70000])),
                               ("6 bytes for strip 0, which are too few", (256, LONG, [2 ** 29]), (257, LONG, [2 ** 29]), (278, LONG, [2 ** 29])),
                               ("multiply to more than any file has", (256, LONG, [2 ** 31 - 1]), (257, LONG, [2 ** 31 - 1]), (277, SHORT, [65535]), (258, SHORT, [64]), (339, SHORT, [3])),
                               ("pieces of 4294967296 bytes, .*tiffcp -t", (259, SHORT, [LZW]), (322, LONG, [65536]), (323, LONG, [65536]), (324, LONG, [8]), (325, LONG, [6])),
                               ("6 bytes for tile 0, which are too few for 67108864", (259, SHORT, [LZW]), (322, LONG, [8192]), (323, LONG, [8192]), (324, LONG, [8]), (325, LONG, [6]))):
            self.lies("x.tif: .*" + message, *more)

    def test_pieces_that_lie(self):
        self.library()
        for compression, piece in ((LZW, b"\xff" * 6), (DEFLATE, b"\xff" * 6), (DEFLATE, b"\x78\x9c\x03\0\0\0\0\1"), (PACKBITS, b"\1\2"), (PACKBITS, b"\x05\1"), (JPEG, b"none at all"), (JPEG, b"\xff\xd8\xff\xd9")):
            self.lies(r"read-region: x.tif: has a strip that cannot be decoded, number 0: .+ \(byte 8\)", compression=compression, pieces=[piece])
        # More than is wanted is no matter to the library; less is.
        self.lies("cannot be decoded", (257, LONG, [3]), (278, LONG, [3]), compression=DEFLATE)

    def test_arrays_that_are_none(self):
        self.write("x.tif", tiff(page(self.VALUE, "u8")))
        for text, message in (("(read-rows '(tiff \"x.tif\" 0 (1 1 2 3)) 0 1)", "a page of TIFF: a list"), ("(read-rows '(tiff \"x.tif\" 0 (2 1 2 3) u8) 0 1)", "a page of TIFF: a list"),
                              ("(read-rows '(tiff 5 0 (1 1 2 3) u8) 0 1)", "a page of TIFF: a list"), ("(read-rows '(tiff \"x.tif\" -1 (1 1 2 3) u8) 0 1)", "a page of TIFF: a list"),
                              ("(read-rows '(tiff \"x.tif\" 0 (1 1 2 4) u8) 0 1)", r"x.tif: has a page 0 of sizes \(1 1 2 3\) and type u8, not of \(1 1 2 4\) and u8"),
                              ("(read-rows '(tiff \"x.tif\" 0 (1 1 2 3) i8) 0 1)", "type u8, not of .* i8"), ("(read-rows (tiff-array \"x.tif\") 0 2)", "has 1 row, not 2 from row 0 on"),
                              ("(read-rows (tiff-array \"x.tif\") '(1))", "numbers of rows, from 0 to 0, got 1"), ("(read-ahead (tiff-array \"x.tif\") 2 1)", "has 1 row, not 1 from row 2 on"),
                              ("(read-region (tiff-array \"x.tif\") '(0 0 0) '(1 1 1))", "two lists of 4 numbers"), ("(read-region (tiff-array \"x.tif\") '(0 0 1 0) '(1 1 2 3))", "along axis 2 there are 2 elements, not 2 from 1 on"),
                              ("(read-region (ones '(3)) '(0) '(1))", "read-region: expected an array in a file"), ("(tiff-array \"x.tif\" -1)", "the number of a page"), ("(tiff-array \"y.tif\")", "y.tif: cannot be opened"),
                              ("(tiled tanh (tiff-array \"x.tif\") 4)", "1 to 2 tiles, not 4")):
            self.refused(text, message)

    def test_a_file_that_changes(self):
        self.write("x.tif", tiff(page(self.VALUE, "u8")))
        self.refused("""(define a (tiff-array "x.tif"))(define t (read-rows a 0 1))
(write-text "x.tif" "no picture")(define (f x) (* x (sumall (read-rows a 0 1))))(checkpoint-*j f 1. 1)""", "read-rows: x.tif: was written by this program after it had been read")

    def test_pieces_larger_than_the_budget(self):
        self.library()
        self.write("x.tif", tiff(page([[[0]]], "u8", compression=DEFLATE, pieces=[tiffs.COMPRESS[DEFLATE](bytes(1 << 26))], more=[(n, LONG, [8192]) for n in (256, 257, 278)])))
        self.write("a.scm", '(write (size (read-region (tiff-array "x.tif") \'(0 0 5 5) \'(1 1 2 2))))')
        self.assertIn("memory budget", self.vmrun("--memory=32MiB", "a.scm", code=3).errors)
        self.assertEqual(self.vmrun("--memory=80MiB", "a.scm").output, "(1 1 2 2)")

    def test_without_the_module(self):
        self.write("x.tif", tiff(page(self.VALUE, "u8", compression=PACKBITS)))
        self.write("y.tif", tiff(page(self.VALUE, "u8")))
        os.mkdir(self.path("bin"))
        os.link(os.path.join(self.bin, "vmrun"), self.path("bin/vmrun"))
        ours, ToolTest.bin = ToolTest.bin, self.path("bin")
        try:
            self.assertEqual(self.value('(write (tensor->list (read-rows (tiff-array "y.tif") 0 1)))(write (tiff-array "x.tif"))'), '((((1 2 3) (4 5 6))))(tiff "x.tif" 0 (1 1 2 3) u8)')
            self.refused('(read-rows (tiff-array "x.tif") 0 1)', "libcairn_tiff.so.*install libtiff-dev")
        finally:
            ToolTest.bin = ours


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["tiff.py", *arguments.tests])
