#!/usr/bin/env python3
"""Writes test/data/streaming_bounds.json: recorded runs, and for some capacities the fewest bytes that can be copied in and out of a memory of that size while
they go on, by linear programming. test/streaming compares; it needs no Python.

    pip install scipy && tools/golden/streaming_bounds.py > test/data/streaming_bounds.json

Between two uses a block may leave, in part: a variable from 0 to 1. What left is copied in again if the next use needs its elements. What was written since it
was copied out last must be copied out before it leaves, once for each writing, as long as the block lives. What stays and what a launch uses fits into the memory
at every launch. Any sequence of copies that keeps elements obeys this, so nothing moves fewer bytes.

A run: [bytes of its blocks, of which so many are leaves], then launches: [duration, [block, use]..., and behind it the blocks that are dropped as -1 - block].
Uses: 0 reads, 1 writes the whole, 2 changes a part.
"""
import json
import random

from scipy.optimize import linprog
from scipy.sparse import coo_matrix

READ, WRITE, CHANGE = 0, 1, 2


class Run:
    def __init__(self, leaves):
        self.bytes, self.leaves, self.launches = list(leaves), len(leaves), []

    def born(self, size):
        self.bytes.append(size)
        return len(self.bytes) - 1

    def launch(self, duration, *uses):
        self.launches.append([duration, *map(list, uses)])

    def drop(self, block):
        self.launches[-1].append(-1 - block)

    def shown(self):
        return {"bytes": self.bytes, "leaves": self.leaves, "launches": self.launches}

    def uses(self):
        """Of each block: its uses as (launch, use), and the launch behind which it is dropped, or none."""
        uses, dropped = [[] for _ in self.bytes], [None] * len(self.bytes)
        for at, (_, *parts) in enumerate(self.launches):
            for part in parts:
                if isinstance(part, int):
                    dropped[-1 - part] = at
                else:
                    uses[part[0]].append((at, part[1]))
        return uses, dropped

    def largest_launch(self):
        return max(sum(self.bytes[p[0]] for p in parts if not isinstance(p, int)) for _, *parts in self.launches)


def least_bytes(run, capacity):
    uses, dropped = run.uses()
    count = len(run.launches)
    cost, bounds, spans, tied = [], [], [], []  # variables; (variable, block, from, to); (interval, version)
    used, fixed = [0] * count, 0

    def variable(price):
        cost.append(price)
        bounds.append((0, 1))
        return len(cost) - 1

    for block, ((size, own), end) in enumerate(zip(zip(run.bytes, uses), dropped)):
        if block < run.leaves:
            fixed += size if own[0][1] != WRITE else 0
        version = None
        for i, (at, use) in enumerate(own):
            used[at] += size
            if use != READ:
                version = variable(size)
            last = i + 1 == len(own)
            to = own[i + 1][0] if not last else count if end is None else end + 1
            if to <= at + 1:
                continue
            back = not last and own[i + 1][1] != WRITE
            interval = variable(size if back else 0)
            spans.append((interval, size, at + 1, to))
            if version is not None:
                tied.append((interval, version))
    # Used and kept is at most the capacity at every launch: - sum of size * left <= capacity - used - sum of size.
    rows, columns, values, right = [], [], [], [capacity - u for u in used]
    for interval, size, begin, end in spans:
        for at in range(begin, end):
            rows.append(at)
            columns.append(interval)
            values.append(-size)
            right[at] -= size
    for interval, version in tied:
        row = len(right)
        rows += [row, row]
        columns += [interval, version]
        values += [1, -1]
        right.append(0)
    matrix = coo_matrix((values, (rows, columns)), shape=(len(right), len(cost)))
    found = linprog(cost, A_ub=matrix.tocsr(), b_ub=right, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return fixed + int(found.fun * (1 - 1e-9))


def network(layers, seed, steps=1, states=False, activations=False, even=False):
    """Weights of a network, forward and back, updated on the way; sizes of layers spread over a factor of 16 unless they are even."""
    chance = random.Random(seed)
    sizes = [1 << 20 if even else int(2 ** chance.uniform(16, 20)) for _ in range(layers)]
    run = Run(sizes + (sizes if states else []))
    for _ in range(steps):
        kept = []
        for i in range(layers):
            own = [[i, READ]]
            if activations:
                if kept:
                    own.append([kept[-1], READ])
                kept.append(run.born(int(2 ** chance.uniform(15, 18))))
                own.append([kept[-1], WRITE])
            run.launch(sizes[i] * 60, *own)
        for i in reversed(range(layers)):
            run.launch(sizes[i] * 120, [i, READ], *([[kept[i - 1], READ]] if activations and i > 0 else []))
            run.launch(sizes[i] * 10, [i, CHANGE], *([[layers + i, CHANGE]] if states else []))
            if activations:
                run.drop(kept[i])
    return run


def by_chance(launches, leaves, seed, written):
    """Blocks of sizes over a factor of 16, some of which are used much more often than others; blocks that are made on the way live for a while."""
    chance = random.Random(seed)
    run, live = Run([int(2 ** chance.uniform(12, 16)) for _ in range(leaves)]), []
    order = list(range(leaves))
    chance.shuffle(order)
    for at in range(launches):
        block = order[at] if at < leaves else order[min(int(chance.expovariate(3.0 / leaves)), leaves - 1)]
        own = [[block, CHANGE if chance.random() < written else READ]]
        if live and chance.random() < 0.5:
            own.append([chance.choice(live), READ])
        if chance.random() < 0.4:
            live.append(run.born(int(2 ** chance.uniform(12, 16))))
            own.append([live[-1], WRITE])
        run.launch(chance.randrange(1_000_000, 4_000_000), *own)
        while live and (len(live) > 12 or chance.random() < 0.2):
            run.drop(live.pop(chance.randrange(len(live))))
    return run


RUNS = {
    "a network": network(32, 1, steps=2),
    "a network whose weights have one size": network(32, 2, steps=2, even=True),
    "a network with states": network(24, 3, steps=2, states=True),
    "a network with activations": network(32, 4, activations=True),
    "a network with states and activations": network(24, 5, steps=2, states=True, activations=True),
    "what is only read": by_chance(400, 100, 6, 0.0),
    "what is written at times": by_chance(400, 100, 7, 0.2),
    "what is written often": by_chance(400, 100, 8, 0.7),
}

answers = []
for name, run in RUNS.items():
    total, largest = sum(run.bytes[:run.leaves]), run.largest_launch()
    bounds = []
    for capacity in sorted({max(int(part * total), 4 * largest) for part in (0.15, 0.25, 0.4, 0.6)}):
        bounds.append({"capacity": capacity, "least": least_bytes(run, capacity)})
    answers.append({"name": name, **run.shown(), "bounds": bounds})
print("[" + ",\n".join(json.dumps(a, separators=(",", ":")) for a in answers) + "]")
