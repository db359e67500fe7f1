"""Steps of trainings whose weights are ten times the memory of the device that they stream to, in its virtual time: the bits of a run where all fits, and how
much of the copies lies beside the work."""
import json
import pathlib
import tempfile

from measuring import HERE, Failure, run, show

MIB, GIB = 1 << 20, 1 << 30
# Blocks, and the device's memory.
NETWORKS = {"gpt": (32, 10 * MIB), "resnet": (64, 4 * MIB)}
BANDWIDTHS = (256, 128, 64, 32, 16, 8)


def streamed(options, settings, program):
    with tempfile.TemporaryDirectory() as folder:
        stats = pathlib.Path(folder) / "s"
        done = run([options.vmrun, "--device=emulated," + settings, f"--stats={stats}", *program])
        return done.output, json.loads(stats.read_text())["device"]


def copies_of(device):
    return max(device["copy_in_s"], device["copy_out_s"])


def share_of_ideal(device):
    return 100 * max(copies_of(device), device["execute_s"]) / device["modelled_s"]


def training(options):
    rows = []
    program = HERE / "streaming_programs" / "train.scm"
    for name, (blocks, memory) in NETWORKS.items():
        blocks = blocks // 2 if options.quick else blocks
        memory = memory // 2 if options.quick else memory
        right = run([options.vmrun, program, name, blocks, options.steps]).output
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
            rows.append([name, f"{memory / MIB:.1f} MiB", f"{device['host_peak_bytes'] / MIB:.0f} MiB", f"{bandwidth} GiB/s", f"{copies / device['execute_s']:.2f}",
                         f"{device['modelled_s'] / device['execute_s']:.3f}", f"{share_of_ideal(planned):.1f}", f"{share_of_ideal(device):.1f}", f"{100 * device['stalled_s'] / device['modelled_s']:.1f}",
                         f"{device['bytes_in'] / MIB:.0f}", f"{device['bytes_out'] / MIB:.0f}", str(device["misses"]), str(device["prefetches"])])
    show(f"Weights that stream, {options.steps} steps of updates on the device",
         ["network", "memory", "on the host", "link", "copies / work", "time / work", "% of the ideal", "all steps", "% stalled", "MiB in", "out", "misses", "prefetches"], rows,
         "All times are virtual. Work: what kernels take. The ideal: the longer of work and copies in one direction. Its share is of the steps behind the first two, of which one is recorded; beside it, of all.")
