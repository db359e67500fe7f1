"""What plans are worth: steps of trainings whose weights are ten times as large as the memory, in virtual time, under every policy of ops/plans."""
import json
import math
import pathlib
import subprocess
import tempfile

from measuring import HERE, ROOT, Failure, show

GIB = 1 << 30
LINK = 16 * GIB  # bytes a second, in each direction
LATENCY, FAULT = 5_000_000, 10_000_000  # picoseconds
READ, WRITE, CHANGE = 0, 1, 2
POLICIES = ("planned", "planned on demand", "demand", "waiting", "unified, planned", "unified, prefetched", "unified")


def gpt(blocks=24, width=1024, tokens=1024):
    """Bytes and flops of each layer's weights, in the order of the forward pass."""
    layers = []
    for _ in range(blocks):
        for parts in (3, 1, 4, 4):
            layers.append((4 * parts * width * width, 2 * parts * width * width * tokens))
    return layers


def resnet(images=30):
    layers = [(4 * 3 * 64 * 49, 2 * 3 * 64 * 49 * 112 * 112 * images)]
    inside = 64
    for stage, (width, count) in enumerate(((64, 3), (128, 8), (256, 36), (512, 3))):  # ResNet-152
        side = 56 >> stage
        for _ in range(count):
            for weights in (inside * width, 9 * width * width, 4 * width * width):
                layers.append((4 * weights, 2 * weights * side * side * images))
            inside = 4 * width
    return layers


def training(layers, states=0):
    """A step: forward, then backward with the update of each layer as soon as its gradient is there; `states` of the optimiser are as large as the weights. Launches
    take twice as long backward; an update takes as long as its bytes at 500 GB/s. As lists: bytes of the leaves, and (flops, seconds, accesses)."""
    count = len(layers)
    leaves = [size for size, _ in layers] * (1 + states)
    launches = [(flops, 0, [(i, READ)]) for i, (_, flops) in enumerate(layers)]
    for i in reversed(range(count)):
        size, flops = layers[i]
        launches.append((2 * flops, 0, [(i, READ)]))
        launches.append((0, size * (2 + 2 * states) / 500e9, [(i + k * count, CHANGE) for k in range(1 + states)]))
    return leaves, launches


class Simulator:
    def __init__(self, folder):
        self.program = pathlib.Path(folder) / "streaming_plans"
        done = subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT}", "-o", self.program, HERE / "peers" / "streaming_plans.cpp",
                               *sorted((ROOT / "ops" / "plans").glob("*.cpp")), "-lfmt"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"streaming_plans.cpp does not compile\n{done.stderr}")

    def outcomes(self, lines, capacity, laps, latency=LATENCY):
        """Policy to (makespan, compute, bytes in, bytes out, peak)."""
        done = subprocess.run([self.program, *map(str, (capacity, LINK, LINK, latency, FAULT, laps))], input="\n".join(lines), capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise Failure(f"WRONG: {done.stderr.strip()}")
        found = {name: tuple(map(int, numbers)) for name, *numbers in (line.split(";") for line in done.stdout.splitlines())}
        for name in POLICIES:
            if found[name][4] > capacity:
                raise Failure(f"WRONG: {name} has {found[name][4]} bytes in a memory of {capacity}")
        return found


def lines_of(leaves, launches, rate):
    """At so many flops a second."""
    yield " ".join(map(str, (len(leaves), *leaves)))
    for flops, seconds, accesses in launches:
        yield " ".join([str(int((flops / rate + seconds) * 1e12) + 2_000_000), *(f"{block}:{use}" for block, use in accesses)])


def copies_to_compute(simulator, leaves, launches, capacity, wanted):
    """The run with a rate of flops at which the copies that waiting demand makes take so many times as long as the launches."""
    low, high = 1e9, 1e18
    for _ in range(40):
        rate = math.sqrt(low * high)
        lines = list(lines_of(leaves, launches, rate))
        _, compute, bytes_in, _, _ = simulator.outcomes(lines, capacity, 1)["waiting"]
        copies = bytes_in / LINK * 1e12
        low, high = (rate, high) if copies / compute < wanted else (low, rate)
    return lines


def plans(options):
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(folder)
        rows, notes = [], []
        networks = {"GPT, 24 blocks": training(gpt()), "GPT, with Adam's state": training(gpt(), states=2), "ResNet-152": training(resnet())}
        for name, (leaves, launches) in networks.items():
            if options.quick and "GPT" in name:
                continue
            capacity = sum(leaves) // 10
            for wanted in (0.25, 0.5, 1):
                lines = copies_to_compute(simulator, leaves, launches, capacity, wanted)
                found = simulator.outcomes(lines, capacity, 2 if options.quick else 4)
                times = {policy: found[policy][0] / found[policy][1] for policy in POLICIES}
                copies = max(found["planned"][2:4]) / LINK * 1e12
                rows.append([name, f"{wanted:g}", *(f"{times[policy]:.3f}" for policy in POLICIES), f"{times['waiting'] / times['planned']:.2f}",
                             f"{100 * max(copies, found['planned'][1]) / found['planned'][0]:.1f}", f"{found['planned'][2] / found['Belady'][2]:.3f}"])
        show("Training steps whose leaves are ten times as large as the memory", ["run", "copies / launches", *POLICIES, "waiting / planned", "% of the ideal",
             "in / Belady's"], rows,
             "Virtual time beside that of the launches alone. `copies`: what `waiting` copies in. The ideal is the larger of the time of all launches and that of all copies "
             "in one direction. `demand` queues a copy with its launch, `waiting` only when the launch before has ended.", *notes)
        bounds(simulator)


def bounds(simulator):
    """The runs of test/data/streaming_bounds.json."""
    rows = []
    for run in json.loads((ROOT / "test" / "data" / "streaming_bounds.json").read_text()):
        lines = [" ".join(map(str, (run["leaves"], *run["bytes"])))]
        for duration, *parts in run["launches"]:
            lines.append(" ".join([str(duration), *(str(p) if isinstance(p, int) else f"{p[0]}:{p[1]}" for p in parts)]))
        for bound in run["bounds"]:
            found, late = (simulator.outcomes(lines, bound["capacity"], 1, latency=latency) for latency in (0, LATENCY))
            part = {policy: (found[policy][2] + found[policy][3]) / bound["least"] for policy in POLICIES[:4]}
            if min(part.values()) < 1:
                raise Failure(f"WRONG: {run['name']} moves fewer bytes than it can")
            if part["planned"] > 1.1:
                raise Failure(f"WRONG: {run['name']} moves {part['planned']:.3f} times the bytes that it must, along its plan")
            rows.append([run["name"], f"{bound['capacity'] / sum(run['bytes'][:run['leaves']]):.2f}", *(f"{part[policy]:.3f}" for policy in POLICIES[:4]), f"{sum(late['planned'][2:4]) / bound['least']:.3f}"])
    show("Bytes moved beside the fewest by linear programming", ["run", "memory / leaves", *POLICIES[:4], "planned, with latency"], rows,
         "Without latency, but for the last column: where a copy takes 5 us before its first byte, one of few bytes counts as what the link would move meanwhile, so fewer copies "
         "are made and more bytes. The bound knows of bytes alone.")
