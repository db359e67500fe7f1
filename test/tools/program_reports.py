#!/usr/bin/env python3
"""What programs report: tables, events for TensorBoard, the line of progress, pages.

    program_reports.py --bin FOLDER
"""
import csv
import html.parser
import json
import os
import pty
import resource
import struct
import subprocess
import time
import unittest

import driver
from driver import ToolTest

try:
    from tensorboard.backend.event_processing import event_accumulator
except ImportError:
    event_accumulator = None

# Twenty steps of descent, and every fifth something else.
TRAIN = """(define (loss w) (* (- w 3.) (- w 3.)))
(define (train i w)
  (if (= i {n}) w
      (let ((r (checkpoint-*j (lambda (w) (let ((l (loss w))) (report 'step i 'of {n} 'loss l) l)) w 1.)))
        (if (= (remainder i 5) 0) (report "part, done" (/ i {n}) 'one (list->tensor '((1.5)))))
        (train (+ i 1) (- w (* 0.1 (cdr r)))))))
(write (train 0 0.))
"""
EVENTS = "events/events.out.tfevents.cairn"


def checksum(data):
    """CRC-32C bit by bit, masked as these files have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """Of a message of protocol buffers: (number, value), in order."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    found = []
    while at < len(data):
        key = number()
        if key & 7 == 0:
            value = number()
        else:
            length = {1: 8, 5: 4}.get(key & 7) or number()
            value = data[at:at + length]
            assert len(value) == length
            at += length
        found.append((key >> 3, value))
    return found


def events(file):
    """(step, {name: number}, number of the report) of each event behind the first record."""
    found = []
    while file:
        (length,) = struct.unpack("<Q", file[:8])
        data = file[12:12 + length]
        assert struct.unpack("<I", file[8:12])[0] == checksum(file[:8])
        assert len(data) == length and struct.unpack("<I", file[12 + length:16 + length])[0] == checksum(data)
        file = file[16 + length:]
        event = dict(fields(data))
        assert abs(struct.unpack("<d", event[1])[0] - time.time()) < 600
        if not found and 3 in event:
            assert event[3] == b"brain.Event:2"
            continue
        values = {}
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            values[value[1].decode()] = struct.unpack("<f", value[2])[0]
        found.append((event.get(2, 0), values, event[1000]))
    return found


class Page(html.parser.HTMLParser):
    """Whether all elements are closed in order, the words, those of each chart, and the rows of tables of two columns."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.charts, self.cells, self.words = [], [], [], [], ""
        self.feed(text)
        self.facts = dict(zip(self.cells[::2], self.cells[1::2]))

    def handle_starttag(self, tag, attributes):
        if tag == "figure":
            self.charts.append([])
        if tag in ("th", "td") and "facts" in self.open:
            self.cells.append("")
        if tag != "meta":
            self.open.append("facts" if tag == "table" and dict(attributes).get("class") == "facts" else tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() not in (tag, "facts" if tag == "table" else tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words += data
        if "figure" in self.open and data.strip():
            self.charts[-1].append(data)
        if self.open and self.open[-1] in ("th", "td") and "facts" in self.open:
            self.cells[-1] += data


class ProgramReports(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("a.scm", TRAIN.format(n=20))

    def table(self, name="m.csv"):
        """Rows as dictionaries, without what is empty."""
        rows = list(csv.DictReader(self.read(name).decode().splitlines()))
        return [{key: float(value) for key, value in row.items() if value != ""} for row in rows]

    def without_times(self, name="m.csv"):
        return [row[:2] + row[3:] for row in csv.reader(self.read(name).decode().splitlines())]

    def expected(self, n=20):
        rows, w = [], 0.
        for i in range(n):
            rows.append({"step": i, "of": n, "loss": (w - 3.) * (w - 3.)})
            if i % 5 == 0:
                rows.append({"part, done": i / n, "one": 1.5})
            w -= 0.1 * (2 * (w - 3.))
        return rows

    def test_a_report_is_a_row_whatever_replays_it(self):
        for schedule in ("auto", "tape", "bisection,base=16", "online,base=16"):
            self.vmrun("--metrics=m.csv", f"--checkpoint={schedule}", "a.scm")
            table = self.table()
            self.assertEqual([row["#report"] for row in table], list(range(1, 25)))
            for row in table:
                self.assertLess(abs(row["#time"] - time.time()), 600)
            self.assertEqual(sorted(row["#steps"] for row in table), [row["#steps"] for row in table])
            values = [{key: value for key, value in row.items() if key[0] != "#"} for row in table]
            for got, want in zip(values, self.expected(), strict=True):
                self.assertEqual(got.keys(), want.keys())
                for name in want:
                    self.assertAlmostEqual(got[name], want[name], places=12)
        self.assertEqual(self.read("m.csv").splitlines()[0], b'#report,#steps,#time,step,of,loss,"part, done",one')

    def test_numbers_are_written_in_full_and_names_in_quotes(self):
        self.write("b.scm", '(report "a \\"b\\"" 1/3 \'c +nan.0 "d" -inf.0 \'e 1e300 (quote f) 7)(report \'g .1)'.replace("1/3", "(/ 1 3)"))
        self.vmrun("--metrics=m.csv", "b.scm")
        lines = self.read("m.csv").decode().splitlines()
        self.assertEqual(lines[0], '#report,#steps,#time,"a ""b""",c,d,e,f,g')
        self.assertEqual([line.split(",")[3:] for line in lines[1:]],
                         [["0.3333333333333333", "nan", "-inf", "1e+300", "7", ""], ["", "", "", "", "", "0.1"]])

    def test_a_resumed_run_repeats_no_row_and_loses_none(self):
        self.vmrun("--metrics=whole.csv", "--events=whole", "a.scm")
        for cut in (1, 40, 150, 300, 601, 700):
            for name in ("m.csv", EVENTS):
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))
            both = ("--metrics=m.csv", "--events=events")
            self.vmrun(*both, f"--steps={cut}", "--save=s.capsule", "a.scm", code=75)
            early = self.read("m.csv")
            # As if it had gone on and been killed in the middle of a row, after the state was saved.
            self.vmrun(*both, "--resume=s.capsule", "--steps=200", code=75)
            later = self.read("m.csv")
            self.assertTrue(later.startswith(early) or early == b"" or early.split(b"\n")[0] != later.split(b"\n")[0])
            self.write("m.csv", later + b"99,9,9.9,1")
            self.write(EVENTS, self.read(EVENTS) + b"\x20\0\0\0")
            self.vmrun(*both, "--resume=s.capsule")
            self.assertEqual(self.without_times(), self.without_times("whole.csv"))
            self.assertEqual(events(self.read(EVENTS)), events(self.read("whole/events.out.tfevents.cairn")))

    def test_a_run_that_begins_anew_empties_the_files(self):
        for _ in range(2):
            self.vmrun("--metrics=m.csv", "--events=events", "a.scm")
            self.assertEqual(len(self.table()), 24)
            self.assertEqual(len(events(self.read(EVENTS))), 24)

    def test_events_have_the_steps_that_the_program_names(self):
        self.write("b.scm", "(report 'step 40 'of 50 'a 2.5)(report 'b 1e40 'c 3)(report 'step -1 'of 3)")
        self.vmrun("--events=events", "b.scm")
        self.assertEqual(events(self.read(EVENTS)), [(40, {"a": 2.5}, 1), (40, {"b": float("inf"), "c": 3.}, 2), (40, {}, 3)])

    def test_events_without_a_step_stand_at_the_last_one_also_after_a_resumption(self):
        self.write("b.scm", "(report 'a 1)(report 'step 10 'b 2)(report 'a 3)(report 'a 4)(report 'step 3 'b 5)(report 'a 6)")
        whole = self.vmrun("--events=events", "--stats", "b.scm")
        expected = [(1, {"a": 1.}, 1), (10, {"b": 2.}, 2), (10, {"a": 3.}, 3), (10, {"a": 4.}, 4), (3, {"b": 5.}, 5), (3, {"a": 6.}, 6)]
        self.assertEqual(events(self.read(EVENTS)), expected)
        for steps in range(1, self.stats(whole)["steps"]):
            self.vmrun("--events=events", f"--steps={steps}", "--save=s.capsule", "b.scm", code=75)
            self.vmrun("--events=events", "--resume=s.capsule")
            self.assertEqual(events(self.read(EVENTS)), expected)

    def test_files_of_somebody_else_are_left_alone_when_a_run_is_resumed(self):
        self.vmrun("--steps=300", "--save=s.capsule", "a.scm", code=75)
        os.mkdir(self.path("events"))
        for text in ("a,b\n1,2\n", "#reports", "#report,#steps,#times", '#report,#steps,#time,"a\n'):
            self.write("m.csv", text)
            self.write(EVENTS, text)
            self.assertEqual(self.vmrun("--metrics=m.csv", "--resume=s.capsule", code=2).errors,
                             "m.csv: error: is no table that --metrics wrote, so a resumed run cannot go on in it\n")
            self.assertEqual(self.vmrun("--events=events", "--resume=s.capsule", code=2).errors,
                             f"{EVENTS}: error: has no events that --events wrote, so a resumed run cannot go on in it\n")
            self.assertEqual(self.read("m.csv"), text.encode())
            self.assertEqual(self.read(EVENTS), text.encode())
        # Where there were none before, they begin with the run that asks for them.
        warned = self.vmrun("--metrics=n.csv", "--events=other", "--resume=s.capsule").errors
        self.assertEqual([row["#report"] for row in self.table("n.csv")], list(range(8, 25)))
        for path in ("n.csv", "other/events.out.tfevents.cairn"):
            self.assertIn(f"{path}: warning: the state that goes on has made 7 reports, of which this file has none; ", warned)

    def test_a_file_that_lacks_reports_of_the_resumed_state_is_told_of(self):
        self.vmrun("--steps=200", "--metrics=m.csv", "--save=s.capsule", "a.scm", code=75)
        short = self.read("m.csv")
        has = self.table()[-1]["#report"]
        self.assertEqual(self.vmrun("--resume=s.capsule", "--metrics=m.csv", "--steps=200", "--save=s.capsule", code=75).errors.count("warning"), 0)
        self.write("m.csv", short)
        self.assertIn(f"of which this file has those up to number {int(has)}; ", self.vmrun("--resume=s.capsule", "--metrics=m.csv").errors)

    def test_a_run_that_was_killed_while_it_wrote_its_first_line_is_resumed(self):
        self.vmrun("--metrics=whole.csv", "a.scm")
        line = self.read("whole.csv").split(b"\n")[0]
        self.vmrun("--steps=1", "--save=s.capsule", "a.scm", code=75)
        for length in (1, 7, 20, 21, 25, len(line)):
            self.write("m.csv", line[:length])
            self.vmrun("--metrics=m.csv", "--resume=s.capsule")
            self.assertEqual(self.without_times(), self.without_times("whole.csv"))

    def test_a_page_that_a_full_disk_refuses_and_a_closed_terminal_keep_no_state_from_being_saved(self):
        whole = self.vmrun("a.scm").output
        reading, writing = os.pipe()
        os.close(reading)
        process = subprocess.run([os.path.join(self.bin, "vmrun"), "--progress", "--report=r.html", "--steps=300", "--save=s.capsule", "a.scm"],
                                 cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writing,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)))
        os.close(writing)
        self.assertEqual((process.returncode, os.path.exists(self.path("r.html"))), (2, False))
        self.assertLess(os.path.getsize(self.path("s.capsule")), 9000)
        self.assertEqual(self.vmrun("--resume=s.capsule").output, whole)

    def test_a_full_disk_takes_no_row_that_was_written(self):
        n = 2000
        self.write("b.scm", TRAIN.format(n=n))
        for option, name in (("--metrics=m.csv", "m.csv"), ("--events=events", EVENTS)):
            limited = self.vmrun(option, "b.scm", code=2, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
            self.assertIn(f"{name}: error: cannot be written: File too large\nvmrun: warning: the run goes on, and what it reports waits\n",
                          limited.errors)
            self.assertEqual(limited.errors.count("warning"), 1)
            content = self.read(name)
            self.assertLessEqual(len(content), 20000)
            self.assertGreater(len(content), 19000)
            if option.startswith("--metrics"):
                self.assertTrue(content.endswith(b"\n"))
                self.assertEqual([row["#report"] for row in self.table()], list(range(1, len(self.table()) + 1)))
            else:
                self.assertEqual([event[2] for event in events(content)], list(range(1, len(events(content)) + 1)))

    def test_a_full_disk_for_reports_keeps_no_state_from_being_saved(self):
        self.write("b.scm", TRAIN.format(n=2000))
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))}
        done = self.vmrun("--metrics=m.csv", "--steps=40000", "--save=s.capsule", "--save-every=4000", "b.scm", code=2, **limit)
        self.assertIn("vmrun: warning: states are saved all the same\n", done.errors)
        self.assertLess(os.path.getsize(self.path("s.capsule")), 8000)
        # What was written before the disk was full is there, and reports go on where the state was saved.
        before = self.table()
        self.vmrun("--metrics=m.csv", "--resume=s.capsule")
        table = self.table()
        self.assertEqual(table[:len(before)], before)
        self.assertEqual(table[-1]["step"], 1999)
        self.assertGreater(table[len(before)]["#report"], len(before))

    def test_wrong_files_and_options_are_refused_before_the_program_starts(self):
        self.write("says.scm", '(display "ran")')
        os.mkdir(self.path("d.csv"))
        os.mkfifo(self.path("pipe.csv"))
        for options, message in ((("--metrics=m.txt",), "--metrics: expected a file whose name ends in .csv"),
                                 (("--metrics=no/m.csv",), "no/m.csv: error: cannot be written: No such file or directory"),
                                 (("--metrics=d.csv",), "d.csv: error: cannot be written: Is a directory"),
                                 (("--metrics=pipe.csv",), "pipe.csv: error: cannot be written: it is no regular file"),
                                 (("--events=says.scm",), "says.scm: error: cannot be made a folder: "),
                                 (("--metrics=m.csv", "--output=m.csv"), '--metrics: "m.csv" is already the file of --output')):
            done = self.vmrun(*options, "says.scm", code=2)
            self.assertIn(message, done.errors)
            self.assertEqual(done.output, "")

    def test_more_names_than_columns_are_said_once(self):
        self.write("b.scm", "(for-each (lambda (i) (report (format \"n~a\" i) i)) (iota 1003))(report 'n3 5)")
        done = self.vmrun("--metrics=m.csv", "b.scm")
        self.assertEqual(done.errors, "vmrun: warning: --metrics: a table has 1000 names, fewer if they come late to a long one; what is reported under others is left out\n")
        table = self.table()
        self.assertEqual(len(table), 1004)
        self.assertEqual((table[-1]["n3"], table[999]["n999"], len(table[1000])), (5, 999, 3))

    def line_of_progress(self, text, columns):
        """All that was drawn on a terminal of so many columns."""
        self.write("c.scm", text)
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "cols", str(columns), "rows", "24"], stdin=theirs, check=True)
        process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--memory=64MiB", "--progress", "c.scm"], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        drawn = b""
        try:
            while True:
                drawn += os.read(ours, 4096)
                if drawn.count(b"\r\033[K") >= 4:
                    process.terminate()
        except OSError:
            pass
        os.close(ours)
        process.wait()
        return drawn.decode()

    def test_long_steps_do_not_keep_the_clock_from_being_looked_at(self):
        # A hundred thousand steps of this take minutes, behind a loop of which they take less than a millisecond.
        endless = """(define (wait n) (if (= n 0) 0 (wait (- n 1))))
(wait 3000000)
(define (f i t) (report 'at i) (f (+ i 1) (tanh (matmul t t))))
(f 0 (* .01 (randn '(700 700))))"""
        self.assertRegex(self.line_of_progress(endless, 200), r"at \d+")
        self.write("c.scm", endless)
        process = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--save=s.capsule", "--save-every=100ms", "c.scm"], cwd=self.folder)
        while not os.path.exists(self.path("s.capsule")):
            self.assertIsNone(process.poll())
            time.sleep(.01)
        process.kill()
        process.wait()
        self.assertGreater(self.stats(self.vmrun("--resume=s.capsule", "--stats", "--steps=1", code=75))["steps"], 1)

    def test_looking_at_the_clock_changes_no_count(self):
        self.write("c.scm", """(define (f l x) (if (null? l) (sumall x) (f (cdr l) (tanh (matmul x (car l))))))
(define (train i l) (if (= i 0) l (train (- i 1) (cadr (*j-update! (lambda (l) (f l (randn '(40 200)))) l 1 (adam .01) 0)))))
(write (map sumall (train 12 (build-list 8 (lambda (i) (* .1 (randn '(200 200))))))))
(write (iota 20000))""")
        for limit in ((), ("--work=700000000",), ("--work=30000000",), ("--steps=900",)):
            seen = []
            for options in ((), ("--progress",), ("--report=r.html",), ("--save-every=10ms",)):
                done = self.vmrun("--memory=64MiB", "--save=s.capsule", "--stats=s.json", *limit, *options, "c.scm", code=75 if limit else 0)
                counters = json.loads(self.read("s.json"))
                rest = self.vmrun("--resume=s.capsule").output if limit else ""
                seen.append((done.output, rest, *(counters[name] for name in ("steps", "work", "gradient_steps_executed", "tensor_peak_bytes"))))
            self.assertEqual(seen, seen[:1] * 4)

    def test_progress_shows_what_was_reported_last_memory_and_time_left(self):
        endless = """(define (wait n) (if (= n 0) 0 (wait (- n 1))))
(define (f i) (report 'step i 'of 1000000 'loss (/ 1 (+ 1. i)) "a name that is rather long" 1) (wait 3000) (f (+ i 1)))
(f 10000)"""
        drawn = self.line_of_progress(endless, 400)
        self.assertRegex(drawn, r"\r\x1b\[K\[#*\.+\] \d+ %  step \d+ of 1000000, loss \d[\d.e-]+, a name that is rather long 1, "
                         r"[\d.]+ [kMG]? ?steps, [\d.]+ [kMG]?/s, [\d.]+ (bytes|KiB) of 64 MiB, \d+ s(, \d+ s left)?")
        lines = self.line_of_progress(endless, 60).split("\r\033[K")
        self.assertTrue(any(line.startswith("[") for line in lines))
        for line in lines[:-1]:
            self.assertLess(len(line), 60)

    def page(self, *options, code=0, name="a.scm"):
        done = self.vmrun("--report=r.html", *options, *([name] if name else []), code=code)
        text = self.read("r.html").decode()
        page = Page(text)
        self.assertEqual((page.open, page.wrong), ([], []))
        self.assertIn("prefers-color-scheme: dark", text)
        for word in ("http:", "https:", "src=", "href=", "@import", "url(", "<script"):
            self.assertNotIn(word, text)
        return done, page

    def test_a_page_has_curves_memory_speed_gradients_environment_and_counters(self):
        done, page = self.page("--seed=5", "--memory=64MiB", "--checkpoint=bisection,base=16", "--stats")
        self.assertEqual(done.output, "2.9654123548617948")
        charts = [chart for chart in page.charts if chart]
        self.assertEqual([chart[0] for chart in charts[:3]], ["loss", "part, done", "one"])
        self.assertIn("last 0.001869, 0.001869 to 9", charts[0])
        self.assertIn("step", charts[0])
        self.assertIn("report", charts[1])
        self.assertEqual(charts[3][0], "memory in accounts")
        self.assertEqual(charts[-1][0], "steps of the machine a second")
        self.assertEqual(page.words.count("Gradient 1 at a.scm:4:16"), 1)
        facts = page.facts
        self.assertEqual((facts["program"], facts["seed"], facts["schedule"], facts["memory budget"]), ("a.scm", "5", "bisection,base=16", "64 MiB"))
        for name in ("Cairn", "processor", "system", "ended", "device"):
            self.assertTrue(facts[name], name)
        stats = self.stats(done)
        self.assertEqual(facts["steps"], f"{stats['steps']:,}")
        self.assertEqual({key.replace("_", " ") for key in stats} - facts.keys(), set())
        self.assertIn(f"{stats['steps']:,} steps of the machine and 24 reports.", page.words)

    def test_a_page_is_written_of_runs_that_fail_stop_or_report_nothing(self):
        self.write("fails.scm", "(report \"<b>&amp;\" 1 'z +nan.0)\n(car '())")
        done, page = self.page(code=1, name="fails.scm")
        self.assertIn(done.errors.splitlines()[0], page.words)
        self.assertEqual([chart[0] for chart in page.charts[:2]], ["<b>&amp;", "z"])
        self.assertIn("no finite number was reported", page.charts[1])
        done, page = self.page("--steps=300", "--save=s.capsule", code=75)
        self.assertIn("Stopped by a limit", page.words)
        done, page = self.page("--resume=s.capsule", name=None)
        self.assertIn("24 reports, of which 17 came since it was resumed.", page.words)
        self.write("quiet.scm", "(display 1)")
        done, page = self.page(name="quiet.scm")
        self.assertIn("Nothing that could be drawn", page.words)
        self.assertIn("--report: expected a file whose name ends in .html", self.vmrun("--report=r.txt", "a.scm", code=2).errors)

    def test_a_page_of_a_resumed_run_has_the_curves_of_its_table(self):
        whole = [chart for chart in self.page()[1].charts[:3]]
        self.vmrun("--metrics=m.csv", "--steps=300", "--save=s.capsule", "a.scm", code=75)
        page = self.page("--metrics=m.csv", "--resume=s.capsule", name=None)[1]
        self.assertEqual(page.charts[:3], whole)
        self.assertIn("24 reports, of which 17 came since it was resumed.", page.words)
        # Without the table there is nothing from before; what is no number in it is passed over.
        self.assertNotEqual(self.page("--resume=s.capsule", name=None)[1].charts[:3], whole)
        with open(os.path.join(self.folder, "m.csv")) as file:
            lines = file.read().split("\n")
        self.write("m.csv", "\n".join(lines[:1] + [lines[1] + ",junk,7,", lines[2].rsplit(",", 1)[0]] + lines[3:]))
        self.page("--metrics=m.csv", "--resume=s.capsule", name=None)

    def test_a_page_of_many_reports_stays_small(self):
        self.write("many.scm", """(define (f i) (if (< i 50000) (begin (report 'x (sin (/ i 100.)) 'grows (exp (/ i 1000.))) (f (+ i 1)))))
(f 0) (for-each (lambda (i) (report (format "n~a" i) i)) (iota 100))""")
        done, page = self.page(name="many.scm")
        self.assertLess(len(self.read("r.html")), 400_000)
        self.assertIn("The first 64 names are drawn", page.words)
        self.assertIn("last -0.4589, -1 to 1", page.charts[0])
        # Between numbers that are far apart the axis has powers of ten.
        self.assertIn("1e+20", page.charts[1])

    @unittest.skipIf(event_accumulator is None, "tensorboard is not installed")
    def test_tensorboard_reads_the_events(self):
        self.vmrun("--events=events", "--steps=300", "--save=s.capsule", "a.scm", code=75)
        self.vmrun("--events=events", "--resume=s.capsule")
        seen = event_accumulator.EventAccumulator(self.path("events"), {event_accumulator.SCALARS: 0})
        seen.Reload()
        self.assertEqual(sorted(seen.Tags()["scalars"]), ["loss", "one", "part, done"])
        want = [row for row in self.expected() if "loss" in row]
        self.assertEqual([event.step for event in seen.Scalars("loss")], [row["step"] for row in want])
        for event, row in zip(seen.Scalars("loss"), want):
            self.assertAlmostEqual(event.value, row["loss"], delta=1e-6 * (1 + row["loss"]))


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["program_reports.py", *arguments.tests])
