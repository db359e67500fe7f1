"""Steps of trainings whose weights are ten times the memory of the device that they stream to, under each policy of the emulated device: how long they take in
virtual time beside the work alone, where copies take half as long as the work and as long as it."""
import json
import pathlib
import tempfile

from measuring import HERE, Failure, run, show
from streaming_training import MIB, NETWORKS

POLICIES = ("planned", "demand", "waiting", "unified-prefetched", "unified")
# Copies beside work, and how many times as fast as waiting for copies plans must be there.
BARS = {0.5: 1.4, 1.0: 1.8}
LATENCY = 5e-6  # of a copy


class Training:
    def __init__(self, options, name, blocks, memory):
        self.command = [HERE / "streaming_programs" / "train.scm", name, blocks, options.steps]
        self.vmrun, self.name, self.memory = options.vmrun, name, memory
        self.right = run([self.vmrun, *self.command]).output

    def device(self, policy, bandwidth):
        with tempfile.TemporaryDirectory() as folder:
            stats = pathlib.Path(folder) / "s"
            done = run([self.vmrun, f"--device=emulated,memory={self.memory},host=2GiB,bandwidth={bandwidth},policy={policy}", f"--stats={stats}", *self.command])
            device = json.loads(stats.read_text())["device"]
        if done.output != self.right:
            raise Failure(f"WRONG: {self.name} with {policy} writes something else than on the processor")
        if device["memory_peak_bytes"] > self.memory:
            raise Failure(f"WRONG: {self.name} with {policy} takes {device['memory_peak_bytes']} of {self.memory} bytes")
        return device

    def bandwidth(self, copies):
        """At which what waiting copies in takes so many times as long as the work. What it copies does not hang on that."""
        device = self.device("waiting", 1 << 34)
        rest = copies * device["execute_s"] - device["misses"] * LATENCY
        if rest <= 0:
            raise Failure(f"WRONG: the latency of {device['misses']} copies of {self.name} alone takes {copies} of the work")
        return int(device["bytes_in"] / rest)


def policies(options):
    rows, slow = [], []
    for name, (blocks, memory) in NETWORKS.items():
        training = Training(options, name, blocks // 2 if options.quick else blocks, memory // 2 if options.quick else memory)
        for copies, bar in BARS.items():
            bandwidth = training.bandwidth(copies)
            found = {policy: training.device(policy, bandwidth) for policy in POLICIES}
            times = {policy: device["modelled_s"] / device["execute_s"] for policy, device in found.items()}
            faster = times["waiting"] / times["planned"]
            if not options.quick and faster < bar:
                slow.append(f"{name}, copies {copies:g} of the work: plans are {faster:.2f} times as fast as waiting, not {bar}")
            if list(times.values()) != sorted(times.values()):
                slow.append(f"{name}, copies {copies:g} of the work: the order of the policies is another one, {times}")
            rows.append([name, f"{training.memory / MIB:.1f} MiB", f"{bandwidth / (1 << 30):.1f} GiB/s", f"{copies:g}", *(f"{times[policy]:.3f}" for policy in POLICIES),
                         f"{faster:.2f}", f"{times['unified'] / times['planned']:.2f}", *(f"{found[policy]['bytes_in'] / MIB:.0f}" for policy in ("planned", "waiting", "unified"))])
    show(f"Policies of a device to which weights stream, {options.steps} steps of updates on it",
         ["network", "memory", "link", "copies / work", *POLICIES, "waiting / planned", "unified / planned", "MiB in: planned", "waiting", "unified"], rows,
         "Virtual time beside that of the kernels alone. `copies`: what `waiting` copies in. The first step is recorded and not planned, and counts. demand and waiting evict "
         "what was used least recently, as unified memory does by pages.")
    if slow:
        raise Failure("WRONG: " + "; ".join(slow))
