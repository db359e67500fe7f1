"""The part `overhead` of tools/bench/streaming: what streaming costs where all fits, so that nothing moves. A launch and a step of a training on the streaming
device beside the same on the device that it wraps: both without a bound of its memory, so that nothing is ever planned, and both with one, where the first calls are recorded.

A machine that is shared runs the same program in once or twice the time, for a second or so. So launches are compared by turns in one program, a few milliseconds at a time, and short runs
of a training with the one before or behind; what is shown are the quartiles of these differences and ratios, or the one that there is."""
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

from measuring import HERE, Failure, run_vmrun, show

PLAIN, PLAIN_BOUNDED, UNBOUNDED, BOUNDED = DEVICES = ("emulated", "emulated,memory=2GiB", "emulated,host=2GiB", "emulated,memory=2GiB,host=2GiB")
WRAPPED = {UNBOUNDED: PLAIN, BOUNDED: PLAIN_BOUNDED}
MOST_NANOSECONDS, MOST_PERCENT = 300, 3  # the bars
TIGHT = "emulated,memory=128KiB,host=2GiB"  # where launches follow a plan, and are counted
NETWORKS = {"gpt": 4, "resnet": 4}  # blocks


def check_nothing_moved(done):
    if moved := {key: n for key in ("evictions", "write_backs", "bytes_out") if (n := done.stats["device"][key])}:
        raise Failure(f"WRONG: all fits, and yet there are {moved}")


def measured(options, program, *arguments):
    """Device to the ratios of the seconds that neighbouring runs took on it and on the device that it wraps: the first quarter, the median and the third quarter. And the median of the
    seconds on the plain device."""
    ratios, plain_seconds = {device: [] for device in WRAPPED}, []
    for repetition in range(options.repeat):
        for device, plain in WRAPPED.items():
            seconds = {}
            for which in (device, plain) if repetition % 2 else (plain, device):
                done = run_vmrun(options.vmrun, program, *arguments, spill=f"--device={which}")
                seconds[which] = done.stats["wall_s"]
                if which == device:
                    check_nothing_moved(done)
            ratios[device].append(seconds[device] / seconds[plain])
            plain_seconds.append(seconds[plain])
    return {device: statistics.quantiles(some, n=4) if len(some) > 1 else some for device, some in ratios.items()}, statistics.median(plain_seconds)


def instructions(vmrun, device, program, steps):
    """Of the thread that launches, as Valgrind counts them: the same in every run but for what it does while it waits."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/out", vmrun, f"--device={device}", program, str(steps)],
                       capture_output=True, check=True)
        return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(f"{folder}/out-01").read_text(), re.M)[1])


def listed(numbers, form):
    return ", ".join(form(number) for number in numbers)


def by_turns(options, launches):
    """The nanoseconds more of a launch on each streaming device, their quartiles in a text, and the median of those on the plain device."""
    more, plain = [], []
    for device, wrapped in WRAPPED.items():
        done = run_vmrun(options.vmrun, HERE / "streaming_programs" / "launches-by-turns.scm", wrapped.partition(",")[0], options.turns, spill=f"--device={device}")
        check_nothing_moved(done)
        pairs = [[float(seconds) / 2 / launches * 1e9 for seconds in line.split()] for line in done.output.splitlines()]
        more.append(listed(statistics.quantiles([streaming - there for there, streaming in pairs], n=4), lambda n: f"{n:.0f}") + " ns")
        plain += [there for there, _ in pairs]
    return more, statistics.median(plain)


def of_launches(options):
    program = HERE / "streaming_programs" / "launches.scm"
    followed = [run_vmrun(options.vmrun, program, n, spill=f"--device={TIGHT}").stats["device"]["followed"] for n in (10, 20)]
    launches = (followed[1] - followed[0]) / 10  # of a step
    more, plain = by_turns(options, launches)
    rows = [["1,000 numbers", f"{launches:.0f}", f"{plain:.0f} ns", *more, f"{MOST_NANOSECONDS} ns"]]
    if shutil.which("valgrind"):
        counts = {device: instructions(options.vmrun, device, program, 20) - instructions(options.vmrun, device, program, 10) for device in DEVICES}
        rows.append(["the same, instructions", f"{launches:.0f}"] + [f"{(counts[device] - least) / 10 / launches:.0f}" for device, least in ((PLAIN, 0), *((device, counts[plain]) for device, plain in WRAPPED.items()))] + [""])
    show(f"What a launch costs more where all streams and all fits, {2 * options.turns} steps", ["launches of", "a step", "plain", "more", "more, with a bound", "at most"], rows,
         f"Times are of the clock, of steps by turns on both devices, those that are recorded included: quartiles over {options.turns} differences. "
         "Instructions are those of the thread that launches, by Valgrind, of a step behind the tenth.")


def of_steps(options):
    rows = []
    for network, blocks in NETWORKS.items():
        ratios, plain = measured(options, HERE / "streaming_programs" / "train.scm", network, blocks, options.trained_steps)
        rows.append([network, f"{plain / options.trained_steps * 1e3:.1f} ms"])
        rows[-1] += [listed(ratios[device], lambda ratio: f"{100 * (ratio - 1):+.1f}") + " %" for device in WRAPPED] + [f"{MOST_PERCENT} %"]
    show(f"What a step of a training costs more where all streams and all fits, {options.trained_steps} steps", ["network", "plain", "more", "more, with a bound", "at most"], rows,
         "The same, of the programs of `training`, with memory for everything.")


def overhead(options):
    of_launches(options)
    of_steps(options)
