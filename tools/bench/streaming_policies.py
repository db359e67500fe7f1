"""Steps of trainings whose weights are ten times the memory of the device that they stream to, under each policy of the emulated device: how long they take in
virtual time beside the work alone, where copies take half as long as the work and as long as it."""
import json
import math
import pathlib
import tempfile

from measuring import HERE, Failure, run, show
from streaming_training import MIB

POLICIES = ("planned", "demand", "waiting", "unified-prefetched", "unified")
NETWORKS = {"gpt": (16, 5 * MIB), "resnet": (32, 4 * MIB)}
FIRST = 2  # steps: the first one is recorded, in the second one the plan meets what it has left behind
# Copies beside work, and how many times as fast as waiting for copies plans must be there.
BARS = {0.5: 1.4, 1.0: 1.8}


class Training:
    def __init__(self, options, name, blocks, memory):
        self.vmrun, self.name, self.blocks, self.memory, self.steps = options.vmrun, name, blocks, memory, options.steps
        self.right = {steps: run([self.vmrun, *self.command(steps)]).output for steps in (FIRST, FIRST + 1, self.steps)}

    def command(self, steps):
        return [HERE / "streaming_programs" / "train.scm", self.name, self.blocks, steps]

    def device(self, policy, memory_bandwidth, steps):
        with tempfile.TemporaryDirectory() as folder:
            stats = pathlib.Path(folder) / "s"
            done = run([self.vmrun, f"--device=emulated,memory={self.memory},host=2GiB,bandwidth=16GiB,memory-bandwidth={memory_bandwidth},policy={policy}",
                        f"--stats={stats}", *self.command(steps)])
            device = json.loads(stats.read_text())["device"]
        if done.output != self.right[steps]:
            raise Failure(f"WRONG: {self.name} with {policy} writes something else than on the processor")
        if device["memory_peak_bytes"] > self.memory:
            raise Failure(f"WRONG: {self.name} with {policy} takes {device['memory_peak_bytes']} of {self.memory} bytes")
        return device

    def outcome(self, policy, memory_bandwidth, steps):
        """What --stats says, without the first steps."""
        first, all_steps = (self.device(policy, memory_bandwidth, steps) for steps in (FIRST, steps))
        return {key: all_steps[key] - first[key] for key in all_steps}

    def memory_bandwidth(self, copies):
        """Of kernels that take so long that what waiting copies in takes that many times as long. What it copies does not hang on them."""
        low, high = 1e9, 1e13
        while high / low > 1.02:
            middle = math.sqrt(low * high)
            device = self.outcome("waiting", int(middle), FIRST + 1)
            low, high = (middle, high) if device["copy_in_s"] / device["execute_s"] < copies else (low, middle)
        return int(high)


def policies(options):
    rows, slow = [], []
    for name, (blocks, memory) in NETWORKS.items():
        training = Training(options, name, blocks // 2 if options.quick else blocks, memory // 2 if options.quick else memory)
        for copies, bar in BARS.items():
            bandwidth = training.memory_bandwidth(copies)
            found = {policy: training.outcome(policy, bandwidth, options.steps) for policy in POLICIES}
            times = {policy: device["modelled_s"] / device["execute_s"] for policy, device in found.items()}
            faster = times["waiting"] / times["planned"]
            if not options.quick and faster < bar:
                slow.append(f"{name}, copies {copies:g} of the work: plans are {faster:.2f} times as fast as waiting, not {bar}")
            ordered = list(times.values())[1 if options.quick else 0:]  # of a few steps the first planned ones are a large part
            if ordered != sorted(ordered):
                slow.append(f"{name}, copies {copies:g} of the work: the order of the policies is another one, {times}")
            rows.append([name, f"{training.memory / MIB:.1f} MiB", f"{bandwidth / 1e9:.0f} GB/s", f"{copies:g}", *(f"{times[policy]:.3f}" for policy in POLICIES),
                         f"{faster:.2f}", f"{times['unified'] / times['planned']:.2f}", *(f"{found[policy]['bytes_in'] / MIB:.0f}" for policy in ("planned", "waiting", "unified"))])
    show(f"Policies of a device to which weights stream, {options.steps - FIRST} steps of updates on it behind the first {FIRST}",
         ["network", "memory", "kernels' memory", "copies / work", *POLICIES, "waiting / planned", "unified / planned", "MiB in: planned", "waiting", "unified"], rows,
         "Virtual time beside that of the kernels alone, over a link of 16 GiB/s. `copies`: what `waiting` copies in. demand and waiting evict "
         "what was used least recently, as unified memory does by pages.")
    if slow:
        raise Failure("WRONG: " + "; ".join(slow))
