"""--explain: what gradients are said to have done, exactly; as text, JSON and drawings."""
import html.parser
import json
import os
import pathlib
import re
import unittest
import xml.etree.ElementTree

import driver
from driver import ToolTest

ORBIT = """(define (f x)
  (let loop ((i 0) (x x)) (if (= i 200) x (loop (+ i 1) (* (* 2.8 x) (- 1.0 x))))))
"""
ONCE = ORBIT + "(define t (primops f 0.3))\n(write (cdr (checkpoint-*j f 0.3 1)))\n(write-char #\\space)\n(write t)\n"
LOOP = ORBIT + "(define (descend n x) (if (= n 0) x (descend (- n 1) (- x (* 1e-9 (cdr (checkpoint-*j f x 1)))))))\n(write (descend {n} 0.3))\n"
TENSORS = """(define w (rand '(64 64)))
(define (layer x) (tanh (matmul x w)))
(define (f x) (let loop ((i 0) (x x)) (if (= i 30) (sumall x) (loop (+ i 1) (layer x)))))
(write (car (checkpoint-*j f (rand '(64 64)) 1)))
"""
RECORD, FRESH = 4e-9, 1e-9  # seconds, of the built-in table of costs
SCHEDULES = ("tape", "auto", "bisection,base=16", "binomial,base=16,snapshots=3", "binomial,base=16", "binomial,base=64,passes=2", "sqrt,base=16",
             "online,base=16,snapshots=4", "online,base=16", "budget", "budget,memory=64KiB")


class Page(html.parser.HTMLParser):
    """Whether all elements are closed in order, and which are there."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.wrong = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def without_clock(text):
    """What a clock has measured, masked: all else is the same whenever it is run."""
    return re.sub(r"[\d.e+-]+ m?s measured", "? measured", text)


class Explanations(ToolTest):
    def gradients(self, *options, name="a.scm", code=0):
        done = self.vmrun("--explain=a.json", *options, name, code=code) if name else self.vmrun("--explain=a.json", *options, code=code)
        report = json.loads(self.read("a.json"))
        self.assertEqual(report["format"], 1)
        return done, report

    def looks_right(self, g):
        """What is true of every gradient that was seen from its beginning to its end."""
        did = {"advance": 0, "tape": 0, "sweep": 0}
        last, swept = 0, g["steps"]
        for s in g["timeline"]:
            self.assertGreaterEqual(s["begin"], last)
            self.assertGreaterEqual(s["end"], s["begin"])
            self.assertLessEqual(s["level"], s["peak"])
            self.assertEqual(s["to"] - s["from"], s["steps"])
            last = s["end"]
            did[s["doing"]] += s["steps"]
            if s["doing"] == "sweep":  # from the end to the beginning, without a gap
                self.assertEqual(s["to"], swept)
                swept = s["from"]
        self.assertEqual(swept, 0)
        self.assertEqual(did, {"advance": g["advanced"], "tape": g["taped"], "sweep": g["steps"]})
        self.assertEqual(did["advance"] + did["tape"], g["executed"])
        self.assertEqual(g["swept"], g["steps"])
        self.assertAlmostEqual(g["replay"]["measured"], g["executed"] / g["steps"])
        self.assertEqual(g["peak"]["measured"], max(s["peak"] for s in g["timeline"]))
        self.assertEqual(len(g["states"]), g["states_kept"])
        self.assertGreaterEqual(g["time"], last)
        for s in g["states"]:
            self.assertLess(s["begin"], s["end"])
            self.assertLessEqual(s["step"], g["steps"])
        events = sorted([(s["begin"], 1) for s in g["states"]] + [(s["end"], -1) for s in g["states"]])
        most, held = 0, 0
        for _, change in events:
            held += change
            most = max(most, held)
        self.assertEqual(most, g["states_at_once"]["measured"])
        self.assertTrue(g["whole"] and g["complete"])

    def test_facts_are_exact_under_every_schedule(self):
        self.write("a.scm", ONCE)
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                done, report = self.gradients("--stats", f"--checkpoint={schedule}")
                stats = self.stats(done)
                [g] = report["gradients"]
                self.looks_right(g)
                self.assertEqual(g["place"], "a.scm:4:13")
                self.assertEqual(g["steps"], int(done.output.split()[1]))
                self.assertEqual(g["executed"], stats["gradient_steps_executed"])
                self.assertEqual(g["states_kept"], stats["capsules_taken"])
                self.assertEqual(g["schedule"], stats["schedule"])
                self.assertEqual(report["calls"], [{"place": "a.scm:4:13", "calls": 1, "steps": [g["steps"]] * 2, "executed": [g["executed"]] * 2,
                                                    "peak": g["peak"]["measured"]}])

    def test_what_is_predicted_of_a_fixed_schedule_comes_true(self):
        self.write("a.scm", ONCE)
        for schedule in ("bisection,base=16", "binomial,base=16,snapshots=3"):
            with self.subTest(schedule=schedule):
                g = self.gradients(f"--checkpoint={schedule}")[1]["gradients"][0]
                self.assertEqual(g["replay"]["predicted"], g["replay"]["measured"])
                self.assertEqual(g["states_at_once"]["predicted"], g["states_at_once"]["measured"])
                self.assertIsNone(g["peak"]["predicted"])

    def test_what_is_predicted_of_states_that_share_much_comes_true(self):
        # The first state has the whole matrix, later ones what lies between them and their neighbours.
        program = pathlib.Path(__file__).parents[2] / "tools" / "bench" / "gradient_programs" / "determinant.scm"
        self.vmrun("--memory=500KiB", "--explain=r.json", program, "checkpoint-*j", "24")
        g = json.loads(self.read("r.json"))["gradients"][0]
        self.assertGreater(g["states_at_once"]["measured"], 50)
        self.assertLess(abs(g["states_at_once"]["predicted"] / g["states_at_once"]["measured"] - 1), .1)
        self.assertLess(abs(g["replay"]["predicted"] / g["replay"]["measured"] - 1), .2)

    def test_time_is_measured_and_predicted(self):
        self.write("a.scm", ONCE)
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                g = self.gradients(f"--checkpoint={schedule}")[1]["gradients"][0]
                self.assertGreater(g["seconds"]["measured"], g["planning_seconds"])
                # Of the first run that was counted, as nobody has planned this one; the sweep takes what its records do.
                run = g["first_run"] * 1e-10
                sweep = g["seconds_of_one_tape"] - run
                self.assertAlmostEqual(g["seconds"]["predicted"], g["replay"]["predicted"] * run + sweep)
                self.assertAlmostEqual(g["time_of_one_tape"], g["seconds"]["predicted"] / g["seconds_of_one_tape"], places=4)
                records = self.gradients("--checkpoint=tape")[1]["gradients"][0]["tapes"]["measured"] / 32
                # Records are those of the tapes that were seen, each with the numbers that it begins with: short ones have more.
                on_one_tape = schedule in ("tape", "auto") or schedule.startswith("budget")
                most = 1.1 if on_one_tape else 2.5
                fresh = g["fresh_seconds"]
                for ratio in (sweep / (records * RECORD), fresh["of_one_tape"] / (32 * records * FRESH)):
                    self.assertGreater(ratio, .9)
                    self.assertLess(ratio, most)
                self.assertEqual(fresh["predicted"] > .9 * fresh["of_one_tape"], on_one_tape, fresh)
        self.write("a.scm", TENSORS)
        g = self.gradients("--memory=3MiB")[1]["gradients"][0]
        self.assertTrue(g["other_budgets"])
        self.assertAlmostEqual(g["seconds"]["predicted"], g["time_of_one_tape"] * g["seconds_of_one_tape"], places=4)
        fresh = g["fresh_seconds"]
        self.assertLess(fresh["predicted"], 3 * 2**20 * FRESH)
        self.assertGreater(fresh["predicted"], 2**19 * FRESH)
        self.write("keeps-all.costs", "fresh 0\n")
        kept = self.gradients("--memory=1GiB", "--costs=keeps-all.costs")[1]["gradients"][0]["peak"]["measured"]
        self.assertGreater(fresh["of_one_tape"] / (kept * FRESH), .8)
        self.assertLess(fresh["of_one_tape"] / (kept * FRESH), 1.4)  # the last interval counts what was made in it
        self.vmrun("--explain=a.html", "--memory=3MiB", "a.scm")
        self.assertRegex(self.read("a.html").decode(), r"<tr><th>time</th><td>[\d.]+ m?s measured, [\d.]+ m?s predicted: ")

    def test_all_but_what_a_clock_says_is_the_same_each_time(self):
        self.write("a.scm", TENSORS)
        def all_but_the_clock():
            report = self.gradients("--memory=3MiB")[1]
            for g in report["gradients"]:
                del g["seconds"]["measured"], g["planning_seconds"]
            return report, without_clock(self.vmrun("--explain", "--memory=3MiB", "a.scm").errors)
        self.assertEqual(all_but_the_clock(), all_but_the_clock())

    def test_a_binomial_gradient_step_by_step(self):
        self.write("a.scm", ONCE)
        g = self.gradients("--checkpoint=binomial,base=512,snapshots=2")[1]["gradients"][0]
        steps = g["steps"]
        self.assertEqual([(s["doing"], s["from"], s["to"]) for s in g["timeline"]],
                         [("advance", 0, steps), ("advance", 0, 512), ("tape", 512, steps), ("sweep", 512, steps), ("tape", 0, 512), ("sweep", 0, 512)])
        self.assertEqual(g["taped_again"], steps)
        self.assertEqual(g["first_run"], g["timeline"][0]["end"])
        self.assertEqual(g["timeline"][0]["end"] - g["timeline"][0]["begin"], 20 * (steps + 3))  # ticks; three of the operator itself
        self.assertEqual([s["step"] for s in g["states"]], [0])
        self.assertIn(f"Of the run's {steps:,} steps none stayed on tape. One state was kept, 1 at once at most; from them {512 + steps:,} steps were run "
                      f"again, {steps:,} of them on a tape.", g["summary"])

    def test_a_budget_within_the_program_is_the_budget_of_the_report(self):
        self.write("a.scm", "(define (f x) (let loop ((i 0) (x x)) (if (= i 200) (sumall x) (loop (+ i 1) (tanh (* x x))))))\n"
                            "(with-memory 2000000 (lambda () (checkpoint-*j f (fill '(100 100) .5) 1)))")
        g = self.gradients("--memory=1GiB")[1]["gradients"][0]
        self.assertEqual(g["budget"], 2000000)
        self.assertLess(g["peak"]["measured"], 2000000)
        self.assertEqual(self.gradients("--memory=1500000")[1]["gradients"][0]["budget"], 1500000)

    def test_what_a_plan_was_made_of(self):
        self.write("a.scm", "(define (f x) (let loop ((i 0) (x x)) (if (= i 200) (sumall x) (loop (+ i 1) (tanh (* x x))))))\n"
                            "(checkpoint-*j f (fill '(100 100) .5) 1)")
        g = self.gradients("--memory=2MiB")[1]["gradients"][0]
        profile = g["profile"]
        self.assertGreater(len(profile), 8)
        for i in profile:
            if i is not profile[-1]:  # behind which there is only the sum
                self.assertEqual(i["state"], 40_616)  # one tensor and what stands beside it
            self.assertLessEqual(i["lean_tape"], i["tape"])
            self.assertLessEqual(i["state"], i["made"])
            self.assertGreater(i["cost"], 40 * i["steps"])
        self.assertLess(sum(i["steps"] for i in profile), g["steps"])
        text = self.vmrun("--explain=profile", "--memory=2MiB", "a.scm").errors
        self.assertEqual(text.count("39.3 KiB"), text.split("profile")[1].count("39.3 KiB"))
        self.assertEqual(len(text.split("  profile ")[1].split("  kept ")[0].strip().splitlines()), len(profile) + 1)
        self.assertRegex(text, r"  kept +[\d.]+ KiB on the heaviest tape")
        self.assertIn("  profile      none: ", self.vmrun("--explain=profile", "--checkpoint=tape", "a.scm").errors)
        self.assertNotIn("  profile ", self.vmrun("--explain", "--memory=2MiB", "a.scm").errors)
        self.assertIn(", or profile, got", self.vmrun("--explain=profiles", "a.scm", code=2).errors)

    def test_reports_change_no_step_and_no_bit(self):
        for program in (ONCE, LOOP.format(n=50), TENSORS):
            self.write("a.scm", program)
            for schedule in SCHEDULES:
                with self.subTest(program=program[:20], schedule=schedule):
                    plain = self.vmrun("--stats", f"--checkpoint={schedule}", "a.scm")
                    without = self.stats(plain)
                    for form in ("--explain", "--explain=a.html", "--explain=a.json"):
                        done = self.vmrun("--stats", form, f"--checkpoint={schedule}", "a.scm")
                        self.assertEqual(done.output, plain.output)
                        stats = self.stats(done)
                        self.assertLess(abs(stats["heap_peak_bytes"] - without["heap_peak_bytes"]), 4097)
                        for key in without.keys() - {"wall_s", "rss_peak_bytes", "heap_peak_bytes"}:
                            self.assertEqual(stats[key], without[key], key)

    def test_text_says_where_and_what(self):
        self.write("a.scm", ONCE)
        lines = self.vmrun("--explain", "--checkpoint=binomial,base=512,snapshots=2", "--memory=8MiB", "a.scm").errors.splitlines()
        self.assertEqual(lines[0], "gradient 1 at a.scm:4:13")
        self.assertEqual([line[2:13].rstrip() for line in lines[1:]], ["schedule", "in short", "replay", "memory", "time", "tapes", "snapshots", "at the peak"])
        self.assertIn("the budget is 8.0 MiB", lines[4])
        self.assertRegex(lines[5], r"  time         [\d.e+-]+ m?s measured, [\d.]+ ms predicted: 1\.69 of the [\d.]+ ms that one tape of the whole")
        self.assertIn("1 at once and 232 bytes measured, 1 and 232 bytes predicted", lines[7])
        self.assertIn("objects ", lines[8])
        self.assertNotIn("-", lines[8][13:])

    def test_a_loop_is_summed_up(self):
        self.write("a.scm", LOOP.format(n=130))
        errors = self.vmrun("--explain", "a.scm").errors
        self.assertEqual(len(re.findall(r"^gradient \d+ at a.scm:3:72$", errors, re.M)), 3)
        self.assertEqual(re.findall(r"^gradients at a.scm:3:72, calls (\S+) to (\S+): ", errors, re.M),
                         [("4", "10"), ("11", "20"), ("21", "50"), ("51", "100"), ("101", "130")])

    def test_many_gradients_stay_few_bytes(self):
        self.write("a.scm", LOOP.format(n=5000))
        _, report = self.gradients()
        self.assertEqual([g["gradient"] for g in report["gradients"]], [1, 2, 3])
        self.assertEqual(report["calls"][0]["calls"], 5000)
        self.assertLess(os.path.getsize(self.path("a.json")), 10000)
        errors = self.vmrun("--explain=a.html", "a.scm").errors
        self.assertEqual(errors, "")
        page = self.read("a.html").decode()
        self.assertIn("5,000", page)
        self.assertLess(len(page), 50000)

    def test_long_timelines_are_merged_and_add_up(self):
        self.write("a.scm", ONCE.replace("200", "20000"))
        _, report = self.gradients("--checkpoint=binomial,base=16,snapshots=12")
        g = report["gradients"][0]
        self.assertLessEqual(len(g["timeline"]), 2048)
        self.assertGreater(sum(s["actions"] for s in g["timeline"]), 10000)
        for doing, steps in (("advance", g["advanced"]), ("tape", g["taped"]), ("sweep", g["steps"])):
            self.assertEqual(sum(s["steps"] for s in g["timeline"] if s["doing"] == doing), steps)
        self.assertEqual(sum(s["number"] for s in g["states"]) + g["states_left_out"], g["states_kept"])
        self.assertLessEqual(len(g["states"]), 1024)

    def test_who_holds_memory_at_the_peak(self):
        self.write("a.scm", TENSORS)
        g = self.gradients("--checkpoint=tape")[1]["gradients"][0]
        at = g["at_peak"]
        self.assertEqual(at["level"], sum(at[kind] for kind in ("objects", "tapes", "capsules", "tensors", "scratch")))
        self.assertLessEqual(at["level"], g["peak"]["measured"])
        self.assertGreater(at["level"], 0.9 * g["peak"]["measured"])
        self.assertTrue(all(m["device"] == "cpu" for m in at["makers"]))
        largest = at["makers"][0]
        self.assertIn("a.scm:2:", largest["maker"])
        self.assertGreaterEqual(largest["bytes"], 25 * 64 * 64 * 4)

    def test_an_exceeded_budget_is_drawn_as_far_as_it_came(self):
        self.write("a.scm", TENSORS.replace("30", "3000"))
        _, report = self.gradients("--checkpoint=tape", "--memory=4MiB", code=3)
        [g] = report["gradients"]
        self.assertFalse(g["complete"])
        self.assertLessEqual(g["peak"]["measured"], 4 << 20)
        self.assertGreater(g["peak"]["measured"], 3 << 20)
        self.assertEqual([s["doing"] for s in g["timeline"]], ["tape"])
        self.assertIsNone(g["explanation"])
        self.assertIsNone(g["replay"]["measured"])
        self.assertEqual([report["calls"][0][key] for key in ("calls", "steps", "executed")], [0, None, None])
        self.vmrun("--explain=a.html", "--checkpoint=tape", "--memory=4MiB", "a.scm", code=3)
        self.assertIn("was not reached", self.read("a.html").decode())

    def test_a_resumed_gradient_says_what_it_saw(self):
        self.write("a.scm", ONCE.replace("200", "2000"))
        for schedule in ("tape", "binomial,base=64,snapshots=3", "auto", "budget"):
            whole = self.vmrun("--stats", f"--checkpoint={schedule}", "a.scm")
            steps = self.stats(whole)["steps"]
            for stop in (steps // 4, steps // 2, steps - 20):
                with self.subTest(schedule=schedule, stop=stop):
                    _, report = self.gradients(f"--checkpoint={schedule}", f"--steps={stop}", "--save=a.capsule", code=75)
                    self.assertTrue(all(not g["complete"] for g in report["gradients"]))
                    done, report = self.gradients("--resume=a.capsule", "--stats", name=None)
                    self.assertEqual(done.output, whole.output[len(whole.output) - len(done.output):])
                    self.assertEqual(self.stats(done)["steps"], steps)
                    for g in report["gradients"]:
                        self.assertTrue(g["complete"])
                        seen = sum(s["steps"] for s in g["timeline"] if s["doing"] != "sweep")
                        if not g["whole"]:
                            self.assertLess(seen, g["executed"])
                            self.assertIn("resumed from a saved state", g["summary"])

    def test_the_page_of_the_tools_shows_what_is_said(self):
        with open(os.path.join(Explanations.docs, "tools.md"), encoding="utf-8") as file:
            section = file.read().split("### Explanations of gradients\n")[1].split("\n### ")[0]
        blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", section, re.M)
        program, shown = [re.sub(r"^ {4}", "", block.strip("\n"), flags=re.M).strip() for block in blocks if block.strip()]
        self.write("orbit.scm", program + "\n")
        command = re.search(r"`vmrun (--explain .*)`", section).group(1).split()
        self.assertEqual(without_clock(self.vmrun(*command).errors.strip()), without_clock(shown))
        g = self.gradients(name="orbit.scm")[1]["gradients"][0]
        rows = re.findall(r"^\| (`.*?) \|", section.split("Of each gradient:\n")[1], re.M)
        self.assertEqual([key for row in rows for key in re.findall(r"`(\w+)`", row)], list(g))

    def test_gradients_inside_others_are_not_told(self):
        self.write("a.scm", "(define (g x) (cdr (checkpoint-*j (lambda (y) (* y (* y y))) x 1)))\n(write (cdr (checkpoint-*j g 2.0 1)))")
        _, report = self.gradients("--checkpoint=binomial,base=16,snapshots=2")
        self.assertEqual([g["place"] for g in report["gradients"]], ["a.scm:2:13"])
        self.looks_right(report["gradients"][0])

    def test_a_program_without_gradients(self):
        self.write("a.scm", "(write 1)")
        self.assertEqual(self.gradients()[1], {"format": 1, "gradients": [], "calls": [], "tiled": []})
        self.vmrun("--explain=a.html", "a.scm")
        self.assertIn("took no gradient", self.read("a.html").decode())

    def test_pages_stand_alone_and_words_do_not_lie_on_each_other(self):
        programs = {"few": (ONCE, ()), "many": (ONCE.replace("200", "2000"), ("--checkpoint=binomial,base=16,snapshots=4",)),
                    "tensors": (TENSORS, ("--memory=3MiB",)), "planned": (TENSORS, ("--checkpoint=budget,memory=600KiB",)),
                    "tight": (TENSORS, ("--checkpoint=tape", "--memory=2MiB"))}
        for name, (program, options) in programs.items():
            with self.subTest(name=name):
                self.write("a.scm", program)
                self.vmrun("--explain=a.html", *options, "a.scm")
                text = self.read("a.html").decode()
                page = Page(text)
                self.assertEqual((page.open, page.wrong), ([], []))
                self.assertNotIn("script", page.names)
                self.assertFalse(re.search(r"https?:|src=|href=|url\(|@import", text))
                self.assertIn("prefers-color-scheme: dark", text)
                drawings = re.findall(r"<svg .*?</svg>", text, re.S)
                self.assertEqual(len(drawings), 1)
                self.words_are_apart(xml.etree.ElementTree.fromstring(drawings[0]))

    def words_are_apart(self, svg):
        boxes = []
        for element in svg.iter("text"):
            words, css = element.text, element.get("class")
            width, x, y = 6.6 * len(words), float(element.get("x")), float(element.get("y"))
            left = x - width if "end" in css else x - width / 2 if "mid" in css else x
            boxes.append((left, y - 11, left + width, y + 3, words))
            self.assertGreaterEqual(left, 0, words)
            self.assertLessEqual(left + width, 960, words)
        words = {box[4] for box in boxes}
        self.assertLessEqual({"run on a tape", "swept backwards", "state kept", "first run"}, words)
        self.assertTrue(any(word.startswith("peak ") for word in words), words)
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                self.assertTrue(apart, (a, b))

    def test_what_is_wrong_is_said_before_the_program_runs(self):
        self.write("a.scm", ONCE)
        for file, message in (("a.svg", 'vmrun: error: --explain: expected a file whose name ends in .html (drawings) or .json, or profile, got "a.svg"'),
                              ("no/a.html", "no/a.html: error: cannot be written: No such file or directory"),
                              ("d.html", "d.html: error: cannot be written: Is a directory")):
            os.makedirs(self.path("d.html"), exist_ok=True)
            done = self.vmrun(f"--explain={file}", "a.scm", code=2)
            self.assertEqual(done.output, "")
            self.assertIn(message, done.errors)
        done = self.vmrun("--explain=a.json", "--stats=a.json", "a.scm", code=2)
        self.assertIn('--explain: "a.json" is already the file of --stats', done.errors)
        done = self.vmrun("--explain=a.html", code=2)
        self.assertIn("--explain=FILE needs a program", done.errors)

    def test_the_file_is_replaced_in_one_go(self):
        self.write("a.scm", ONCE)
        self.write("old.json", "old")
        os.symlink("old.json", self.path("a.json"))
        self.gradients()
        self.assertTrue(os.path.islink(self.path("a.json")))
        self.assertEqual(json.loads(self.read("old.json"))["format"], 1)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.json", "a.scm", "old.json"])


if __name__ == "__main__":
    arguments = driver.parse(__doc__, docs="the folder of the pages")
    Explanations.docs = os.path.abspath(arguments.docs)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["explanations.py", *arguments.tests])
