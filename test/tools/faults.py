#!/usr/bin/env python3
"""Disks that fail: system calls of the tools fail by a filter of the kernel's (seccomp), files reach a limit, folders come and go. The exit
code says what happened, and there is the old file or the new one."""
import ctypes
import errno
import os
import platform
import resource
import struct
import subprocess
import sys
import threading
import time
import unittest

import driver
from driver import ToolTest

SYSTEM_CALLS = {"x86_64": {"fsync": 74, "renameat": 264}, "aarch64": {"fsync": 82, "renameat": 38}}.get(platform.machine())
COUNT = "(define (count i) (if (= i 100000) i (begin (write i) (newline) (count (+ i 1)))))\n(write (count 0))\n"
ENDLESS = "(define (loop i) (loop (+ i 1)))\n(loop 0)\n"


def failing(name, error):
    """For preexec_fn: every system call of that name fails with that error from here on."""
    def instruction(code, true, false, value):
        return struct.pack("HBBI", code, true, false, value)
    program = (instruction(0x20, 0, 0, 0) +                                # the number of the call
               instruction(0x15, 0, 1, SYSTEM_CALLS[name]) +               # is it that one?
               instruction(0x06, 0, 0, 0x00050000 | error) +               # yes: it fails
               instruction(0x06, 0, 0, 0x7FFF0000))                        # no: it is made
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        buffer = ctypes.create_string_buffer(program)
        head = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, head, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter of system calls")
    return install


class Output(ToolTest):
    def test_output_that_is_not_on_the_disk_is_an_error(self):
        self.write("a.scm", COUNT)
        done = self.vmrun("--output=out", "a.scm", code=2, preexec_fn=failing("fsync", errno.EIO))
        self.assertEqual(done.errors, "out: error: cannot be written: Input/output error\n")

    def test_a_state_is_not_saved_when_the_output_before_it_is_not_safe(self):
        self.write("a.scm", COUNT)
        done = self.vmrun("--output=out", "--save=a.capsule", "--save-every=1000", "a.scm", code=2,
                          preexec_fn=failing("fsync", errno.EIO))
        self.assertEqual(done.errors, "out: error: cannot be written: Input/output error\n")
        self.assertFalse(os.path.exists(self.path("a.capsule")))

    def test_what_cannot_be_synced_is_no_error(self):
        self.write("a.scm", "(display 1)")
        os.mkfifo(self.path("pipe"))
        reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.vmrun("--output=pipe", "a.scm", code=0)
        self.assertEqual(os.read(reader, 10), b"1")
        os.close(reader)
        self.vmrun("--output=/dev/null", "a.scm", code=0)

    def test_a_name_that_no_file_can_have_is_refused_before_the_program_starts(self):
        self.write("a.scm", "(write-text \"ran\" \"\")")
        os.symlink("loop", self.path("loop"))
        for name in ("loop", 300 * "e"):
            for option in ("--save=", "--metrics=", "--events=", "--output=", "--stats=", "--library=", "--spill="):
                with self.subTest(option + name):
                    done = self.vmrun(option + name, "a.scm", code=2)
                    self.assertIn("error: ", done.errors)
                    self.assertIn(name, done.errors)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_pipe_without_another_end_is_refused_before_the_program_starts(self):
        self.write("a.scm", "(write-text \"ran\" \"\")")
        os.mkfifo(self.path("pipe"))
        os.mkfifo(self.path("pipe.html"))
        for option in ("--output=pipe", "--stats=pipe", "--profile=pipe", "--save=pipe", "--report=pipe.html", "--explain=pipe.html"):
            with self.subTest(option):
                done = self.vmrun(option, "a.scm", code=2, timeout=60)
                self.assertEqual(done.errors, f"{option.split('=')[1]}: error: cannot be written: nobody reads from it; start the reader first, or name a file\n")
        self.assertIn("--costs: pipe: nobody writes into this pipe; start the writer first", self.vmrun("--costs=pipe", "a.scm", code=2, timeout=60).errors)
        self.assertIn("nobody reads from it", self.tool("vmc", "a.scm", "-o", "pipe", code=2, timeout=60).errors)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.vmrun("--save=/dev/null", "--stats=/dev/null", "--steps=3", "a.scm", code=75)

    def test_what_is_written_into_a_pipe_is_read_to_its_end(self):
        self.write("a.scm", "(define (f i) (if (= i 100) i (f (+ i 1))))(write (f 0))(display (checkpoint-*j sin 1. 1.))")
        os.mkfifo(self.path("pipe.html"))

        def through(option, *options, code=0):
            reading, read, done = os.open(self.path("pipe.html"), os.O_RDONLY | os.O_NONBLOCK), [], threading.Event()

            def follow():
                while True:
                    last = done.is_set()
                    try:
                        part = os.read(reading, 1 << 16)
                    except BlockingIOError:  # there is a writer, who has written nothing yet
                        part = b""
                    if not part and last:
                        return
                    read.append(part)
                    if not part:
                        time.sleep(.005)
            reader = threading.Thread(target=follow)
            reader.start()
            try:
                run = self.vmrun(f"{option}=pipe.html", *options, "a.scm", code=code, timeout=60)
            finally:
                done.set()
                reader.join()
                os.close(reading)
            return run, b"".join(read)
        self.assertEqual(through("--output")[1], self.vmrun("a.scm").output.encode())
        self.assertIn(b'"steps":', through("--stats")[1])
        for option in ("--report", "--explain"):
            self.assertTrue(through(option)[1].rstrip().endswith(b"</html>"), option)
        begun, state = through("--save", "--steps=60", code=75)
        self.write("state", state)
        self.assertEqual(begun.output + self.vmrun("--resume=state").output, self.vmrun("a.scm").output)

    def test_a_full_disk_ends_a_run_with_code_2(self):
        self.write("a.scm", COUNT)
        self.assertIn("No space left", self.vmrun("--output=/dev/full", "a.scm", code=2).errors)
        with open("/dev/full", "wb") as full:
            self.assertIn("No space left", self.vmrun("a.scm", code=2, stdout=full).errors)

    def test_a_limit_on_files_ends_a_run_with_code_2(self):
        self.write("a.scm", COUNT)
        done = self.vmrun("--output=out", "a.scm", code=2,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000)))
        self.assertEqual(done.errors, "out: error: cannot be written: File too large\n")

    def test_counters_that_cannot_be_written_are_an_error(self):
        self.write("a.scm", "1")
        self.assertIn("No space left", self.vmrun("--stats=/dev/full", "a.scm", code=2).errors)
        self.assertIn("No space left", self.vmrun("--profile=/dev/full", "a.scm", code=2).errors)


class States(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("a.scm", ENDLESS)
        self.vmrun("--steps=100", "--save=old", "a.scm", code=75)
        self.write("state", self.read("old"))

    def test_a_last_save_that_fails_is_an_error_and_leaves_the_old_file(self):
        for call, error in (("fsync", errno.EIO), ("renameat", errno.ENOSPC)):
            done = self.vmrun("--steps=200", "--save=state", "a.scm", code=2, preexec_fn=failing(call, error))
            self.assertEqual(done.errors, f"state: error: cannot be written, the old file stays: {os.strerror(error)}\n")
            self.assertEqual(self.read("state"), self.read("old"))
            self.assertEqual(sorted(os.listdir(self.folder)), ["a.scm", "old", "state"])

    def test_a_save_on_the_way_that_fails_warns_once_and_the_run_goes_on(self):
        self.write("b.scm", "(define (loop i) (if (= i 1000) i (loop (+ i 1))))\n(write (loop 0))\n")
        done = self.vmrun("--save=state", "--save-every=100", "b.scm", code=0, preexec_fn=failing("renameat", errno.ENOSPC))
        self.assertEqual(done.output, "1000")
        self.assertEqual(done.errors, "state: error: cannot be written, the old file stays: No space left on device\n"
                         "vmrun: warning: the run goes on and is saved when it is due again\n")
        self.assertEqual(self.read("state"), self.read("old"))

    def test_a_save_that_failed_is_made_when_it_is_due_again(self):
        os.mkdir(self.path("states"))
        with open(self.path("errors"), "wb") as errors:
            run = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--save=states/state", "--save-every=10ms", "a.scm"], cwd=self.folder,
                                   stderr=errors)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)

        def wait_for(what):
            end = time.monotonic() + 60
            while not what():
                self.assertIsNone(run.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
        state = self.path("states/state")
        for _ in range(2):
            wait_for(lambda: os.path.exists(state))
            warned = len(self.read("errors"))
            os.rename(self.path("states"), self.path("away"))
            wait_for(lambda: len(self.read("errors")) > warned)
            self.assertIn(b"states/state: error: cannot be written: No such file or directory\nvmrun: warning: ", self.read("errors")[warned:])
            os.remove(self.path("away/state"))
            os.rename(self.path("away"), self.path("states"))
        wait_for(lambda: os.path.exists(state))
        run.kill()
        run.wait()
        self.vmrun("--resume=states/state", "--steps=10", code=75)

    def test_a_limit_on_files_leaves_the_old_state(self):
        done = self.vmrun("--steps=200", "--save=state", "a.scm", code=2,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)))
        self.assertEqual(done.errors, "state: error: cannot be written, the old file stays: File too large\n")
        self.assertEqual(self.read("state"), self.read("old"))


class Written(ToolTest):
    """What programs write: on a full disk, or one that fails, the old file stays and nothing else is left."""
    WRITES = ('(write-text "x" (make-string 100000 #\\a))', '(write-npy "x" (ones \'(50000)))', '(write-safetensors "x" (list (cons "a" (ones \'(50000)))))',
              '(save-parameters "x" (list (ones \'(50000))))', '(write-csv "x" (ones \'(50000 2)))', '(write-json "x" (ones \'(50000)))',
              '(write-npz "x" (list (cons "a" (ones \'(50000)))))', '(write-npz "x" (list (cons "a" (rand \'(50000)))) #t)', '(write-png "x" (cast (* 255 (rand \'(300 300))) \'u8))',
              '(tiled->npy "x" (lambda (x) (* 2 x)) (ones \'(1 1 200 200)) 3)', '(tiled->tiff "x" (lambda (x) (* 2 x)) (ones \'(1 1 200 200)) 3)')

    def test_the_old_file_stays(self):
        faults = {"File too large": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)),
                  "Input/output error": failing("fsync", errno.EIO), "No space left on device": failing("renameat", errno.ENOSPC)}
        for text in self.WRITES:
            for message, fault in faults.items():
                for old in (b"old", None):
                    with self.subTest(text=text, message=message):
                        if old is None:
                            os.remove(self.path("x"))
                        else:
                            self.write("x", old)
                        self.write("a.scm", text)
                        done = self.vmrun("a.scm", code=1, preexec_fn=fault)
                        self.assertIn(f"x: cannot be written{', the old file stays' if old else ''}: {message}\n", done.errors)
                        self.assertEqual(sorted(os.listdir(self.folder)), ["a.scm", "x"] if old else ["a.scm"])
                        if old:
                            self.assertEqual(self.read("x"), old)
            self.vmrun("a.scm")
            os.remove(self.path("x"))
            self.write("x", "old")
        # The checkpoint of a training that goes on when the disk is full is the one before.
        self.write("a.scm", '(save-parameters "p" (list (ones \'(10)) 1.))(save-parameters "p" (list (ones \'(50000)) 2.))')
        self.vmrun("a.scm", code=1, preexec_fn=faults["File too large"])
        self.write("a.scm", '(write (cadr (load-parameters "p" (list (zeros \'(10)) 0.))))')
        self.assertEqual(self.vmrun("a.scm").output, "1.0")


class Modules(ToolTest):
    def test_a_module_is_written_whole_or_not_at_all(self):
        self.write("a.scm", "(display 1)")
        self.tool("vmc", "a.scm", code=0)
        old = self.read("a.bc")
        self.write("a.scm", "(display 2)")
        for call in ("fsync", "renameat"):
            done = self.tool("vmc", "a.scm", code=2, preexec_fn=failing(call, errno.EIO))
            self.assertEqual(done.errors, "a.bc: error: cannot be written, the old file stays: Input/output error\n")
            self.assertEqual(self.read("a.bc"), old)
            self.assertEqual(sorted(os.listdir(self.folder)), ["a.bc", "a.scm"])


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    if not sys.platform.startswith("linux") or SYSTEM_CALLS is None:
        sys.exit(77)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["faults.py", *arguments.tests])
