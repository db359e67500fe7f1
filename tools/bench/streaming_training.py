"""Steps of trainings whose weights are ten times the memory of the device that they stream to, in its virtual time: the bits of a run where all fits, and how
much of the copies lies beside the work."""
import json
import pathlib
import subprocess
import tempfile

from measuring import HERE, ROOT, Failure, run, show

MIB, GIB = 1 << 20, 1 << 30
# Blocks, and the device's memory.
NETWORKS = {"gpt": (32, 10 * MIB), "resnet": (64, 4 * MIB)}
BANDWIDTHS = (256, 128, 64, 32, 16, 8)
LATENCY = 5_000_000  # picoseconds
# Percent of the ideal, or else of the best that any copies could come to within this memory.
IDEAL, BEST = 95, 98


def streamed(options, settings, program):
    with tempfile.TemporaryDirectory() as folder:
        stats = pathlib.Path(folder) / "s"
        done = run([options.vmrun, "--device=emulated," + settings, f"--stats={stats}", *program])
        return done.output, json.loads(stats.read_text())["device"]


def copies_of(device):
    return max(device["copy_in_s"], device["copy_out_s"])


def share_of_ideal(device):
    return 100 * max(copies_of(device), device["execute_s"]) / device["modelled_s"]


def least_times(options, settings, program, memory):
    """By bandwidth, seconds that a step takes at least, whatever is copied when."""
    with tempfile.TemporaryDirectory() as folder:
        plan, bound = pathlib.Path(folder) / "plan.npy", pathlib.Path(folder) / "bound"
        run([options.vmrun, "--device=emulated," + settings, f"--write={folder}", *program, plan])
        subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT}", "-o", bound, HERE / "peers" / "streaming_bound.cpp",
                        *sorted((ROOT / "ops" / "plans").glob("*.cpp")), "-lfmt"], check=True)
        done = subprocess.run([bound, plan, str(memory), str(LATENCY), *(str(rate * GIB) for rate in BANDWIDTHS)], capture_output=True, text=True, check=True)
    return dict(zip(BANDWIDTHS, (int(time) * 1e-12 for time in done.stdout.split()[1:]), strict=True))


def training(options):
    rows, slow = [], []
    program = HERE / "streaming_programs" / "train.scm"
    for name, (blocks, memory) in NETWORKS.items():
        blocks = blocks // 2 if options.quick else blocks
        memory = memory // 2 if options.quick else memory
        right = run([options.vmrun, program, name, blocks, options.steps]).output
        least = least_times(options, f"memory={memory},host=2GiB", [program, name, blocks, 1], memory)
        for bandwidth in BANDWIDTHS:
            settings = f"memory={memory},host=2GiB,bandwidth={bandwidth}GiB"
            output, device = streamed(options, settings, [program, name, blocks, options.steps])
            # The first step is recorded, the second has the new plan and what the first one left.
            begun = streamed(options, settings, [program, name, blocks, 2])[1]
            planned = {key: device[key] - begun[key] for key in ("modelled_s", "execute_s", "copy_in_s", "copy_out_s")}
            if output != right:
                raise Failure(f"WRONG: {name} within {memory} bytes writes something else than on the processor")
            if device["memory_peak_bytes"] > memory:
                raise Failure(f"WRONG: {name} takes {device['memory_peak_bytes']} of {memory} bytes")
            copies = copies_of(device)
            best = 100 * least[bandwidth] * (options.steps - 2) / planned["modelled_s"]
            if not options.quick and share_of_ideal(planned) < IDEAL and best < BEST:
                slow.append(f"{name} over {bandwidth} GiB/s: {share_of_ideal(planned):.1f} % of the ideal and {best:.1f} % of what can be had")
            rows.append([name, f"{memory / MIB:.1f} MiB", f"{device['host_peak_bytes'] / MIB:.0f} MiB", f"{bandwidth} GiB/s", f"{copies / device['execute_s']:.2f}",
                         f"{device['modelled_s'] / device['execute_s']:.3f}", f"{share_of_ideal(planned):.1f}", f"{best:.1f}", f"{share_of_ideal(device):.1f}", f"{100 * device['stalled_s'] / device['modelled_s']:.1f}",
                         f"{device['bytes_in'] / MIB:.0f}", f"{device['bytes_out'] / MIB:.0f}", str(device["misses"]), str(device["prefetches"])])
    show(f"Weights that stream, {options.steps} steps of updates on the device",
         ["network", "memory", "on the host", "link", "copies / work", "time / work", "% of the ideal", "% of the best", "ideal, all steps", "% stalled", "MiB in", "out", "misses", "prefetches"], rows,
         "All times are virtual. Work: what kernels take. The ideal: the longer of work and copies in one direction. Its share is of the steps behind the first two, of which one is recorded; at the end, of all. "
         "The best: no choice of copies can come nearer to the ideal than that within this memory (ops/plans/optimum.h).")
    if slow:
        raise Failure("SLOW: " + "; ".join(slow))
