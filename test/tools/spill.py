"""Gradients that put tapes aside into a file: the same bits as one tape, within the same memory; saved, killed and resumed in the middle; and what is
said where the folder, the file or the disk cannot do it."""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

import driver
from driver import ToolTest

# Layers with skips, tensors of two sizes, random numbers, and output on the way.
LAYERS = """(define (f ws)
  (let loop ((i 0) (x (fill '(256 128) .5)) (y (fill '(256 128) .25)))
    (if (= i 60)
        (sumall (* x y))
        (begin (if (= i 30) (write-char #\\.))
               (let ((h (tanh (matmul (+ x (* .01 (randn '(256 128)))) (car ws)))))
                 (loop (+ i 1) (+ h (* .5 y)) (if (= 0 (remainder i 5)) (sin (matmul h (cdr ws))) y)))))))
(define ws (cons (* .1 (randn '(128 128))) (* .1 (randn '(128 128)))))
(define r (OPERATOR f ws 1))
(write (car r)) (newline)
(write (sumall (cadr r))) (write (sumall (abs (cadr r)))) (write (sumall (square (cddr r)))) (newline)
"""
# The reverse rule of the normalisation overwrites the cotangent, so it cannot be begun again with more scratch memory.
NORMALISED = """(define (net ws x)
  (if (null? ws) (mean (square x)) (net (cdr ws) (+ x (matmul (GeLU (matmul (layer-normalization x (ones '(64)) (zeros '(64))) (caar ws))) (cdar ws))))))
(define ws (build-list 24 (lambda (i) (cons (* .1 (randn '(64 128))) (* .1 (randn '(128 64)))))))
(define x (randn '(512 64)))
(define r (checkpoint-*j (lambda (ws) (net ws x)) ws 1))
(write (car r))
"""
# Disks that cost nothing, so that these little gradients use them; a product takes long.
COSTS = "spill 0\nproduct 1\nflop 1\nbyte 1\n"
ALWAYS = ("--costs=c", "--memory=5MiB", "--checkpoint=auto")


class Spill(ToolTest):
    """vmrun --spill"""

    def setUp(self):
        super().setUp()
        self.write("a.scm", LAYERS.replace("OPERATOR", "checkpoint-*j"))
        self.write("tape.scm", LAYERS.replace("OPERATOR", "*j"))
        self.write("c", COSTS)
        os.mkdir(self.path("disk"))
        self.right = self.vmrun("tape.scm").output

    def counted(self, *options, program="a.scm", **more):
        done = self.vmrun(*options, "--stats=s", program, **more)
        return done.output, json.loads(self.read("s"))

    def test_the_same_bits_within_the_same_memory_and_fewer_steps_run_again(self):
        self.assertEqual(self.counted(*ALWAYS)[0], self.right)
        without = self.counted(*ALWAYS)[1]
        output, with_file = self.counted("--spill=disk,1GiB", *ALWAYS)
        self.assertEqual(output, self.right)
        self.assertGreater(without["replay_factor"], 1.5)
        self.assertLess(with_file["replay_factor"], 1.2)
        self.assertGreater(with_file["spilled_bytes"], 4 << 20)
        self.assertGreater(with_file["fetched_bytes"], 4 << 20)
        accounts = ("tensor", "tape", "heap")
        self.assertLessEqual(max(with_file[f"{a}_peak_bytes"] for a in accounts), 5 << 20)
        self.assertEqual((without["spilled_bytes"], without["fetched_bytes"]), (0, 0))
        self.assertEqual(os.listdir(self.path("disk")), [], "the file has no name")

    def test_what_is_fetched_ahead_does_not_give_way_to_kernels_that_want_little(self):
        self.write("n.scm", NORMALISED)
        right = self.vmrun("--checkpoint=tape", "n.scm").output
        output, stats = self.counted("--spill=disk,1GiB", "--costs=c", "--memory=8MiB", program="n.scm")
        self.assertEqual(output, right)
        self.assertGreater(stats["spilled_bytes"], 4 << 20)
        self.assertLessEqual(stats["fetched_bytes"], 1.25 * stats["spilled_bytes"])

    def test_a_run_that_puts_nothing_aside_has_all_of_its_budget(self):
        # Nested gradients have no plans; and below two buffers of the file nobody counts on it.
        self.write("nested.scm", """(define w (* .1 (randn '(96 96))))
(define x (randn '(96 96)))
(define (f w) (let loop ((i 0) (x x)) (if (= i 60) (sumall x) (loop (+ i 1) (tanh (matmul x w))))))
(write (sumall (gradient (lambda (w) (sumall (square (gradient f w)))) w)))""")
        self.write("small.scm", """(define w (* .1 (randn '(96 96))))
(define (f w) (let loop ((i 0) (x w)) (if (= i 60) (sumall x) (loop (+ i 1) (tanh (matmul x w))))))
(write (car (checkpoint-*j f w 1)))""")
        for memory, program in (("4MiB", "nested.scm"), ("900KiB", "small.scm")):
            output, stats = self.counted(f"--memory={memory}", program=program)
            with_file, more = self.counted(f"--memory={memory}", "--spill=disk", program=program)
            self.assertEqual((with_file, more["steps"], more["spilled_bytes"]), (output, stats["steps"], 0))

    def test_the_same_at_many_budgets_and_sizes(self):
        for memory in ("4MiB", "8MiB", "40MiB"):
            for spill in ("disk", "disk,2MiB", "disk,100KiB"):
                with self.subTest(memory=memory, spill=spill):
                    self.assertEqual(self.vmrun(f"--memory={memory}", "--costs=c", f"--spill={spill}", "a.scm").output, self.right)

    def test_a_small_file_costs_little_where_it_saves_nothing(self):
        for memory, most in ((3, (7, 7, 7, 6, 1.9)), (4, (3.4, 3.4, 3.3, 1.9, 1.3)), (5, (2.8, 2.6, 2.5, 1.6, 1.2)), (6, (2.4, 2.2, 2.3, 1.5, 1.2))):
            for size, replay in zip((400, 1024, 2048, 12288, 20480), most):
                with self.subTest(memory=memory, size=size):
                    output, stats = self.counted(f"--spill=disk,{size}KiB", "--costs=c", f"--memory={memory}MiB", "--explain=e.json")
                    g = json.loads(self.read("e.json"))["gradients"][0]
                    self.assertEqual(output, self.right)
                    self.assertEqual(g["replay"]["predicted"], g["replay"]["measured"])  # so it has not begun again
                    self.assertLessEqual(stats["replay_factor"], replay)
                    self.assertLessEqual(g["in_file"]["measured"], size << 10)

    def test_steps_and_results_do_not_depend_on_what_the_disk_does(self):
        runs = [self.counted("--spill=disk,1GiB", *ALWAYS)[1] for _ in range(3)]
        self.assertEqual(len({(s["steps"], s["work"], s["replay_factor"]) for s in runs}), 1)

    def test_saved_and_resumed_anywhere(self):
        steps = self.counted("--spill=disk,1GiB", *ALWAYS)[1]["steps"]
        spilled = 0
        for part in range(1, 16, 3):
            at = steps * part // 16
            with self.subTest(at=at):
                self.vmrun("--spill=disk,1GiB", *ALWAYS, f"--steps={at}", "--save=z", "--output=o", "a.scm", code=75)
                begun = self.read("o")
                stats = self.counted("--spill=disk,1GiB", "--memory=5MiB", "--resume=z", program="--output=o")[1]
                self.assertEqual(self.read("o").decode(), self.right)
                spilled += stats["spilled_bytes"] > 0
                self.assertEqual(stats["steps"], steps)
                # Without a file all of it has to fit; what is done does not change.
                self.write("o", begun)
                stats = self.counted("--memory=200MiB", "--resume=z", program="--output=o")[1]
                self.assertEqual((self.read("o").decode(), stats["steps"]), (self.right, steps))
        self.assertGreater(spilled, 2)

    def test_resumed_without_a_file_where_it_does_not_fit(self):
        steps = self.counted("--spill=disk,1GiB", *ALWAYS)[1]["steps"]
        self.vmrun("--spill=disk,1GiB", *ALWAYS, f"--steps={steps // 2}", "--save=z", "a.scm", code=75)
        done = self.vmrun("--memory=5MiB", "--resume=z", code=3)
        self.assertIn("--spill", done.errors)

    def test_encoded_it_is_less_that_is_written_and_nothing_else_is_different(self):
        plain = self.counted("--spill=disk,1GiB", *ALWAYS)
        always = self.counted("--spill=disk,1GiB", "--spill-encoding=always", *ALWAYS)
        self.assertEqual((plain[0], always[0]), (self.right, self.right))
        of_this_process = ("wall_s", "rss_peak_bytes", "stored_bytes", "spilled_bytes", "fetched_bytes", "scratch_peak_bytes")
        same = [{key: value for key, value in stats.items() if key not in of_this_process} for _, stats in (plain, always)]
        self.assertEqual(*same)
        self.assertEqual(plain[1]["stored_bytes"], plain[1]["spilled_bytes"])
        self.assertLess(always[1]["stored_bytes"], .95 * always[1]["spilled_bytes"])

    def test_it_is_encoded_where_the_table_of_costs_says_that_it_pays(self):
        for spill, encode, less in ((1, .1, True), (1, 1.9, False), (100, 20, True)):
            self.write("costs", f"spill {spill}\nencode {encode}\nproduct 10\nflop 10\nbyte 10\n")
            with self.subTest(spill=spill, encode=encode):
                output, stats = self.counted("--spill=disk,1GiB", "--costs=costs", "--memory=5MiB", "--checkpoint=auto")
                self.assertEqual(output, self.right)
                self.assertGreater(stats["spilled_bytes"], 1 << 20)
                self.assertEqual(stats["stored_bytes"] < stats["spilled_bytes"], less)
                stats = self.counted("--spill=disk,1GiB", "--spill-encoding=never", "--costs=costs", "--memory=5MiB", "--checkpoint=auto")[1]
                self.assertEqual(stats["stored_bytes"], stats["spilled_bytes"])

    def test_saved_and_resumed_anywhere_with_and_without_encoding(self):
        steps = self.counted("--spill=disk,1GiB", *ALWAYS)[1]["steps"]
        stored = 0
        for part, first, then in ((3, "never", "always"), (7, "always", "never"), (10, "always", "always")):
            with self.subTest(part=part, first=first, then=then):
                self.vmrun("--spill=disk,1GiB", f"--spill-encoding={first}", *ALWAYS, f"--steps={steps * part // 16}", "--save=z", "--output=o",
                           "a.scm", code=75)
                stats = self.counted("--spill=disk,1GiB", f"--spill-encoding={then}", "--memory=5MiB", "--resume=z", program="--output=o")[1]
                self.assertEqual((self.read("o").decode(), stats["steps"]), (self.right, steps))
                stored += stats["stored_bytes"] < stats["spilled_bytes"]
        self.assertGreater(stored, 0)

    def test_encodings_that_there_are_not(self):
        done = self.vmrun("--spill=disk", "--spill-encoding=zstd", "a.scm", code=2)
        self.assertEqual(done.errors, 'vmrun: error: --spill-encoding: auto, always or never, not "zstd"\n')
        self.assertIn("--spill=DIR", self.vmrun("--spill-encoding=always", "a.scm", code=2).errors)

    def test_killed_and_resumed(self):
        command = [os.path.join(self.bin, "vmrun"), "--spill=disk,1GiB", *ALWAYS, "--save=z", "--save-every=40", "--output=o", "a.scm"]
        process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.DEVNULL)
        for _ in range(2000):
            if os.path.exists(self.path("z")) or process.poll() is not None:
                break
            time.sleep(.005)
        time.sleep(.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.vmrun("--spill=disk,1GiB", "--memory=5MiB", "--resume=z", "--output=o")
        self.assertEqual(self.read("o").decode(), self.right)
        self.assertEqual(os.listdir(self.path("disk")), [])

    def test_a_disk_that_fills_up_ends_in_a_gradient_without(self):
        def limit():  # of every file that the process writes
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        done = subprocess.run([os.path.join(self.bin, "vmrun"), "--spill=disk,1GiB", *ALWAYS, "a.scm"], cwd=self.folder, capture_output=True,
                              preexec_fn=limit)
        self.assertEqual((done.returncode, done.stdout.decode()), (0, self.right), done.stderr.decode())

    def test_what_a_file_of_a_size_holds_is_as_much_in_every_process(self):
        # Tensors that fill no whole pages, a gradient that an error ends, and others after it, known ones among them.
        self.write("b.scm", """
(define w0 (* .15 (randn '(128 128))))
(define (f k)
  (lambda (w)
    (let loop ((i 0) (x (fill (list (if (= k 3) 100 (if (= k 5) 81 64)) 128) .3)))
      (if (= i (+ 50 (* 7 (remainder k 3))))
          (tensor->number (mean (square x) '(0 1)))
          (loop (+ i 1)
                (let ((x (+ (tanh (matmul x w)) (* .1 x))))
                  (if (and (= k 3) (= i 17)) (error "ended" i) x)))))))
(define (train k w)
  (if (= k 0) w
      (train (- k 1) (call-with-error-handler
                       (lambda (message irritants) (write irritants) (* 1.01 w))
                       (lambda () (let (((list v w st) (checkpoint-*j-update (f k) w 1 (lambda (w g st) (cons (- w (* .1 g)) st)) 0))) (write v) w))))))
(write (sumall (train 6 w0)))
""")
        for size in ("600KiB", "597KiB", "1MiB"):
            options = (f"--spill=disk,{size}", "--memory=5MiB")
            output, stats = self.counted("--costs=c", "--checkpoint=auto", *options, program="b.scm")
            self.assertGreater(stats["spilled_bytes"], 1 << 20)
            steps = stats["steps"]
            for part in (1, 4, 7, 10, 13):
                at = steps * part // 15
                with self.subTest(size=size, at=at):
                    begun = self.vmrun("--costs=c", "--checkpoint=auto", *options, f"--steps={at}", "--save=z", "b.scm", code=75).output
                    rest, stats = self.counted(*options, program="--resume=z")
                    self.assertEqual((begun + rest, stats["steps"]), (output, steps))

    def test_a_disk_that_has_refused_is_not_counted_on_again_nor_after_it_was_saved(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        self.write("two.scm", self.read("a.scm").decode().replace("(define r ", "(checkpoint-*j f ws 1)\n(define r "))

        def limited(*options, program):
            done = subprocess.run([os.path.join(self.bin, "vmrun"), "--spill=disk,1GiB", *ALWAYS, "--stats=s", *options, program], cwd=self.folder,
                                  capture_output=True, preexec_fn=limit)
            return done.returncode, done.stdout.decode(), json.loads(self.read("s"))
        code, output, twice = limited(program="two.scm")
        self.assertEqual(code, 0)
        once = limited(program="a.scm")[2]
        # Where the second one begins: the file of the state is small enough, too.
        code, begun, _ = limited(f"--steps={once['steps'] + 20}", "--save=z", program="two.scm")
        self.assertEqual(code, 75)
        rest, stats = self.counted("--spill=disk,1GiB", "--memory=5MiB", program="--resume=z")
        self.assertEqual((begun + rest, stats["steps"], stats["spilled_bytes"]), (output, twice["steps"], 0))

    def test_a_large_state_is_resumed_within_a_small_budget(self):
        self.write("long.scm", self.read("a.scm").decode().replace("(= i 60)", "(= i 1200)"))
        self.vmrun("--spill=disk,1GiB", *ALWAYS, "--steps=13000", "--save=z", "long.scm", code=75)
        size = os.path.getsize(self.path("z"))
        self.assertGreater(size, 100 << 20)
        self.vmrun("--spill=disk,1GiB", "--memory=5MiB", "--resume=z", "--steps=10", "--save=y", "--stats=s", code=75)
        without = self.vmrun("--memory=5MiB", "--resume=y", code=3).errors
        self.assertIn("does not fit into the memory budget; if it was saved by a run with --spill, --spill=DIR does", without)
        if "ASAN_OPTIONS" not in os.environ:  # AddressSanitizer keeps what was freed for a while
            self.assertLess(json.loads(self.read("s"))["rss_peak_bytes"], 50 << 20)
        self.assertLess(abs(os.path.getsize(self.path("y")) - size), 1 << 20)

    def test_a_file_that_is_of_no_use_is_warned_of(self):
        self.write("b.scm", "(display 1)")
        for options, warning in ((("--spill=disk,1023KiB",), "a file of 1047552 bytes holds less than its buffer takes of the memory, 1 MiB; give it more, as in --spill=disk,1GiB"),
                                 (("--spill=disk", "--memory=1MiB"), "nothing is put aside with a memory budget below 2 MiB, as its buffer takes 1 MiB"),
                                 (("--spill=disk,1MiB", "--memory=2MiB"), "")):
            self.assertEqual(self.vmrun(*options, "b.scm").errors, warning and f"vmrun: warning: --spill: {warning}\n")
            self.assertEqual(self.tool("vmrun", *options, input="", code=0).errors, warning and f"vmrun: warning: --spill: {warning}\n")

    def test_a_folder_that_vanishes_takes_nothing_with_it(self):
        command = [os.path.join(self.bin, "vmrun"), "--spill=disk,1GiB", *ALWAYS, "a.scm"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        links = f"/proc/{process.pid}/fd"

        def link(fd):
            try:
                return os.readlink(os.path.join(links, fd))
            except FileNotFoundError:  # it was closed meanwhile
                return ""

        for _ in range(2000):
            if process.poll() is not None or any("(deleted)" in link(fd) for fd in os.listdir(links) if fd not in "012"):
                break
            time.sleep(.002)
        os.rmdir(self.path("disk"))
        output, errors = process.communicate()
        self.assertEqual((process.returncode, output.decode()), (0, self.right), errors.decode())

    def test_reports(self):
        done = self.vmrun("--spill=disk,1GiB", *ALWAYS, "--explain", "a.scm")
        self.assertRegex(done.errors, r"\n  file         [0-9.]+ MiB at the peak measured, [0-9.]+ MiB predicted; [0-9.]+ MiB written, [0-9.]+ MiB read\n")
        done = self.vmrun("--spill=disk,1GiB", "--spill-encoding=always", *ALWAYS, "--explain", "a.scm")
        self.assertRegex(done.errors, r"\n  file         [0-9.]+ MiB at .*; [0-9.]+ MiB written as [0-9.]+ MiB, [0-9.]+ MiB read\n")
        self.vmrun("--spill=disk,1GiB", *ALWAYS, "--explain=e.json", "a.scm")
        g = json.loads(self.read("e.json"))["gradients"][0]
        self.assertGreater(g["in_file"]["predicted"], 1 << 20)
        self.assertLessEqual(g["in_file"]["measured"], g["in_file"]["predicted"])
        self.assertLessEqual(g["peak"]["measured"], 5 << 20)
        self.assertGreaterEqual(g["spilled_bytes"], g["in_file"]["measured"])
        self.assertEqual(g["stored_bytes"], g["spilled_bytes"])
        self.vmrun(*ALWAYS, "--explain=e.json", "a.scm")
        g = json.loads(self.read("e.json"))["gradients"][0]
        self.assertEqual((g["in_file"], g["spilled_bytes"]), ({"predicted": 0, "measured": 0}, 0))

    def test_folders_that_cannot_be_used(self):
        self.write("file", "x")
        for spill, words in (("none", "No such file or directory"), ("file", "Not a directory"), ("disk,many", "a size like 20GiB"),
                             (",1GiB", "expected a folder"), ("disk,0", "a size like 20GiB")):
            with self.subTest(spill=spill):
                done = self.vmrun(f"--spill={spill}", "a.scm", code=2)
                self.assertIn("--spill: ", done.errors)
                self.assertIn(words, done.errors)
                self.assertEqual(done.output, "")
        if os.geteuid() != 0:
            os.chmod(self.path("disk"), 0o500)
            self.assertIn("Permission denied", self.vmrun("--spill=disk", "a.scm", code=2).errors)


if __name__ == "__main__":
    options = driver.parse(__doc__)
    ToolTest.bin = options.bin
    unittest.main(argv=["spill.py", *options.tests])
