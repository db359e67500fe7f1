"""Images by tiles from files: runs that stop in the middle of a tile go on from a saved state, and memory does not grow with tiles."""
import json
import os
import pathlib
import re
import tempfile
import unittest

import driver
from driver import ToolTest

IMAGE = """(write-npy "image.npy" (view (sin (arange (* 3 96 80))) '(1 3 96 80)))
"""
NETWORK = """(define weights (list (randn '(4 3 3 3) 'f64 'cpu 1) (randn '(4 4 3 3) 'f64 'cpu 2)))
(define (net w x)
  (let ((y (ReLU (convolve (cast x 'f64) (car w) 1 1))))
    (max-pool (+ y (car (batch-normalization-training (convolve y (cadr w) 1 1) (ones '(4) 'f64) (zeros '(4) 'f64)))) 2)))
(define (loss w) (sum (square (mean (tiled (lambda (x) (net w x)) (npy-array "image.npy") '(4 3)) '(2 3)))))
"""


class Tiles(ToolTest):
    def in_parts(self, steps, parts, always=(), first=()):
        """The output of a.scm, saved and resumed after each of so many parts of its steps; `first`: options of the first part alone."""
        state, output = [*first, "a.scm"], ""
        for _ in range(parts + 2):
            done = self.vmrun(*always, f"--steps={steps // parts}", "--save=state.capsule", *state, code=None)
            output += done.output
            if done.returncode == 0:
                return output
            self.assertEqual(done.returncode, 75, done.errors)
            state = ["--resume=state.capsule"]
        self.fail(f"it does not end within {parts + 2} parts")

    def test_runs_go_on_from_the_middle_of_a_tile(self):
        self.write("image.scm", IMAGE)
        self.vmrun("image.scm")
        self.write("a.scm", NETWORK + "(write (map sumall (cons (car (*j loss weights 1)) (cdr (checkpoint-*j loss weights 1)))))")
        whole = self.vmrun("--stats", "a.scm")
        steps = json.loads(whole.errors)["steps"]
        for parts in (7, 23):
            self.assertEqual(self.in_parts(steps, parts), whole.output)

    # Two devices, a weight that is a number, means and variances over all places, and random numbers.
    DEALT = """(define x (view (sin (arange 336 'f64 'cpu)) '(1 2 14 12)))
(define p (list (view (cos (arange 36 'f64 'cpu)) '(2 2 3 3)) 1.5 (ones '(2) 'f64 'cpu) (zeros '(2) 'f64 'cpu)))
(define (net p x)
  (let ((y (tanh (* (cadr p) (convolve x (car p) 1 1)))))
    (max-pool (+ (dropout y .3 5) (car (batch-normalization-training (pad (convolve y (car p) 1 1) '(0 0 3 0) '(0 0 -3 0)) (caddr p) (cadddr p) .1))) 2)))
(define (loss devices) (lambda (p+x) (sumall (square (apply tiled (lambda (x) (net (car p+x) x)) (cdr p+x) 3 devices)))))
(define at (cons p x))
(define (total x) (cond ((tensor? x) (sumall (abs x))) ((number? x) x) (else (map total x))))
(define (run devices)
  (let ((f (loss devices)))
    (list (*j f at 1) (checkpoint-*j f at 1) (j* f at at) (with-schedule "binomial,base=200,snapshots=2" (lambda () (checkpoint-*j f at 1))))))
"""
    TWO = ("--device=cpu", "--device=emulated:0", "--device=emulated:1")

    def test_copies_of_a_tile_lie_beside_its_neighbours(self):
        """In virtual time, which is the same in every run: what is copied out takes longest, and all else lies beside it but for the first tile and the last."""
        self.write("a.scm", """(define p (map (lambda (in key) (randn (list 8 in 3 3) 'f32 'cpu key)) '(3 8 8) '(1 2 3)))
(define x (randn '(1 3 128 128) 'f32 'cpu 9))
(define (loss p) (sumall (tiled (lambda (x) (fold-left (lambda (x w) (tanh (convolve x w 1 1))) x p)) x 4 '(emulated))))
(write (if (null? (command-line)) (loss p) (car (*j loss p 1))))""")
        for arguments, most in (((), 1.2), (("sweep",), 1.4)):
            device = json.loads(self.vmrun("--device=emulated,bandwidth=1GiB", "--stats", "a.scm", *arguments).errors)["device"]
            apart = [device[kind] for kind in ("execute_s", "copy_in_s", "copy_out_s")]
            self.assertLess(device["modelled_s"], most * max(apart))
            self.assertGreater(sum(apart), most * max(apart))

    def test_tiles_are_dealt_over_devices(self):
        self.write("a.scm", self.DEALT + """(define one (run '()))
(for-each (lambda (devices) (write (equal? one (run (list devices))))) '((emulated:0 emulated:1) (emulated:1 cpu emulated:0) (emulated:1) (cpu cpu)))
(write (tensor-residence (tiled (lambda (x) (net p x)) x 3 '(emulated:0 emulated:1))))""")
        done = self.vmrun(*self.TWO, "--stats", "a.scm")
        self.assertEqual(done.output, "#t#t#t#tcpu")
        both = json.loads(done.errors)["other_devices"]
        self.assertEqual([one["name"] for one in both], ["emulated:0", "emulated:1"])
        for one in both:
            self.assertGreater(one["execute_s"], .25 * sum(other["execute_s"] for other in both))
            self.assertGreater(one["memory_peak_bytes"], 1000)

    def test_what_is_reduced_of_dealt_tiles_is_so_at_home(self):
        self.write("a.scm", """(define x (view (sin (arange 336 'f64 'cpu)) '(1 2 14 12)))
(define (f x) (let ((y (tanh x))) (* (softmax y 2) (max-over y '(2 3) #t) (- y (sum y 3 #t)) (logsumexp y 2 #t))))
(define (run devices) (let ((g (lambda (x) (apply tiled f x 3 devices)))) (list (*j g x x) (checkpoint-*j g x x) (j* g x x))))
(for-each (lambda (devices) (write (equal? (run '()) (run (list devices))))) '((emulated:0 emulated:1) (emulated:1 cpu)))""")
        self.assertEqual(self.vmrun(*self.TWO, "a.scm").output, "#t#t")

    def test_what_is_reduced_as_it_comes_is_dealt(self):
        self.write("a.scm", """(define x (randn '(2 3 13 11) 'f64 'cpu 1))
(define w (randn '(3 3 3 3) 'f64 'cpu 2))
(define (f x) (let ((z (tanh (convolve x w 1 1)))) (list (mean z) (variance z 3) (logsumexp (* 20 z) '(2 3)) (max-over z 2 #t))))
(define c (map cos (f x)))
(define (all . devices) (let ((g (lambda (x) (apply tiled f x '(4 3) devices)))) (list (*j g x c) (checkpoint-*j g x c) (j* g x x))))
(write (map (lambda (devices) (equal? (all) (all devices))) '((emulated:0 emulated:1) (emulated:1 cpu emulated:0))))
(define (curve f) (gradient (lambda (x) (sumall (square (cdr (*j f x c))))) x))
(write (< (max-value (abs (- (curve f) (curve (lambda (x) (tiled f x '(4 3) '(emulated:0 emulated:1))))))) 1e-12))""")
        self.assertEqual(self.vmrun(*self.TWO, "a.scm").output, "(#t #t)#t")

    def test_dealt_tiles_go_on_from_a_saved_state(self):
        self.write("a.scm", self.DEALT + "(write (map (lambda (y+g) (list (total (car y+g)) (total (cadr (cdr y+g))))) (list (*j (loss '((emulated:1 emulated:0))) at 1))))"
                   .replace("(total (cadr (cdr y+g)))", "(total (car (cadr y+g))) (total (cddr y+g))"))
        whole = self.vmrun(*self.TWO, "--stats", "a.scm")
        steps = json.loads(whole.errors)["steps"]
        for parts in (5, 17):
            self.assertEqual(self.in_parts(steps, parts, always=self.TWO), whole.output)

    def test_tiles_fit_on_the_devices_that_they_are_dealt_over(self):
        # Two full layers of 16 channels of 256 x 256 pixels are 8 MiB; of the device's memory a tile has what weights leave.
        self.write("a.scm", """(define w (list (randn '(16 1 3 3) 'f32 'cpu 1) (randn '(16 16 3 3) 'f32 'cpu 2)))
(define (net w x) (max-pool (tanh (convolve (tanh (convolve x (car w) 1 1)) (cadr w) 1 1)) 4))
(define x (fill '(1 1 256 256) .5 'f32 'cpu))
(write (sumall (square (cadr (cdr (*j (lambda (w) (sumall (square (tiled (lambda (x) (net w x)) x #f (map string->symbol (command-line)))))) w 1))))))""")
        def run(memory, *names):
            done = self.vmrun("--device=cpu", f"--device=emulated:0{memory}", "--device=emulated:1", "--stats", "a.scm", *names)
            stats = json.loads(done.errors)
            return float(done.output), stats["work"], stats["other_devices"][0]["memory_peak_bytes"]
        value, work, peak = run("", "emulated:0")
        self.assertGreater(peak, 12 << 20)
        for names in (["emulated:0"], ["emulated:1", "emulated:0"], ["emulated:0"] * 2):
            little, more_work, least = run(",memory=3MiB", *names)
            self.assertLess(abs(little - value), 1e-4 * abs(value))
            self.assertGreater(more_work, work)
            self.assertLess(least, 3 << 20)
        # It is the smallest that counts, and the same where the run goes on beside a device of another size.
        self.write("b.scm", self.read("a.scm").decode() + "\n" + self.read("a.scm").decode().splitlines()[-1])
        always = ["--device=cpu", "--device=emulated:1"]
        whole = self.vmrun(*always, "--device=emulated:0,memory=3MiB", "--stats", "b.scm", "emulated:0")
        first = self.vmrun(*always, "--device=emulated:0,memory=3MiB", f"--steps={json.loads(whole.errors)['steps'] // 3}", "--save=state.capsule", "b.scm", "emulated:0", code=75)
        rest = self.vmrun(*always, "--device=emulated:0", "--stats", "--resume=state.capsule")
        self.assertEqual(first.output + rest.output, whole.output)
        self.assertEqual(json.loads(rest.errors)["steps"], json.loads(whole.errors)["steps"])

    def test_the_next_tile_is_read_while_one_is_computed(self):
        self.write("image.scm", """(write-npy "image.npy" (view (sin (arange (* 2 48 40))) '(1 2 48 40)))(write-npy "channels.npy" (view (sin (arange (* 9 48 40))) '(1 9 48 40)))""")
        self.vmrun("image.scm")
        self.write("a.scm", """(define w (fill (list 2 (string->number (cadr (command-line))) 3 3) .1))
(define (net w x) (ReLU (convolve x w 1 1)))
(write (sumall (square (cadr (*j (lambda (l) (sumall (tiled (lambda (x) (net (car l) x)) (npy-array (car (command-line))) '(4 3)))) (list w) 1)))))""")
        stats = json.loads(self.vmrun("--stats", "a.scm", "image.npy", "2").errors)
        # A tile is two channels, read one after the other; twelve tiles for the value and again for the sweep, of which the first is not foreseen.
        self.assertEqual((stats["reads_expected"], stats["reads_wanted"]), (2 * 2 * 11, 2 * 2 * 11))
        # Nor are reads given up under a budget for kernels that work in their operands and borrow nothing.
        self.write("large.scm", """(write-npy "large.npy" (cast (* 99 (rand '(1 1 512 512) 'f32 'cpu 1)) 'u8))""")
        self.vmrun("large.scm")
        self.write("b.scm", """(define w (randn '(4 1 3 3) 'f32 'cpu 1))
(define (net w x) (max-pool (ReLU (convolve (cast x 'f32) w 1 1)) 2))
(write (car (*j (lambda (w) (sumall (tiled (lambda (x) (mean (net w x))) (npy-array "large.npy") 4))) w 1)))""")
        stats = json.loads(self.vmrun("--stats", "--memory=40MiB", "b.scm").errors)
        self.assertEqual((stats["reads_expected"], stats["reads_wanted"]), (2 * 15, 2 * 15))
        # More than eight pieces would drive each other out.
        stats = json.loads(self.vmrun("--stats", "a.scm", "channels.npy", "9").errors)
        self.assertEqual((stats["reads_expected"], stats["reads_wanted"]), (0, 0))

    def test_devices_beside_the_first(self):
        self.write("a.scm", "(write (map (lambda (d) (tensor-residence (ones '(1) 'f32 d))) '(cpu gpu emulated emulated:1)))(write (tensor-residence (ones '(1))))")
        for options, output in ((("--device=emulated", "--device=emulated:1"), "(cpu emulated emulated emulated:1)emulated"),
                                (("--device=emulated:1", "--device=emulated:0,memory=1MiB"), "(cpu emulated:1 emulated:1 emulated:1)emulated:1")):
            self.assertEqual(self.vmrun(*options, "a.scm").output, output)
        for options, message in ((("--device=emulated", "--device=emulated"), "emulated is given twice"),
                                 (("--device=emulated", "--device=emulated:1,host=1MiB"), "tensors stream to the first device alone"),
                                 (("--device=emulated:x",), "emulated: expected emulated:N, got `emulated:x`"),
                                 (("--device=emulated;cpu",), "several devices are several options")):
            self.assertIn(message, self.vmrun(*options, "a.scm", code=2).errors)
        # A state that has elements on a device that this run lacks says how to get it.
        self.write("b.scm", "(define t (ones '(3) 'f32 'emulated:1))(define (spin n) (if (= n 0) (write (sumall t)) (spin (- n 1))))(spin 1000)")
        self.vmrun("--device=emulated", "--device=emulated:1", "--steps=500", "--save=state.capsule", "b.scm", code=75)
        self.assertIn("--device=emulated:1 gives it", self.vmrun("--device=emulated", "--resume=state.capsule", code=None).errors)
        self.assertEqual(self.vmrun("--device=emulated:1", "--resume=state.capsule").output, "3.0")

    def test_memory_does_not_grow_with_tiles(self):
        # Two full layers of 32 channels are 16 MiB; a border of one is 64 KiB.
        self.write("a.scm", """(define n (string->number (car (command-line))))
(define w (randn '(32 1 3 3) 'f32 'cpu 1))
(define (net w x) (max-pool (tanh (convolve x w 1 1)) 32))
(define (loss w) (sum (square (tiled (lambda (x) (net w x)) (fill '(1 1 256 256) .5) n))))
(write (cdr (*j loss w 1)))""")
        peaks = [json.loads(self.vmrun("--stats", "a.scm", tiles).errors)["tensor_peak_bytes"] for tiles in (1, 2, 4, 8)]
        for fewer, more in zip(peaks, peaks[1:]):
            self.assertLessEqual(more, fewer)
        self.assertLess(peaks[3], 2 << 20)
        self.assertGreater(peaks[0], 16 << 20)

    # Two channels of 1,536 x 1,536 are 18 MiB, of f32 in a file; a tile of the layer between has 4 times as many channels.
    TO_FILE = """(define ws (list (randn '(8 1 3 3) 'f32 'cpu 1) (randn '(2 8 3 3) 'f32 'cpu 2)))
(define (net x) (tanh (convolve (ReLU (convolve x (car ws) 1 1)) (cadr ws) 1 1)))
(define image (npy-array "image.npy"))
"""

    def written_image(self, n):
        self.write("image.scm", f"""(write-npy "image.npy" (+ (view (sin (arange {n})) '(1 1 {n} 1)) (expand-tensor (view (cos (arange {n})) '(1 1 1 {n})) '(1 1 {n} {n}))))""")
        self.vmrun("image.scm")

    def unfinished(self):
        return [name for name in os.listdir(self.folder) if name.endswith(".cairn-part")]

    def test_what_is_written_is_never_in_memory(self):
        self.written_image(1536)
        self.write("b.scm", self.TO_FILE + "(tiled net image)")
        self.assertRegex(self.vmrun("--memory=8MiB", "b.scm", code=1).errors, r"does not fit into the memory: all of what it gives, .* within f, tiled->npy, or more memory")
        for write, name in (("tiled->npy", "out.npy"), ("tiled->tiff", "out.tif")):
            self.write("a.scm", self.TO_FILE + f"""(define out ({write} "{name}" net image))
(write (tiled (lambda (x) (mean (square (* 2 x)) '(2 3))) out))""")
            done = self.vmrun("--memory=8MiB", "--spill=" + self.folder, "--stats", "a.scm")
            stats = json.loads(done.errors)
            counted = stats["heap_peak_bytes"] + stats["tensor_peak_bytes"] + stats["scratch_peak_bytes"]
            self.assertLess(counted, 8 << 20)
            self.assertGreater(os.path.getsize(self.path(name)), 18 << 20)
            # The tiles that are chosen are those of the plan, and more do not take more.
            self.write("c.scm", self.TO_FILE + f"""(write (cadar (tile-plan net image #f #f #t)))({write} "{name}" net image (+ 1 (string->number (car (command-line)))))""")
            peaks = [json.loads(self.vmrun("--memory=8MiB", "--stats", "c.scm", tiles).errors)["tensor_peak_bytes"] for tiles in (8, 11, 15)]
            self.assertEqual(peaks, sorted(peaks, reverse=True))

    def test_an_array_in_a_file_is_reduced_part_by_part(self):
        self.written_image(1536)
        self.write("a.scm", """(define (f x) (list (mean x '(2 3)) (variance x 3) (max-over x '(2 3)) (sum (softmax x 2) '(2 3))))
(for-each (lambda (t) (write (sumall t)) (newline)) (tiled f (npy-array "image.npy")))""")
        # It takes what memory there is, and needs little: parts wait for the file as long as they may.
        done = self.vmrun("--memory=4MiB", "--spill=" + self.folder, "a.scm")
        self.assertGreater(os.path.getsize(self.path("image.npy")), 8 << 20)
        self.write("b.scm", """(define (f x) (list (mean x '(2 3)) (variance x 3) (max-over x '(2 3)) (sum (softmax x 2) '(2 3))))
(for-each (lambda (t) (write (sumall t)) (newline)) (f (read-npy "image.npy")))""")
        for ours, expected in zip(done.output.split(), self.vmrun("b.scm").output.split()):
            self.assertAlmostEqual(float(ours), float(expected), delta=1e-5 * abs(float(expected)))

    def test_what_is_written_has_to_be_readable(self):
        self.write("a.scm", """(tiled->npy (car (command-line)) tanh (randn '(1 1 8 8)) 2)""")
        with tempfile.TemporaryDirectory() as elsewhere:
            path = os.path.join(elsewhere, "out.npy")
            self.assertIn("may not be read", self.vmrun("--write=" + elsewhere, "a.scm", path, code=1).errors)
            self.assertEqual(os.listdir(elsewhere), [])
            self.vmrun("--write=" + elsewhere, "--read=" + elsewhere, "a.scm", path)
            self.assertEqual(os.listdir(elsewhere), ["out.npy"])

    def test_a_file_that_is_written_by_tiles_goes_on_from_a_saved_state(self):
        self.written_image(120)
        for name in ("out.npy", "out.tif"):
            write = "tiled->npy" if name == "out.npy" else "tiled->tiff"
            self.write("a.scm", self.TO_FILE + f"""(write ({write} "{name}" (lambda (x) (let ((y (net x))) (- y (mean y '(2 3) #t)))) image 4))(write (file-size "{name}"))""")
            whole = self.vmrun("--stats", "a.scm")
            steps, content = json.loads(whole.errors)["steps"], self.read(name)
            for parts in (7, 23):
                os.remove(self.path(name))
                self.assertEqual(self.in_parts(steps, parts), whole.output)
                self.assertEqual(self.read(name), content)
                self.assertEqual(self.unfinished(), [])
            # Somebody removes what was begun, or part of it, or adds to it: the tiles are computed again, and nothing is left.
            for change in (os.remove, lambda path: os.truncate(path, 5000), lambda path: os.truncate(path, 5000000)):
                os.remove(self.path(name))
                state, output, gone = ["a.scm"], "", 0
                for _ in range(20):
                    done = self.vmrun(f"--steps={steps // 3}", "--save=state.capsule", *state, code=None)
                    output, state = output + done.output, ["--resume=state.capsule"]
                    if done.returncode == 0:
                        break
                    for part in self.unfinished()[:1 if gone < 2 else 0]:
                        change(self.path(part))
                        gone += 1
                self.assertEqual((output, gone), (whole.output, 2))
                self.assertEqual(self.read(name), content)
                self.assertEqual(self.unfinished(), [])

    def test_what_is_not_finished_is_removed_unless_a_state_goes_on_with_it(self):
        self.written_image(120)
        self.write("a.scm", self.TO_FILE + """(tiled->npy "out.npy" net image 4)(tiled->npy "out.npy" net image 5)""")
        whole = self.vmrun("--stats", "a.scm")
        steps, content = json.loads(whole.errors)["steps"], self.read("out.npy")
        for options, code in ((f"--steps={steps // 3}", 75), ("--output-limit=150000", 3), (f"--work={json.loads(whole.errors)['work'] * 2 // 3}", 75)):
            self.vmrun(options, "a.scm", code=code)
            self.assertEqual((self.unfinished(), self.read("out.npy")), ([], content), options)
        # The first state is of the first file, and goes on with it; the old one is there until then.
        self.write("out.npy", b"old")
        self.vmrun(f"--steps={steps // 3}", "--save=state.capsule", "a.scm", code=75)
        self.assertEqual((len(self.unfinished()), self.read("out.npy")), (1, b"old"))
        self.vmrun("--resume=state.capsule")
        self.assertEqual((self.unfinished(), self.read("out.npy")), ([], content))

    # Eight borders of 4 MiB each, with their cotangents; what is tiled is 512 x 512 points.
    BORDERS = """(define ws (map (lambda (k) (* .3 (randn '(4 4 3 3) 'f32 'cpu k))) (iota 8)))
(define (net ws x) (fold-left (lambda (x w) (tanh (car (batch-normalization-training (convolve x w 1 1) (ones '(4)) (zeros '(4)))))) x ws))
(define (loss ws) (sumall (square (max-pool (tiled (lambda (x) (max-pool (net ws x) 8)) (fill '(1 4 512 512) .5) 4) 8))))
(define r (*j loss ws 1))
(write (list (car r) (map sumall (cdr r)) (map (lambda (g) (sumall (abs g))) (cdr r))))"""

    # Two borders of 2 MiB, the cotangent of one of them, and a tile: 6.9 MiB.
    TWO_NORMS = """(define x (randn '(1 1 256 256)))
(define w (randn '(8 1 3 3)))
(define (n x) (car (batch-normalization-training x (ones '(8)) (zeros '(8)))))
(write (sum (gradient (lambda (w) (sum (tiled (lambda (x) (mean (n (tanh (n (convolve x w 1 1)))) '(2 3))) x))) w)))"""

    def test_what_borders_and_their_cotangents_need_is_known_beforehand(self):
        self.write("a.scm", self.TWO_NORMS)
        for kib in (4100, 5000, 6000, 6500):
            done = self.vmrun(f"--memory={kib}KiB", "a.scm", code=1)
            self.assertRegex(done.errors, r"a\.scm:4:40: error: tiled: the borders of what is tiled do not fit")
        enough = re.search(r"or --memory=(\d+)KiB would help", done.errors)[1]
        self.assertLess(int(enough), 9500)
        self.vmrun(f"--memory={enough}KiB", "a.scm")
        # Where that shows in the middle, so much is named, too.
        self.assertRegex(self.vmrun("--memory=6900KiB", "a.scm", code=3).errors, rf"what is tiled should do with --memory={enough}KiB")

    def test_a_file_that_is_too_small_is_told_of(self):
        self.write("a.scm", self.TWO_NORMS)
        os.mkdir(self.path("disk"))
        for file in ("256KiB", "2MiB", "4MiB"):
            done = self.vmrun("--memory=2MiB", f"--spill=disk,{file}", "a.scm", code=3)
            self.assertRegex(done.errors, r"that may be used in disk are full; one of 7168KiB should hold the borders of what is tiled")
        for kib in (5120, 6144):
            done = self.vmrun("--memory=2MiB", f"--spill=disk,{kib}KiB", "a.scm", code=1)
            self.assertRegex(done.errors, rf"the run went on without its file \(--spill\), which is too small: one of 7168KiB instead of {kib}KiB")
            self.assertNotIn("a file for them", done.errors)
        self.vmrun("--memory=2MiB", "--spill=disk,7168KiB", "a.scm")

    def test_borders_go_to_a_file(self):
        self.write("a.scm", self.BORDERS)
        os.mkdir(self.path("disk"))
        whole = self.vmrun("--stats", "a.scm")
        self.assertGreater(json.loads(whole.errors)["tensor_peak_bytes"], 36 << 20)
        # Eight of 4 MiB are there at once, with the cotangent of one of them and a tile, which is known beforehand.
        for memory in ("24MiB", "34MiB"):
            self.assertRegex(self.vmrun(f"--memory={memory}", "a.scm", code=1).errors,
                             r"the borders of what is tiled do not fit into the memory: of these, their cotangents and a tile its derivative needs 3[5-9]\d{6} bytes at once, and --memory has \d+; a file for them \(--spill\)")
        done = self.vmrun("--memory=24MiB", "--spill=disk,1GiB", "--stats", "a.scm")
        self.assertEqual(done.output, whole.output)
        stats = json.loads(done.errors)
        self.assertLess(stats["tensor_peak_bytes"], 24 << 20)
        self.assertGreater(stats["spilled_bytes"], 30 << 20)
        self.assertGreater(stats["fetched_bytes"], 10 << 20)
        # Stopped anywhere it goes on, within the same memory.
        for parts in (3, 8):
            self.assertEqual(self.in_parts(stats["steps"], parts, always=["--spill=disk,1GiB"], first=["--memory=24MiB"]), whole.output)

    def test_a_step_of_a_training_takes_borders_that_can_go_to_the_file_for_no_memory(self):
        self.write("a.scm", """
(define x (randn '(1 3 256 256) 'f32 'cpu 1))
(define v (randn '(16 16 3 3) 'f32 'cpu 2))
(define (normalised x) (car (batch-normalization-training x (ones '(16)) (zeros '(16)))))
(define (loss w)
  (tiled (lambda (x) (mean (square (normalised (convolve (ReLU (normalised (convolve x w 1 1))) v 1 1))))) x 4))
(write (round (* 1000 (sumall (abs (cadr (checkpoint-*j-update loss (randn '(16 3 3 3) 'f32 'cpu 3) 1 (sgd .1) 0)))))))
""")
        whole = self.vmrun("a.scm")
        done = self.vmrun("--memory=5MiB", "--spill=" + self.folder, "--stats", "--steps=2000000", "a.scm")
        self.assertEqual(done.output, whole.output)
        self.assertLess(json.loads(done.errors)["replay_factor"], 1.5)

    def test_what_is_reduced_along_axes_is_in_the_file(self):
        # A border is 8 MiB: some are in front of sums and maxima along one axis and both, and of a softmax.
        self.write("a.scm", """(define w (list (randn '(8 1 3 3) 'f32 'cpu 1) (randn '(8 8 3 3) 'f32 'cpu 2)))
(define x (expand-tensor (view (sin (arange 512)) '(1 1 512 1)) '(1 1 512 512)))
(define (net w x)
  (let* ((y (tanh (convolve x (car w) 1 1))) (s (/ (exp (- y (max-over y '(2 3) #t))) (sum (exp y) 3 #t))))
    (max-over (convolve (* (softmax s 2) (- y (mean y 2 #t))) (cadr w) 1 1) '(2 3))))
(define (loss w) (sum (square (tiled (lambda (x) (net w x)) x '(8 8)))))
(write (map (lambda (t) (floor (* 1e6 (sumall (abs t))))) (cons (car (*j loss w 1)) (cdr (checkpoint-*j loss w 1)))))""")
        os.mkdir(self.path("disk"))
        whole = self.vmrun("--stats", "a.scm")
        self.vmrun("--memory=12MiB", "a.scm", code=1)
        done = self.vmrun("--memory=6MiB", "--spill=disk,1GiB", "--stats", "a.scm")
        self.assertEqual(done.output, whole.output)
        stats = json.loads(done.errors)
        self.assertGreater(stats["spilled_bytes"], 16 << 20)
        self.assertEqual(self.in_parts(stats["steps"], 5, always=["--spill=disk,1GiB"], first=["--memory=12MiB"]), whole.output)

    # Four norms of 256 x 256 points in f64, of an image of 1.5 MiB.
    NORMS = """(define x (randn '(1 3 256 256) 'f64 'cpu 1))
(define w (randn '(4 3 3 3) 'f64 'cpu 2))
(define (net w x)
  (let loop ((i 0) (y (convolve x w 1 1)))
    (if (= i 4) (mean y '(2 3)) (loop (+ i 1) (tanh (car (batch-normalization-training y (ones '(4) 'f64) (zeros '(4) 'f64))))))))
(define (loss w) (sumall (square (apply tiled (lambda (x) (net w x)) x (map string->number (command-line))))))
(define g (cdr (checkpoint-*j loss w 1)))
(write (< (max-value (abs (- g (cdr (*j (lambda (w) (sumall (square (net w x)))) w 1))))) 1e-15))"""

    def test_small_parts_go_to_the_file(self):
        self.write("a.scm", self.NORMS.split("(write")[0])
        os.mkdir(self.path("disk"))
        for tiles in (8, 16):
            done = self.vmrun("--memory=4MiB", "--spill=disk,1GiB", "--stats", "--explain", "a.scm", str(tiles))
            self.assertIn("borders      8.0 MiB, in the file of --spill", done.errors)
            self.assertGreater(json.loads(done.errors.splitlines()[-1])["spilled_bytes"], 15 << 20)
        # Less than a page of the file stays in memory, and that is said.
        done = self.vmrun("--memory=4MiB", "--spill=disk,1GiB", "a.scm", "32", code=1)
        self.assertIn("needs 10489888 bytes at once, and --memory has 4194304; fewer tiles, as no part of less than 4096 bytes goes to the file, or --memory=16384KiB", done.errors)
        self.assertNotIn("in the file", self.vmrun("--memory=32MiB", "--spill=disk,1GiB", "--explain", "a.scm", "32").errors)

    def test_tiles_leave_room_for_the_file(self):
        self.write("a.scm", self.NORMS)
        os.mkdir(self.path("disk"))
        self.assertEqual(self.vmrun("a.scm").output, "#t")
        self.write("a.scm", self.NORMS.split("(write")[0])
        for kib in (3400, 3600, 4096, 5000, 6500, 8192):
            self.vmrun(f"--memory={kib}KiB", "--spill=disk,1GiB", "a.scm")

    def test_a_schedule_knows_that_borders_are_in_the_file(self):
        # As memory they would be more than all there is, and the forward pass would be run once more.
        self.write("a.scm", self.BORDERS)
        self.write("b.scm", self.BORDERS.replace("*j", "checkpoint-*j"))
        os.mkdir(self.path("disk"))
        options = ("--memory=24MiB", "--spill=disk,1GiB", "--stats")
        plain, planned = (self.vmrun(*options, name) for name in ("a.scm", "b.scm"))
        self.assertEqual(planned.output, plain.output)
        work = [json.loads(done.errors)["work"] for done in (plain, planned)]
        self.assertLess(work[1], 1.05 * work[0])

    def test_an_operator_that_does_not_fit_is_named(self):
        self.write("a.scm", """(define w (fill '(64 4 3 3) .1))
(define (net x)
  (max-pool (convolve x w 1 1) 2))
(define (loss w) (sumall (tiled net (fill '(1 4 512 512) .5) 2)))
(write (loss w))""")
        # A tile of 128 x 128 results is one of 256 x 256 of 64 channels of the convolution.
        done = self.vmrun("--memory=16MiB", "a.scm", code=1)
        self.assertRegex(done.errors, r"a\.scm:4:26: error: tiled: convolve \(in net at a\.scm:3:13\) does not fit into the memory: a tile of \(1 64 256 256\) needs of its "
                         r"operand \(1 4 257 257\), 17834000 bytes with its result, and --memory has 16777216; more tiles, or more memory, would help")
        self.write("a.scm", """(define (net x)
  (cumulative-sum (* 2 x) 2))
(write (sumall (tiled net (fill '(1 16 512 512) .5))))""")
        done = self.vmrun("--memory=24MiB", "a.scm", code=1)
        self.assertRegex(done.errors, r"a\.scm:3:16: error: tiled: cumulative-sum \(in net at a\.scm:2:3\) does not fit into the memory: each part of its result needs all of its operand, so it is "
                         r"computed as a whole, \(1 16 512 512\), 33554432 bytes with its result, and --memory has 25165824; an operator that is local")
        # A border that an operator needs as a whole: that one is named, and a file would be no help.
        self.write("a.scm", """(define w (fill '(16 1 3 3) .1))
(define (net x)
  (cumulative-sum (convolve x w 1 1) 2))
(define x (fill '(1 1 512 512) .5))
(if (null? (command-line)) (tiled net x) (tiled->npy "sums.npy" net x))""")
        for who, arguments in (("tiled", ()), ("tiled->npy", ("file",))):
            done = self.vmrun("--memory=12MiB", "a.scm", *arguments, code=1)
            self.assertRegex(done.errors, rf"error: {who}: convolve \(in net at a\.scm:3:19\) does not fit into the memory: all of what it gives, \(1 16 512 512\), is needed at once by cumulative-sum \(in net at "
                             r"a\.scm:3:3\), which is computed as a whole, 16777216 bytes with its result, and --memory has 12582912; an operator that is local along height and width, one behind a pool, or more")
            self.assertNotIn("tiled->npy,", done.errors)
        self.write("a.scm", self.read("a.scm").decode().replace("(cumulative-sum (convolve x w 1 1) 2)", "(convolve x w 1 1)"))
        self.assertRegex(self.vmrun("--memory=12MiB", "a.scm", code=1).errors, r"is needed at once, 16777216 bytes .*; a mean or another sum over it within f, tiled->npy, or more memory would help")

    def test_operators_that_need_only_their_place_are_known_to_tiles(self):
        """Those that the declarations call so (docs/operators.md) are in %pointwise?, which says how they are computed on parts: a new one would be computed as a whole."""
        root = pathlib.Path(__file__).resolve().parents[2]
        rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in (root / "docs" / "operators.md").read_text().splitlines() if line.startswith("| `")]
        needing = {row[0].strip("`") for row in rows if len(row) > 5 and row[5] == "its place"}
        source = (root / "compiler" / "library" / "tile-axes.scm").read_text()
        known = set(source[source.index("(define (%pointwise?"):].split("))", 1)[0].replace("(", " ").split())
        of_numbers = set("* + - / < <= = abs acos asin atan cos exp expt log max min sin sqrt tan".split())  # recorded with a % in front, which %pointwise? takes for a sign
        others = {"adam-step", "adam-update", "one-hot", "expand-tensor"}  # rules of optimisers; another axis; %near? has it
        self.assertEqual(needing - known, of_numbers | others)

    def test_plans_count_with_the_file_that_there_is(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        file, device, plans = ((root / name).read_text() for name in ("ops/spill_file.h", "ops/device.h", "compiler/library/tile-plans.scm"))
        self.assertIn("kBuffer = kPiece;", file)
        for source, name, defined in ((file, "kPiece", "%bytes-of-file"), (device, "kLeastAside", "%least-in-file")):
            number, shift = re.search(rf"{name} = std::int64_t{{(\d+)}} << (\d+);", source).groups()
            self.assertEqual(int(re.search(rf"\(define {defined} (\d+)\)", plans)[1]), int(number) << int(shift), name)

    def test_every_operator_is_listed_for_tiles_or_is_computed_as_a_whole_on_purpose(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in (root / "docs" / "operators.md").read_text().splitlines() if line.startswith("| `")]
        regions = {row[0].strip("`"): row[5] for row in rows if len(row) > 5}
        axes, parts = ((root / "compiler" / "library" / name).read_text() for name in ("tile-axes.scm", "tile-parts.scm"))

        def body(source, name):
            return source[source.index(f"(define ({name} "):].split("\n(define ", 1)[0]

        def listed(name):
            return {word for names in re.findall(r"'\(([^()]*)\)", body(axes, name)) for word in names.split()}
        near, moves, pointwise = (listed(name) for name in ("%near?", "%moves?", "%pointwise?"))
        lines = {word for names in re.findall(r"\(\(([^()]*)\)", body(axes, "%with-lines")) for word in names.split()}
        cases = {word for names in re.findall(r"\n      \(\(([^()]*)\)", body(parts, "%part")) for word in names.split()}
        whole = {"fill", "rand", "randn",  # of no operands
                 "embedding", "one-hot", "scatter-add", "attend", "cross-entropy-loss", "binary-cross-entropy", "cholesky", "determinant", "triangular-solve", "solve",
                 "adam-step", "adam-update", "with-part", "add-part"}
        rewritten = {"roll", "tile", "mean-squared-error", "binary-cross-entropy-with-logits", "batch-normalization-training", "group-normalization"}  # tile-rewrites.scm
        places = {name for name, region in regions.items() if region == "its place"}
        self.assertEqual(set(regions) - near - moves - places, whole - places | rewritten)
        # Of these a part is not what the operator gives of parts of its operands, but for lists and mirrors.
        other = {name for name, region in regions.items() if re.search("windows|bins|moved|in the whole|neighbours", region)}
        self.assertEqual(other - cases, {"concat-tensors"} | {name for name in whole | rewritten if name in other})
        # Nor of those along whose lines something is asked of all elements, where a part has not all of them.
        along = {name for name, region in regions.items() if re.search("all along|up to its place|of its group", region)}
        self.assertEqual(along - lines, set("sum mean max-over min-over prod norm logsumexp variance argmax argmin gather group-normalization".split()))
        known = set(regions) | {"%normalized", "stop-gradient", "else"}
        for names in (near, moves, pointwise, lines, cases):
            self.assertEqual(names - known, set())

    def test_views_take_no_memory(self):
        self.write("a.scm", """(define x (fill '(1 1 1024 1024) .5))
(write (sumall (tiled (lambda (x) (square (narrow-tensor (view x '(1 1 -1)) 2 0 99))) x)))""")
        self.assertEqual(self.vmrun("--memory=5MiB", "a.scm").output, self.vmrun("a.scm").output)

    def test_reports_say_how_something_is_tiled(self):
        self.write("a.scm", """(define ws (map (lambda (k) (randn '(8 8 3 3) 'f32 'cpu k)) (iota 3)))
(define (net ws x) (fold-left (lambda (x w) (ReLU (convolve x w 1 1))) x ws))
(define (loss ws n)
  (sumall (mean (tiled (lambda (x) (softmax (net ws x) 1)) (fill '(1 8 96 96) .5) n) '(2 3))))
(define (both n) (car (*j (lambda (ws) (loss ws n)) ws 1)))
(for-each (lambda (n) (write (both n))) '(4 4 2))""")
        plain = self.vmrun("--stats", "a.scm")
        told = self.vmrun("--explain", "a.scm")
        self.assertEqual(plain.output, told.output)
        place = "loss at a.scm:4:17"
        self.assertEqual(told.errors, f"""tiled at {place}
    convolve to softmax (7 operators): 4 x 4 tiles of 159 KiB, 1.13 times its work without halos
  borders      0 bytes
  work         1.13 times that without halos
tiled at {place}
    convolve to softmax (7 operators): 2 x 2 tiles of 535 KiB, 1.04 times its work without halos
  borders      0 bytes
  work         1.04 times that without halos
""")
        counted = self.vmrun("--explain=a.json", "--stats", "a.scm")
        self.assertEqual(json.loads(plain.errors)["steps"], json.loads(counted.errors)["steps"])
        with open(self.path("a.json")) as file:
            report = json.load(file)["tiled"]
        self.assertEqual([one["place"] for one in report], [place])
        self.assertEqual(report[0]["steps"][0]["operators"], ["convolve", "ReLU"] * 3 + ["softmax"])
        self.assertEqual(report[0]["steps"][0]["tiles"], [2, 2])
        self.vmrun("--explain=a.html", "a.scm")
        self.assertIn(f"<pre>tiled at {place}", self.read("a.html").decode())

    def test_reports_count_the_small_things_around_norms(self):
        self.write("a.scm", """(define w (randn '(8 8 3 3) 'f32 'cpu 1))
(define (net x) (mean (cumulative-sum (group-normalization (convolve x w 1 1) (fill '(8) 1) (fill '(8) 0) 2) 2) '(2 3)))
(write (size (tiled net (fill '(1 8 64 64) .5) 2)))""")
        lines = self.vmrun("--explain", "a.scm").errors.splitlines()
        whole = [line for line in lines if "as a whole" in line]
        self.assertEqual(whole[0], "    as a whole: cumulative-sum")
        self.assertRegex(whole[1], r"^    as a whole, of less than 4\.0 KiB each: \d+ operators$")
        self.assertEqual(len(whole), 2)
        self.vmrun("--explain=a.json", "a.scm")
        with open(self.path("a.json")) as file:
            alone = [step for step in json.load(file)["tiled"][0]["steps"] if not step["tiles"]]
        self.assertIn({"operators": ["cumulative-sum"], "tiles": [], "bytes": 8 * 64 * 64 * 4}, alone)
        self.assertEqual(len([step for step in alone if step["bytes"] < 4096]), int(whole[1].split()[-2]))

    def test_errors_say_how_an_array_in_a_file_gets_axes(self):
        self.write("a.scm", """(write-npy "photo.npy" (fill '(3 64 64) 1))
(define x (if (null? (command-line)) (npy-array "photo.npy") (fill '(3 64 64) 1)))
(tiled (lambda (x) (tanh (convolve x (fill '(1 3 3 3) 1)))) x)""")
        hint = r"a\.scm:3:26: error: convolve: an input of shape \(3 64 64\) .*; other sizes of an array in a file, such as \(batch channels height width\), are written into its list, \(list path type from sizes\)\n"
        self.assertRegex(self.vmrun("a.scm", code=1).errors, hint)
        self.assertNotIn("other sizes", self.vmrun("a.scm", "tensor", code=1).errors)

    def test_no_message_names_what_the_library_is_made_of(self):
        program = """(define w (list (randn '(8 4 3 3) 'f64 'cpu 1) (randn '(8 8 3 3) 'f64 'cpu 2)))
(define (net (list a b) x)
  (mean (tanh (convolve (ReLU (car (batch-normalization-training (convolve x a 1 1) (fill '(8) 1 'f64) (fill '(8) 0 'f64)))) b 1 1)) '(2 3)))
(define x (randn '(1 4 128 128) 'f64 'cpu 3))
(define (parts w n)
  (tiled (lambda (x) (net w x)) x n))
(define (loss w n) (sumall (square (parts w n))))
(write (size (cadr (*j (lambda (w) (loss w 4)) w 1))))"""
        self.write("a.scm", program)
        self.write("b.scm", program.replace("(sumall (square (parts w n)))", "(sumall (square (tiled (lambda (x) (net w x)) x n)))").replace("*j", "checkpoint-*j"))
        failed = told = ""
        for name in ("a.scm", "b.scm"):
            for kib in range(1000, 4200, 200):
                done = self.vmrun("--explain", f"--memory={kib}KiB", name, code=None)
                self.assertNotIn("<cairn>", done.errors)
                self.assertNotIn("%tile", done.errors)
                self.assertNotRegex(done.errors, r"made by %|\(in %|in %")
                if name == "b.scm" and done.returncode == 3:
                    failed += done.errors
                told += done.errors
        self.assertRegex(failed, r"made by tiled at b\.scm:7:36")
        self.assertRegex(told, r"at the peak[^\n]*\n(    .*\n)*?    .* made by (tiled|a procedure) at b\.scm")

    def test_borders_go_one_by_one_in_the_sweep(self):
        # Each mean is over a border. Held to the end of the sweep, they and the rest come to 10.1 images, else to 9.1.
        self.write("a.scm", """(define w (map (lambda (i) (randn '(4 4 3 3) 'f32 'cpu i)) (iota 6)))
(define x (randn '(1 4 128 128) 'f32 'cpu 9))
(define (net w x) (fold-left (lambda (x w) (let ((y (convolve x w 1 1))) (- y (mean y '(2 3) #t)))) x w))
(write (car (*j (lambda (w) (sumall (square (mean (square (tiled (lambda (x) (net w x)) x 4)) '(2 3))))) w 1)))""")
        image = 4 * 4 * 128 * 128
        self.assertLess(json.loads(self.vmrun("--stats", "a.scm").errors)["tensor_peak_bytes"], 9.5 * image)

    def test_a_constant_image_has_no_cotangent(self):
        self.write("a.scm", """(define w (randn '(16 16 3 3) 'f32 'cpu 1))
(define x (randn '(1 16 64 64) 'f32 'cpu 2))
(define (loss w x) (sumall (square (tiled (lambda (x) (convolve x w 1 1)) x 2))))
(write (sumall (square (cadr (if (null? (command-line)) (*j (lambda (l) (loss (car l) x)) (list w) 1) (*j (lambda (l) (loss (car l) (cadr l))) (list w x) 1))))))""")
        constant, varying = self.vmrun("--stats", "a.scm"), self.vmrun("--stats", "a.scm", "both")
        self.assertEqual(constant.output, varying.output)
        product = 2 * 16 * 16 * 9 * 64 * 64
        self.assertGreater(json.loads(varying.errors)["work"] - json.loads(constant.errors)["work"], .9 * product)

    def test_what_no_rule_reads_is_not_computed_again(self):
        # Of a convolution that ends a segment the sweep takes two products, and the value one, with a bias, a move or a mean behind it, too. An exponential
        # has a rule that reads it, and is computed from the convolution, and so is a variance from its operand.
        self.write("a.scm", """(define ends (list (list "conv" (lambda (y) y)) (list "bias" (lambda (y) (+ (rand '(1 32 1 1) 'f32 'cpu 3) y))) (list "moved" (lambda (y) (permute (crop y '(0 0 0 0) '(1 32 31 31)) '(0 2 3 1))))
                   (list "mean" (lambda (y) (mean y '(2 3)))) (list "variance" (lambda (y) (variance y '(2 3)))) (list "exp" exp)))
(define end (cadr (assoc (car (command-line)) ends)))
(define w (* .01 (randn '(32 32 3 3) 'f32 'cpu 1)))
(define x (randn '(1 32 32 32) 'f32 'cpu 2))
(define (net w x) (end (convolve x w 1 1)))
(write (map (lambda (t) (sumall (square t)))
            (*j (lambda (l) (sumall (square (if (equal? (cadr (command-line)) "tiled") (tiled (lambda (x) (net (car l) x)) (cadr l) 2) (net (car l) (cadr l)))))) (list w x) 1)))""")
        def work(end, way):
            return json.loads(self.vmrun("--stats", "a.scm", end, way).errors)["work"]
        product = 2 * 32 * 32 * 9 * 32 * 32
        for end in ("conv", "bias", "moved", "mean"):
            self.assertLess(work(end, "tiled") - work(end, "whole"), .2 * product, end)
        for end in ("variance", "exp"):
            self.assertGreater(work(end, "tiled") - work(end, "whole"), product, end)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["tiles.py", *arguments.tests])
