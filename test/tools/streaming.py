"""Programs whose tensors stream to a device that is too small for them: the same output, and what --stats says of the copies."""
import json
import os
import re
import resource
import signal
import subprocess
import time
import unittest

import driver
from driver import ToolTest

NET = """(define (net w x) (if (null? w) (mean (* x x)) (net (cdr w) (tanh (matmul x (car w))))))
(define x (randn '(32 128)))
(define (show t) (write (tensor->number (sum t))) (newline))
(define (train n w)
  (if (= n 0)
      w
      (let ((r (OPERATOR (lambda (w) (net w x)) w 1.0)))
        (show (car r))
        (train (- n 1) (map (lambda (a g) (- a (* 0.1 g))) w (cdr r))))))
(for-each show (train 5 (map (lambda (i) (* 0.09 (randn '(128 128)))) (iota 16))))
"""
UPDATES = """(define (net w x) (if (null? w) (mean (* x x)) (net (cdr w) (dropout (tanh (matmul x (car w))) 0.1))))
(define x (randn '(32 128)))
(define (show t) (write (tensor->number (sum t))) (newline))
(define (momentum p g v) (let ((v (+ (* 0.9 v) g))) (cons (- p (* 0.1 v)) v)))
(define (train n w v)
  (if (= n 0)
      w
      (let ((r (checkpoint-*j-update! (lambda (w) (net w x)) w 1.0 momentum v)))
        (show (car r))
        (train (- n 1) (cadr r) (caddr r)))))
(for-each show (train 4 (map (lambda (i) (* 0.09 (randn '(128 128)))) (iota 16)) (map (lambda (i) (zeros '(128 128))) (iota 16))))
"""
# Operators of one pass, as they are on the processor: of attention and of Adam.
TRANSFORMER = """(define blocks (map (lambda (i) (new-transformer 32)) (iota 16)))
(define x (randn '(2 16 32)))
(define (loss p) (let loop ((p p) (y x)) (if (null? p) (mean (* y y)) (loop (cdr p) (transformer 4 (car p) y #t)))))
(define (train n p s)
  (if (> n 0)
      (let (((list value p s) (checkpoint-*j-update loss p 1 (adam .01) s)))
        (write (tensor->number value))
        (newline)
        (train (- n 1) p s))))
(train 4 blocks 0)
"""
# What is on the disk is changed from outside before it is wanted again.
WAITS = """(define all (map (lambda (i) (fill '(20000) (* 1. i))) (iota 40)))
(for-each sumall all)
(read-real)
(write (map (lambda (t) (tensor->number (mean t))) all))
"""
# An update inside of a gradient by checkpoints, whose cotangents are summed by the run and by no instruction of the program.
NESTED_UPDATE = """(define x0 (* .5 (randn '(4 48))))
(define (init) (list (transpose (* .2 (randn '(48 48)))) (* .1 (randn '(48 48)))))
(define (loss v) (mean (square (sin (matmul x0 v)))))
(define (f w) (mean (square (matmul x0 (cadr (*j-update loss (list-ref w 1) 1. (sgd .1) 0))))))
(write (tensor->number (car (checkpoint-*j f (init) 1.))))
"""
# Plans as values: of one call that is interrupted all the time, of one that is held and resumed twice, and of none of these.
PLANS = """(define x (randn '(64 64)))
(define w (map (lambda (i) (* 0.06 (randn '(64 64)))) (iota 8)))
(define (net w x) (if (null? w) (mean (* x x)) (net (cdr w) (tanh (matmul x (car w))))))
(define (step w)
  (let ((r (OPERATOR (lambda (w) (net w x)) w 1.0))) (map (lambda (a g) (- a (* 0.1 g))) w (cdr r))))
(define (record w) (get-streaming-plan step w))
(define (whole z) (if (capsule-finished? z) (resume z) (whole (interrupt resume z 37))))
(define (show-plan p) (write (car p)) (write (tensor->number (sum (* (cast (cadr p) 'f64) (to-device (arange 0 (length (tensor->list (cadr p)))) 'cpu))))) (newline))
(define plan (record w))
(for-each show-plan (list plan (whole (interrupt record w 11))))
(define z (interrupt record w 60))
(for-each show-plan (list (resume z) (resume z)))
(define (train n w) (if (= n 0) w (train (- n 1) (call-with-streaming-plan plan step w))))
(for-each (lambda (t) (write (tensor->number (sum t))) (newline)) (train 3 w))
"""
# Results on the way take four times what weights do: a tape of all of them has no room where a gradient that keeps less has.
DEEP = NET.replace("'(32 128)", "'(256 64)").replace("(train 5 ", "(train 3 ").replace("0.09 (randn '(128 128))", "0.15 (randn '(64 64))").replace("(iota 16)", "(iota 40)")
# Weights of which a host that is small, beside a disk, holds no more than one or two at a time.
WIDE = NET.replace("'(32 128)", "'(64 256)").replace("(train 5 ", "(train 4 ").replace("0.09 (randn '(128 128))", "0.06 (randn '(256 256))").replace("(iota 16)", "(iota 20)").replace("OPERATOR", "*j")
DEEP_ENOUGH = ("memory=1700KiB", "memory=400KiB,host=1300KiB", "memory=400KiB,host=500KiB,disk=disk,disk-size=1500KiB")
MIB = 1 << 20


class Streaming(ToolTest):
    """--device=emulated,memory=SIZE,host=SIZE,disk=FOLDER"""

    def setUp(self):
        super().setUp()
        self.write("net.scm", NET.replace("OPERATOR", "*j"))
        self.write("checkpointed.scm", NET.replace("OPERATOR", "checkpoint-*j"))
        self.write("updates.scm", UPDATES)
        self.write("transformer.scm", TRANSFORMER)
        os.mkdir(self.path("disk"))

    def streamed(self, program, settings, *options, **more):
        done = self.vmrun("--device=emulated," + settings, "--stats=s", *options, program, **more)
        return done.output, json.loads(self.read("s"))["device"]

    def test_the_same_bits_within_any_memory(self):
        for program in ("net.scm", "checkpointed.scm", "updates.scm", "transformer.scm"):
            right = self.vmrun(program).output
            for settings, memory in (("host=1GiB", None), ("memory=2MiB,host=1GiB", 2 * MIB), ("memory=300KiB,host=1GiB", 300 << 10),
                                     ("memory=300KiB,host=1MiB,disk=disk", 300 << 10), ("memory=300KiB,host=1GiB,bandwidth=1TiB", 300 << 10)):
                with self.subTest(program=program, settings=settings):
                    output, device = self.streamed(program, settings)
                    self.assertEqual(output, right)
                    self.assertEqual(device["misses"] > 0, memory is not None)
                    if memory is not None:
                        self.assertLessEqual(device["memory_peak_bytes"], memory)
                    if "disk" in settings:
                        self.assertLessEqual(device["host_peak_bytes"], MIB)
                        self.assertGreater(device["bytes_from_disk"], MIB)
        self.assertEqual(os.listdir(self.path("disk")), [], "the file has no name")

    def test_a_call_that_is_made_again_is_followed_and_waits_less(self):
        _, device = self.streamed("net.scm", "memory=1MiB,host=1GiB")
        self.assertGreater(device["prefetches"], 50)
        self.assertGreater(device["followed"], 5 * device["strayed"])
        again = self.streamed("net.scm", "memory=1MiB,host=1GiB")[1]
        self.assertEqual(device, again, "nothing of it hangs on a clock")
        faster = self.streamed("net.scm", "memory=1MiB,host=1GiB,bandwidth=1TiB")[1]
        self.assertLess(faster["modelled_s"], device["modelled_s"])
        self.assertEqual(faster["execute_s"], device["execute_s"])

    def test_a_call_for_which_all_has_room_is_not_followed(self):
        for program in ("net.scm", "updates.scm"):
            right = self.vmrun(program).output
            output, roomy = self.streamed(program, "memory=1GiB,host=1GiB")
            self.assertEqual(output, right)
            self.assertEqual(roomy["evictions"] + roomy["divergences"] + roomy["strayed"], 0)
            # In the first call that comes again there may be leaves that are not there yet.
            _, tight = self.streamed(program, "memory=1MiB,host=1GiB")
            self.assertLess(4 * roomy["followed"], tight["followed"])
            self.assertLessEqual(roomy["modelled_s"], tight["modelled_s"])

    def test_rules_of_updates_lie_beside_the_sweep(self):
        # What a rule needs comes late: weights and momenta leave the device before their turn.
        program, settings = "updates.scm", "memory=400KiB,host=1GiB,bandwidth=32GiB"
        output, device = self.streamed(program, settings)
        self.assertGreater(device["update_s"], 0.1 * device["execute_s"])
        self.assertLess(device["update_s"], 0.9 * device["execute_s"])
        self.assertAlmostEqual(device["modelled_s"], device["execute_s"] + device["stalled_s"], delta=0.05 * device["modelled_s"], msg="kernels share one device")
        # The same with rules behind the sweep, which are like any other procedure.
        behind = UPDATES.replace("(checkpoint-*j-update! (lambda (w) (net w x)) w 1.0 momentum v)", """(let ((r (checkpoint-*j (lambda (w) (net w x)) w 1.0)))
          (let ((all (map momentum w (cdr r) v))) (list (car r) (map car all) (map cdr all))))""")
        self.write("behind.scm", behind)
        self.assertEqual(self.streamed("behind.scm", settings)[0], output)
        self.assertEqual(self.streamed("behind.scm", settings)[1]["update_s"], 0)
        self.assertEqual(self.streamed("net.scm", settings)[1]["update_s"], 0)

    def test_policies_are_about_copies_and_times_alone(self):
        for program in ("net.scm", "updates.scm"):
            right = self.vmrun(program).output
            times = {}
            for policy in ("planned", "demand", "waiting", "unified-prefetched", "unified"):
                for settings in ("memory=1MiB,host=1GiB", "memory=1MiB,host=1MiB,disk=disk", "host=1GiB"):
                    with self.subTest(program=program, policy=policy, settings=settings):
                        output, device = self.streamed(program, f"{settings},policy={policy}")
                        self.assertEqual(output, right)
                        self.assertEqual(device["followed"] > 0, policy == "planned" and "memory" in settings)
                        self.assertEqual(device["faults"] > 0, policy == "unified")
                        if "disk" in settings:
                            self.assertEqual((output, device), self.streamed(program, f"{settings},policy={policy}"))
                        times.setdefault(settings, []).append(device["modelled_s"])
            self.assertEqual(times["memory=1MiB,host=1GiB"], sorted(times["memory=1MiB,host=1GiB"]), program)
        self.assertEqual(self.streamed("net.scm", "memory=1MiB,host=1GiB,policy=planned"), self.streamed("net.scm", "memory=1MiB,host=1GiB"))

    def test_plans_as_values_under_every_policy(self):
        self.write("recorded.scm", "(define f (ones '(10 100))) (define plan (get-streaming-plan sumall f)) (write (tensor->number (call-with-streaming-plan plan sumall f)))")
        for policy in ("planned", "demand", "waiting", "unified", "unified-prefetched"):
            self.assertEqual(self.streamed("recorded.scm", f"memory=1MiB,host=1GiB,policy={policy}")[0], "1000.0", policy)

    def test_a_plan_makes_no_difference_where_nothing_streams(self):
        self.write("record.scm", "(define w (ones '(10 100))) (define (f w) (sum (* w w))) (write-npy \"plan.npy\" (cadr (get-streaming-plan f w)))")
        self.vmrun("--device=emulated,memory=1MiB,host=1GiB", "--write=.", "record.scm")
        self.write("follow.scm", "(define w (ones '(10 100))) (define (f w) (sum (* w w))) (write (tensor->number (call-with-streaming-plan (read-npy \"plan.npy\") f w)))")
        for options in ((), ("--device=emulated",), ("--device=emulated,memory=1MiB",), ("--device=emulated,memory=1MiB,host=1GiB",)):
            self.assertEqual(self.vmrun(*options, "--read=.", "follow.scm").output, "1000.0", options)

    def test_what_a_device_that_there_is_not_wants(self):
        self.write("device.scm", "(to-device (ones '(2)) 'streaming)")
        done = self.vmrun("device.scm", code=1)
        self.assertIn("there is no device `streaming` in this run; it has cpu; --device=emulated,memory=SIZE,host=SIZE gives one to which tensors stream", done.errors)

    def test_pages_that_have_no_room(self):
        self.write("small.scm", "(define w (randn '(128 128))) (define x (randn '(32 128))) (write (tensor->number (sum (matmul x w))))")
        self.streamed("small.scm", "memory=140KiB,host=1GiB,policy=demand")
        done = self.vmrun("--device=emulated,memory=140KiB,host=1GiB,policy=unified", "small.scm", code=3)
        self.assertRegex(done.errors, r"streaming: what one operation uses, in pages of 65536 bytes, has no room in the 143360 bytes of emulated")

    def test_saved_in_the_middle_and_resumed(self):
        for program in ("net.scm", "updates.scm"):
            right = self.vmrun(program).output
            steps = json.loads(self.vmrun("--stats", program).errors.splitlines()[-1])["steps"]
            for settings in ("memory=500KiB,host=1GiB", "memory=500KiB,host=1MiB,disk=disk"):
                for part in (1, 2, 3):
                    with self.subTest(program=program, settings=settings, part=part):
                        first = self.vmrun("--device=emulated," + settings, f"--steps={steps * part // 4}", "--save=z", program, code=75)
                        then = self.vmrun("--device=emulated," + settings, "--resume=z")
                        self.assertEqual(first.output + then.output, right)

    def test_the_disk_works_beside_all_else_and_by_virtual_time_alone(self):
        settings = "memory=500KiB,host=700KiB,disk=disk,disk-bandwidth="
        output, device = self.streamed("net.scm", settings + "8GB")
        self.assertEqual((output, device), self.streamed("net.scm", settings + "8GB"))
        self.assertGreater(device["read_ahead"], 20)
        self.assertLess(device["modelled_s"], 0.9 * (max(device["execute_s"], device["copy_in_s"], device["copy_out_s"]) + device["disk_s"]))
        slow = self.streamed("net.scm", settings + "1GB")[1]
        self.assertGreater(slow["modelled_s"], slow["disk_s"])
        self.assertLess(slow["modelled_s"], 1.15 * slow["disk_s"], "nothing else holds it up")

    def test_what_works_on_demand_works_along_a_plan_and_cures_beside_a_disk_are_enough(self):
        self.write("wide.scm", WIDE)
        right = self.vmrun("wide.scm").output
        works = {}
        for host in (200, 300, 492, 556, 812, 1516):
            for policy in ("demand", "planned"):
                with self.subTest(host=host, policy=policy):
                    settings = f"memory=3MiB,host={{}}KiB,disk=disk,policy={policy}"
                    done = self.vmrun("--device=emulated," + settings.format(host), "--stats=s", "wide.scm", code=None)
                    steps = json.loads(self.read("s"))["steps"]
                    works[policy] = done.returncode == 0
                    if works[policy]:
                        self.assertEqual(done.output, right)
                    else:
                        self.assertNotIn("disk=FOLDER", done.errors, "there is one")
                        self.assertIn("all of them would not be enough" if host == 200 else "what is there is needed now", done.errors)
                        enough = re.search(r"for this operation: host=(\d+)KiB at least\n", done.errors)
                        self.assertTrue(enough, done.errors)
                        self.assertGreater(self.refused("wide.scm", settings.format(enough[1]))[0], steps)
            self.assertEqual(works["planned"], works["demand"], host)
            self.assertEqual(works["planned"], host >= 512, host)

    def test_cures_beside_a_disk_that_is_full_are_enough(self):
        self.write("crowded.scm", NET.replace("OPERATOR", "*j").replace("'(32 128)", "'(96 128)").replace("(train 5 ", "(train 2 ").replace("(iota 16)", "(iota 12)"))
        for memory, host, disk, policy in ((586, 684, 188, "planned"), (477, 828, 207, "demand"), (334, 186, 392, "planned")):
            settings = f"memory={memory}KiB,host={{}}KiB,disk=disk,disk-size={disk}KiB,policy={policy}"
            with self.subTest(settings=settings, host=host):
                steps, errors = self.refused("crowded.scm", settings.format(host))
                self.assertIn(f"the {disk << 10} bytes that may be used in disk are full", errors)
                enough = re.search(r"for this operation: host=(\d+)KiB at least", errors)
                self.assertTrue(enough, errors)
                self.assertGreater(self.refused("crowded.scm", settings.format(enough[1]))[0], steps)

    def test_a_host_without_a_disk_that_holds_less_than_it_would(self):
        right = self.vmrun("updates.scm").output
        output, device = self.streamed("updates.scm", "memory=500KiB,host=2MiB")
        self.assertEqual(output, right)
        self.assertGreater(device["host_copies_dropped"], 0)

    def test_memory_that_may_not_be_locked_is_told_once_and_changes_nothing(self):
        right = self.vmrun("net.scm").output
        settings = "--device=emulated,memory=1MiB,host=1GiB,pinned="
        less = "{} bytes of the host's memory for what streams are locked (pinned=), and no more: `ulimit -l` allows {} bytes; copies from and to the rest go through buffers, which are not all locked either\n"
        buffers = "buffers for what is not locked (pinned=) are not all locked either: `ulimit -l` allows {} bytes\n"
        allowed = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        # What is locked in all: the host's memory, in pages of the system, and two buffers of 1 MiB where that is not all.
        for limit, pinned, locked, staged, told in (
                (0, "on", 0, True, less.format(0, 0)), (0, "1MiB", 0, True, less.format(0, 0)), (0, "off", 0, False, None),
                (MIB, "on", MIB, True, less.format(MIB, MIB)), (MIB, "1MiB", MIB, True, buffers.format(MIB)), (MIB, "64KiB", MIB, True, buffers.format(MIB)),
                (None, "on", None, False, None), (None, "1MiB", 3 * MIB, True, None), (None, "1KiB", 2 * MIB + resource.getpagesize(), True, None)):
            with self.subTest(limit=limit, pinned=pinned):
                if 0 <= allowed < (4 * MIB if limit is None else limit):
                    continue
                limited = {} if limit is None else {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))}
                done = self.vmrun(settings + pinned, "--stats=s", "net.scm", **limited)
                device = json.loads(self.read("s"))["device"]
                self.assertEqual(done.output, right)
                self.assertEqual(device["staged_bytes"] > 0, staged)
                if locked is None:
                    self.assertGreaterEqual(device["pinned_bytes"], device["host_peak_bytes"])
                else:
                    self.assertEqual(device["pinned_bytes"], locked)
                self.assertEqual(done.errors.count("warning"), told is not None)
                self.assertIn("" if told is None else "vmrun: warning: --device: " + told, done.errors)

    def test_a_disk_that_is_full_ends_a_run_whose_saved_states_go_on_elsewhere(self):
        right = self.vmrun("net.scm").output
        steps = json.loads(self.vmrun("--stats", "net.scm").errors.splitlines()[-1])["steps"]
        enough = "--device=emulated,memory=300KiB,host=700KiB,disk=disk"
        first = self.vmrun(enough, f"--steps={steps // 2}", "--save=z", "net.scm", code=75)
        for few, code, why in (("host=700KiB,disk=disk,disk-size=1MiB", 3, "the 1048576 bytes that may be used in disk are full"),
                               ("host=700KiB,disk=disk,disk-size=100KiB", 3, "the 102400 bytes that may be used in disk are full"),
                               ("host=300KiB", 3, "there is no disk to move them to (disk=FOLDER)")):
            done = self.vmrun("--device=emulated,memory=300KiB," + few, "--resume=z", code=code)
            self.assertRegex(done.errors, r"^(net.scm:\d+:\d+|z): error: streaming: the host's memory for what streams \(host=SIZE\) has no room for 65536 bytes: ")
            self.assertIn(why, done.errors)
        self.assertEqual(first.output + self.vmrun(enough, "--resume=z").output, right)

    def test_a_state_that_a_lost_device_keeps_from_being_saved_is_named(self):
        # Nobody has asked for elements before the state is saved.
        self.write("waits.scm", "(define all (map (lambda (i) (+ 1. (fill '(2000) (* 1. i)))) (iota 9)))\n(write-npy \"ready.npy\" (fill '(1) 1. 'f32 'cpu))\n(read-real)\n"
                                "(let loop ((i 0)) (if (< i 1000000) (loop (+ i 1))))\n(for-each sumall all)\n")
        process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--device=emulated,memory=4MiB,host=4MiB,lost-after=12", "--write=.", "--save=z", "waits.scm"],
                                   cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path("ready.npy")) and time.monotonic() < deadline:
            time.sleep(.01)
        process.send_signal(signal.SIGTERM)  # seen behind the input
        output, errors = process.communicate("1\n", timeout=60)
        self.assertEqual((process.returncode, output), (2, ""))
        self.assertEqual(errors.splitlines(keepends=True)[-1], "z: error: cannot be written: emulated: the device was lost after 12 operations\n")
        self.assertFalse(os.path.exists(self.path("z")))

    def test_a_file_that_was_changed_is_an_error_and_never_a_number(self):
        self.write("waits.scm", WAITS)
        for change, why in ((lambda file: os.truncate(file, 0), "put aside in disk "), (self.overwrite, "put aside in disk came back changed")):
            process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--device=emulated,memory=400KiB,host=800KiB,disk=disk", "waits.scm"], cwd=self.folder,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            file = self.file_of(process)
            change(file)
            self.addCleanup(process.kill)
            output, errors = process.communicate("1\n", timeout=60)
            self.assertEqual((process.returncode, output), (1, ""))
            self.assertRegex(errors, r"waits.scm:\d+:\d+: error: elements of tensors that were " + why)

    def test_a_device_that_is_lost_ends_a_run_with_an_error_and_saved_states_are_good(self):
        right = self.vmrun("net.scm").output
        streams = "--device=emulated,memory=300KiB,host=700KiB,disk=disk"
        steps = json.loads(self.vmrun("--stats", "net.scm").errors.splitlines()[-1])["steps"]
        lengths = []
        for operations in (1, 40, 400, 800, 1200):
            with self.subTest(operations=operations):
                done = self.vmrun(f"{streams},lost-after={operations}", f"--save-every={steps // 9}", "--save=z", "net.scm", code=1)
                self.assertRegex(done.errors, rf"^net.scm:\d+:\d+: error: emulated: the device was lost after {operations} operations\n")
                self.assertTrue(right.startswith(done.output))
                lengths.append(len(done.output))
                if not os.path.exists(self.path("z")):
                    continue
                resumed = self.vmrun(streams, "--resume=z").output
                self.assertTrue(right.endswith(resumed))
                self.assertGreaterEqual(len(done.output) + len(resumed), len(right))
                os.remove(self.path("z"))
        self.assertEqual(lengths, sorted(lengths))
        self.assertGreater(lengths[-1], 0)

    def test_a_state_that_a_changed_file_keeps_from_being_saved_is_named(self):
        self.write("waits.scm", WAITS)
        process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--device=emulated,memory=400KiB,host=800KiB,disk=disk", "--save=z", "waits.scm"],
                                   cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.overwrite(self.file_of(process))
        process.send_signal(signal.SIGTERM)  # seen behind the input
        output, errors = process.communicate("1\n", timeout=60)
        self.assertEqual((process.returncode, output), (2, ""))
        self.assertEqual(errors.splitlines(keepends=True)[-1],
                         "z: error: cannot be written: elements of tensors that were put aside in disk came back changed\n")
        self.assertFalse(os.path.exists(self.path("z")))

    def test_memory_that_is_refused_in_a_nested_update_is_an_error_with_its_place(self):
        self.write("nested.scm", NESTED_UPDATE)
        right, refused = self.vmrun("nested.scm").output, 0
        for host in (20000, *range(24000, 36000, 500), 60000):
            done = self.vmrun(f"--device=emulated,memory=24608,host={host}", "nested.scm", code=None)
            with self.subTest(host=host):
                if done.returncode == 0:
                    self.assertEqual(done.output, right)
                    continue
                refused += 1
                self.assertEqual(done.returncode, 3)
                self.assertRegex(done.errors, r"^nested.scm:\d+:\d+: error: ")
        self.assertGreater(refused, 3)

    def file_of(self, process):
        """On the disk, once the process has filled it and waits for input."""
        seen, since = None, time.monotonic()
        deadline = since + 60
        while time.monotonic() < deadline:
            names = [f"/proc/{process.pid}/fd/{name}" for name in os.listdir(f"/proc/{process.pid}/fd")]
            files = [name for name in names if os.path.lexists(name) and os.readlink(name).startswith(os.path.realpath(self.path("disk")) + "/")]
            with open(f"/proc/{process.pid}/stat") as file:
                now = (files, file.read().rsplit(")", 1)[1].split()[11:13])
            if now != seen:
                seen, since = now, time.monotonic()
            elif files and time.monotonic() > since + .5:
                return files[0]
            time.sleep(.05)
        self.fail("it does not come to wait for input")

    @staticmethod
    def overwrite(file):
        with open(file, "r+b") as opened:
            opened.write(b"x" * MIB)

    def test_plans_are_values_that_say_the_same_however_they_came_about(self):
        for operator in ("*j", "checkpoint-*j"):
            self.write("plans.scm", PLANS.replace("OPERATOR", operator))
            settings = "memory=200KiB,host=1GiB,bandwidth=1GiB"
            output, device = self.streamed("plans.scm", settings)
            with self.subTest(operator=operator):
                lines = output.splitlines()
                self.assertEqual(len(set(lines[:4])), 1)
                self.assertIn("8 leaves of 128.0 KiB", lines[0])
                self.assertGreater(device["followed"], 100)
                self.assertEqual(device["strayed"], 0)
                # Numbers do not depend on where elements are, nor plans on how much memory there is.
                self.assertEqual(output, self.streamed("plans.scm", "memory=400KiB,host=1GiB,bandwidth=1GiB")[0])
                self.assertEqual(lines[4:], self.vmrun("plans.scm").output.splitlines()[4:])
                steps = json.loads(self.vmrun("--stats", "--device=emulated," + settings, "plans.scm").errors.splitlines()[-1])["steps"]
                for part in range(1, 24, 4):
                    first = self.vmrun("--device=emulated," + settings, f"--steps={steps * part // 24}", "--save=z", "plans.scm", code=75)
                    self.assertEqual(first.output + self.vmrun("--device=emulated," + settings, "--resume=z").output, output, part)

    def test_a_plan_that_is_followed_waits_less(self):
        recorded = PLANS.replace("OPERATOR", "*j").replace("(iota 8)", "(iota 24)").split("(define plan")[0]
        self.write("with.scm", recorded + "(define plan (record w))\n(define (train n w) (if (= n 0) w (train (- n 1) (call-with-streaming-plan plan step w))))\n(train 9 w)\n")
        self.write("without.scm", recorded + "(record w)\n(define (train n w) (if (= n 0) w (train (- n 1) (step w))))\n(train 9 w)\n")
        settings = "memory=700KiB,host=1GiB,bandwidth=4GiB"
        stalled = {policy: self.streamed(program, settings + ",policy=" + policy)[1]["stalled_s"]
                   for program, policy in (("with.scm", "planned"), ("without.scm", "demand"))}
        self.assertLess(2 * stalled["planned"], stalled["demand"])

    def test_a_plan_from_a_file_and_plans_that_are_refused(self):
        start = PLANS.replace("OPERATOR", "*j").split("(define plan")[0]
        settings = "--device=emulated,memory=200KiB,host=1GiB"
        self.write("first.scm", start + '(write-npy "plan.npy" (cadr (record w)))')
        self.vmrun(settings, "first.scm")
        self.write("second.scm", start + """(define plan (to-device (read-npy "plan.npy") 'cpu))
(for-each (lambda (t) (write (tensor->number (sum t))) (newline)) (call-with-streaming-plan plan step w))
(define (why f) (write (call-with-error-handler (lambda (message irritants) message) f)) (newline))
(why (lambda () (call-with-streaming-plan plan (lambda (w) (map sin w)) w)))
(why (lambda () (call-with-streaming-plan plan step (cdr w))))
(why (lambda () (call-with-streaming-plan (slice plan 0 0 100) step w)))
(why (lambda () (call-with-streaming-plan (+ plan plan) step w)))
(why (lambda () (call-with-streaming-plan "plan.npy" step w)))
(why (lambda () (*j (lambda (x) (record w) x) 1.0 1.0)))
""")
        lines = self.vmrun(settings, "second.scm").output.splitlines()
        self.assertEqual(lines[:8], self.vmrun("second.scm").output.splitlines()[:8])
        for line, why in zip(lines[8:], ("recorded of another procedure", "the plan uses leaf 7; what was given has 7", "damaged: its checksum does not fit",
                                         "these bytes are no streaming plan", "expected a plan that get-streaming-plan gave", "record it outside of the gradient"), strict=True):
            self.assertIn(why, line)

    def deep(self):
        self.write("whole.scm", DEEP.replace("OPERATOR", "*j"))
        self.write("deep.scm", DEEP.replace("OPERATOR", "checkpoint-*j"))
        return self.vmrun("whole.scm").output

    def test_a_gradient_goes_on_with_less_where_nothing_has_room(self):
        right = self.deep()
        for settings in DEEP_ENOUGH:
            with self.subTest(settings=settings):
                self.assertIn("the tape of *j does not fit: checkpoint-*j takes", self.vmrun("--device=emulated," + settings, "whole.scm", code=3).errors)
                output, device = self.streamed("deep.scm", settings)
                self.assertEqual(output, right)
                self.assertEqual(device["relieved"], 1, "those that come again know what there is")
                self.assertEqual((output, device), self.streamed("deep.scm", settings), "nothing of it hangs on a clock")
                self.assertIn("and it began again with less to keep", self.vmrun("--explain", "--device=emulated," + settings, "deep.scm").errors)
        for settings in ("memory=5MiB", "memory=400KiB,host=1GiB"):
            self.assertEqual(self.streamed("deep.scm", settings)[1]["relieved"], 0)

    def test_saved_before_and_after_it_began_again(self):
        right = self.deep()
        for settings in DEEP_ENOUGH:
            device = "--device=emulated," + settings
            steps = json.loads(self.vmrun("--stats", device, "deep.scm").errors.splitlines()[-1])["steps"]
            relieved = set()
            for part in (1, 12, 28):
                with self.subTest(settings=settings, part=part):
                    first = self.vmrun(device, "--stats=s", f"--steps={steps * part // 30}", "--save=z", "deep.scm", code=75)
                    relieved.add(json.loads(self.read("s"))["device"]["relieved"])
                    self.assertEqual(first.output + self.vmrun(device, "--resume=z").output, right)
                    self.assertEqual(first.output + self.vmrun("--device=emulated", "--resume=z").output, right)
            self.assertEqual(relieved, {0, 1}, settings)

    def test_the_end_of_the_ladder_says_what_each_memory_holds_and_what_would_have_been_enough(self):
        self.deep()
        told = r"\n  of --device, what would have been enough for this operation: (.*)\n(?:  what is enough for the whole run is `least_memory_bytes` in --stats of one without memory=\n)?(?:  of the host's memory `host_peak_bytes` in --stats of one with host=1TiB is enough for the whole run\n)?  tensors on (emulated|streaming): \d+ bytes; the largest holders:\n    \d+ bytes in \d+ tensors made by "
        device = r"\n  the device's memory \(memory=\): \d+ of %d bytes in use"
        host = r"\n  the host's memory for what streams \(host=\): \d+ of %d bytes in use"
        disk = r"\n  the disk \(disk-size=\): \d+ of %d bytes in use"
        for settings, ledger, cure in (
                ("memory=1000KiB", device % 1024000, r"memory=(\d+)KiB at least; or host=SIZE, so that tensors stream"),
                ("memory=100KiB,host=1GiB", device % 102400 + host % (1 << 30), r"memory=(\d+)KiB at least"),
                ("memory=100KiB,host=1GiB,policy=unified", device % 102400 + host % (1 << 30), r"memory=(\d+)KiB at least"),
                ("memory=400KiB,host=400KiB", device % 409600 + host % 409600, r"host=(\d+)KiB at least; or disk=FOLDER"),
                ("memory=400KiB,host=400KiB,disk=disk,disk-size=64KiB", device % 409600 + host % 409600 + disk % 65536, r"host=\d+KiB at least; or disk-size=(\d+)KiB at least")):
            with self.subTest(settings=settings):
                steps, errors = self.refused("whole.scm", settings)
                self.assertRegex(errors, r"^whole.scm:\d+:\d+: error: [^\n]*" + ledger + told)
                self.assertNotIn("--memory", errors + self.refused("deep.scm", settings)[1])
                enough = re.search("operation: " + cure + "\n", errors)
                self.assertTrue(enough, errors)
                # It comes further with that, and not with a KiB less.
                setting = re.findall(r"([a-z-]+)=\(", cure)[-1]
                changed = lambda size: re.sub(rf"\b{setting}=\w+", f"{setting}={size}KiB", settings)
                self.assertEqual(self.refused("whole.scm", changed(int(enough[1]) - 1))[0], steps)
                self.assertGreater(self.refused("whole.scm", changed(int(enough[1])))[0], steps)

    def refused(self, program, settings):
        """How far it comes, and what it says then, if it does not come to its end."""
        done = self.vmrun("--device=emulated," + settings, "--stats=s", program, code=None)
        self.assertIn(done.returncode, (0, 3))
        return json.loads(self.read("s"))["steps"], done.errors

    def test_weights_that_stream_beside_activations_on_the_device(self):
        self.write("mixed.scm", NET.replace("OPERATOR", "*j").replace("(iota 16)", "(iota 16)").replace(
            "(map (lambda (i) (* 0.09 (randn '(128 128))))", "(map (lambda (i) (to-device (* 0.09 (randn '(128 128))) 'streaming))")
            + "(define w (to-device (randn '(2)) 'streaming))\n(define here (randn '(2)))\n"
              "(write (map tensor-residence (list w here (+ w here) (+ w w) (cdr (*j (lambda (w) (sum (* w here))) w 1.0)))))")
        output, device = self.streamed("mixed.scm", "memory=1MiB")
        self.assertEqual(output.splitlines()[-1], "(streaming emulated emulated streaming streaming)")
        self.assertEqual(output.splitlines()[:-1], self.vmrun("net.scm").output.splitlines())
        self.assertLessEqual(device["memory_peak_bytes"], MIB)
        self.assertGreater(device["evictions"], 0)

    def test_what_cannot_be_said_why(self):
        for settings, why in (("host=", "expected host=SIZE, a size like 256MiB, got `host=`"), ("host=lots", "expected host=SIZE"),
                              ("pinned=lots", "expected pinned=on, pinned=off or pinned=SIZE, a size like 256MiB, got `pinned=lots`"), ("disk=", "expected disk=FOLDER, got `disk=`"), ("disk=no-such-folder", "disk=no-such-folder: "),
                              ("disk-size=1GiB", "disk-size=SIZE is of the folder that disk=FOLDER names, and there is none"),
                              ("policy=lru", "expected policy=NAME, one of planned, demand, waiting, unified, unified-prefetched, got `policy=lru`"),
                              ("policy", "expected policy=NAME, one of planned, "), ("policy=", "expected policy=NAME, one of planned, "),
                              ("memory=3MiB,host=1GiB,memory=2MiB", "memory= is given twice, as `memory=3MiB` and as `memory=2MiB`; leave one of them out"),
                              ("policy=demand,policy=demand", "policy= is given twice, "), ("disk=.,disk=.", "disk= is given twice, "),
                              ("speed=1", "`speed=1` is none of its settings: memory=SIZE, bandwidth=SIZE, ")):
            with self.subTest(settings=settings):
                self.assertIn(why, self.vmrun("--device=emulated," + settings, "net.scm", code=2).errors)

    def test_one_run_tells_the_least_memory_of_the_device(self):
        for settings in ("host=1GiB", "host=1GiB,policy=demand", "host=1GiB,policy=unified"):
            _, device = self.streamed("net.scm", settings)
            least = device["least_memory_bytes"]
            self.assertLess(least, device["memory_peak_bytes"])
            _, within = self.streamed("net.scm", f"memory={least},{settings}")
            self.assertEqual(within["least_memory_bytes"], least)
            self.assertIn("no room", self.vmrun(f"--device=emulated,memory={least - 1},{settings}", "net.scm", code=3).errors)
        # What does not stream is there all the time.
        self.write("own.scm", "(define a (to-device (randn '(100 100)) 'emulated)) (write (tensor->number (sum (* a (randn '(100 100))))))")
        least = self.streamed("own.scm", "host=1GiB")[1]["least_memory_bytes"]
        self.streamed("own.scm", f"memory={least},host=1GiB")
        self.vmrun(f"--device=emulated,memory={least - 1},host=1GiB", "own.scm", code=3)

    def test_explanations_and_plans_say_what_each_memory_holds(self):
        self.write("checkpointed.scm", NET.replace("OPERATOR", "checkpoint-*j"))
        os.makedirs(self.path("disk"), exist_ok=True)
        for settings, names in (("memory=300KiB,host=1GiB", ["device", "host"]), ("memory=300KiB,host=600KiB,disk=disk", ["device", "host", "disk"])):
            budgets = {"device": 300 << 10, "host": 1 << 30 if "1GiB" in settings else 600 << 10}
            self.vmrun("--device=emulated," + settings, "--explain=e.json", "checkpointed.scm")
            for gradient in json.loads(self.read("e.json"))["gradients"]:
                memories = gradient["memories"]
                self.assertEqual([memory["name"] for memory in memories], names)
                for memory in memories:
                    self.assertEqual(memory["budget"], budgets.get(memory["name"], memory["budget"]))
                    self.assertLessEqual(memory["held"], memory["peak"]["measured"])
                    self.assertLessEqual(memory["peak"]["measured"], memory["budget"])
                    if memory["peak"]["predicted"] is not None:
                        self.assertLessEqual(memory["peak"]["measured"], memory["peak"]["predicted"])
                self.assertLessEqual(gradient["device_at_once"], budgets["device"])
                # Nearly all of the device is used where not all fits.
                self.assertGreater(memories[0]["peak"]["measured"], budgets["device"] * 3 // 4)
            told = self.vmrun("--device=emulated," + settings, "--explain", "checkpointed.scm").errors
            self.assertRegex(told, r"\n  device       [^\n]* at the peak measured, at most 300 KiB predicted; [^\n]* held now; the budget \(memory=\) is 300 KiB\n  host ")
            self.assertRegex(told, r"\n    [\d.]+ KiB had to be there at once: memory=\d+KiB would have been enough, and less would not\n")
            plan = self.vmrun("--device=emulated," + settings, "--plan", "checkpointed.scm").output
            for name in names:
                self.assertRegex(plan, rf"\n  {name} +[^\n]* at the peak measured, at most [^\n]* predicted; [^\n]* held now; the budget ")
        self.assertEqual(json.loads(self.explained_without_a_device())["gradients"][0]["memories"], [])

    def explained_without_a_device(self):
        self.vmrun("--explain=e.json", "checkpointed.scm")
        return self.read("e.json")

    def test_a_recording_has_what_calls_within_it_do(self):
        start = PLANS.replace("OPERATOR", "*j").split("(define plan")[0]
        self.write("within.scm", start + '''(define plan (record w))
(define (along w) (call-with-streaming-plan plan step w))
(define (inner w) (record w) (step w))
(define (twice w) (step w) (step w))
(define plans (map (lambda (f) (get-streaming-plan f w)) (list step along inner twice)))
(for-each (lambda (p) (write (car p)) (newline)) plans)
(define (deep n w) (if (= n 0) (step w) (cadr (get-streaming-plan (lambda (w) (deep (- n 1) w)) w))))
(call-with-error-handler (lambda (why where) (write why)) (lambda () (deep 15 w) (write "deep") (deep 20 w)))
''')
        for policy in ("planned", "demand"):
            settings = f"memory=400KiB,host=1GiB,policy={policy}"
            output, device = self.streamed("within.scm", settings)
            plain, along, inner, twice, rest = output.splitlines()[-5:]
            self.assertRegex(plain, r'^"\d+ launches of ')
            self.assertEqual(along, plain)
            self.assertEqual(inner, twice)
            self.assertTrue(rest.startswith('"deep"') and "too many recordings and calls along plans lie within each other" in rest, rest)
            # Nothing else comes of it where it is interrupted.
            steps = json.loads(self.vmrun("--stats", "--device=emulated," + settings, "within.scm").errors.splitlines()[-1])["steps"]
            for part in range(1, 12):
                first = self.vmrun("--device=emulated," + settings, f"--steps={steps * part // 12}", "--save=z", "within.scm", code=75)
                self.assertEqual(first.output + self.vmrun("--device=emulated," + settings, "--resume=z").output, output)

    def test_a_rule_leaves_a_leaf_where_it_is(self):
        program = ("(define here (to-device (ones '(3 3)) 'emulated))\n"
                   "(define (go x) (checkpoint-*j-update! sumall x 1 (lambda (p g s) (cons (RULE) s)) '()))\n"
                   "(write (tensor-residence (cadr (go (to-device (randn '(3 3)) 'streaming)))))")
        self.write("stays.scm", program.replace("RULE", "- p (* 0.5 g)"))
        self.assertEqual(self.streamed("stays.scm", "memory=1MiB,host=1GiB")[0], "streaming")
        self.write("leaves.scm", program.replace("RULE", "+ p here"))
        errors = self.vmrun("--device=emulated,memory=1MiB,host=1GiB", "leaves.scm", code=1).errors
        self.assertRegex(errors, r"leaves.scm:2:16: error: checkpoint-\*j-update!: expected #<tensor f32 \(3 3\).* on streaming, where the leaf is, from the rule, got one on emulated; \(to-device t 'streaming\) moves ")

    def test_what_has_no_room_anywhere_ends_with_what_each_memory_holds(self):
        done = self.vmrun("--device=emulated,memory=100KiB,host=1GiB", "net.scm", code=3)
        self.assertIn("streaming: emulated has no room for 65536 bytes: ", done.errors)
        self.assertRegex(done.errors, r"tensors on streaming: \d+ bytes; the largest holders:\n")


if __name__ == "__main__":
    options = driver.parse(__doc__)
    ToolTest.bin = options.bin
    unittest.main(argv=["streaming.py", *options.tests])
