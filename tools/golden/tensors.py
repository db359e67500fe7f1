#!/usr/bin/env python3
"""Writes test/data/tensors.json: what NumPy gives for the operators of tensors. test/ops compares; it needs no Python.

    pip install numpy && tools/golden/tensors.py > test/data/tensors.json
"""
import json
import math

import numpy as np

random = np.random.default_rng(20)
cases = []


def bf16_exact(a):
    """Inputs that every floating type holds exactly, so that only results are rounded."""
    bits = np.asarray(a, np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def tensor(shape, low=-2.0, high=2.0):
    return bf16_exact(random.uniform(low, high, shape))


def show(a):
    a = np.asarray(a, np.float64)
    return {"shape": list(a.shape), "numbers": [float(x) for x in a.ravel()]}


def case(op, inputs, output, attributes=()):
    """Attributes in the order of the signature: null, an integer, a list, or {"number": x}."""
    cases.append({"op": op, "inputs": [show(a) for a in inputs], "attributes": list(attributes), "output": show(output)})


erf = np.vectorize(math.erf, otypes=[float])
sigmoid = lambda x: 1 / (1 + np.exp(-x))
unary = {
    "%neg": (np.negative, -2, 2), "%abs": (np.abs, -2, 2), "%sqrt": (np.sqrt, 0.1, 4), "%exp": (np.exp, -4, 4),
    "%log": (np.log, 0.05, 6), "%sin": (np.sin, -6, 6), "%cos": (np.cos, -6, 6), "%tan": (np.tan, -1, 1),
    "%asin": (np.arcsin, -1, 1), "%acos": (np.arccos, -1, 1), "%atan": (np.arctan, -5, 5), "tanh": (np.tanh, -3, 3),
    "sigmoid": (sigmoid, -6, 6), "ReLU": (lambda x: np.maximum(x, 0), -2, 2), "LeakyReLU": (lambda x: np.where(x > 0, x, 0.01 * x), -2, 2),
    "GeLU": (lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), -4, 4), "SiLU": (lambda x: x * sigmoid(x), -6, 6),
    "softplus": (lambda x: np.log1p(np.exp(x)), -6, 6), "square": (np.square, -3, 3), "erf": (erf, -3, 3),
}
for name, (f, low, high) in unary.items():
    x = tensor((4, 9), low, high)
    case(name, [x], f(x))

binary = {
    "%add": (np.add, -2, 2), "%sub": (np.subtract, -2, 2), "%mul": (np.multiply, -2, 2), "%div": (np.divide, 0.5, 3),
    "%max": (np.maximum, -2, 2), "%min": (np.minimum, -2, 2), "%expt": (np.power, 0.2, 2.5), "%atan2": (np.arctan2, -2, 2),
    "%less": (np.less, -1, 1), "%less-equal": (np.less_equal, -1, 1), "%equal": (np.equal, -1, 1),
}
for name, (f, low, high) in binary.items():
    for a, b in (((3, 4), (3, 4)), ((5, 1, 3), (4, 1)), ((), (6,))):
        x, y = tensor(a, low, high), tensor(b, low, high)
        case(name, [x, y], f(x, y))
c, x, y = (tensor((3, 4)) > 0).astype(float), tensor((3, 4)), tensor((4,))
case("where", [c, x, y], np.where(c != 0, x, y))

x = tensor((2, 3, 4))
case("view", [x], x.reshape(4, 6), [[4, -1]])
case("transpose", [x], x.swapaxes(-1, -2), [None, None])
case("transpose", [x], x.swapaxes(0, 2), [0, 2])
case("permute", [x], x.transpose(1, 2, 0), [[1, 2, 0]])
case("narrow-tensor", [x], x[:, 1:3], [1, 1, 2])
x = tensor((3, 1))
case("expand-tensor", [x], np.broadcast_to(x, (2, 3, 4)), [[2, 3, 4]])
a, b = tensor((2, 3)), tensor((2, 2))
case("concat-tensors", [a, b], np.concatenate([a, b], 1), [1])
case("pad", [a], np.pad(a, ((1, 0), (0, 2)), constant_values=0.5), [[1, 0], [0, 2], {"number": 0.5}])

x = tensor((3, 5, 4))
for axes, keep in ((None, False), ((1,), False), ((0, 2), True), ((-1,), True)):
    attributes = [None if axes is None else list(axes), 1 if keep else None]
    case("sum", [x], x.sum(axis=axes, keepdims=keep), attributes)
    case("mean", [x], x.mean(axis=axes, keepdims=keep), attributes)
    case("max-over", [x], x.max(axis=axes, keepdims=keep), attributes)
case("%sum-to", [x], x.sum(axis=0).sum(axis=1, keepdims=True), [[5, 1]])

for a, b in (((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 3)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
             ((4,), (3, 4, 2)), ((3, 2, 4), (4,)), ((9, 33), (33, 13)), ((20, 7), (7, 37)), ((2, 0), (0, 3))):
    x, y = tensor(a), tensor(b)
    case("matmul", [x, y], x @ y)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


x = tensor((3, 5, 2), -5, 5)
for axis in (-1, 1):
    case("softmax", [x], softmax(x, axis), [axis])
    case("log-softmax", [x], np.log(softmax(x, axis)), [axis])

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
