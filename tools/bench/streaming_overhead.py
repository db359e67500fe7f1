"""The part `overhead` of tools/bench/streaming: what streaming costs where all fits, so that nothing moves. A launch and a step of a training on the streaming
device beside the same on the device that it wraps: both without a bound of its memory, so that nothing is ever planned, and both with one, where the first calls are recorded.

A machine that is shared runs the same program in once or twice the time: short runs alternate, many times, and what the least of them and a quarter of them took is compared. A run is taken
off one of a quarter of its steps, so that what is paid once, and the steps that are recorded, do not count."""
import pathlib
import re
import shutil
import subprocess
import tempfile

from measuring import HERE, Failure, run_vmrun, show

PLAIN, PLAIN_BOUNDED, UNBOUNDED, BOUNDED = DEVICES = ("emulated", "emulated,memory=2GiB", "emulated,host=2GiB", "emulated,memory=2GiB,host=2GiB")
WRAPPED = {UNBOUNDED: PLAIN, BOUNDED: PLAIN_BOUNDED}
MOST_NANOSECONDS, MOST_PERCENT = 300, 3  # the bars
SHARES = (0, 0.25)  # of the runs, that were as fast as what is shown
TIGHT = "emulated,memory=128KiB,host=2GiB"  # where launches follow a plan, and are counted
NETWORKS = {"gpt": 4, "resnet": 4}  # blocks


def measured(options, program, *arguments, steps):
    """Device to the seconds of a step: of the least, and of a quarter of the runs. The devices alternate."""
    lengths = (steps // 4, steps)
    seconds, stats = {(device, length): [] for device in DEVICES for length in lengths}, {}
    for _ in range(options.repeat):
        for device, length in seconds:
            done = run_vmrun(options.vmrun, program, *arguments, length, spill=f"--device={device}")
            seconds[device, length].append(done.stats["wall_s"])
            stats[device] = done.stats["device"]
    moved = {key: stats[device][key] for device in WRAPPED for key in ("evictions", "write_backs", "bytes_out") if stats[device][key]}
    if moved:
        raise Failure(f"WRONG: all fits, and yet there are {moved}")

    def of_a_step(device, share):
        few, many = (sorted(seconds[device, length])[int(share * (options.repeat - 1))] for length in lengths)
        return (many - few) / (lengths[1] - lengths[0])

    return {device: [of_a_step(device, share) for share in SHARES] for device in DEVICES}


def instructions(vmrun, device, program, steps):
    """Of the thread that launches, as Valgrind counts them: the same in every run but for what it does while it waits."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/out", vmrun, f"--device={device}", program, str(steps)],
                       capture_output=True, check=True)
        return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(f"{folder}/out-01").read_text(), re.M)[1])


def listed(numbers, form):
    return ", ".join(form(number) for number in numbers)


def of_launches(options):
    program = HERE / "streaming_programs" / "launches.scm"
    followed = [run_vmrun(options.vmrun, program, n, spill=f"--device={TIGHT}").stats["device"]["followed"] for n in (10, 20)]
    launches = (followed[1] - followed[0]) / 10  # of a step
    seconds = measured(options, program, steps=options.launched_steps)

    def nanoseconds(some):
        return listed(some, lambda number: f"{number / launches * 1e9:.0f}") + " ns"

    rows = [["1,000 numbers", f"{launches:.0f}", nanoseconds(seconds[PLAIN])]]
    rows[0] += [nanoseconds([a - b for a, b in zip(seconds[device], seconds[plain])]) for device, plain in WRAPPED.items()] + [f"{MOST_NANOSECONDS} ns"]
    if shutil.which("valgrind"):
        counts = {device: instructions(options.vmrun, device, program, 20) - instructions(options.vmrun, device, program, 10) for device in DEVICES}
        rows.append(["the same, instructions", f"{launches:.0f}"] + [f"{(counts[device] - least) / 10 / launches:.0f}" for device, least in ((PLAIN, 0), *((device, counts[plain]) for device, plain in WRAPPED.items()))] + [""])
    show("What a launch costs more where all streams and all fits", ["launches of", "a step", "plain", "more", "more, with a bound", "at most"], rows,
         f"Times are of the clock: of the least of {options.repeat} runs that alternate, and of a quarter of them, by the steps behind the first quarter of {options.launched_steps}. "
         "Instructions are those of the thread that launches, by Valgrind, of a step behind the tenth.")


def of_steps(options):
    rows = []
    for network, blocks in NETWORKS.items():
        seconds = measured(options, HERE / "streaming_programs" / "train.scm", network, blocks, steps=options.trained_steps)
        rows.append([network, listed(seconds[PLAIN], lambda number: f"{number * 1e3:.1f}") + " ms"])
        rows[-1] += [listed([a / b for a, b in zip(seconds[device], seconds[plain])], lambda ratio: f"{100 * (ratio - 1):+.1f}") + " %" for device, plain in WRAPPED.items()]
        rows[-1] += [f"{MOST_PERCENT} %"]
    show("What a step of a training costs more where all streams and all fits", ["network", "plain", "more", "more, with a bound", "at most"], rows,
         "The same, of the programs of `training`, with memory for everything.")


def overhead(options):
    of_launches(options)
    of_steps(options)
