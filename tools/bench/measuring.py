"""What the benchmarks share: running a program and reading off what it took, alternating rounds, medians, tables in Markdown."""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOISE = 0.02  # seconds: below this a time says nothing, and no ratio is taken of it


class Failure(Exception):
    pass


class OverBudget(Failure):
    """Exit code 3; `named` is the budget in bytes that should do for a whole gradient, if the message knows one."""

    def __init__(self, message):
        super().__init__("over the memory limit")
        named = re.search(r"the gradient of its [\d,]+ steps should do with --memory=(\d+)([KMG])iB", message)
        self.named = int(named[1]) << {"K": 10, "M": 20, "G": 30}[named[2]] if named else None


@dataclasses.dataclass
class Result:
    seconds: float  # of user CPU time, of the whole process
    output: str
    resident: int  # largest resident size in bytes; not to be trusted below some 30 MB, where it may be that of Python
    system: float  # seconds in the kernel, which are those of getting pages where memory grows
    stats: dict = dataclasses.field(default_factory=dict)  # of vmrun --stats
    report: dict = dataclasses.field(default_factory=dict)  # of the first gradient, by vmrun --explain


def run(command, environment=None, limit=600, folder=None):
    """Runs a command to its end. wait4 is the one call that tells the resources of a single child."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=errors, stdin=subprocess.DEVNULL, cwd=folder,
                                   env=dict(os.environ, **(environment or {})))
        deadline = time.monotonic() + limit
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        late = False
        while not pid:
            if time.monotonic() > deadline and not late:
                late = True
                process.kill()
            time.sleep(0.002)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if late:
            raise Failure("slow")
        if process.returncode:
            message = errors.read().decode(errors="replace").strip()
            if process.returncode == 3:
                raise OverBudget(message)
            raise Failure(f"exit code {process.returncode}: " + message.split("\n", maxsplit=1)[0])
        return Result(usage.ru_utime, output.read().decode(errors="replace").strip(), usage.ru_maxrss * 1024, usage.ru_stime)


def run_vmrun(vmrun, program, *arguments, schedule=None, memory=None, limit=600, under=(), explain=False, read=None, spill=None, folder=None, options=()):
    """One run of vmrun, with its statistics, and the report of its first gradient if that is asked for; `under` is a command that is to run it."""
    with tempfile.TemporaryDirectory() as notes:
        file, report = pathlib.Path(notes) / "stats.json", pathlib.Path(notes) / "report.json"
        command = [*under, vmrun, f"--stats={file}"]
        command += [f"--checkpoint={schedule}"] if schedule else []
        command += [f"--memory={memory}"] if memory else []
        command += [f"--explain={report}"] if explain else []
        command += [f"--read={read}"] if read else []
        command += [spill] if spill else []
        command += options
        result = run(command + [program, *arguments], limit=limit, folder=folder)
        result.stats = json.loads(file.read_text())
        result.report = json.loads(report.read_text())["gradients"][0] if explain else {}
    result.resident = result.stats["rss_peak_bytes"]
    return result


def compiled(source, folder, *more):
    """A program in C."""
    program = pathlib.Path(folder) / pathlib.Path(source).stem
    done = subprocess.run(["cc", "-O2", "-o", program, source, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{source} does not compile\n{done.stderr}")
    return program


def library_flags(vmrun):
    """Of a program in C that uses the libraries beside this vmrun."""
    library = pathlib.Path(vmrun).resolve().parent.parent / "lib"
    return (f"-I{ROOT}/vm/api", f"-I{ROOT}/compiler/api", f"-L{library}", "-lcairn_compiler", "-lcairn", f"-Wl,-rpath,{library}")


def held(result):
    """Bytes that grow with the way a gradient is taken: the tape, and what only snapshots hold."""
    return result.stats["tape_peak_bytes"] + result.stats["capsule_peak_bytes"]


def right_behind_itself(job):
    """The second of two runs, which finds memory at hand that the first one had: a virtual machine gives memory that was free for seconds back to
    its host, and gets it again by faults that can take longer than a whole gradient."""
    job()
    return job()


def rounds(jobs, repetitions, twice=False):
    """Runs all jobs in turn, several times over, so that a slow moment of the machine hits all of them. `jobs`: name to a function of
    no arguments that gives a Result. The answer: name to the Result of median time, or to the Failure of the first run that failed. Its
    seconds in the kernel are the least of all rounds, as faults for memory only add to them. With `twice` each run that counts comes right
    behind another one of its kind."""
    results = {name: [] for name in jobs}
    for repetition in range(repetitions):
        for name, job in jobs.items():
            if isinstance(results[name], Failure):
                continue
            try:
                results[name].append(right_behind_itself(job) if twice else job())
            except Failure as failure:
                results[name] = failure
        if sys.stderr.isatty():
            print(f"round {repetition + 1} of {repetitions} done", file=sys.stderr)
    return {name: some if isinstance(some, Failure) else dataclasses.replace(middle(some), system=min(result.system for result in some))
            for name, some in results.items()}


def middle(results):
    """The result of median time; of an even number, the quicker of the two in the middle."""
    return sorted(results, key=lambda result: result.seconds)[(len(results) - 1) // 2]


def must(result):
    """A result that the table cannot do without."""
    if isinstance(result, Failure):
        raise result
    return result


def ratio(a, b):
    """a / b as text; empty where one of them is a failure or too short to say anything."""
    if isinstance(a, Failure) or isinstance(b, Failure) or min(a.seconds, b.seconds) < NOISE:
        return ""
    return f"{a.seconds / b.seconds:.2f}"


def seconds(result):
    return str(result).split(":")[0] if isinstance(result, Failure) else f"{result.seconds:.3f}"


def mebibytes(count):
    return f"{count / 2**20:.2f}"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def show(title, head, rows, *notes):
    """A table in Markdown."""
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    print(f"\n## {title}\n")
    for number, row in enumerate([head] + rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for note in notes:
        print("\n" + note)
    sys.stdout.flush()


class Parser(argparse.ArgumentParser):
    """The options of all benchmarks. Sizes have two defaults, the second for --quick."""

    def __init__(self, description, repetitions):
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.defaults = {}
        self.add_argument("--vmrun", default=str(ROOT / "build" / "bin" / "vmrun"), help="the vmrun to measure (default: build/bin/vmrun)")
        self.add_argument("--quick", action="store_true", help="small sizes, one run each: shows that all works, measures nothing")
        self.size("--repeat", repetitions, 1, "rounds, of which medians are taken")

    def size(self, name, full, quick, text):
        self.defaults[name.lstrip("-").replace("-", "_")] = (full, quick)
        self.add_argument(name, type=int, metavar="N", help=f"{text} (default: {full:,}, or {quick:,} with --quick)")

    def options(self):
        options = self.parse_args()
        for name, (full, quick) in self.defaults.items():
            if getattr(options, name) is None:
                setattr(options, name, quick if options.quick else full)
            elif getattr(options, name) < 1:
                self.error(f"--{name.replace('_', '-')} needs a number above 0")
        if not os.access(options.vmrun, os.X_OK):
            self.error(f"{options.vmrun} is not there: build first, or name it with --vmrun")
        return options


def benchmark(parts, options):
    """Runs parts, functions of the options; the process ends with code 1 if one of them could not be measured or found a wrong answer."""
    failed = False
    for part in parts:
        try:
            part(options)
        except Failure as failure:
            failed = True
            print(f"\n{part.__name__}: {failure}")
    sys.exit(1 if failed else 0)
