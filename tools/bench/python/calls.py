#!/usr/bin/env python3
"""What calls from Python cost: of Cairn's procedures, beside the same in NumPy, PyTorch and JAX.

    calls.py [--rounds N]

The package must be installed; peers that are not are left out. Times are the least of some rounds, in microseconds.
"""
import argparse
import time

import numpy as np

import cairn

PROGRAM = """
(define (square x) (* x x))
(define (nothing x) 1)
(define (negated x) (- x))
(define (dropped x) (length (size (- x))))
(define (twice x) (* 2 x))
(define (layer x w) (tanh (matmul x w)))
"""


def least(call, rounds, seconds=0.003):
    """Of one call."""
    count, best = 1, float("inf")
    while True:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - begun
        if took > seconds:
            break
        count *= 2
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - begun) / count)
    return best * 1e6


def row(what, microseconds, beside=""):
    print(f"| {what} | {microseconds:.2f} | {beside} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    m = cairn.compile(PROGRAM)
    print("| call | µs | beside |\n|---|---|---|")
    square = lambda x: x * x
    row("a trivial procedure of a number", least(lambda: m.square(3.0), rounds), f"a function of Python's {least(lambda: square(3.0), rounds):.2f}")
    large = np.ones(131072)  # 1 MB
    row("an array of 1 MB goes in", least(lambda: m.nothing(large), rounds))
    # In turns, as other processes come and go.
    pairs = [(least(lambda: m.negated(large), 1), least(lambda: m.dropped(large), 1)) for _ in range(rounds)]
    whole, inside = (min(column) for column in zip(*pairs))
    row("an array of 1 MB negated", whole, f"NumPy {least(lambda: np.negative(large), rounds):.2f}; its result stays in the program {inside:.2f}, so it comes out in {whole - inside:.2f}")
    small = np.ones(4)
    row("an array of 32 bytes negated", least(lambda: m.negated(small), rounds), f"NumPy {least(lambda: np.negative(small), rounds):.2f}")
    gradient = cairn.grad(m.square)
    row("a gradient of a number", least(lambda: gradient(3.0), rounds))
    try:
        import torch

        from cairn import torch as cairn_torch
    except ImportError:
        print("PyTorch is not there", flush=True)
    else:
        torch.set_num_threads(1)
        layer = cairn_torch.function(m.twice)

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, c):
                return 2 * c

        class Empty(torch.autograd.Function):
            """What PyTorch takes for a function that does nothing: it gives its argument."""

            @staticmethod
            def forward(ctx, x):
                return x.detach()

            @staticmethod
            def backward(ctx, c):
                return c

        x, plain = torch.ones(4, dtype=torch.float64, requires_grad=True), torch.ones(4, dtype=torch.float64)
        one = torch.ones(4, dtype=torch.float64)
        pullback = cairn.vjp(m.twice, small)[1]

        def both(function):
            torch.autograd.grad(function(x), x, one)

        # What a layer does besides is the difference to its procedures, called from NumPy, and a function that does nothing, in turns in one loop: PyTorch's
        # backward pass and a gradient of Cairn's take each other's code out of the processor's caches, in whatever way they are called.
        calls = {"inner": lambda: m.twice(small), "plain": lambda: layer(plain), "graph": lambda: layer(x), "both": lambda: both(layer),
                 "turns plain": lambda: (m.twice(small), Empty.apply(plain)), "turns graph": lambda: (m.twice(small), Empty.apply(x)),
                 "turns both": lambda: (m.twice(small), both(Empty.apply), pullback(small)),
                 "empty plain": lambda: Empty.apply(plain), "empty graph": lambda: Empty.apply(x), "empty both": lambda: both(Empty.apply),
                 "twice plain": lambda: Twice.apply(plain), "twice graph": lambda: Twice.apply(x), "twice both": lambda: both(Twice.apply),
                 "pullback": lambda: pullback(small)}
        for call in calls.values():
            call()
        taken = dict.fromkeys(calls, float("inf"))
        for _ in range(rounds):
            for name, call in calls.items():
                taken[name] = min(taken[name], least(call, 1))
        for name, what in (("plain", "forward"), ("graph", "forward, with a graph"), ("both", "forward and backward")):
            inside = taken["inner"] + (taken["pullback"] if name == "both" else 0)
            row(f"PyTorch: a layer of 4 numbers, {what}", taken[name],
                f"its procedures and an autograd.Function that does nothing, in turns, {taken['turns ' + name]:.2f}, so {taken[name] - taken['turns ' + name]:.2f} "
                f"more; alone {inside:.2f} and {taken['empty ' + name]:.2f}; one of the same in PyTorch {taken['twice ' + name]:.2f}")
    try:
        import jax

        from cairn import jax as cairn_jax
    except ImportError:
        print("JAX is not there", flush=True)
    else:
        twice = jax.jit(cairn_jax.function(m.twice))
        x = jax.numpy.ones(4)
        callback = jax.jit(lambda x: jax.pure_callback(lambda x: 2 * np.asarray(x), jax.ShapeDtypeStruct((4,), x.dtype), x))
        row("JAX: a function of 4 numbers under jit", least(lambda: jax.block_until_ready(twice(x)), rounds),
            f"a pure_callback of NumPy's {least(lambda: jax.block_until_ready(callback(x)), rounds):.2f}")


if __name__ == "__main__":
    main()
