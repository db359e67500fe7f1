#!/usr/bin/env python3
"""Writes test/data/tensors_networks.json: what naive loops over NumPy arrays give for operators of networks. test/ops compares; it needs no Python.

    pip install numpy && tools/golden/networks.py > test/data/tensors_networks.json
"""
import itertools
import json
import math

import numpy as np

random = np.random.default_rng(21)
cases = []


def tensor(shape, low=-2.0, high=2.0):
    """Numbers that every floating type holds exactly, so that only results are rounded."""
    bits = np.asarray(random.uniform(low, high, shape), np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def show(a):
    a = np.asarray(a, np.float64)
    return {"shape": list(a.shape), "numbers": [float(f"{x:.15g}") for x in a.ravel()]}


def case(op, inputs, output, attributes=()):
    """Attributes in the order of the signature: null, an integer, a list, or {"number": x}."""
    cases.append({"op": op, "inputs": [show(a) for a in inputs], "attributes": list(attributes), "output": show(output)})


def places(shape):
    return itertools.product(*map(range, shape))


def convolve(x, w, stride, padding, dilation, groups):
    kernel = w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    size = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    y = np.zeros((x.shape[0], w.shape[0], *size))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for n, o, at, k in itertools.product(range(y.shape[0]), range(y.shape[1]), places(size), places(kernel)):
        first = o // per_out * per_in
        where = tuple(a * s + b * d for a, s, b, d in zip(at, stride, k, dilation))
        y[(n, o, *at)] += x[(n, slice(first, first + per_in), *where)] @ w[(o, slice(None), *k)]
    return y


def transpose_convolve(x, w, stride, padding, dilation, groups, added):
    kernel = w.shape[2:]
    whole = [(n - 1) * s + d * (k - 1) + 1 + a for n, k, s, d, a in zip(x.shape[2:], kernel, stride, dilation, added)]
    per_in, per_out = x.shape[1] // groups, w.shape[1]
    y = np.zeros((x.shape[0], per_out * groups, *whole))
    for n, i, at, k in itertools.product(range(x.shape[0]), range(x.shape[1]), places(x.shape[2:]), places(kernel)):
        first = i // per_in * per_out
        where = tuple(a * s + b * d for a, s, b, d in zip(at, stride, k, dilation))
        y[(n, slice(first, first + per_out), *where)] += x[(n, i, *at)] * w[(i, slice(None), *k)]
    return y[(slice(None), slice(None), *(slice(p, n - p) for p, n in zip(padding, whole)))]


for x, w, stride, padding, dilation, groups in (
    ((2, 3, 8), (4, 3, 3), [1], [0], [1], 1),
    ((2, 4, 7, 6), (6, 2, 3, 2), [2, 1], [1, 0], [1, 2], 2),
    ((1, 3, 6, 6), (5, 3, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((1, 2, 4, 5, 3), (2, 2, 2, 3, 1), [1, 2, 1], [0, 1, 0], [1, 1, 1], 1),
):
    x, w, b = tensor(x), tensor(w), tensor(w[:1])
    y = convolve(x, w, stride, padding, dilation, groups)
    case("convolve", [x, w], y, [stride, padding, dilation, groups])
    case("convolve-add-tied", [x, w, b], y + b.reshape(-1, *[1] * (y.ndim - 2)), [stride, padding, dilation, groups])
for x, w, stride, padding, dilation, groups, added in (
    ((2, 3, 5), (3, 2, 3), [1], [0], [1], 1, [0]),
    ((1, 4, 3, 4), (4, 3, 3, 2), [2, 2], [1, 0], [1, 1], 2, [1, 0]),
):
    x, w = tensor(x), tensor(w)
    case("transpose-convolve", [x, w], transpose_convolve(x, w, stride, padding, dilation, groups, added),
         [stride, padding, dilation, groups, added])


def pool(x, window, f):
    """f of the elements of each window, whose slices `window` gives for an axis and a place along it."""
    sizes = [next(i for i in itertools.count() if window(axis, i) is None) for axis in range(x.ndim - 2)]
    y = np.zeros((*x.shape[:2], *sizes))
    for at in places(sizes):
        part = x[(slice(None), slice(None), *(window(axis, i) for axis, i in enumerate(at)))]
        y[(slice(None), slice(None), *at)] = f(part, tuple(range(2, x.ndim)))
    return y


for shape, kernel, stride, padding in (((2, 3, 9), 3, 2, 1), ((1, 2, 6, 7), 2, 2, 0), ((1, 2, 5, 5), 3, 1, 1), ((1, 2, 4, 4, 4), 2, 1, 0)):
    x = tensor(shape)

    def slide(axis, i):
        return slice(i * stride, i * stride + kernel) if i * stride + kernel <= shape[axis + 2] + 2 * padding else None

    around = [(0, 0), (0, 0)] + [(padding, padding)] * (len(shape) - 2)
    attributes = [[kernel], [stride], [padding]]
    case("max-pool", [x], pool(np.pad(x, around, constant_values=-np.inf), slide, np.max), attributes)
    counted = pool(np.pad(x, around), slide, np.mean)
    case("average-pool", [x], counted, attributes + [None])
    real = pool(np.pad(np.ones(shape), around), slide, np.mean)
    case("average-pool", [x], counted / real, attributes + [0])
for shape, out in (((2, 3, 7), [3]), ((1, 2, 5, 4), [2, 6])):
    x = tensor(shape)

    def bins(axis, i):
        n, m = shape[axis + 2], out[axis]
        return slice(i * n // m, -(-(i + 1) * n // m)) if i < m else None

    case("adaptive-average-pool", [x], pool(x, bins, np.mean), [out])


def normal(x, axes, centred=True, epsilon=1e-5):
    mean = x.mean(axis=axes, keepdims=True) if centred else 0
    return (x - mean) / np.sqrt(np.square(x - mean).mean(axis=axes, keepdims=True) + epsilon)


for shape in ((4, 3), (3, 4, 5), (2, 6, 3, 4)):
    x, scale, shift, mean, variance = tensor(shape), *(tensor(shape[1:2], 0.5, 2) for _ in range(4))
    beside = lambda v: v.reshape(-1, *[1] * (len(shape) - 2))
    over = (0, *range(2, len(shape)))
    case("batch-normalization-training", [x, scale, shift], normal(x, over) * beside(scale) + beside(shift), [None])
    y = (x - beside(mean)) / np.sqrt(beside(variance) + 0.25) * beside(scale) + beside(shift)
    case("batch-normalization-test", [x, scale, shift, mean, variance], y, [{"number": 0.25}])
    for groups in (1, 2):
        if shape[1] % groups == 0 and len(shape) > 2:
            parts = x.reshape(shape[0], groups, shape[1] // groups, *shape[2:])
            y = normal(parts, tuple(range(2, parts.ndim))).reshape(shape)
            case("group-normalization", [x, scale, shift], y * beside(scale) + beside(shift), [groups, None])
    for last in (1, 2):
        scale, shift = tensor(shape[-last:]), tensor(shape[-last:])
        axes = tuple(range(len(shape) - last, len(shape)))
        case("layer-normalization", [x, scale, shift], normal(x, axes) * scale + shift, [None])
        case("rms-normalization", [x, scale], normal(x, axes, False) * scale, [None])



def neighbours(n, m, mode):
    """For each of m places along an axis of n elements: two of those and the weight of the second."""
    i = np.arange(m)
    if mode == "nearest":
        at = i * n // m
    elif mode == "corners":
        at = i * (n - 1) / max(1, m - 1)
    else:
        at = np.maximum(0, (i + 0.5) * n / m - 0.5)
    low = np.floor(at + 1e-9).astype(int)
    return low, np.minimum(low + 1, n - 1), np.maximum(0, at - low)


for shape, sizes in (((2, 3, 5), [8]), ((2, 3, 8), [3]), ((1, 4, 3, 5), [7, 5]), ((1, 2, 4, 6), [2, 3]), ((1, 2, 3, 2, 4), [2, 5, 4]), ((1, 2, 3, 3), [1])):
    x = tensor(shape)
    for mode in ("nearest", "linear", "corners"):
        y = x
        for axis in range(2, x.ndim):
            low, high, part = neighbours(x.shape[axis], sizes[(axis - 2) % len(sizes)], mode)
            part = part.reshape(-1, *[1] * (x.ndim - 1 - axis))
            y = y.take(low, axis) * (1 - part) + y.take(high, axis) * part
        case("interpolate-" + mode.replace("corners", "linear"), [x], y, [sizes] + ([] if mode == "nearest" else [int(mode == "corners")]))
for shape, out in (((2, 3, 7), [3]), ((1, 2, 5, 4), [2, 6])):
    x = tensor(shape)
    case("adaptive-max-pool", [x], pool(x, bins, np.max), [out])

for q, k, v in (((3, 4), (5, 4), (5, 2)), ((2, 3, 6, 5), (2, 3, 6, 5), (2, 3, 6, 4)), ((4, 2), (2, 3, 2), (1, 3, 1))):
    q, k, v = tensor(q), tensor(k), tensor(v)
    for causal in (0, 1):
        scores = np.einsum("...id,...jd->...ij", q, k) * 0.375
        if causal:
            scores = np.where(np.tril(np.ones(scores.shape[-2:])) != 0, scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        case("attend", [q, k, v], (e / e.sum(-1, keepdims=True)) @ v, [{"number": 0.375}, causal])

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
