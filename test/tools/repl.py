#!/usr/bin/env python3
"""The read-eval-print loop: on a pseudo-terminal as a person uses it, and fed by a pipe."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unittest

import driver
from driver import ToolTest

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\([A-Z0-9]|[\r\a]")
CONTROL_C, CONTROL_D, CONTROL_P, TAB = b"\x03", b"\x04", b"\x10", b"\t"


class Terminal:
    """vmrun on a terminal of its own."""

    def __init__(self, test, *arguments, history=""):
        self.test = test
        self.seen = ""
        environment = {"TERM": "xterm", "HOME": test.folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "CAIRN_HISTORY": history,
                       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                       # libedit keeps copies of its own lines to the end.
                       "LSAN_OPTIONS": f"print_suppressions=0:suppressions={test.path('suppressions')}"}
        test.write("suppressions", "leak:wcsdup\n")
        if history is None:
            del environment["CAIRN_HISTORY"]
        vmrun = os.path.join(ToolTest.bin, "vmrun")
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            # Where there is no such program this process ends, and does not go on as a second run of the tests.
            try:
                os.chdir(test.folder)
                os.execve(vmrun, [vmrun, *arguments], environment)
            finally:
                os._exit(127)
        self.status = None
        self.expect(r"Ctrl-D ends\.\n")
        self.expect("> $")

    def send(self, keys):
        os.write(self.descriptor, keys if isinstance(keys, bytes) else keys.encode())

    def expect(self, pattern, seconds=90):  # sanitizers on a busy machine are slow
        """Reads until the pattern comes; returns what came before it and the pattern."""
        end = time.monotonic() + seconds
        while True:
            clean = ESCAPES.sub("", self.seen)
            found = re.search(pattern, clean)
            if found:
                self.seen = clean[found.end():]
                return clean[:found.end()]
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.descriptor], [], [], left)[0]:
                self.test.fail(f"waited for {pattern!r}, got {clean!r}")
            try:
                self.seen += os.read(self.descriptor, 65536).decode(errors="replace")
            except OSError:
                self.test.fail(f"ended before {pattern!r}, got {clean!r}")

    def enter(self, line, answer=None):
        """Types a line and waits for the answer, if there is one, and the next prompt."""
        self.send(line + "\n")
        self.expect(re.escape(line) + r"\n")
        if answer is not None:
            self.expect(re.sub(r"^\^", r"(?:^|\\n)", answer))
        return self.expect(r"(^|\n)[>.] $")

    def resize(self, columns):
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def end(self, keys=CONTROL_D):
        self.send(keys)
        while select.select([self.descriptor], [], [], 10)[0]:
            try:
                if not os.read(self.descriptor, 65536):
                    break
            except OSError:
                break
        end = time.monotonic() + 60
        while time.monotonic() < end:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            time.sleep(0.01)
        self.test.fail("does not end")

    def close(self):
        if self.status is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.descriptor)


class OnATerminal(ToolTest):
    def start(self, *arguments, **options):
        terminal = Terminal(self, *arguments, **options)
        self.addCleanup(terminal.close)
        return terminal

    def test_definitions_stay_and_values_are_shown(self):
        t = self.start()
        self.assertNotRegex(t.enter("(define (square x) (* x x))"), r"\(\)|#f")
        t.enter("(square 7)", r"^49\n")
        t.enter("(define (square x) (* x x x))")
        t.enter("(square 2)", r"^8\n")
        t.enter('(list "a" #\\b 1.5)', r'^\("a" #\\b 1\.5\)\n')
        self.assertNotIn("unspecified", t.enter('(display "shown")', r"^shown\n"))
        self.assertEqual(t.end(), 0)

    def test_the_last_value_has_a_name(self):
        t = self.start()
        t.enter("_", r"^#f\n")
        t.enter("(+ 1 2)", r"^3\n")
        t.enter("(list _ _)", r"^\(3 3\)\n")
        t.enter('(display "no value")', r"^no value\n")
        t.enter("(define unused 5)")
        t.enter("(car 4)", r"error: car: expected a pair")
        t.enter("(cdr _)", r"^\(3\)\n")
        t.enter("(lambda (x) (* x x))", r"^#<procedure>\n")
        t.enter("(_ 5)", r"^25\n")
        t.enter(",grad (lambda (x) (* x x x)) 2.", r"gradient: 12\.0\n")
        t.enter("(gradient (lambda (x) (* x _)) 1.)", r"^12\.0\n")
        t.enter("((lambda (_) _) 1)", r"^1\n")

    def test_tensors_are_wrapped_to_the_width_of_the_terminal(self):
        t = self.start()
        t.enter('(define s "[ #<tensor 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16")')
        t.resize(40)
        t.enter("(reshape (* 1.5 (arange 40)) '(2 20))", r"^" + re.escape("""#<tensor f32 (2 20)
[[ 0.0  1.5  3.0  4.5  6.0  7.5  9.0
  10.5 12.0 13.5 15.0 16.5 18.0 19.5
  21.0 22.5 24.0 25.5 27.0 28.5]
 [30.0 31.5 33.0 34.5 36.0 37.5 39.0
  40.5 42.0 43.5 45.0 46.5 48.0 49.5
  51.0 52.5 54.0 55.5 57.0 58.5]]>
"""))
        # Nothing else is, and nothing that fits; a tensor that begins far to the right goes on at the left.
        t.enter('(list s #\\" (arange 6))', r"16\" #\\\" #<tensor f32 \(6\) \[0\.0\n  1\.0 2\.0 3\.0 4\.0 5\.0\]>\)\n")
        t.resize(400)
        t.enter("(arange 40)", r"^#<tensor f32 \(40\) \[ 0\.0  1\.0 [\d. ]+ 39\.0\]>\n")

    def test_an_entry_goes_on_until_its_parentheses_are_closed(self):
        t = self.start()
        self.assertRegex(t.enter("(define (f x)"), r"\. $")
        self.assertRegex(t.enter("  ; a comment )"), r"\. $")
        self.assertRegex(t.enter('  (string-append x "'), r"\. $")
        self.assertRegex(t.enter('tail"))'), r"> $")
        t.enter('(f "head")', r'^"head\\ntail"\n')
        t.enter("'")
        t.enter("(1 2)", r"^\(1 2\)\n")

    def test_an_error_is_shown_with_its_place_and_the_loop_goes_on(self):
        t = self.start()
        t.enter("(define k 4)")
        t.enter("(+ k", None)
        t.enter(" (car k))", r"<input 2>:2:2: error: car: expected a pair, got 4\n \(car k\)\)\n \^~+\n")
        t.enter("(+ k unknown)", r"<input 3>:1:6: error: unbound name 'unknown'")
        t.enter("(+ k 1)", r"^5\n")

    def test_control_c_ends_a_computation_and_leaves_the_definitions(self):
        t = self.start()
        t.enter("(define (forever i) (forever (+ i 1)))")
        t.enter("(define k 4)")
        for _ in range(3):
            t.send("(forever 0)\n")
            t.expect(r"\(forever 0\)\n")
            time.sleep(0.3)
            t.send(CONTROL_C)
            t.expect(r"interrupted after \d+ steps; ,continue goes on\n")
            t.expect("> $")
            t.enter("(+ k 1)", r"^5\n")
        t.enter(",continue", "nothing was interrupted")

    def test_what_was_interrupted_can_be_continued(self):
        t = self.start()
        t.enter("(define (count i n) (if (= i n) i (count (+ i 1) n)))")
        t.send("(count 0 100000000)\n")
        t.expect(r"\(count 0 100000000\)\n")
        for keys in ("", ",continue\n"):
            t.send(keys)
            time.sleep(0.2)
            t.send(CONTROL_C)
            t.expect(r"interrupted after \d+ steps")
            t.expect("> $")
        t.enter("(count", None)  # what does not compile, or is never entered, gives nothing up
        t.send(CONTROL_C)
        t.expect(r"\^C\n> $")
        t.enter("(car", None)
        t.enter("1 2)", "error: 'car' takes 1 argument, got 2")
        t.enter(",continue", r"^100000000\n")
        t.enter(",continue", "nothing was interrupted")

    def test_control_c_at_the_prompt_drops_the_entry(self):
        t = self.start()
        t.enter("(define k 4)")
        t.enter("(car (list")
        t.send("k nonsense")
        t.expect("nonsense")
        t.send(CONTROL_C)
        t.expect(r"\^C\n> $")
        t.enter("k", r"^4\n")
        self.assertEqual(t.end(), 0)

    def test_tab_completes_names_and_lists_what_they_may_be(self):
        t = self.start()
        t.enter("(define (remarkable x) (* 2 x))")
        t.send("(remark\t")
        t.expect("remarkable")
        t.send(" 21)\n")
        t.expect(r"\n42\n> $")
        t.send("(vector-\t")
        listed = t.expect(r"vector-update  .*\n> \(vector-$")
        self.assertIn("vector-map  ", listed)
        t.send(CONTROL_C)
        t.expect(r"\^C\n> $")
        t.send(",he\t\n")
        t.expect(r",help\n")
        t.expect(r"instructions of a procedure")

    def test_history_is_kept_from_one_loop_to_the_next(self):
        t = self.start(history=None)
        t.enter("(define (f x) (+ x 1))")
        t.enter("(f 1)", r"^2\n")
        t.send(CONTROL_P + b"\n")
        t.expect(r"\n2\n> $")
        self.assertEqual(t.end(), 0)
        self.assertTrue(os.path.exists(self.path(".cairn_history")))
        t = self.start(history=None)
        t.send(CONTROL_P + CONTROL_P + b"\n")
        t.expect(r"\(define \(f x\) \(\+ x 1\)\)\n")
        t.expect("> $")
        t.enter("(f 2)", r"^3\n")
        self.assertEqual(t.end(b",quit\n"), 0)
        t = self.start(history=self.path("elsewhere"))
        t.enter("'kept", r"^kept\n")
        t.end()
        self.assertIn(b"kept", self.read("elsewhere"))

    def test_a_program_may_read_what_is_typed(self):
        t = self.start()
        t.send("(* 2 (read-real))\n")
        t.expect(r"\(read-real\)\)\n")
        t.send("21\n")  # who types early is not echoed
        t.expect(r"42\n> $")

    def test_text_may_be_in_any_script(self):
        t = self.start()
        t.enter("(define größe 3)")
        t.enter('(list größe "→")', r'^\(3 "→"\)\n')


class Piped(ToolTest):
    def test_values_are_shown_and_nothing_else(self):
        done = self.vmrun(input='(define (square x)\n  (* x x))\n(square 5)\n(display "x")\n\n; nothing\n(list "a" (square 2)) (if #f #f)\n"last"')
        self.assertEqual(done.output, '25\nx\n#f\n"last"\n')
        self.assertEqual(done.errors, "")

    def test_nothing_at_all(self):
        for text in ("", "\n", "; comment", "#| comment |#"):
            done = self.vmrun(input=text)
            self.assertEqual((done.output, done.errors), ("", ""))

    def test_errors_go_to_standard_error_and_the_loop_goes_on_to_exit_code_0(self):
        done = self.vmrun(input="(define a 1)\n(car a)\n(no-such a)\n(+ a 1)\n)\n(+ a 2)\n(open")
        self.assertEqual(done.output, "2\n3\n")
        for message in ("<input 2>:1:1: error: car", "<input 3>:1:2: error: unbound name", "<input 5>:1:1: error: this ')' closes nothing",
                        "<input 7>:1:1: error: this '(' is never closed"):
            self.assertIn(message, done.errors)

    def test_every_command(self):
        done = self.vmrun(input=",help\n(define (square x) (* x x))\n,steps (square 5)\n,time (square 5)\n,grad square 3\n"
                                ",grad (lambda (x y) x)\n,dis square\n,dis (square 2)\n,dis nowhere\n,continue\n,time\n,nonsense 3\n,quit\n(square 9)\n")
        self.assertIn(",continue        go on", done.output)
        self.assertRegex(done.output, r"\n25\n\d+ steps\n25\n\d+ steps, \d+\.\d+ s\nvalue:    9\ngradient: 6\.0\n")
        self.assertRegex(done.output, r"function #\d+:square: parameters 1.*\n.*\n *0  mul")
        self.assertRegex(done.output, r"function #\d+: parameters 0.*\n.*\n *0  global +r\d, square")
        self.assertNotIn("81", done.output)
        for message in ("unbound name 'nowhere'", "nothing was interrupted", ",time: of what?", "there is no command ,nonsense; ,help lists them"):
            self.assertIn(message, done.errors)

    def test_a_procedure_with_rules_is_listed_with_them(self):
        both = ("(define-derivative (cube x) (value (* x x x)) (forward (y dx) (* 3 x x dx)) (reverse (y c) (list (* 3 x x c))))\n", 4,
                ["the forward rule of cube", "the reverse rule of cube"])
        one = ("(define-derivative (cube x) (value (* x x x)) (reverse (y c) (list (* 3 x x c))))\n", 4, ["the reverse rule of cube"])
        plain = ("(define (cube x) (* x x x))\n(define (cube x) (* 2 x))\n", 1, [])
        for text, count, rules in (both, one, plain):
            listing = self.vmrun(input=(text + ",dis cube\n").encode()).output
            self.assertEqual(listing.count("function #"), count, listing)
            for rule in rules:
                self.assertIn(":" + rule + ": parameters", listing)

    def test_names_are_explained(self):
        done = self.vmrun(input=",doc fold-left\n,doc checkpoint-*j-update!\n,apropos histogram\n,apropos SOFTM\n,doc caddr\n")
        self.assertIn("(fold-left f seed l ...): (f (f (f seed a) b) c) of the list (a b c), and of several lists until the\nshortest ends\n  (fold-left - 10 '(1 2))\n  ; 7\n", done.output)
        self.assertIn("checkpoint-*j-update!: the three values that the names without !", done.output)
        self.assertIn("plot-histogram path labels numbers [bins]): how many numbers", done.output)
        found = [line.split()[0] for line in done.output.split("how many numbers")[1].splitlines()[1:]]
        self.assertEqual(found[:3], ["softmax:", "log-softmax:", "fused-scale-mask-softmax:"])  # names first, then what else speaks of it
        self.assertIn("(categorical", found)
        self.assertIn("parts of parts", done.output)
        self.assertTrue(all(len(line) <= 110 for line in done.output.splitlines()))
        done = self.vmrun(input=",doc relu\n,doc conv2d\n,apropos conv2d\nexit\nquit\nhelp\n(define (help x) x)\nhelp\n,apropos fold-left\n")
        self.assertIn("ReLU: of tensor: x where it is positive", done.output)
        self.assertEqual(done.errors, "the reference has no conv2d; write (convolve t weights strides padding); ,apropos looks for a part of a name, or a word\n"
                                      "the reference has nothing about conv2d; write (convolve t weights strides padding)\n"
                                      ",quit or Ctrl-D leaves the loop\n,quit or Ctrl-D leaves the loop\n,help lists the commands of the loop\n")
        self.assertIn("#<procedure>", done.output)
        self.assertIn("of several lists until ...\n", done.output)
        self.assertRegex(self.vmrun(input=",apropos checkpoint-*j-update\n").output, r"checkpoint-\*j-update.* \.\.\.\n")
        done = self.vmrun(input=",doc fold\n,apropos qqqq\n,doc\n,apropos\n,load\n")
        for message in ("the reference has no fold; write (fold-left f seed l), where f takes what is so far first, or (fold-right f seed l); ,apropos looks for a part of a name, or a word", "the reference has nothing about qqqq", ",doc: of what?", ",apropos: of what?",
                        ",load: of what?"):
            self.assertIn(message, done.errors)

    def test_every_name_has_an_entry(self):
        names = re.findall(r"^= (.*)$", self.reference(), re.MULTILINE)
        self.assertGreater(len(names), 250)
        one = [group.split()[-1] for group in names]
        done = self.vmrun(input="".join(f",doc {name}\n" for name in one))
        self.assertEqual(done.errors, "")
        self.assertEqual(done.output.count("  ; "), sum(text.startswith("  ; ") for text in self.reference().splitlines()))

    def reference(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "reference", "reference.txt")) as file:
            return file.read()

    def test_files_are_loaded(self):
        self.write("part.scm", "(define (twice x) (* 2 x))\n(write (twice 4))")
        os.mkdir(self.path("a b"))
        self.write("a b/more.scm", "(define more 5)")
        done = self.vmrun(input=",load part.scm\n(twice 21)\n,load \"a b/more.scm\"\nmore\n,load none.scm\n,load ../x.scm\n'alive\n")
        self.assertEqual([line for line in done.output.splitlines() if line], ["8", "42", "5", "alive"])
        self.assertIn("none.scm", done.errors)
        self.assertIn("../x.scm", done.errors)

    def test_a_program_reads_the_lines_after_it(self):
        done = self.vmrun(input="(+ (read-real)\n   (read-real))\n40\n2\n'next\n(read-real)")
        self.assertEqual(done.output, "42\nnext\n")
        self.assertIn("end of input", done.errors)

    def test_options_that_make_sense_are_obeyed_and_others_refused(self):
        done = self.vmrun("--memory=16MiB", input="(define (deep n) (+ 1 (deep n)))\n(deep 0)\n'alive\n")
        self.assertEqual(done.output, "alive\n")
        self.assertIn("16", done.errors)
        self.assertEqual(self.vmrun("--seed=5", input="(random-integer 1000000)").output,
                         self.vmrun("--seed", "5", input="(random-integer 1000000)").output)
        self.assertIn("binomial", self.vmrun("--explain", "--checkpoint=binomial", input="(checkpoint-*j (lambda (x) (* x x)) 3 1)").errors)
        self.write("part.scm", "(define part 7)")
        os.mkdir(self.path("lib"))
        os.rename(self.path("part.scm"), self.path("lib/part.scm"))
        self.assertEqual(self.vmrun("--library=lib", input="(import part)\npart\n").output, "7\n")
        for option in ("--steps=5", "--work=5", "--save=x", "--save-every=5", "--output=x", "--output-limit=1MiB", "--stats", "--profile", "--trace", "--progress", "--metrics=x.csv", "--events=x", "--report=x.html", "--verify-only"):
            self.assertIn("error", self.vmrun(option, code=2).errors)
        self.vmrun("--checkpoint=nonsense", code=2)

    def test_a_closed_pipe_ends_the_loop(self):
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                self.assertIn("cannot be written", self.vmrun(input="(write 1)\n(write 2)\n", code=2, stdout=full).errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["repl.py", *arguments.tests])
