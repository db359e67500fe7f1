#!/usr/bin/env python3
"""Runs the hostile programs of table.py and looks at what they cost their host.

    run.py --bin FOLDER [--jobs N] [--only PART_OF_A_NAME] [--latency MS] [--list]

Each ends in its exit code with one message of bounded length, at most 64 MiB more resident than its budget, after at most two seconds of CPU.
Then a host (host.c) runs each under a larger budget and without limits of steps and work, and cancels it now and again: every time it must have
the machine back within 50 ms, or what --latency says. Other processes use the same processors, so what was late is tried again alone, the best of three counts, and who has
computed for less than that may have waited for a processor for up to a second.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import table

SECONDS = 2
RESIDENT = 64 << 20
MESSAGE = 4000  # characters
KILLED_AFTER = 10  # seconds of CPU
CANCELLED_AFTER = (5, 60, 300)  # milliseconds: while little has happened, in the middle, after slices of scalar code have grown long
CANCEL_MEMORY = 1 << 30  # large objects take long to make
WAITING = 1_000_000  # microseconds in which next to nothing was computed
TRIES = 3
# Statuses of cairn.h.
BAD_STATUSES = {9: "out of memory", 10: "a fault inside Cairn"}
NEVER_RAN = {4: "its source does not compile", 5: "no sound module", 6: "no sound capsule", 7: "an argument that makes no sense", 8: "a file cannot be read"}
ENDED, OVER_BUDGET = 0, 3

Outcome = collections.namedtuple("Outcome", "code cpu resident output errors")


class Room:
    """A folder of its own with the files of an attack."""

    def __init__(self, attack, tools):
        self.attack, self.tools = attack, tools
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        text = attack.text() if callable(attack.text) else attack.text
        (self.path / "attack.scm").write_bytes(text if isinstance(text, bytes) else text.encode())
        for name, content in attack.files.items():
            (self.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        for name, size in attack.sizes.items():
            os.truncate(self.path / name, size)
        (self.path / "input").write_text(attack.input() if callable(attack.input) else attack.input)
        for tool, *arguments in attack.before:
            subprocess.run([self.tools / tool, *arguments], cwd=self.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for name, make in attack.made.items():
            (self.path / name).write_bytes(make(self.path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, tool, *arguments, most_bytes):
        """The command under attack_watch, which tells on descriptor 3."""
        report, out, err = (self.path / name for name in ("report", "out", "err"))
        script = 'exec "$@" <input >out 2>err 3>report'
        watched = subprocess.Popen(["bash", "-c", script, "attack", self.tools / "attack_watch", str(KILLED_AFTER), str(most_bytes), self.tools / tool, *arguments],
                                   cwd=self.path)
        while self.attack.meanwhile is not None and watched.poll() is None:
            self.attack.meanwhile(self.path)
        if watched.wait() != 0:
            raise subprocess.CalledProcessError(watched.returncode, watched.args)
        code, cpu, resident = map(int, report.read_text().split())
        return Outcome(code, cpu / 1e6, resident, out.read_text(errors="replace"), err.read_text(errors="replace"))


def faults_of_run(attack, tools):
    """What is wrong about the attack under its budget."""
    with Room(attack, tools) as room:
        tool, *arguments = attack.command or ("vmrun", "attack.scm", *attack.arguments)
        bound = attack.memory + RESIDENT
        done = room.run(tool, f"--memory={attack.memory}", *attack.limits, *attack.options, *arguments, most_bytes=bound * 4)
    faults = []
    codes = attack.code if isinstance(attack.code, tuple) else (attack.code,)
    if done.code not in codes:
        faults.append(f"ended with {done.code}, not with {' or '.join(map(str, codes))}: {done.errors[:200]!r}")
    elif attack.says not in done.errors:
        faults.append(f"does not say {attack.says!r} but {done.errors[:200]!r}")
    if done.code not in (table.ENDED, table.STOPPED) and done.errors.count("error:") != 1:
        faults.append(f"{done.errors.count('error:')} messages: {done.errors[:200]!r}")
    if len(done.errors) > MESSAGE:
        faults.append(f"a message of {len(done.errors)} characters")
    if done.resident > bound:
        faults.append(f"{done.resident >> 20} MiB resident with a budget of {attack.memory >> 20} MiB")
    if done.cpu > SECONDS:
        faults.append(f"{done.cpu:.2f} s of CPU")
    return faults


def latencies(attack, tools, most):
    """Microseconds from each cancellation to the end of the run, and what else is wrong."""
    kept = [option for option in attack.options if option.startswith(("--device=", "--checkpoint=")) or option == "--check-nan"]
    with Room(attack, tools) as room:
        done = room.run("attack_host", f"--memory={CANCEL_MEMORY}", *kept, "--input=input", f"--cancel={','.join(map(str, CANCELLED_AFTER))}",
                        "attack.scm", *attack.arguments, most_bytes=CANCEL_MEMORY * 2)
    if done.code != 0:
        return [], [f"the host that cancels it ended with {done.code}: {done.errors[:200]!r}"]
    *took, end = done.output.splitlines()
    status = int(end.split()[1])
    codes = set(attack.code) if isinstance(attack.code, tuple) else {attack.code}
    faults = []
    if status in BAD_STATUSES:
        faults.append(f"cancelled: {BAD_STATUSES[status]}")
    elif status in NEVER_RAN and table.BAD not in codes:
        faults.append(f"the host that cancels it never ran it: {NEVER_RAN[status]}")
    elif not took and status not in (ENDED, OVER_BUDGET) and codes <= {table.OVER, table.STOPPED}:
        faults.append(f"the host never came to cancel it: it ended with status {status}")
    return [Latency.of(*map(int, line.split()), most) for line in took], faults


class Latency(collections.namedtuple("Latency", "judged computed")):
    """Microseconds from a cancellation to the end of the run: what counts, and what the process computed meanwhile, in all of its threads."""

    @staticmethod
    def of(clock, computed, most):
        """By the clock, or what was computed if another process had the processor meanwhile."""
        return Latency(computed if clock > most and computed <= most and clock <= WAITING else clock, computed)


NEVER = Latency(0, 0)


def late(took, most):
    return any(t.judged > most for t in took)


def best(tries):
    """Of each cancellation the least."""
    return [min(t) for t in zip(*tries)]


def slowest(latencies):
    return Latency(max(t.judged for t in latencies), max(t.computed for t in latencies))


def examine(attack, tools, most):
    faults = faults_of_run(attack, tools)
    took, more = latencies(attack, tools, most) if attack.cancelled else ([], [])
    return faults + more, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of vmrun and of the programs beside this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="attacks at a time (default: one a processor)")
    parser.add_argument("--only", default="", help="attacks whose names have this in them")
    parser.add_argument("--latency", type=int, default=50, help="milliseconds from a cancellation to the end of the run (default: 50)")
    parser.add_argument("--list", action="store_true", help="tell the names and end")
    options = parser.parse_args()
    tools, most = options.bin.resolve(), 1000 * options.latency
    attacks = [attack for attack in table.ATTACKS if options.only in attack.name]
    if options.list:
        print("\n".join(attack.name for attack in attacks))
        return
    if len({attack.name for attack in attacks}) != len(attacks):
        sys.exit("two attacks have one name")

    faults, slow, worst, cancellations = {}, {}, NEVER, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for attack, (found, took) in zip(attacks, pool.map(lambda attack: examine(attack, tools, most), attacks)):
            if found:
                faults[attack.name] = found
            if late(took, most):
                slow[attack.name] = (attack, [took])
            else:
                worst = slowest([worst, *took])
            cancellations += len(took)
    for name, (attack, tries) in slow.items():  # alone
        while late(best(tries), most) and len(tries) < TRIES:
            took, more = latencies(attack, tools, most)
            if more:
                faults.setdefault(name, []).extend(more)
                break
            if len(took) == len(tries[0]):  # else it ended before it could be cancelled as often
                tries.append(took)
            else:
                tries.append(tries[0])
        worst = slowest([worst, *best(tries)])
        if late(best(tries), most):
            faults.setdefault(name, []).append("cancelled after " + ", ".join(f"{t.judged / 1000:.0f} ({t.computed / 1000:.0f} of CPU)" for t in best(tries)) + " ms")
    for name, found in faults.items():
        print(f"{name}: " + "\n    ".join(found))
    print(f"{len(attacks)} attacks, {len(faults)} harm their host; {cancellations} cancellations, the slowest took {worst.judged / 1000:.1f} ms and {worst.computed / 1000:.1f} ms of CPU, "
          f"{len(slow)} were tried again")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
