#!/usr/bin/env python3
"""Runs that survive: vmrun saves its state as it goes, is killed at random moments and resumed from the last saved state, again and
again until the program ends. Result, output, reports and counters must be those of a run that nobody disturbed.

    kills.py --vmrun VMRUN [--kills N] [--seed S]
"""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ORBIT = "(define (orbit r) (let loop ((i 0) (x 0.5)) (if (= i {n}) x (loop (+ i 1) (* r x (- 1 x))))))\n"
GRADIENT = ORBIT.format(n=150000) + "(write-real (orbit 3.2)) (write (checkpoint-*j orbit 3.2 1)) (write (checkpoint-*j orbit 3.7 1))"
SCHEDULES = ["auto", "auto,memory=2MiB", "budget,memory=2MiB", "tape", "bisection", "binomial,snapshots=3", "binomial,base=512,passes=3", "sqrt", "online", "online,snapshots=4"]
NUMBERS = "".join(f"{i * 0.37} " for i in range(2000))  # more than is read at once

# Name: text, schedules, exit code. None of them takes a second.
PROGRAMS = {
    "lines": ("""(define (f i x) (if (= i 60000) x (begin (write (list i x)) (newline) (f (+ i 1) (+ (* 0.999 x) (sin i))))))
(write (f 0 1.5))""", [], 0),
    "deep": ("""(define (sum l) (if (null? l) 0 (+ (car l) (sum (cdr l)))))
(define (f i) (if (< i 60) (begin (write-real (sum (iota (* 1000 i)))) (f (+ i 1))) 'done))
(write (f 0))""", [], 0),
    "random": ("""(define (draw n) (if (= n 0) '() (cons (list (random-real) (random-normal) (random-integer 100)) (draw (- n 1)))))
(define (f i) (if (< i 100) (begin (write (draw 200)) (newline) (f (+ i 1))) 'done))
(write (f 0))""", [], 0),
    "input": ("""(define (wait n) (if (= n 0) 0 (wait (- n 1))))
(define (f i sum) (if (= i 2000) sum (let ((x (read-real))) (wait 3000) (write-real (+ sum x)) (f (+ i 1) (+ sum x)))))
(write (f 0 0))""", [], 0),
    "error": ("""(define (f i) (if (= i 0) (car '()) (+ 1 (f (- i 1)))))
(define (g i) (if (= i 0) (f 100) (begin (write i) (newline) (g (- i 1)))))
(g 60000)""", [], 1),
    "capsules": (ORBIT.format(n=100000) + """(define (chain z i) (if (capsule-finished? z) (list i (resume z)) (begin (write (capsule-steps z))
  (newline) (chain (interrupt resume z 20000) (+ i 1)))))
(write (chain (interrupt orbit 3.2 1000) 0))
(write (checkpoint-*j (lambda (r) (resume (interrupt orbit r 150000))) 3.2 1))""", ["auto", "binomial,snapshots=3"], 0),
    "gradient": (GRADIENT, SCHEDULES, 0),
    "effects": ("""(define (noisy r) (let loop ((i 0) (x 0.5)) (if (= i 40000) x (begin (if (= 0 (remainder i 100)) (write-real x))
  (loop (+ i 1) (+ (* r x (- 1 x)) (* 1e-3 (random-real))))))))
(write (checkpoint-*j noisy 3.2 1))""", SCHEDULES, 0),
    "nested": (ORBIT.format(n=150) + """(define (train r) (let loop ((i 0) (r r)) (if (= i 100) r (begin (write-real r) (report 'step i 'rate r)
  (loop (+ i 1) (- r (* 0.01 (cdr (*j orbit r 1)))))))))
(write (checkpoint-*j train 2.2 1))
(write (checkpoint-*j (lambda (r) (cdr (checkpoint-*j train r 1))) 2.2 1))
(write (checkpoint-*j (lambda (r) (cdr (j* train r 1))) 2.2 1))
(write (j* (lambda (r) (cdr (checkpoint-*j train r 1))) 2.2 1))""", ["auto", "bisection,base=64", "binomial,snapshots=3", "online"], 0),
    "reports": (ORBIT.format(n=100) + """(define (train i r) (if (= i 400) r (let ((y (checkpoint-*j orbit r 1)))
  (report 'step i 'of 400 'value (car y) 'slope (cdr y)) (if (= 0 (remainder i 100)) (report 'tenth (/ i 100) "a,b" (/ i 7)))
  (train (+ i 1) (+ r (* 1e-4 (cdr y)))))))
(write (train 0 2.2))
(write (checkpoint-*j (lambda (r) (train 300 r)) 2.3 1))""", ["auto", "bisection,base=64", "online"], 0),
    "lists": ("""(define (step l) (map (lambda (x) (* x (- 3.1 x))) l))
(define (f l) (let loop ((i 0) (l l)) (if (= i 300) (fold-left + 0 l) (loop (+ i 1) (step l)))))
(write (checkpoint-*j f (map (lambda (i) (/ i 100.)) (iota 50)) 1))""", ["auto", "binomial,base=1024,snapshots=4", "sqrt"], 0),
}
# Counters that go on across a resume to the last digit. Time is of the process; bytes are larger where something has room to grow, which
# a restored state has not.
EXACT = ("steps", "gradient_steps", "gradient_steps_executed", "tape_peak_records", "capsules_taken", "schedule")

Ending = collections.namedtuple("Ending", "code output errors counters table events")


def without_times(table):
    return [[field for i, field in enumerate(line.split(b",")) if i != 2] for line in table.split(b"\n")]


def events_in(file):
    """The messages behind the time, with which they all begin."""
    events = []
    while file:
        length = int.from_bytes(file[:8], "little")
        events.append(file[21:12 + length])
        file = file[16 + length:]
    return events


class Trial:
    """One program under one schedule, in a folder of its own."""

    def __init__(self, vmrun, name, schedule, folder):
        self.vmrun, self.folder = vmrun, folder
        text, _, self.code = PROGRAMS[name]
        with open(self.path("program.scm"), "w") as file:
            file.write(text)
        with open(self.path("input"), "w") as file:
            file.write(NUMBERS)
        self.own_options = ["--seed=7", *([f"--checkpoint={schedule}"] if schedule else [])]

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *saving):
        """From the saved state if there is one, from the beginning if not."""
        what = ["--resume=state"] if os.path.exists(self.path("state")) else [*self.own_options, "program.scm"]
        with open(self.path("input"), "rb") as given, open(self.path("errors"), "wb") as errors:
            command = [self.vmrun, "--output=output", "--stats=stats", "--metrics=reports.csv", "--events=events", *saving, *what]
            return subprocess.Popen(command, cwd=self.folder, stdin=given, stderr=errors)

    def ending(self, process):
        code = process.wait()
        names = ("output", "errors", "stats", "reports.csv", "events/events.out.tfevents.cairn")
        output, errors, stats, table, events = (open(self.path(name), "rb").read() for name in names)
        counters = {key: value for key, value in json.loads(stats).items() if key in EXACT} if stats else None
        return Ending(code, output, errors, counters, without_times(table), events_in(events))

    def disturbed(self, every, seconds, generator, most_kills):
        """How it ended, the kills, and how many of them came before there was a state."""
        kills = too_early = 0
        while True:
            process = self.start("--save=state", f"--save-every={every}")
            if kills < most_kills:
                time.sleep(generator.uniform(0, seconds))
                process.send_signal(signal.SIGKILL)
                if process.wait() == -signal.SIGKILL:
                    kills += 1
                    too_early += not os.path.exists(self.path("state"))
                    continue
            return self.ending(process), kills, too_early


def trial(vmrun, name, generator, most_kills):
    schedules = PROGRAMS[name][1]
    schedule = generator.choice(schedules) if schedules else None
    with tempfile.TemporaryDirectory() as folder:
        case = Trial(vmrun, name, schedule, folder)
        whole = case.ending(case.start())
        assert whole.code == case.code and whole.counters, whole
        every = max(1, whole.counters["steps"] // generator.choice([3, 10, 40]))
        # How long it takes with saving decides when to kill.
        began = time.monotonic()
        saving = case.ending(case.start("--save=state", f"--save-every={every}"))
        seconds = time.monotonic() - began
        os.remove(case.path("state"))
        ending, kills, too_early = case.disturbed(every, seconds, generator, most_kills)
        for other in (saving, ending):
            if other != whole:
                differences = [field for field in Ending._fields if getattr(other, field) != getattr(whole, field)]
                sys.exit(f"{name} under {schedule}, saved every {every} steps, killed {kills} times: {differences} differ from those of an "
                         f"undisturbed run\n{other.code} {other.counters} {other.errors[:500]}\n{whole.code} {whole.counters}")
        return kills, too_early


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vmrun", required=True)
    parser.add_argument("--kills", type=int, default=15, help="how many at least")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    kills = too_early = runs = 0
    while kills < arguments.kills:
        for name in generator.sample(sorted(PROGRAMS), len(PROGRAMS)):
            if kills < arguments.kills:
                more, early = trial(os.path.abspath(arguments.vmrun), name, generator, min(6, arguments.kills - kills))
                kills, too_early, runs = kills + more, too_early + early, runs + 1
    print(f"{runs} runs, {kills} kills, {too_early} of them before the first state; every run ended as if undisturbed")


if __name__ == "__main__":
    main()
