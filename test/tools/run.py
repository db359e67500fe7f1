#!/usr/bin/env python3
"""vmrun, vmc and vmdis from end to end: exit codes, bad files, saving and resuming, output, counters."""
import json
import os
import random
import shutil
import subprocess
import unittest

import driver
from driver import ToolTest

COUNT = """(define (count i n)
  (if (= i n) i (begin (write i) (newline) (count (+ i 1) n))))
(write (count 0 200))
"""
COUNTED = "".join(f"{i}\n" for i in range(200)) + "200"
ENDLESS = "(define (loop i) (loop (+ i 1)))\n(loop 0)\n"
DEEP = "(define (deep n) (+ 1 (deep (+ n 1))))\n(deep 0)\n"
KEYS = {"steps", "gradient_steps", "gradient_steps_executed", "replay_factor", "wall_s", "heap_peak_bytes", "tape_peak_bytes",
        "tape_peak_records", "capsules_peak", "capsule_peak_bytes", "capsules_taken", "tensor_peak_bytes", "scratch_peak_bytes", "rss_peak_bytes",
        "schedule"}


class CommandLine(ToolTest):
    def test_a_program_prints_what_it_writes_and_nothing_else(self):
        self.write("a.scm", '(display "x") 42')
        done = self.vmrun("a.scm")
        self.assertEqual(done.output, "x")
        self.assertEqual(done.errors, "")

    def test_help_and_version_exit_with_0(self):
        for tool in ("vmrun", "vmc", "vmdis"):
            self.assertIn(tool, self.tool(tool, "--help", code=0).output)
            self.assertRegex(self.tool(tool, "--version", code=0).output, r"^\w+ \(Cairn\) \d+\.\d+\.\d+\n$")

    def test_wrong_calls_exit_with_2_and_say_why(self):
        self.write("a.scm", "1")
        for arguments in (["--no-such-option", "a.scm"], ["--steps", "x", "a.scm"], ["--steps=-1", "a.scm"], ["--steps=", "a.scm"],
                          ["--memory=lots", "a.scm"], ["--memory=0", "a.scm"], ["--memory", "a.scm"], ["--checkpoint=nonsense", "a.scm"],
                          ["--checkpoint=binomial,base=1", "a.scm"], ["--save-every=10", "a.scm"],
                          ["--save-every=soon", "--save=x", "a.scm"], ["--seed=q", "a.scm"], ["--device=cuda", "a.scm"],
                          ["--device=emulated,memory=none", "a.scm"], ["--device=emulated,colour=1", "a.scm"], ["--device=cuda:-1", "a.scm"],
                          ["--device=abacus", "a.scm"], ["--library=nowhere", "a.scm"],
                          ["--resume=x", "a.scm"], ["--resume=missing.capsule"], ["--resume=/dev/zero"], ["--resume=x", "--seed=1"], ["missing.scm"], ["a.txt"],
                          ["--stats=no/such/folder", "a.scm"], ["--output=no/such/folder", "a.scm"], ["."]):
            with self.subTest(arguments=arguments):
                done = self.vmrun(*arguments, code=2)
                self.assertIn("error", done.errors)
                self.assertEqual(done.output, "")
        self.assertFalse(os.path.exists(self.path("x")))
        for tool, arguments in (("vmc", []), ("vmc", ["a.scm", "-O", "9"]), ("vmc", ["a.scm", "--emit=c"]), ("vmc", ["missing.scm"]),
                                ("vmc", ["a.scm", "-o", "no/such/folder"]), ("vmc", ["a.scm", "-o", "a.scm"]), ("vmdis", []),
                                ("vmdis", ["missing.bc"]), ("vmdis", ["a.scm"])):
            with self.subTest(tool=tool, arguments=arguments):
                self.assertIn("error", self.tool(tool, *arguments, code=2).errors)

    def test_a_file_is_written_for_one_purpose_and_the_program_is_not_written_over(self):
        self.write("a.scm", "(write 1)")
        os.symlink("a.scm", self.path("link"))
        os.symlink("x", self.path("to-nothing"))
        for arguments in (["--stats=x", "--output=x"], ["--stats=./x", "--output=x"], ["--profile=x", "--stats=x"], ["--save=x", "--output=x"], ["--output=to-nothing", "--stats=x"],
                          ["--stats=a.scm"], ["--output=link"], ["--save", "a.scm"]):
            with self.subTest(arguments=arguments):
                self.assertIn("is already the file of", self.vmrun(*arguments, "a.scm", code=2).errors)
        self.assertFalse(os.path.exists(self.path("x")))
        with open(self.path("a.scm")) as file:
            self.assertEqual(file.read(), "(write 1)")
        self.vmrun("--stats=/dev/null", "--profile=/dev/null", "a.scm")
        self.assertIn("is empty", self.vmrun("", code=2).errors)

    def test_modules_are_not_looked_for_in_the_current_folder(self):
        os.mkdir(self.path("bin"))
        shutil.copy(os.path.join(self.bin, "vmrun"), self.path("bin"))  # away from the modules of the build
        self.write("a.scm", "1")
        self.write("libcairn_cuda.so", "no library")
        done = subprocess.run(["vmrun", "--device=cuda", "a.scm"], cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, PATH=self.path("bin")))
        self.assertEqual(done.returncode, 2)
        self.assertNotIn(self.path("libcairn_cuda.so"), done.stderr)

    def test_values_may_follow_a_blank_or_an_equals_sign(self):
        self.write("a.scm", ENDLESS)
        self.vmrun("--steps=100", "a.scm", code=75)
        self.vmrun("--steps", "100", "a.scm", code=75)
        self.vmrun("--memory", "64MiB", "--checkpoint", "binomial,snapshots=3", "--seed", "5", "--device", "cpu", "--steps", "1", "a.scm",
                   code=75)

    def test_sizes(self):
        self.write("a.scm", "1")
        for size in ("100000000", "64MiB", "64M", "64MB", "1.5GiB", "70000KiB", "1TiB", "64mib"):
            self.vmrun(f"--memory={size}", "a.scm")

    def test_what_follows_the_file_belongs_to_the_program(self):
        self.write("a.scm", "(write (command-line))")
        done = self.vmrun("a.scm", "--steps=3", "-x", "a b", "--", "--stats")
        self.assertEqual(done.output, '("--steps=3" "-x" "a b" "--" "--stats")')

    def test_an_option_without_a_value_is_given_none(self):
        self.write("a.scm", "(write (command-line))")
        for option in ("--plan", "--trace", "--check-nan", "--verify-only", "--progress"):
            self.assertIn(f"error: {option} takes no value", self.vmrun(f"{option}=5", "a.scm", code=2).errors)
        self.assertEqual(self.vmrun("a.scm", "--plan=5").output, '("--plan=5")')

    def test_an_option_whose_value_may_be_left_out_does_not_eat_the_file(self):
        self.write("a.scm", "(write 1)")
        self.assertEqual(self.vmrun("--stats", "a.scm").output, "1")


class Sources(ToolTest):
    """What a program reads of its host while it is compiled, and how much that may take."""

    def test_a_program_reads_its_own_folder_and_the_libraries_alone(self):
        for folder in ("program/below", "lib", "secret"):
            os.makedirs(self.path(folder))
        self.write("secret/key.scm", "(define key 'hush)")
        self.write("program/below/own.scm", "(define own 1)")
        self.write("lib/shared.scm", "(define shared 2)")
        os.symlink("../secret/key.scm", self.path("program/link.scm"))
        os.symlink("/proc/self/environ", self.path("program/environ.scm"))
        os.mkfifo(self.path("program/pipe.scm"))
        self.write("program/good.scm", '(include "below/own.scm") (import shared) (write (+ own shared))')
        self.assertEqual(self.vmrun("--library=lib", "program/good.scm").output, "3")
        for form in ('(include "../secret/key.scm")', '(include "/etc/passwd")', '(include "/proc/self/environ")', "(import ../secret/key)",
                     '(include "below/../../secret/key.scm")', '(include "link.scm")', '(include "environ.scm")', '(import link)',
                     '(include "pipe.scm")'):
            with self.subTest(form=form):
                self.write("program/bad.scm", form + "\nkey")
                for done in (self.vmrun("--library=lib", "program/bad.scm", code=2), self.tool("vmc", "program/bad.scm", code=2)):
                    self.assertRegex(done.errors, r"^program/bad.scm:1:\d+: error: ")
                    for secret in ("hush", "root:", "PATH="):
                        self.assertNotIn(secret, done.errors)

    def test_compiling_has_a_budget(self):
        self.write("a.scm", "'" * 1000000 + "x")
        done = self.tool("vmc", "--memory=1MiB", "a.scm", code=3)
        self.assertEqual(done.errors, "a.scm: error: compiling takes more than its budget of 1048576 bytes; give it more or split the program\n")
        self.assertFalse(os.path.exists(self.path("a.bc")))
        self.assertIn("budget of 67108864 bytes", self.vmrun("--memory=1MiB", "a.scm", code=3).errors)
        self.assertIn("error", self.tool("vmc", "--memory=much", "a.scm", code=2).errors)
        for size in ("1.5", "64.0", "."):
            self.assertIn("a size like 256MiB", self.vmrun(f"--memory={size}", "a.scm", code=2).errors)

    def test_a_scope_of_many_procedures_compiles(self):
        self.write("a.scm", "(define (g) " + "".join(f"(define (f{i} x) (f{i + 1} x))" for i in range(20000)) +
                   "(define (f20000 x) x) (f0 7))\n(write (g))")
        self.assertEqual(self.vmrun("a.scm").output, "7")


class ExitCodes(ToolTest):
    def test_an_error_in_the_program_exits_with_1_and_shows_the_place(self):
        self.write("a.scm", '(display "before")\n(car 5)\n')
        done = self.vmrun("a.scm", code=1)
        self.assertEqual(done.output, "before")
        self.assertRegex(done.errors, r"^a\.scm:2:\d+: error: .*\n\(car 5\)\n *\^")

    def test_a_program_that_does_not_compile_exits_with_2_and_shows_the_place(self):
        for text in ("(car", ")", "(no-such-name 1)", "(set! x 1)", "(lambda)", '"open', "#|", b"\xff\xfe", b"(write \x01)"):
            with self.subTest(text=text):
                self.write("a.scm", text)
                self.assertRegex(self.vmrun("a.scm", code=2).errors, r"^a\.scm:\d+:\d+: error: ")
                self.tool("vmc", "a.scm", code=2)
                self.assertFalse(os.path.exists(self.path("a.bc")))

    def test_a_bad_source_leaves_the_output_file_alone(self):
        self.write("a.scm", "(car")
        self.write("out", "precious")
        self.vmrun("--output=out", "a.scm", code=2)
        self.assertEqual(self.read("out"), b"precious")

    def test_going_over_the_memory_budget_exits_with_3(self):
        self.write("a.scm", DEEP)
        done = self.vmrun("--memory=16MiB", "a.scm", code=3)
        self.assertIn("16", done.errors)
        for size in ("1", "1KiB", "4KiB", "64KiB"):
            with self.subTest(size=size):
                self.assertNotEqual(self.vmrun(f"--memory={size}", "a.scm", code=3).errors, "")

    def test_a_tape_over_the_budget_exits_with_3(self):
        self.write("a.scm", """(define (f x) (let loop ((i 0) (x x)) (if (= i 10000000) x (loop (+ i 1) (* x 1.0000001)))))
(write (cdr (*j f 1.0 1)))""")
        self.vmrun("--memory=32MiB", "a.scm", code=3)

    def test_stopped_by_steps_exits_with_75(self):
        self.write("a.scm", ENDLESS)
        self.vmrun("--steps=1000", "a.scm", code=75)
        self.vmrun("--steps=0", "a.scm", code=75)

    def test_a_closed_pipe_ends_an_endless_writer(self):
        self.write("a.scm", "(define (loop i) (write i) (newline) (loop (+ i 1)))\n(loop 0)\n")
        process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "a.scm"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(60), 2)
        self.assertRegex(errors, "standard output: error: cannot be written")

    def test_a_full_disk_is_reported(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.write("a.scm", "(write 1)")
        with open("/dev/full", "wb") as full:
            self.assertIn("cannot be written", self.vmrun("a.scm", code=2, stdout=full).errors)
            self.tool("vmc", "a.scm", "--emit=asm", code=2, stdout=full)
        self.vmrun("--output=/dev/full", "a.scm", code=2)


class Input(ToolTest):
    def test_numbers_are_read_from_standard_input(self):
        self.write("a.scm", "(write (+ (read-real) (* 10 (read-real))))")
        self.assertEqual(self.vmrun("a.scm", input=" 1\n 2.5 ").output, "26.0")

    def test_reading_past_the_end_is_an_error(self):
        self.write("a.scm", "(read-real)")
        self.assertRegex(self.vmrun("a.scm", code=1).errors, r"^a\.scm:1:\d+: error: ")
        self.assertRegex(self.vmrun("a.scm", code=1, input="pear").errors, r"^a\.scm:1:\d+: error: ")


class Compiler(ToolTest):
    def test_bytecode_runs_like_its_source(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", code=0)
        self.assertEqual(self.vmrun("a.bc").output, COUNTED)
        for level in "012":
            self.tool("vmc", "a.scm", "-o", "b.bc", "-O", level, code=0)
            self.assertEqual(self.vmrun("b.bc").output, COUNTED)

    def test_stripped_bytecode_is_smaller_and_runs(self):
        self.write("a.scm", COUNT + "(car 5)\n")
        self.tool("vmc", "a.scm", code=0)
        self.tool("vmc", "a.scm", "--strip", "-o", "s.bc", code=0)
        self.assertLess(len(self.read("s.bc")), len(self.read("a.bc")))
        done = self.vmrun("s.bc", code=1)
        self.assertEqual(done.output, COUNTED)
        self.assertIn("error: ", done.errors)

    def test_text_of_a_program_is_stable(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", code=0)
        first = self.tool("vmdis", "a.bc", code=0).output
        self.assertIn("count", first)
        self.assertEqual(first, self.tool("vmdis", "a.bc", code=0).output)
        self.assertEqual(first, self.tool("vmc", "a.scm", "--emit=asm", code=0).output)
        ir = self.tool("vmc", "a.scm", "--emit=ir", code=0).output
        self.assertIn("count", ir)
        self.tool("vmc", "a.scm", "--emit=ir", "-o", "a.ir", code=0)
        self.assertEqual(self.read("a.ir").decode(), ir)

    def test_compiling_twice_gives_the_same_bytes(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", "-o", "1.bc", code=0)
        self.tool("vmc", "a.scm", "-o", "2.bc", code=0)
        self.assertEqual(self.read("1.bc"), self.read("2.bc"))

    def test_warnings_go_to_standard_error_and_can_be_silenced(self):
        self.write("a.scm", "(define (f x)\n  (let ((y 2))\n    x))\n(write (f 1))\n")
        done = self.tool("vmc", "a.scm", code=0)
        self.assertEqual(done.errors, "a.scm:2:10: warning: 'y' is never used\n  (let ((y 2))\n         ^\n")
        self.assertEqual(done.output, "")
        for option in ("-w", "--no-warnings"):
            self.assertEqual(self.tool("vmc", option, "a.scm", code=0).errors, "")
        self.assertEqual(self.vmrun("a.scm").errors, "")
        self.write("b.scm", "(let ((y 2)) (car))")
        self.assertNotIn("warning", self.tool("vmc", "b.scm", code=2).errors)

    def test_exports_keep_what_the_program_does_not_need(self):
        self.write("a.scm", "(define (unused x) (* x x))\n(write 1)\n")
        self.assertNotIn("set_global", self.tool("vmc", "a.scm", "--emit=asm", code=0).output)
        self.assertIn("unused", self.tool("vmc", "a.scm", "--exports", "--emit=asm", code=0).output)

    def test_procedures_of_the_host_are_declared_by_name_and_parameters(self):
        self.write("a.scm", "(write (gauge (clock) 2))\n")
        text = self.tool("vmc", "a.scm", "--host=gauge/2", "--host", "clock/0", "--emit=asm", code=0).output
        self.assertRegex(text, r"host +r\d+, gauge")
        self.assertRegex(self.tool("vmc", "a.scm", "--host=gauge/3", "--host=clock/0", code=2).errors, r"a\.scm:1:8: error: .*takes 3 arguments")
        for host in ("gauge", "gauge/", "/2", "gauge/x", "gauge/70000", "gauge/-1"):
            self.assertIn("--host", self.tool("vmc", "a.scm", f"--host={host}", code=2).errors)
        self.assertIn("twice", self.tool("vmc", "a.scm", "--host=gauge/2", "--host=gauge/1", code=2).errors)

    def test_libraries_are_found_beside_the_program_and_in_folders(self):
        os.mkdir(self.path("lib"))
        self.write("lib/far.scm", "(define (far x) (* x 2))")
        self.write("near.scm", "(define (near x) (+ x 1))")
        self.write("a.scm", "(import near) (import far) (import near) (write (far (near 1)))")
        self.assertEqual(self.vmrun("--library=lib", "a.scm").output, "4")
        self.assertEqual(self.vmrun("--library", "lib", "a.scm").output, "4")
        self.vmrun("a.scm", code=2)
        self.tool("vmc", "--library=nothing-in-it", "--library=lib", "a.scm", code=2)
        os.mkdir(self.path("nothing-in-it"))
        self.tool("vmc", "--library=nothing-in-it", "--library=lib", "a.scm", code=0)
        self.assertEqual(self.vmrun("a.bc").output, "4")


class BadFiles(ToolTest):
    """Damaged bytecode and capsules: exit code 2 and a message, never a crash."""

    def check(self, name, command):
        done = self.tool(*command, timeout=20)
        self.assertIn(done.returncode, (0, 1, 2, 3, 75), name)
        return done

    def damaged(self, original, rounds):
        generator = random.Random(7)
        yield from (b"", b"x", original[:1], original[:-1], original[:len(original) // 2], original + b"x", bytes(len(original)))
        for _ in range(rounds):
            changed = bytearray(original)
            for _ in range(generator.choice((1, 1, 4))):
                changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
            yield bytes(changed)

    def test_damaged_bytecode(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", code=0)
        for damaged in self.damaged(self.read("a.bc"), 60):
            self.write("bad.bc", damaged)
            self.assertIn("bad.bc: error: ", self.vmrun("bad.bc", code=2).errors)
            self.tool("vmdis", "bad.bc", code=2)

    def test_damaged_capsules(self):
        self.write("a.scm", COUNT)
        self.vmrun("--steps=300", "--save=a.capsule", "a.scm", code=75)
        for damaged in self.damaged(self.read("a.capsule"), 60):
            self.write("bad.capsule", damaged)
            self.assertIn("bad.capsule: error: ", self.vmrun("--resume=bad.capsule", code=2).errors)

    def test_one_kind_of_file_is_not_taken_for_another(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", code=0)
        self.vmrun("--steps=300", "--save=a.capsule", "a.scm", code=75)
        self.vmrun("--resume=a.bc", code=2)
        self.vmrun("--resume=a.scm", code=2)
        self.vmrun("a.capsule", code=2)
        os.rename(self.path("a.capsule"), self.path("c.bc"))
        self.vmrun("c.bc", code=2)

    def test_verify_only_runs_nothing(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", code=0)
        for arguments in (["a.scm"], ["a.bc"]):
            done = self.vmrun("--verify-only", *arguments)
            self.assertEqual((done.output, done.errors), ("", ""))

    def test_resealing_gets_a_damaged_file_past_its_checksum_and_no_further(self):
        self.write("a.scm", COUNT)
        self.tool("vmc", "a.scm", code=0)
        self.vmrun("--steps=100", "--save=a.capsule", "a.scm", code=75)
        for name, start in (("a.bc", 72), ("a.capsule", 24)):
            whole = self.read(name)
            self.tool("vmc", "--reseal", name, code=0)
            self.assertEqual(self.read(name), whole)
            refused = 0
            for at in range(start, len(whole), max(1, len(whole) // 120)):
                damaged = bytearray(whole)
                damaged[at] ^= 0x55
                self.write("damaged" + os.path.splitext(name)[1], bytes(damaged))
                file = "damaged" + os.path.splitext(name)[1]
                run = [file] if name == "a.bc" else [f"--resume={file}"]
                self.assertIn("checksum", self.vmrun(*run, code=2).errors)
                self.tool("vmc", "--reseal", file, "-o", "sealed" + file, code=0)
                done = self.tool("vmrun", "--steps=100000", "--memory=64MiB", *([f"sealed{file}"] if name == "a.bc" else [f"--resume=sealed{file}"]))
                self.assertIn(done.returncode, (0, 1, 2, 3, 75))
                self.assertNotIn("checksum", done.errors)
                refused += done.returncode == 2
            self.assertGreater(refused, 5)
        self.write("short.bc", b"\x89CAIRN")
        for name in ("short.bc", "a.scm", "missing.bc"):
            self.assertIn("error", self.tool("vmc", "--reseal", name, code=2).errors)
        self.assertIn("--strip", self.tool("vmc", "--reseal", name, "--strip", code=2).errors)


class Saving(ToolTest):
    def total_steps(self, program="a.scm"):
        return self.stats(self.vmrun("--stats", program))["steps"]

    def test_steps_split_a_run_anywhere(self):
        self.write("a.scm", COUNT)
        total = self.total_steps()
        generator = random.Random(3)
        for n in (0, 1, 2, total - 1, *(generator.randrange(total) for _ in range(8))):
            with self.subTest(n=n):
                first = self.vmrun(f"--steps={n}", "--save=a.capsule", "--stats", "a.scm", code=75)
                self.assertEqual(self.stats(first)["steps"], n)
                second = self.vmrun("--resume=a.capsule", "--stats")
                self.assertEqual(first.output + second.output, COUNTED)
                self.assertEqual(self.stats(second)["steps"], total)

    def test_a_program_that_ends_within_the_steps_exits_with_0(self):
        self.write("a.scm", COUNT)
        total = self.total_steps()
        self.vmrun(f"--steps={total}", "--save=a.capsule", "a.scm", code=0)
        self.assertFalse(os.path.exists(self.path("a.capsule")))
        self.vmrun(f"--steps={total - 1}", "--save=a.capsule", "a.scm", code=75)
        self.vmrun("--steps=1", "--resume=a.capsule", code=0)

    def test_work_stops_a_run_as_steps_do(self):
        self.write("a.scm", "(define t (fill '(10 10) 1. 'f64)) (define (f t n) (if (= n 0) t (f (+ t 1.) (- n 1))))"
                            "(write (sumall (f t 10))) (write (make-string 9000 #\\x))")
        whole = self.vmrun("--stats", "a.scm")
        work = self.stats(whole)["work"]
        # A step that fills, ten that add, one that sums, one that reads, text.
        self.assertEqual(work, (100 + 800) + 10 * (100 + 1600) + (100 + 800 + 8) + (8 + 1) + len("1100.0") + 9000 + 9002)
        done = self.vmrun("--work=1800", "--save=a.capsule", "--stats", "a.scm", code=75)
        self.assertEqual((self.stats(done)["work"], done.output), (900, ""))
        self.assertEqual(done.errors.count("\n"), 1)
        output = ""
        for piece in range(1000):
            done = self.tool("vmrun", "--work=2000", "--save=a.capsule", "--stats", "--resume=a.capsule")
            output += done.output
            if done.returncode != 75 or "--work: " in done.errors:
                break
        # The strings are larger than the budget, and it says so.
        self.assertIn("vmrun: --work: the next step alone needs at least 9000, the budget is 2000", done.errors)
        last = self.vmrun("--work=20000", "--resume=a.capsule", "--stats")
        self.assertEqual(output + last.output, whole.output)
        self.assertEqual({**self.stats(last), "wall_s": 0, "rss_peak_bytes": 0}, {**self.stats(whole), "wall_s": 0, "rss_peak_bytes": 0})
        for wrong in ("x", "-1", ""):
            self.vmrun(f"--work={wrong}", "a.scm", code=2)
        self.vmrun(f"--work={work}", "a.scm", code=0)

    def test_many_small_pieces_make_the_whole(self):
        self.write("a.scm", COUNT)
        output = self.vmrun("--steps=100", "--save=a.capsule", "a.scm", code=75).output
        for _ in range(1000):
            done = self.tool("vmrun", "--steps=100", "--save=a.capsule", "--resume=a.capsule")
            output += done.output
            if done.returncode == 0:
                break
            self.assertEqual(done.returncode, 75, done.errors)
        self.assertEqual(output, COUNTED)

    def test_a_gradient_can_be_interrupted_anywhere(self):
        self.write("a.scm", """(define (f x) (let loop ((i 0) (x x)) (if (= i 300) x (loop (+ i 1) (* 3.2 x (- 1 x))))))
(write (checkpoint-*j f 0.3 1)) (newline) (write (*j f 0.3 1)) (newline)""")
        whole = self.vmrun("--stats", "--checkpoint=binomial,base=16,snapshots=4", "a.scm")
        first, second = whole.output.splitlines()
        self.assertEqual(first, second)
        total = self.stats(whole)["steps"]
        generator = random.Random(5)
        for _ in range(12):
            n = generator.randrange(total)
            with self.subTest(n=n):
                part = self.vmrun(f"--steps={n}", "--save=a.capsule", "--checkpoint=binomial,base=16,snapshots=4", "a.scm", code=75)
                rest = self.vmrun("--resume=a.capsule", "--stats")
                self.assertEqual(part.output + rest.output, whole.output)
                self.assertEqual(self.stats(rest)["steps"], total)

    def test_arguments_and_random_numbers_survive(self):
        self.write("a.scm", "(define (f n) (if (= n 0) '() (cons (random-real) (f (- n 1)))))\n(write (list (f 20) (command-line)))")
        whole = self.vmrun("--seed=9", "a.scm", "one", "two").output
        self.assertNotEqual(whole, self.vmrun("--seed=8", "a.scm", "one", "two").output)
        self.vmrun("--seed=9", "--steps=60", "--save=a.capsule", "a.scm", "one", "two", code=75)
        self.assertEqual(self.vmrun("--resume=a.capsule").output, whole)

    def test_save_every_leaves_a_state_to_go_on_from(self):
        self.write("a.scm", COUNT)
        self.vmrun("--save-every=500", "--save=a.capsule", "--output=out", "a.scm")
        self.assertEqual(self.read("out").decode(), COUNTED)
        # The last state is from before the end: what came after it is cut off and made again.
        self.vmrun("--resume=a.capsule", "--output=out")
        self.assertEqual(self.read("out").decode(), COUNTED)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.capsule", "a.scm", "out"])

    def test_save_every_by_the_clock(self):
        self.write("a.scm", ENDLESS)
        process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--save-every=20ms", "--save=a.capsule", "a.scm"], cwd=self.folder)
        try:
            for _ in range(600):
                if os.path.exists(self.path("a.capsule")):
                    break
                try:
                    process.wait(0.1)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            process.kill()
            process.wait()
        self.vmrun("--resume=a.capsule", "--steps=10", code=75)

    def test_a_failing_save_exits_with_2(self):
        self.write("a.scm", ENDLESS)
        self.vmrun("--steps=10", "--save=no/such/folder", "a.scm", code=2)


class Output(ToolTest):
    def test_output_goes_to_the_file_which_is_emptied_first(self):
        self.write("a.scm", "(display \"new\")")
        self.write("out", "something old and longer")
        self.assertEqual(self.vmrun("--output=out", "a.scm").output, "")
        self.assertEqual(self.read("out"), b"new")

    def test_output_comes_once_across_a_crash(self):
        self.write("a.scm", COUNT)
        self.vmrun("--steps=700", "--save=a.capsule", "--output=out", "a.scm", code=75)
        length = len(self.read("out"))
        self.assertGreater(length, 0)
        with open(self.path("out"), "ab") as file:
            file.write(b"written by a process that crashed later")
        self.vmrun("--resume=a.capsule", "--output=out")
        self.assertEqual(self.read("out").decode(), COUNTED)

    def test_a_file_that_lacks_output_is_refused(self):
        self.write("a.scm", COUNT)
        self.vmrun("--steps=700", "--save=a.capsule", "--output=out", "a.scm", code=75)
        self.write("out", "x")
        self.vmrun("--resume=a.capsule", "--output=out", code=2)
        self.assertEqual(self.read("out"), b"x")

    def test_much_output_arrives_whole(self):
        self.write("a.scm", "(define (f i) (if (= i 100000) 0 (begin (write i) (newline) (f (+ i 1)))))\n(f 0)")
        self.assertEqual(self.vmrun("a.scm").output, "".join(f"{i}\n" for i in range(100000)))

    def test_output_within_its_limit_is_whole(self):
        self.write("a.scm", '(display "12345") (display "678")')
        self.assertEqual(self.vmrun("--output-limit=8", "a.scm").output, "12345678")
        done = self.vmrun("--output-limit=7", "a.scm", code=3)
        self.assertEqual(done.output, "12345")
        self.assertIn("a.scm:1:19: error: the program may write 7 bytes and no more", done.errors)
        self.vmrun("--output-limit=x", "a.scm", code=2)


class Counters(ToolTest):
    def test_work_is_the_same_in_every_run(self):
        """On however many processors. What is written counts by its length, and of a time that is not always the same."""
        network = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "bench", "tile_programs", "networks.scm")
        processors = os.sched_getaffinity(0)
        work = set()
        for run in range(8):
            try:
                os.sched_setaffinity(0, {min(processors)} if run % 2 else processors)
                done = self.vmrun("--stats", network, "resnet-50", "whole", "64", "4")
            finally:
                os.sched_setaffinity(0, processors)
            seconds = done.output.split()[3]
            work.add(self.stats(done)["work"] - len(seconds))
        self.assertEqual(len(work), 1)

    def test_they_are_there_at_exits_0_1_3_and_75(self):
        self.write("ok.scm", "(* 6 7)")
        self.write("error.scm", "(car 5)")
        self.write("deep.scm", DEEP)
        for code, arguments in ((0, ["ok.scm"]), (1, ["error.scm"]), (3, ["--memory=16MiB", "deep.scm"]), (75, ["--steps=1", "deep.scm"])):
            with self.subTest(code=code):
                stats = self.stats(self.vmrun("--stats", *arguments, code=code))
                self.assertLessEqual(KEYS, stats.keys())
                done = self.vmrun("--stats=s.json", *arguments, code=code)
                lines = self.read("s.json").decode().splitlines()
                self.assertEqual(len(lines), 1)
                self.assertEqual(json.loads(lines[0])["steps"], stats["steps"])
                self.assertNotIn("replay_factor", done.errors)

    def test_steps_are_exact_and_the_same_every_time(self):
        self.write("a.scm", COUNT)
        steps = {self.stats(self.vmrun("--stats", "a.scm"))["steps"] for _ in range(3)}
        self.assertEqual(len(steps), 1)

    def test_a_gradient_is_counted(self):
        self.write("a.scm", """(define (f x) (let loop ((i 0) (x x)) (if (= i 1000) x (loop (+ i 1) (* x 1.0001)))))
(define t (primops f 1.0))
(checkpoint-*j f 1.0 1)
(write t)""")
        done = self.vmrun("--stats", "--checkpoint=binomial,base=16,snapshots=3", "a.scm")
        stats = self.stats(done)
        self.assertEqual(stats["gradient_steps"], int(done.output))
        self.assertGreater(stats["replay_factor"], 1)
        self.assertAlmostEqual(stats["replay_factor"], stats["gradient_steps_executed"] / stats["gradient_steps"])
        self.assertGreaterEqual(stats["capsules_taken"], 3)
        self.assertGreater(stats["tape_peak_records"], 0)
        self.assertIn("binomial", stats["schedule"])

    def test_explain_reports_each_gradient(self):
        self.write("a.scm", "(define (f x) (* x x))\n(write (cdr (checkpoint-*j f 3 1)))")
        done = self.vmrun("--explain", "--checkpoint=binomial", "a.scm")
        self.assertEqual(done.output, "6.0")
        self.assertIn("binomial", done.errors)

    def test_progress_can_be_forced_and_stays_out_of_the_output(self):
        self.write("a.scm", COUNT)
        self.assertEqual(self.vmrun("--progress", "a.scm").output, COUNTED)


class Memory(ToolTest):
    def test_differentiation_through_training_takes_memory_that_grows_with_the_logarithm(self):
        for inner in ("*j", "checkpoint-*j"):
            peaks, heaps = [], []
            for steps in (300, 3000):
                self.write("a.scm", f"""(define (loss (cons a b)) (+ (* a a) (* a b)))
(define ((train n) x)
  (let loop ((i 0) (a x) (b 0.5))
    (if (= i n) (+ a b)
        (let ((g (cdr ({inner} loss (cons a b) 1)))) (loop (+ i 1) (- a (* 0.01 (car g))) (- b (* 0.01 (cdr g))))))))
(write (real? (cdr (checkpoint-*j (train {steps}) 0.3 1))))""")
                done = self.vmrun("--stats", "--checkpoint=binomial,base=256", "a.scm")
                self.assertEqual(done.output, "#t")
                stats = self.stats(done)
                heaps.append(stats["heap_peak_bytes"])
                peaks.append(stats["heap_peak_bytes"] + stats["tape_peak_bytes"] + stats["capsule_peak_bytes"])
            with self.subTest(inner=inner):
                self.assertLess(peaks[1], 1.7 * peaks[0])  # ten times the steps
                self.assertLess(heaps[1], 2 * heaps[0])


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["run.py", *arguments.tests])
