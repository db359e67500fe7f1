#!/usr/bin/env python3
"""Loaders: batches are a function of the loader and their number, from memory and from files, and a training that was interrupted goes on with the next."""
import math
import os
import random
import struct
import subprocess
import time
import unittest

import driver
from driver import ToolTest
from files import entry, npy, safetensors


class Loaders(ToolTest):
    def value(self, text, *options):
        self.write("a.scm", text)
        return self.vmrun(*options, "a.scm").output

    def lists(self, text, *options):
        """What a program writes, with lists as Python has them."""
        written = self.value(text, *options).replace("(", "[").replace(")", "]").replace(" ", ",")
        return eval(written, {"__builtins__": {}})  # pylint: disable=eval-used

    def refused(self, text, message):
        self.write("a.scm", text)
        self.assertRegex(self.vmrun("a.scm", code=1).errors, message)


class Orders(Loaders):
    def test_an_order_is_a_permutation(self):
        sizes = [*range(0, 40), 63, 64, 65, 1000, 4097]
        orders = self.lists("(write (map (lambda (n) (tensor->list (shuffled-indices n 1 2))) '(" + " ".join(map(str, sizes)) + ")))")
        for size, order in zip(sizes, orders):
            self.assertEqual(sorted(order), list(range(size)))
        self.assertNotEqual(orders[-1][:20], list(range(20)))

    def test_a_part_is_a_part_of_the_whole(self):
        whole, part, every, last = self.lists("(write (map tensor->list (list (shuffled-indices 1000 5 6) (shuffled-indices 1000 5 6 990 3) "
                                              "(shuffled-indices 1000 5 6 1 100 7) (shuffled-indices 1000 5 6 1000))))")
        self.assertEqual(part, whole[990:993])
        self.assertEqual(every, whole[1::7][:100])
        self.assertEqual(last, [])
        trillion, = self.lists("(write (list (tensor->list (shuffled-indices 1000000000000 5 6 999999999990))))")
        self.assertEqual(len(set(trillion)), 10)
        self.assertGreater(max(trillion), 1e11)

    def test_seeds_and_epochs_give_other_orders_and_all_of_them(self):
        orders = self.lists("(write (map (lambda (e) (tensor->list (shuffled-indices 5 3 e))) (iota 6000)))")
        self.assertEqual(len({tuple(order) for order in orders}), 120)
        for place in range(5):
            for number in range(5):
                often = sum(order[place] == number for order in orders)
                self.assertLess(abs(often - 1200), 5 * (6000 * .2 * .8) ** .5)
        seeds = self.lists("(write (map (lambda (s) (tensor->list (shuffled-indices 20 s 0))) (iota 20)))")
        self.assertEqual(len({tuple(order) for order in seeds}), 20)

    def test_orders_that_there_are_none_of(self):
        for text in ("-1 0 0", "5 -1 0", "5 0 -1", "5 0 0 6", "5 0 0 0 6", "5 0 0 0 1 0", "5.5 0 0", "'a 0 0"):
            self.refused(f"(shuffled-indices {text})", "shuffled-indices: ")


SOURCES = """(define x (view (arange 60) '(20 3)))
(write-npy "x.npy" x)
(write-safetensors "x.safetensors" (list (cons "a" (ones '(3))) (cons "x" x)))
(define sources (list x (npy-array "x.npy") (cdr (assoc "x" (safetensors-arrays "x.safetensors"))) (cons 20 (lambda (i) (embedding x i)))))
"""


class Batches(Loaders):
    def test_every_source_gives_the_same_batches(self):
        for options in ((), ("--device=emulated",)):
            for seed in ("", "4"):
                batches = self.lists(SOURCES + f"""(define (all s f) (let ((l (f (loader s 6 {seed})))) (map (lambda (n) (tensor->list (loader-batch l n))) (iota 8))))
(write (append (map (lambda (s) (all s loader-keep-last)) sources)
               (map (lambda (s) (all s (lambda (l) (loader-shard l 1 2)))) sources)))""", *options)
                for one in batches[1:4]:
                    self.assertEqual(one, batches[0])
                for one in batches[5:]:
                    self.assertEqual(one, batches[4])
                self.assertEqual([len(b) for b in batches[0]], [6, 6, 6, 2] * 2)
                rows = [row for b in batches[0][:4] for row in b]
                self.assertEqual(sorted(rows), [[3.0 * i, 3.0 * i + 1, 3.0 * i + 2] for i in range(20)])
                self.assertEqual(rows == sorted(rows), seed == "")
                self.assertEqual(batches[0][4:] == batches[0][:4], seed == "")

    def test_shards_share_the_examples(self):
        shards = self.lists("(define l (loader (list->tensor (iota 11) 'i64) 3 1))\n"
                            "(write (map (lambda (i) (map (lambda (n) (tensor->list (loader-batch (loader-shard l i 3) n))) (iota 4))) (iota 3)))")
        for epoch in range(4):
            seen = [x for shard in shards for x in shard[epoch]]
            self.assertEqual(len(set(seen)), 9)
        self.assertNotEqual(shards[0][0], shards[0][1])
        nested, = self.lists("(write (list (tensor->list (loader-batch (loader-shard (loader-shard (loader (list->tensor (iota 16) 'i64) 2) 1 2) 1 4) 0))))")
        self.assertEqual(nested, [3, 11])

    def test_lists_windows_and_maps(self):
        self.assertEqual(self.value("""(define l (loader (list (view (arange 12) '(6 2)) (list (list->tensor '(0 1 2 3 4 5) 'i64))) 2))
(write (tensor->list (car (cadr (loader-batch (loader-map (lambda (b) (list (car b) (map (lambda (t) (* 2 t)) (cadr b)))) l) 1)))))
(write (loader-batches l))"""), "(4 6)3")
        self.write("tokens", struct.pack("<6H", 1, 2, 3, 65535, 5, 6))
        self.assertEqual(self.value("""(define w (windows (raw-array "tokens" 'u16) 3))
(write (tensor->list (loader-batch (loader w 4) 0)))
(write (tensor->list (loader-batch (loader w 4 3) 0)))"""), "((1 2 3) (2 3 65535) (3 65535 5) (65535 5 6))((2 3 65535) (65535 5 6) (3 65535 5) (1 2 3))")

    def test_subsets(self):
        indices = [7, 3, 19, 0, 4]
        for options in ((), ("--device=emulated",)):
            for seed in ("", "4"):
                subsets = self.lists(SOURCES + f"""(define (all s) (let ((l (loader-keep-last (loader s 2 {seed})))) (map (lambda (n) (tensor->list (loader-batch l n))) (iota 6))))
(define indices '(7 3 19 0 4))
(write (append (map (lambda (s) (all (subset s indices))) sources)
               (list (map car (map (lambda (n) (map tensor->list (loader-batch (loader-keep-last (loader (subset (list x (npy-array "x.npy")) indices) 2 {seed})) n)))
                                   (iota 6)))
                     (all (subset (subset x (list->tensor '(4 0 7 3 19))) (list->tensor '(2 3 4 1 0) 'i64))))))""", *options)
                for one in subsets[1:]:
                    self.assertEqual(one, subsets[0])
                rows = [row for batch in subsets[0][:3] for row in batch]
                self.assertEqual(sorted(rows), sorted([3.0 * i, 3.0 * i + 1, 3.0 * i + 2] for i in indices))
                if not seed:
                    self.assertEqual([row[0] / 3 for row in rows], indices)
        self.assertEqual(self.value("(write (tensor->list (loader-batch (loader (windows (subset (arange 9) '(8 1 5)) 2) 2) 0)))"), "((8.0 1.0) (1.0 5.0))")
        for text, message in (("(subset (arange 3) '(0 3))", "subset: expected indices from 0 on, below the number of examples, which is 3"), ("(subset (arange 3) '(-1))", "from 0 on"),
                              ("(subset (arange 3) (eye 2))", "a list or a vector of indices"), ("(subset 3 '(0))", "expected a tensor"),
                              ("(loader-batches (loader (subset (arange 3) '()) 1))", "there are no examples, of so many: 0")):
            self.refused(text, message)

    def test_the_last_batch_may_be_the_only_one(self):
        self.assertEqual(self.value("""(define l (loader-keep-last (loader (ones '(3 2)) 8 #f)))
(write (list (loader-batches l) (size (loader-batch l 0)) (size (loader-batch l 1))))"""), "(1 (3 2) (3 2))")

    def test_batches_have_numbers_from_0_through_all_epochs(self):
        self.assertEqual(self.value("""(define l (loader (arange 10) 3))
(define (batch n) (tensor->list (loader-batch l n)))
(write (map batch '(2 3 -0. 4. 3000001 1000000000000)))"""),
                         "((6.0 7.0 8.0) (0.0 1.0 2.0) (0.0 1.0 2.0) (3.0 4.0 5.0) (3.0 4.0 5.0) (3.0 4.0 5.0))")
        for seed in ("", " 7"):
            for wrapped in ("(loader (arange 10) 3%s)", "(loader-keep-last (loader-shard (loader (arange 10) 3%s) 1 2))"):
                for number in ("-1", "-4", "-1e300", "1.5", "+inf.0", "+nan.0", "'first", "\"0\"", "(ones '())"):
                    self.refused(f"(loader-batch {wrapped % seed} {number})", "loader-batch: expected the number of a batch, an integer from 0 on, got ")

    def test_what_is_no_loader(self):
        for text, message in (("(loader 5 1)", "loader: expected a tensor"), ("(loader (ones '()) 1)", "without axes"), ("(loader (ones '(3)) 0)", "how many examples"),
                              ("(loader (list (ones '(3)) (ones '(4))) 1)", "equally many"), ("(loader-batch (loader (ones '(3)) 4) 0)", "fewer examples"),
                              ("(loader-batches (loader (ones '(3 2)) 8))", r"loader-batches: there are fewer examples .* smaller batch, or \(loader-keep-last l\).* 3 8"),
                              ("(loader-batches (loader-shard (loader (ones '(9)) 4) 0 3))", "fewer examples .* 3 4"),
                              ("(loader-batches (loader-keep-last (loader (zeros '(0 2)) 8)))", "no examples, of so many: 0"),
                              ("(loader-batches (loader-keep-last (loader-shard (loader (ones '(2)) 1) 0 3)))", "no examples for each shard, of so many: 2"),
                              ("(loader '(1 2 3) 1)", r"loader: expected a number of examples with the procedure .* \(1 2 3\)"),
                              ("(loader (cons -1 zeros) 1)", "loader: expected a number of examples"),
                              ("(loader (list (ones '(3)) '(1 2 3)) 1)", "loader: expected a number of examples"),
                              ("(loader (ones '(3)) 1 #t)", "loader: expected an integer from 0 on as the seed .* #t"),
                              ("(loader-batch 5 0)", "loader-batch: expected what loader"), ("(loader-shard (loader (ones '(3)) 1) 2 2)", "shard"),
                              ("(windows (ones '(3)) 4)", "windows")):
            self.refused(text, message)


class Transforms(Loaders):
    def test_pictures(self):
        self.assertEqual(self.value("""(define p (view (arange 32) '(2 1 4 4)))
(define (same? a b) (= (sumall (not-equal a b)) 0))
(define (rows t) (map (lambda (i) (narrow-tensor t 0 i 1)) '(0 1)))
(define (mirrored t) (flip t '(3)))
(define draws (build-list 40 (lambda (i) (random-flip p))))
(write (map (lambda (d) (map (lambda (a b) (if (same? a b) 0 (if (same? a (mirrored b)) 1 2))) (rows d) (rows p))) draws))
(newline)
(write (tensor->list (view (center-crop p '(2 2)) '(-1))))
(write (tensor->list (random-crop (ones '(1 1 2 2)) '(2 2))))
(define crops (build-list 60 (lambda (i) (random-crop (view (arange 4) '(1 1 2 2)) '(2 2) 1))))
(define (number-of c) (fold-left (lambda (n x) (+ (* 4 n) x)) 0 (map inexact->exact (tensor->list (view c '(-1))))))
(write (length (fold-left (lambda (l n) (if (member n l) l (cons n l))) '() (map number-of crops))))
(write (list (size (channels-first (zeros '(5 4 3)))) (size (channels-first (zeros '(2 5 4 3)))) (size (channels-last (channels-first (zeros '(2 5 4 3)))))))
(write (tensor->list (channels-last (channels-first (view (arange 12) '(2 2 3))))))
(write (tensor->list (view (normalize-channels (ones '(1 2 1 1) 'u8) '(0 .5) '(.5 .25)) '(-1))))
(write (tensor-type (random-flip (ones '(2 2) 'u8))))""").splitlines()[1],
                         "(5.0 6.0 9.0 10.0 21.0 22.0 25.0 26.0)((((1.0 1.0) (1.0 1.0))))9((3 5 4) (2 3 5 4) (2 5 4 3))"
                         "(((0.0 1.0 2.0) (3.0 4.0 5.0)) ((6.0 7.0 8.0) (9.0 10.0 11.0)))(2.0 2.0)u8")
        flips = eval(self.vmrun("a.scm").output.splitlines()[0].replace("(", "[").replace(")", "]").replace(" ", ","))  # pylint: disable=eval-used
        counts = [sum(f.count(i) for f in flips) for i in range(3)]
        self.assertEqual(counts[2], 0)
        self.assertGreater(min(counts[:2]), 20)
        self.assertTrue(any(f in ([0, 1], [1, 0]) for f in flips), "each picture is mirrored by itself")
        for text in ("(random-crop (ones '(1 1 2 2)) '(3 2))", "(center-crop (ones '(2 2)) '(1 1 1))", "(channels-first (ones '(2 2)))"):
            self.refused(text, "error: ")


class Rows(Loaders):
    def test_rows_of_a_file_larger_than_memory(self):
        rows, width = 1 << 20, 2048  # 8 GiB, of which next to nothing is on the disk
        with open(self.path("x.npy"), "wb") as file:
            head = npy("<f4", f"({rows}, {width})", b"")
            file.write(head)
            for row in (0, 77777, rows - 1):
                file.seek(len(head) + 4 * width * row)
                file.write(struct.pack(f"<{width}f", *[row] * width))
            file.truncate(len(head) + 4 * width * rows)
        text = """(define a (npy-array "x.npy"))
(write (tensor->list (narrow-tensor (read-rows a '(1048575 77777 5 0)) 1 2047 1)))
(write (size (loader-batch (loader a 8 1) 12345)))"""
        self.assertEqual(self.value(text, "--memory=16MiB"), "((1048575.0) (77777.0) (0.0) (0.0))(8 2048)")
        self.write("a.scm", text)
        self.assertLess(self.stats(self.vmrun("--stats", "a.scm"))["work"], 16 * 65536 * 2)

    def test_rows_that_there_are_none_of(self):
        self.write("x", bytes(24))
        self.write("x.npy", npy("<f4", "(2, 3)", bytes(24)))
        self.write("c.npy", npy("<f4", "(2, 3)", bytes(24), fortran=True))
        self.write("x.safetensors", safetensors({"a": entry("F32", [2, 3], 0, 24)}, bytes(24)))
        for text, message in (("(npy-array \"x\")", r"byte 0"), ("(npy-array \"c.npy\")", "ascontiguousarray"), ("(safetensors-arrays \"x\")", "byte"),
                              ("(read-rows (npy-array \"x.npy\") '(2))", "from 0 to 1, got 2"), ("(read-rows (npy-array \"x.npy\") '(-1))", "got -1"),
                              ("(read-rows (npy-array \"x.npy\") '(0.5))", "got 0.5"), ("(read-rows (npy-array \"x.npy\") 1 2)", "2 rows, not 2 from row 1"),
                              ("(read-rows '(\"x\" f32 0 (7)) '(0))", "24 bytes; 7 rows of 4"), ("(read-rows '(\"x\" f32 25 (0)) '())", "24 bytes"),
                              ("(read-rows '(\"x\" f32 0 (100000000 100000000 100000000)) '(0))", "multiply|more than"), ("(read-rows '(\"x\" f33 0 (1)) '(0))", "expected a type of elements in a file, such as f32, u8 or i16-be, got f33"),
                              ("(read-rows '(\"x\" f32 0 ()) '(0))", "an array in a file"), ("(read-rows '(\"x\" f32 0 (1 . 2)) '(0))", "an array in a file"),
                              ("(read-rows '(\"x\" f32 -1 (1)) '(0))", "not negative"), ("(read-rows 5 '(0))", "an array in a file"),
                              ("(read-rows '(\"../x\" f32 0 (1)) '(0))", "--read"), ("(raw-array \"x\" 'f64 1)", "no multiple"), ("(raw-array \"x\" 'f65)", "type"),
                              ("(idx-array \"x\")", "idx-array"), ("(cifar-array \"x\")", "cifar-array"),
                              ("(read-rows (npy-array \"x.npy\") (ones '(1 1)))", "a vector of numbers"), ("(read-rows (npy-array \"x.npy\") '(a))", "number of a row")):
            self.refused(text, message)

    def test_idx_of_every_type_and_records_of_cifar(self):
        self.write("x", b"\0\0\x0b\x02" + struct.pack(">2I4h", 2, 2, 1, -2, 3, 400))
        self.assertEqual(self.value('(write (tensor->list (read-idx "x")))(write (tensor->list (read-rows (idx-array "x") \'(1))))'), "((1 -2) (3 400))((3 400))")
        self.write("x", b"".join(bytes([i]) + bytes([10 + i]) * 3072 for i in range(5)))
        self.assertEqual(self.value("""(define l (loader-map cifar-images (loader (cifar-array "x") 2)))
(define b (loader-batch l 1))
(write (list (tensor->list (car b)) (size (cdr b)) (tensor->list (max-over (cdr b) '(1 2 3)))))"""), "((2 3) (2 3 32 32) (12 13))")


class Ahead(Loaders):
    """What is read ahead changes nothing but the time that passes."""

    def test_batches_are_what_reading_their_rows_gives(self):
        source = random.Random(3)
        for descr, size in (("|u1", 1), ("<f4", 4), (">f8", 8), (">u2", 2)):
            self.write("x.npy", npy(descr, "(4000, 3)", source.randbytes(12000 * size) if size < 4 else struct.pack((">" if descr[0] == ">" else "<") + "12000" + "fd"[size == 8], *[source.gauss(0, 1) for _ in range(12000)])))
            for options in ((), ("--device=emulated",), ("--memory=24MiB",)):
                self.assertEqual(self.value("""(define a (npy-array "x.npy"))
(define (same? x y) (= (sumall (not-equal x y)) 0))
(define (all l rows) (map (lambda (n) (same? (loader-batch l n) (rows n))) (iota 12)))
(define (epoch n) (shuffled-indices 4000 5 (quotient n 4) (* 1000 (remainder n 4)) 1000))
(write (list (all (loader a 1000 5) (lambda (n) (read-rows a (epoch n))))
             (all (loader a 1000) (lambda (n) (read-rows a (* 1000 (remainder n 4)) 1000)))
             (all (loader-map car (loader (list a a) 1000 5)) (lambda (n) (read-rows a (epoch n))))))""", *options), "(" + " ".join(["(" + " ".join(["#t"] * 12) + ")"] * 3) + ")")

    def test_work_is_that_of_reading(self):
        self.write("x.npy", npy("<f4", "(5000, 7)", bytes(140000)))
        work = set()
        for expected in ("'(4999 3 77 78)", "'(4999 3 77 79)"):
            self.write("a.scm", f"""(define a (npy-array "x.npy"))
(read-ahead a {expected})
(define (wait n) (if (> n 0) (wait (- n 1))))
(wait 300000)
(write (size (read-rows a '(4999 3 77 78))))""")
            for _ in range(5):
                stats = self.stats(self.vmrun("--stats", "a.scm"))
                work.add((stats["steps"], stats["work"]))
        self.assertEqual(len(work), 1)

    def test_memory_is_for_what_is_wanted_first(self):
        self.write("x.npy", npy("<f4", "(4, 1000000)", bytes(16000000)))
        for text in ("(read-ahead a '(0 1 2 3))(write (size (read-rows a '(1))))",  # has no room
                     "(read-ahead a '(0 1))(write (size (zeros '(2000000))))(write (size (read-rows a '(0 1))))",  # makes way
                     "(read-ahead a '(0 1))(write (sumall (sort (zeros '(900000)))))"):  # and for a kernel
            self.write("a.scm", '(define a (npy-array "x.npy"))' + text)
            self.write("b.scm", '(define a (npy-array "x.npy"))' + text.replace("(read-ahead a '(0 1))", "").replace("(read-ahead a '(0 1 2 3))", ""))
            for memory in ("--memory=10MiB", "--memory=14MiB", "--memory=40MiB"):
                with_it, without = (self.vmrun(memory, name, code=None) for name in ("a.scm", "b.scm"))
                self.assertEqual((with_it.output, with_it.returncode), (without.output, without.returncode))

    def test_what_the_program_writes_meanwhile_is_read(self):
        self.write("x.npy", npy("<f4", "(3, 1)", struct.pack("<3f", 1, 2, 3)))
        os.symlink("x.npy", self.path("y.npy"))
        self.assertEqual(self.value("""(define a (npy-array "x.npy")) (define b (npy-array "y.npy"))
(read-ahead a '(1)) (read-ahead b '(2))
(write-npy "x.npy" (list->tensor '((4) (5) (6))))
(write (tensor->list (read-rows a '(1))))"""), "((5.0))")

    def test_a_file_that_somebody_changes_is_noticed_where_it_is_used(self):
        for row, seen in ((1, True), (2500, False)):
            self.write("x.npy", npy("<f4", "(3000, 1)", struct.pack("<3000f", *range(3000))))
            self.write("a.scm", f"""(define a (npy-array "x.npy"))
(write (tensor->list (read-rows a '(0))))
(write-text "begun" "")
(read-ahead a '({row}))
(define n (read-real))
(write n)
(write (tensor->list (read-rows a '({row}))))""")
            with subprocess.Popen([os.path.join(self.bin, "vmrun"), "a.scm"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                while not os.path.exists(self.path("begun")):
                    time.sleep(.01)
                time.sleep(.1)  # whether the thread has read them or not: both must say the same
                with open(self.path("x.npy"), "r+b") as file:
                    file.seek(-4 * (3000 - row), os.SEEK_END)
                    file.write(struct.pack("<f", -1))
                output, errors = process.communicate(b"7\n")
            if seen:
                self.assertEqual((process.returncode, output), (1, b"((0.0))7"))
                self.assertRegex(errors, rb"read-rows: x.npy: has changed since this program read it")
            else:
                self.assertEqual((process.returncode, output), (0, b"((0.0))7((-1.0))"))

    def test_operands_are_checked_and_files_when_they_are_used(self):
        self.write("x.npy", npy("<f4", "(2, 3)", bytes(24)))
        self.assertEqual(self.value("(read-ahead '(\"y\" f32 0 (7)) '(0))(read-ahead '(\"../x\" f32 0 (7)) '(0))(read-ahead '(\"x.npy\" f32 0 (700)) '(0))"
                                    "(read-ahead (npy-array \"x.npy\") 1 5)(read-ahead (npy-array \"x.npy\") '())(write 1)"), "1")
        for text, message in (("(read-ahead (npy-array \"x.npy\") '(2))", "read-ahead: x.npy: expected numbers of rows, from 0 to 1, got 2"), ("(read-ahead 5 '(0))", "read-ahead: expected an array in a file"),
                              ("(read-ahead '(\"x.npy\" f32 0 (1) -1) '(0))", "not negative"), ("(read-ahead '(\"x.npy\" f32 0 (1) 1 1) '(0))", "an array in a file"),
                              ("(read-rows '(\"x.npy\" f32 0 (8000000000000 1) 8000000000000) '(0))", "multiply"), ("(read-rows '(\"x.npy\" f32 0 (99 1) 1) '(0))", "99 rows of 4 from byte 0 on take more")):
            self.refused(text, message)
        self.write("y.npy", npy("<f4", "(0, 3)", b""))
        self.refused("(read-rows (npy-array \"y.npy\") '(0))", "read-rows: y.npy: expected numbers of rows, of which there are none, got 0")

    def test_rows_may_overlap(self):
        self.write("x", bytes(range(40)))
        self.assertEqual(self.value("""(define a (raw-array "x" 'u8))
(define w (windows a 3))
(write w)
(write (map tensor->list (list (read-rows w 2 2) (read-rows w '(37 0)) (loader-batch (loader w 2) 1))))
(define v (windows (list "x" 'u8 1 '(5 2)) 2))
(write (map tensor->list (list (read-rows v '(3)) (loader-batch (loader (windows v 2) 1) 2))))"""),
                         '("x" u8 0 (38 3) 1)(((2 3 4) (3 4 5)) ((37 38 39) (0 1 2)) ((2 3 4) (3 4 5)))((((7 8) (9 10))) ((((5 6) (7 8)) ((7 8) (9 10)))))')

    def test_derivatives_that_read_again_and_slices(self):
        self.write("x.npy", npy("<f8", "(40, 2)", struct.pack("<80d", *[i * .01 for i in range(80)])))
        text = """(define l (loader (npy-array "x.npy") 3 1))
(define (f w) (let loop ((n 0) (s 0)) (if (= n 15) s (loop (+ n 1) (+ s (sin (sumall (* w (loader-batch l n)))))))))
(define (g w) OPERATOR)
(write (g (list->tensor '(.5 .25) 'f64)))"""
        expected = None
        for operator in ("(cdr (*j f w 1))", "(cdr (checkpoint-*j f w 1))", "(cdr (with-schedule \"binomial,base=64,snapshots=2\" (lambda () (checkpoint-*j f w 1))))",
                         "(cdr (resume (interrupt (lambda (w) (checkpoint-*j f w 1)) w 2000)))"):
            output = self.value(text.replace("OPERATOR", operator))
            expected = expected or output
            self.assertEqual(output, expected, operator)


def fitted(picture, height, width):
    """A picture, lists of rows of elements, as picture-array makes it, with exact weights."""
    rows, columns = len(picture), len(picture[0])
    scale = min(rows / height, columns / width)

    def along(lines, to):
        wide, begin = max(scale, 1), (len(lines) - scale * to) / 2
        out = []
        for i in range(to):
            center = begin + (i + .5) * scale
            weights = [max(0, 1 - abs(j + .5 - center) / wide) for j in range(len(lines))]
            total = math.fsum(weights)
            out.append([sum(w * line[x] for w, line in zip(weights, lines) if w) / total for x in range(len(lines[0]))])
        return out
    narrow = [list(row) for row in zip(*along([list(row) for row in zip(*picture)], width))]
    return along(narrow, height)


class Pictures(Loaders):
    def test_pictures_are_fitted(self):
        source = random.Random(8)
        for (height, width), (rows, columns) in (((9, 14), (4, 4)), ((5, 5), (5, 5)), ((3, 8), (7, 6)), ((40, 9), (3, 8)), ((1, 1), (2, 3)), ((64, 48), (1, 1))):
            picture = [[source.randrange(256) for _ in range(width)] for _ in range(height)]
            literal = "(" + " ".join("(" + " ".join(map(str, row)) + ")" for row in picture) + ")"
            ours = self.lists(f"""(write-png "a.png" (list->tensor '{literal} 'u8))
(write (tensor->list (view (read-rows (picture-array '("a.png") {rows} {columns} 1) 0 1) '({rows} {columns}))))""")
            for mine, theirs in zip(ours, fitted(picture, rows, columns)):
                for a, b in zip(mine, theirs):
                    self.assertLessEqual(abs(a - b), 1.01)

    def test_channels(self):
        self.assertEqual(self.value("""(define (made name l) (begin (write-png name (view (list->tensor l 'u8) (list 1 1 (length l)))) name))
(define paths (list (made "1.png" '(7)) (made "2.png" '(8 1)) (made "3.png" '(10 20 30)) (made "4.png" '(40 50 60 2))))
(write (tensor->list (view (read-rows (picture-array paths 1 1) '(0 1 2 3)) '(4 3))))
(write (tensor->list (view (read-rows (picture-array paths 1 1 1) 0 4) '(4))))"""), "((7 7 7) (8 8 8) (10 20 30) (40 50 60))(7 8 18 48)")

    def test_batches_of_pictures_are_read_ahead(self):
        text = """(define paths (build-list 20 (lambda (i) (let ((path (string-append (number->string i) ".png")))
  (write-png path (cast (* 255 (rand (list (+ 3 i) 20 3))) 'u8)) path))))
(define a (picture-array paths 6 5))
(define l (loader (list a (arange 20)) 6 4))
(define (same? x y) (= (sumall (not-equal x y)) 0))
(write (map (lambda (n) (same? (car (loader-batch l n)) (read-rows a (shuffled-indices 20 4 (quotient n 3) (* 6 (remainder n 3)) 6)))) (iota 9)))
(write (size (loader-batch (loader a 7) 1)))"""
        for options in ((), ("--device=emulated",), ("--memory=6MiB",), ("--memory=200MiB",)):
            self.assertEqual(self.value(text, *options), "(#t #t #t #t #t #t #t #t #t)(7 6 5 3)")

    def test_a_folder_for_each_class(self):
        for name in ("cats", "dogs", "none"):
            os.makedirs(self.path(f"set/{name}"))
        self.value("""(for-each (lambda (name grey) (write-png (string-append "set/" name) (fill '(3 4) grey 'u8)))
  '("dogs/b.PNG" "cats/x.png" "dogs/a.png" "cats/y.png") '(10 20 30 40))""")
        self.write("set/dogs/notes.txt", "no picture")
        self.write("set/dogs/png", "no picture")
        text = """(let (((list classes pictures labels) (picture-folder "set" 1 1 1)))
  (write (list classes (tensor->list labels) (tensor->list (view (read-rows pictures 0 4) '(4))))))
(write (map (lambda (t) (tensor->list (view t '(2)))) (loader-batch (loader (cdr (picture-folder "set" 1 1 1)) 2) 1)))"""
        for options in ((), ("--device=emulated",)):
            self.assertEqual(self.value(text, *options), '(("cats" "dogs" "none") (0 0 1 1) (20 40 30 10))((30 10) (1 1))')
        self.refused('(picture-folder "set/cats" 1 1)', "set/cats: expected a folder for each class")

    def test_what_is_no_picture(self):
        self.write("x.png", b"no picture")
        for text, message in (("(read-rows (picture-array '(\"x.png\") 2 2) '(0))", r"read-rows: x.png: no picture that can be read.*\(byte 0\)"),
                              ("(read-rows (picture-array '(\"y.png\") 2 2) '(0))", "read-rows: y.png: cannot be opened"), ("(read-rows (picture-array '(5) 2 2) '(0))", "the path of a picture, a string"),
                              ("(read-rows (picture-array '() 2 2) '(0))", "numbers of rows"), ("(read-rows (picture-array '(\"x.png\") 2 2) 1 1)", "there are 1 pictures, not 1 from 1 on"),
                              ("(picture-array '(\"x.png\") 0 2)", "picture-array: height and width are integers from 1 to 32768, channels 1 or 3, got 0 2 3"),
                              ("(read-rows '(pictures #(\"x.png\") 0 (1 0 2 3)) '(0))", "expected pictures"), ("(read-rows '(pictures #(\"x.png\") 0 (1 2 2 2)) '(0))", "expected pictures"),
                              ("(read-rows '(pictures) '(0))", "expected pictures"), ("(read-rows '(pictures #() 0 (1 1 1 1)) '(0))", "expected pictures"), ("(read-ahead '(pictures 5 0 (1 1 1 1)) '(0))", "expected pictures"),
                              ("(define a (picture-array '(\"x.png\") 2 2))(read-ahead a '(0))(read-rows a '(0))", r"read-rows: x.png: no picture that can be read.*\(byte 0\)")):
            self.refused(text, message)


TRAINING = """(define l (loader-map (lambda (b) (cons (random-flip (car b)) (cdr b)))
            (loader (list (npy-array "x.npy") (idx-array "y")) 4 9)))
(define (loss p batch) (tensor->number (cross-entropy-loss (linear p (car batch)) (cast (cadr batch) 'i64))))
(define (train p state n)
  (if (= n 12)
      (write (tensor->list (car p)))
      (let (((list value p state) (checkpoint-*j-update! (lambda (p) (loss p (loader-batch l n))) p 1 (adam .1) state)))
        (write-real value)
        (train p state (+ n 1)))))
(train (list (* .1 (randn '(6 3))) (zeros '(3))) 0 0)
"""


class Resumed(Loaders):
    def test_a_training_that_was_interrupted_goes_on_with_the_next_batch(self):
        source = random.Random(5)
        values = [source.gauss(0, 1) for _ in range(17 * 6)]
        self.write("x.npy", npy("<f8", "(17, 6)", struct.pack("<102d", *values)).replace(b"<f8", b"<f8"))
        self.write("y", b"\0\0\x08\x01" + struct.pack(">I", 17) + bytes(source.randrange(3) for _ in range(17)))
        self.write("a.scm", TRAINING)
        done = self.vmrun("--stats", "a.scm")
        expected, steps = done.output, self.stats(done)["steps"]
        for schedule in ("auto", "binomial,base=64,snapshots=3"):
            self.assertEqual(self.vmrun(f"--checkpoint={schedule}", "a.scm").output, expected)
            for _ in range(8):
                output = self.vmrun(f"--checkpoint={schedule}", f"--steps={source.randrange(1, steps)}", "--save=c", "a.scm", code=75).output
                output += self.vmrun(f"--steps={source.randrange(1, steps)}", "--save=d", "--resume=c", code=None).output
                if os.path.exists(self.path("d")):
                    output += self.vmrun("--resume=d").output
                    os.remove(self.path("d"))
                self.assertEqual(output, expected)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["loaders.py", *arguments.tests])
