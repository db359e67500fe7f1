#!/usr/bin/env python3
"""--trace-file: a timeline of what the emulated device did, as Chrome's trace event format.

    trace_file.py --bin FOLDER
"""
import collections
import decimal
import json
import os
import unittest

import driver
from driver import ToolTest

NET = """(define (net w x)
  (if (null? w)
      (mean (* x x))
      (net (cdr w) (tanh (matmul x (car w))))))
(define x (randn '(32 128)))
(define (show t) (write (tensor->number (sum t))) (newline))
(define (train n w)
  (if (= n 0)
      w
      (let ((r (*j (lambda (w) (net w x)) w 1.0)))
        (show (car r))
        (train (- n 1) (map (lambda (a g) (- a (* 0.1 g))) w (cdr r))))))
(define w (train 5 (map (lambda (i) (* 0.09 (randn '(128 128)))) (iota 16))))
(for-each show w)
LAST
"""
KIB, MIB = 1 << 10, 1 << 20
PLANNED = "memory=1MiB,host=1GiB"


class TraceFile(ToolTest):
    """--trace-file=FILE.json"""

    def setUp(self):
        super().setUp()
        self.write("net.scm", NET.replace("LAST", ""))
        os.mkdir(self.path("disk"))

    def traced(self, settings, *options, program="net.scm", code=0):
        """What the program writes, its events and what --stats says of the device."""
        done = self.vmrun("--device=emulated," + settings, "--trace-file=t.json", "--stats=s.json", *options, program, code=code)
        return done.output, self.events(), json.loads(self.read("s.json"))["device"]

    def events(self, name="t.json"):
        events = json.loads(self.read(name), parse_float=decimal.Decimal)
        self.assertIsInstance(events, list)
        for event in events:
            self.assertIn(event["ph"], "MXCi")
            self.assertEqual(event["pid"], 1)
        return events

    def tracks(self, events):
        """By name of the track, what is on it in the order of its begin."""
        names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        tracks = collections.defaultdict(list)
        for e in events:
            if e["ph"] == "X":
                tracks[names[e["tid"]]].append(e)
        return {name: sorted(track, key=lambda e: (e["ts"], e["dur"])) for name, track in tracks.items()}

    def of_kind(self, events, kind):
        return [e for e in events if e["ph"] == kind]

    def test_one_track_a_stream_whose_events_do_not_overlap_and_last_as_long_as_the_counters_say(self):
        for settings, limits in ((PLANNED, {"device": MIB}), ("memory=300KiB,host=1MiB,disk=disk", {"device": 300 * KIB, "host": MIB}),
                                 ("memory=1MiB,host=1GiB,policy=demand", {"device": MIB}), ("memory=1MiB,host=1GiB,policy=waiting", {"device": MIB}),
                                 ("memory=1MiB,host=1GiB,policy=unified", {"device": MIB}),
                                 ("memory=1MiB,host=1GiB,policy=unified-prefetched", {"device": MIB}), ("host=1GiB", {}), ("memory=1GiB", {})):
            with self.subTest(settings=settings):
                _, events, device = self.traced(settings)
                tracks = self.tracks(events)
                self.assertLessEqual(set(tracks), {"execute", "copy in", "copy out", "disk"})
                for name, track in tracks.items():
                    for before, behind in zip(track, track[1:]):
                        self.assertLessEqual(before["ts"] + before["dur"], behind["ts"], name)
                for name, key in (("execute", "execute_s"), ("copy in", "copy_in_s"), ("copy out", "copy_out_s"), ("disk", "disk_s")):
                    self.assertAlmostEqual(float(sum(e["dur"] for e in tracks.get(name, ()))), device[key] * 1e6, delta=1e-5, msg=name)
                self.assertGreater(device["execute_s"], 0)
                ends = [e["ts"] + e["dur"] for track in tracks.values() for e in track]
                self.assertAlmostEqual(float(max(ends)), device["modelled_s"] * 1e6, delta=1e-5)
                counters = self.of_kind(events, "C")
                self.assertGreater(len(counters), 10)
                for name in ("device", "host", "disk"):
                    values = [e["args"]["bytes"] for e in counters if e["name"] == f"memory of the {name}"]
                    self.assertLessEqual(max(values, default=0), limits.get(name, 1 << 60))
                    self.assertEqual(bool(values), name == "device" or (name in settings and "memory" in settings), name)
                    peak = device.get(f"{name if name == 'host' else 'memory'}_peak_bytes")
                    if name != "disk":
                        self.assertLessEqual(max(values, default=0), peak)

    def test_what_is_said_of_kernels_and_copies(self):
        _, events, device = self.traced(PLANNED)
        tracks = self.tracks(events)
        products = [e for e in tracks["execute"] if e["name"] == "matmul"]
        self.assertGreaterEqual(len(products), 5 * 16)
        first = products[0]["args"]
        self.assertEqual(first["shapes"], "f32 (32 128), f32 (128 128) -> f32 (32 128)")
        self.assertEqual(first["flops"], 2 * 32 * 128 * 128)
        self.assertEqual(first["bytes"], 4 * (2 * 32 * 128 + 128 * 128))
        self.assertEqual(first["place"], "net at net.scm:4:26")
        reasons = collections.Counter(e["args"]["reason"] for e in tracks["copy in"])
        self.assertEqual(reasons["demand"], device["misses"])
        self.assertEqual(reasons["prefetch"], device["prefetches"])
        self.assertGreater(device["prefetches"], 0)
        moved = sum(e["args"]["bytes"] for e in tracks["copy in"] if e["args"]["reason"] in ("demand", "prefetch"))
        self.assertEqual(moved, device["bytes_in"])
        back = [e for e in tracks["copy out"] if e["args"]["reason"] in ("eviction", "write-back")]
        self.assertEqual(len(back), device["write_backs"])
        self.assertEqual(sum(e["args"]["bytes"] for e in back), device["bytes_out"])
        # Copies are told by what made the elements: an operator and its place in the program.
        operators = {e["name"] for e in tracks["execute"]}
        self.assertLessEqual({e["name"] for e in back}, operators)
        self.assertIn(("tanh", "net at net.scm:4:20"), {(e["name"], e["args"].get("place")) for e in back})
        moments = [e["name"] for e in self.of_kind(events, "i")]
        self.assertEqual(moments[0], "a call begins and is recorded")
        self.assertEqual(moments.count("a call begins along its plan"), 4)
        self.assertEqual(moments.count("the run leaves its plan"), device["divergences"])

    def test_faults_of_unified_memory(self):
        _, events, device = self.traced("memory=1MiB,host=1GiB,policy=unified")
        tracks = self.tracks(events)
        paged = [e for e in tracks["copy in"] if e["args"]["reason"] == "faults"]
        self.assertEqual(sum(e["args"]["bytes"] for e in paged), device["bytes_in"])
        self.assertEqual(sum(e["args"]["bytes"] for e in tracks["copy out"] if e["args"]["reason"] == "pages make room for it"), device["bytes_out"])
        self.assertEqual(device["bytes_in"] % (64 * KIB), 0)
        self.assertGreaterEqual(device["faults"], device["bytes_in"] // (64 * KIB))
        self.assertEqual(device["prefetches"] + device["followed"], 0)

    def test_the_same_bytes_twice_and_the_same_results(self):
        for settings in (PLANNED, "memory=300KiB,host=1MiB,disk=disk"):
            right = self.vmrun("--device=emulated," + settings, "--stats=plain.json", "net.scm").output
            output, _, device = self.traced(settings)
            first = self.read("t.json")
            self.assertEqual(output, right)
            self.assertEqual(json.loads(self.read("plain.json"))["device"], device)
            self.traced(settings)
            self.assertEqual(self.read("t.json"), first)

    def test_a_file_that_is_whole_however_the_run_ends(self):
        _, whole, _ = self.traced(PLANNED)
        steps = json.loads(self.read("s.json"))["steps"]
        _, part, _ = self.traced(PLANNED, f"--steps={steps // 2}", "--save=z", code=75)
        self.assertLess(len(part), len(whole))
        self.assertGreater(len(part), 50)
        self.assertEqual(part[:50], whole[:50])
        self.vmrun("--device=emulated," + PLANNED, "--resume=z", "--trace-file=rest.json")
        self.assertIn(decimal.Decimal(0), [e["ts"] for e in self.events("rest.json") if e["ph"] == "X"])  # its own virtual time
        for last, code in (("(car 1)", 1), ("(matmul x (randn '(3 3)))", 1), ("(define (f x) (f x)) (f 1)", 75)):
            self.write("ends.scm", NET.replace("LAST", last))
            _, events, _ = self.traced(PLANNED, f"--steps={steps + 1000}", program="ends.scm", code=code)
            self.assertGreaterEqual(len(self.of_kind(events, "X")), len(self.of_kind(whole, "X")), last)
        self.traced("memory=100KiB,host=1GiB", code=3)
        self.write("wrong.scm", "(car")
        self.vmrun("--device=emulated," + PLANNED, "--trace-file=t.json", "wrong.scm", code=2)
        self.assertEqual([e["ph"] for e in self.events()], ["M"])

    def test_what_is_refused(self):
        self.write("t.json", "kept")
        for options, why in ((["--device=emulated", "--trace-file=t.txt"], '--trace-file: expected a file whose name ends in .json, got "t.txt"'),
                             (["--trace-file=t.json"], "--trace-file: the processor models no time that could be traced; the emulated device does"),
                             (["--device=cpu", "--trace-file=t.json"], "--trace-file: the processor models no time that could be traced"),
                             (["--device=emulated", "--stats=t.json", "--trace-file=t.json"], '--trace-file: "t.json" is already the file of --stats'),
                             (["--device=emulated", "--trace-file=no/t.json"], "no/t.json: error: cannot be written: No such file or directory"),
                             (["--device=emulated", "--trace-file=disk/../disk"], "expected a file whose name ends in .json")):
            with self.subTest(options=options):
                done = self.vmrun(*options, "net.scm", code=2)
                self.assertIn(why, done.errors)
                self.assertEqual(done.errors.count("error:"), 1, done.errors)
        self.assertEqual(self.read("t.json"), b"kept")
        self.assertIn("--trace-file needs a program", self.vmrun("--trace-file=t.json", code=2).errors)
        os.mkdir(self.path("folder.json"))
        self.assertIn("folder.json: error: cannot be written: Is a directory", self.vmrun("--device=emulated", "--trace-file=folder.json", "net.scm", code=2).errors)
        self.write("writes.scm", '(write-text "own.json" "x")')
        self.assertIn("--trace-file", self.vmrun("--device=emulated", "--trace-file=own.json", "writes.scm", code=1).errors)
        self.vmrun("--device=emulated", "--trace-file=never.json", "--verify-only", "net.scm")
        self.assertFalse(os.path.exists(self.path("never.json")))

    def test_a_disk_that_is_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        os.symlink("/dev/full", self.path("full.json"))
        done = self.vmrun("--device=emulated," + PLANNED, "--trace-file=full.json", "net.scm", code=2)
        self.assertEqual(done.output, self.vmrun("net.scm").output)
        self.assertIn("full.json: error: cannot be written: No space left on device", done.errors)


if __name__ == "__main__":
    options = driver.parse(__doc__)
    ToolTest.bin = options.bin
    unittest.main(argv=["trace_file.py", *options.tests])
