"""The part `overhead` of tools/bench/streaming: what streaming costs where all fits, so that nothing moves. A launch and a step of a training on the streaming
device beside the same on the device that it wraps: both without a bound of its memory, so that nothing is ever planned, and both with one, where the first calls are recorded."""
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
    """Device to the median of the seconds that a run takes on it. The devices alternate."""
    seconds, stats = {device: [] for device in DEVICES}, {}
    for _ in range(options.repeat):
        for device in DEVICES:
            done = run_vmrun(options.vmrun, program, *arguments, spill=f"--device={device}")
            seconds[device].append(done.stats["wall_s"])
            stats[device] = done.stats["device"]
    moved = {key: stats[device][key] for device in WRAPPED for key in ("evictions", "write_backs", "bytes_out") if stats[device][key]}
    if moved:
        raise Failure(f"WRONG: all fits, and yet there are {moved}")
    return {device: statistics.median(times) for device, times in seconds.items()}


def instructions(vmrun, device, program, steps):
    """Of the thread that launches, as Valgrind counts them: the same in every run but for what it does while it waits."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/out", vmrun, f"--device={device}", program, str(steps)],
                       capture_output=True, check=True)
        return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(f"{folder}/out-01").read_text(), re.M)[1])


def more(seconds, device, count):
    return (seconds[device] - seconds[WRAPPED[device]]) / count * 1e9


def of_launches(options):
    program, steps = HERE / "streaming_programs" / "launches.scm", options.launched_steps
    followed = [run_vmrun(options.vmrun, program, n, spill=f"--device={TIGHT}").stats["device"]["followed"] for n in (10, 20)]
    launches = (followed[1] - followed[0]) / 10  # of a step
    seconds = measured(options, program, steps)
    rows = [["1,000 numbers", f"{launches:.0f}", f"{seconds[PLAIN] / steps / launches * 1e9:.0f} ns"]]
    rows[0] += [f"{more(seconds, device, steps * launches):.0f} ns" for device in WRAPPED] + [f"{MOST_NANOSECONDS} ns"]
    if shutil.which("valgrind"):
        counts = {device: instructions(options.vmrun, device, program, 20) - instructions(options.vmrun, device, program, 10) for device in DEVICES}
        rows.append(["the same, instructions", f"{launches:.0f}"] + [f"{(counts[device] - least) / 10 / launches:.0f}" for device, least in ((PLAIN, 0), *((device, counts[plain]) for device, plain in WRAPPED.items()))] + [""])
    show(f"What a launch costs more where all streams and all fits, {steps} steps", ["launches of", "a step", "plain", "more", "more, with a bound", "at most"], rows,
         "Times are of the clock, medians of runs that alternate, and of whole runs: the steps that are recorded count. Instructions are those of the thread that "
         "launches, by Valgrind, of a step behind them.")


def of_steps(options):
    rows = []
    for network, blocks in NETWORKS.items():
        seconds = measured(options, HERE / "streaming_programs" / "train.scm", network, blocks, options.trained_steps)
        rows.append([network, f"{seconds[PLAIN] / options.trained_steps * 1e3:.1f} ms"])
        rows[-1] += [f"{100 * (seconds[device] / seconds[plain] - 1):+.1f} %" for device, plain in WRAPPED.items()] + [f"{MOST_PERCENT} %"]
    show(f"What a step of a training costs more where all streams and all fits, {options.trained_steps} steps", ["network", "plain", "more", "more, with a bound", "at most"], rows, "The same, of the programs of `training`, with memory for everything.")


def overhead(options):
    of_launches(options)
    of_steps(options)
