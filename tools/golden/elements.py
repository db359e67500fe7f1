#!/usr/bin/env python3
"""Writes test/data/tensors_elements.json: what NumPy gives for the operators of ops/operators_elements.def. See tensors.py.

    pip install numpy && tools/golden/elements.py > test/data/tensors_elements.json
"""
import json

import numpy as np

random = np.random.default_rng(21)
cases = []


def tensor(shape, low=-2.0, high=2.0):
    """Numbers that every floating type holds exactly, so that only results are rounded."""
    bits = np.asarray(random.uniform(low, high, shape), np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def show(a):
    a = np.asarray(a)
    shown = {"shape": list(a.shape), "numbers": [float(x) for x in a.astype(np.float64).ravel()]}
    if a.dtype == np.int64:
        shown["type"] = "i64"
    return shown


def case(op, inputs, output, attributes=()):
    cases.append({"op": op, "inputs": [show(a) for a in inputs], "attributes": list(attributes), "output": show(output)})


number = lambda x: {"number": x}
sigmoid = lambda x: 1 / (1 + np.exp(-x))
for name, f, low, high in (
    ("sinh", np.sinh, -3, 3), ("cosh", np.cosh, -3, 3), ("asinh", np.arcsinh, -3, 3), ("acosh", np.arccosh, 1.1, 5),
    ("atanh", np.arctanh, -0.9, 0.9), ("log1p", np.log1p, -0.9, 3), ("expm1", np.expm1, -3, 3), ("sign", np.sign, -2, 2),
    ("GeLU-tanh", lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), -4, 4),
    ("ELU", lambda x: np.where(x > 0, x, np.expm1(x)), -3, 3),
):
    x = tensor((3, 5), low, high)
    case(name, [x], f(x))

table, i = tensor((6, 3)), random.integers(0, 6, (2, 4))
case("embedding", [table, i], table[i])
x, i = tensor((3, 5)), random.integers(0, 5, (3, 2))
case("gather", [x, i], np.take_along_axis(x, i, 1), [1])
source, sums = tensor((3, 2)), x.copy()
for row in range(3):
    np.add.at(sums[row], i[row], source[row])
case("scatter-add", [x, i, source], sums, [1])

x = tensor((2, 5, 3))
for axes, keep in ((None, False), ((1,), False), ((0, 2), True)):
    attributes = [None if axes is None else list(axes), 1 if keep else None]
    case("min-over", [x], x.min(axis=axes, keepdims=keep), attributes)
    case("prod", [x], x.prod(axis=axes, keepdims=keep), attributes)
    case("norm", [x], np.sqrt((x * x).sum(axis=axes, keepdims=keep)), attributes)
    case("norm", [x], (np.abs(x) ** 3).sum(axis=axes, keepdims=keep) ** (1 / 3), attributes + [number(3)])
    case("logsumexp", [x], np.log(np.exp(x).sum(axis=axes, keepdims=keep)), attributes)
    case("variance", [x], x.var(axis=axes, keepdims=keep), attributes)
    case("variance", [x], x.var(axis=axes, keepdims=keep, ddof=1), attributes + [1])
case("argmax", [x], x.argmax(1), [1, None])
case("argmin", [x], x.argmin(-1)[..., None], [-1, 1])
case("argmax", [x], np.int64(x.argmax()))

x, i = tensor((4, 6)), random.integers(0, 6, 4)
case("cross-entropy-loss", [x, i], np.mean(np.log(np.exp(x).sum(1)) - x[np.arange(4), i]))
a, b = tensor((3, 4)), tensor((3, 4))
case("mean-squared-error", [a, b], np.mean((a - b) ** 2))
p, t = tensor((3, 4), 0.1, 0.9), tensor((3, 4), 0, 1)
case("binary-cross-entropy", [p, t], -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p)))
p = sigmoid(a)
case("binary-cross-entropy-with-logits", [a, t], -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p)))
x, mask = tensor((2, 3, 4)), np.array([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], np.int64)
e = np.where(mask != 0, 0, np.exp(0.5 * x))
case("fused-scale-mask-softmax", [x, mask], e / np.maximum(e.sum(-1, keepdims=True), 1e-300), [number(0.5)])

a, b = tensor((2, 3)), tensor((2, 3))
case("stack", [a, b], np.stack([a, b], 1), [1])
x = tensor((5, 4))
case("chunk", [x], x[2:4], [0, 3, 1])
case("chunk", [x], x[4:], [0, 3, 2])
case("crop", [x], x[1:4, 2:3], [[1, 2], [3, 1]])
case("tile", [a], np.tile(a, (2, 3)), [[2, 3]])
case("flip", [x], np.flip(x, (0, 1)), [[0, 1]])
case("roll", [x], np.roll(x, (2, -1), (0, 1)), [[2, -1], [0, 1]])
case("lower-triangle", [x], np.tril(x, 1), [1])
case("upper-triangle", [x], np.triu(x))
case("cumulative-sum", [x], np.cumsum(x, 0), [0])
case("sort", [x], np.sort(x, 0), [0])
case("argsort", [x], np.argsort(x, -1, kind="stable"))
case("top-k", [x], -np.sort(-x, 1)[:, :2], [2])

a = tensor((2, 3, 3), -1, 1) + 4 * np.eye(3)
b = tensor((2, 3, 2))
case("cholesky", [a], np.linalg.cholesky((a + a.swapaxes(-1, -2)) / 2))
case("triangular-solve", [a, b], np.linalg.solve(np.tril(a), b))
case("triangular-solve", [a, b], np.linalg.solve(np.triu(a), b), [0])
case("solve", [a, b], np.linalg.solve(a, b))
case("determinant", [a], np.linalg.det(a))

x = tensor((3, 5))
for name, f in (("%floor", np.floor), ("%ceiling", np.ceil), ("%truncate", np.trunc), ("%round", np.round)):
    case(name, [x], f(x))
case("%round", [np.arange(-2.5, 3)], np.round(np.arange(-2.5, 3)))
y = np.where(tensor((3, 5)) < 0, x, -x)
case("not-equal", [x, y], x != y)
case("slice", [x], x[:, 1:5:2], [1, 1, 5, 2])
case("slice", [x], x[1:], [-2, 1, 3, None])
t, u = tensor((3, 5)), tensor((3, 5))
others = lambda x, *taken: np.prod(np.delete(x, taken, 1), 1)
case("%prod-along", [x, t], sum(t[:, i] * others(x, i) for i in range(5)), [[1], None])
case("%prod-along", [x, t, u], sum(t[:, i] * u[:, j] * others(x, i, j) for i in range(5) for j in range(5) if i != j), [[1], None])
a, t = tensor((2, 3, 3)), tensor((2, 3, 3))
case("%determinant-along", [a, t], np.linalg.det(a) * np.trace(np.linalg.inv(a) @ t, axis1=1, axis2=2))

x, y = np.arange(-5.5, 6), np.resize([2, -1.5], 12)
case("%quotient", [x, y], np.trunc(x / y))
case("%remainder", [x, y], np.fmod(x, y))
case("%modulo", [x, y], np.mod(x, y))

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
