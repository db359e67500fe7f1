"""The part `overhead` of tools/bench/streaming: what streaming costs where all fits, so that nothing moves. A launch and a step of a training on the streaming
device beside the same on the device that it wraps: both without a bound of its memory, so that nothing is ever planned, and both with one, where the first calls are recorded.

A machine that is shared runs the same program in once or twice the time, for a second or so. So runs are short, and each is compared with the one before or behind it, on the device that it
wraps; what is shown are the quartiles of these ratios, or the one that there is."""
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


def measured(options, program, *arguments):
    """Device to the ratios of the seconds that neighbouring runs took on it and on the device that it wraps: the first quarter, the median and the third quarter. And the median of the
    seconds on the plain device."""
    ratios, plain_seconds, moved = {device: [] for device in WRAPPED}, [], {}
    for repetition in range(options.repeat):
        for device, plain in WRAPPED.items():
            seconds = {}
            for which in (device, plain) if repetition % 2 else (plain, device):
                done = run_vmrun(options.vmrun, program, *arguments, spill=f"--device={which}")
                seconds[which] = done.stats["wall_s"]
                moved |= {key: n for key in ("evictions", "write_backs", "bytes_out") if (n := done.stats["device"][key]) and which == device}
            ratios[device].append(seconds[device] / seconds[plain])
            plain_seconds.append(seconds[plain])
    if moved:
        raise Failure(f"WRONG: all fits, and yet there are {moved}")
    return {device: statistics.quantiles(some, n=4) if len(some) > 1 else some for device, some in ratios.items()}, statistics.median(plain_seconds)


def instructions(vmrun, device, program, steps):
    """Of the thread that launches, as Valgrind counts them: the same in every run but for what it does while it waits."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/out", vmrun, f"--device={device}", program, str(steps)],
                       capture_output=True, check=True)
        return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(f"{folder}/out-01").read_text(), re.M)[1])


def listed(numbers, form):
    return ", ".join(form(number) for number in numbers)


def of_launches(options):
    program, steps = HERE / "streaming_programs" / "launches.scm", options.launched_steps
    followed = [run_vmrun(options.vmrun, program, n, spill=f"--device={TIGHT}").stats["device"]["followed"] for n in (10, 20)]
    launches = (followed[1] - followed[0]) / 10  # of a step
    ratios, plain_seconds = measured(options, program, steps)
    plain = plain_seconds / steps / launches * 1e9
    rows = [["1,000 numbers", f"{launches:.0f}", f"{plain:.0f} ns"]]
    rows[0] += [listed(ratios[device], lambda ratio: f"{(ratio - 1) * plain:.0f}") + " ns" for device in WRAPPED] + [f"{MOST_NANOSECONDS} ns"]
    if shutil.which("valgrind"):
        counts = {device: instructions(options.vmrun, device, program, 20) - instructions(options.vmrun, device, program, 10) for device in DEVICES}
        rows.append(["the same, instructions", f"{launches:.0f}"] + [f"{(counts[device] - least) / 10 / launches:.0f}" for device, least in ((PLAIN, 0), *((device, counts[plain]) for device, plain in WRAPPED.items()))] + [""])
    show(f"What a launch costs more where all streams and all fits, {steps} steps", ["launches of", "a step", "plain", "more", "more, with a bound", "at most"], rows,
         f"Times are of the clock and of whole runs, so the steps that are recorded count: quartiles over {options.repeat} pairs of neighbouring runs. "
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
