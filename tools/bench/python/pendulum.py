#!/usr/bin/env python3
"""A damped pendulum of a million steps, 100 of which are observed: the squared error and its gradient by two parameters, compiled and computed once,
in Cairn, JAX and PyTorch. Each runs in a process of its own, which has compiled and differentiated something small before.

    pendulum.py [--steps N] [--torch-steps N] [--rounds N]

Memory: what the gradient takes by the system's own account (Cairn's accounts, JAX's memory analysis), and how much the resident size of the
process grew at most. PyTorch runs fewer steps, as each takes it some 70 µs and 9 KB.
"""
import argparse
import json
import subprocess
import sys
import time

OBSERVATIONS = 100
PROGRAM = """
(define dt .001)
(define (swing n th om k c)
  (if (= n 0)
      (cons th om)
      (let* ((om (- om (* dt (+ (* k (sin th)) (* c om))))) (th (+ th (* dt om))))
        (swing (- n 1) th om k c))))
(define (loss p n data)
  (let ((k (car p)) (c (cadr p)))
    (let loop ((data data) (th 1.) (om 0.) (sum 0.))
      (if (null? data)
          sum
          (let (((cons th om) (swing n th om k c)))
            (loop (cdr data) th om (+ sum (square (- th (car data))))))))))
"""
WARM = "(define (f n x) (if (= n 0) x (f (- n 1) (+ x (* .001 (sin x))))))"
DATA = [0.1 * (-1) ** i for i in range(OBSERVATIONS)]


def status(key):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))


class Measured:
    """Time, and growth of the resident size, of what is done within."""

    def __enter__(self):
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        self.base, self.begun = status("VmRSS"), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds, self.growth, self.resident = time.perf_counter() - self.begun, status("VmHWM") - self.base, status("VmHWM")

    def tell(self, value, gradient, own):
        print(json.dumps({"seconds": self.seconds, "growth": self.growth, "resident": self.resident, "own": own, "value": value, "gradient": gradient}))


def in_cairn(steps, memory):
    import cairn

    settings = {"memory": memory} if memory else {}
    cairn.grad(cairn.compile(WARM).f, 1, **settings)(100000, 1.0)
    with Measured() as measured:
        m = cairn.compile(PROGRAM)
        value, gradient = cairn.value_and_grad(m.loss, **settings)([9.81, 0.1], steps // OBSERVATIONS, DATA)
    peaks = m.statistics
    measured.tell(value, gradient, sum(peaks[key] for key in ("heap_peak_bytes", "tape_peak_bytes", "capsule_peak_bytes")))


def in_jax(steps, segments):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.jit(jax.grad(lambda x: jax.lax.scan(jax.checkpoint(lambda s, _: (s + 0.001 * jnp.sin(s), None)), x, None, length=100)[0]))(1.0).block_until_ready()

    def loss(p, data):
        k, c = p

        @jax.checkpoint
        def step(state, _):
            th, om = state
            om = om - 0.001 * (k * jnp.sin(th) + c * om)
            return (th + 0.001 * om, om), None

        def observed(state, x):
            state, _ = jax.lax.scan(step, state, None, length=steps // OBSERVATIONS)
            return state, (state[0] - x) ** 2

        _, errors = jax.lax.scan(jax.checkpoint(observed) if segments else observed, (1.0, 0.0), data)
        return errors.sum()

    data = jnp.array(DATA)
    with Measured() as measured:
        compiled = jax.jit(jax.value_and_grad(loss)).lower((9.81, 0.1), data).compile()
        value, gradient = jax.block_until_ready(compiled((9.81, 0.1), data))
    measured.tell(float(value), [float(g) for g in gradient], compiled.memory_analysis().temp_size_in_bytes)


def in_torch(steps):
    import torch

    x = torch.ones((), requires_grad=True)
    torch.autograd.grad(torch.sin(x) * x, x)
    with Measured() as measured:
        k, c = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (9.81, 0.1))
        th, om, total = torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64), 0.0
        for x in DATA:
            for _ in range(steps // OBSERVATIONS):
                om = om - 0.001 * (k * torch.sin(th) + c * om)
                th = th + 0.001 * om
            total = total + (th - x) ** 2
        total.backward()
    measured.tell(float(total), [float(k.grad), float(c.grad)], None)


PEERS = {"cairn": lambda n: in_cairn(n, "2MiB"), "cairn-unbounded": lambda n: in_cairn(n, None), "jax": lambda n: in_jax(n, False),
         "jax-segments": lambda n: in_jax(n, True), "torch": in_torch}
NAMES = {"cairn": "Cairn, memory=\"2MiB\"", "cairn-unbounded": "Cairn, nothing said", "jax": "JAX, scan and checkpoint of each step",
         "jax-segments": "JAX, also a checkpoint around each observation", "torch": "PyTorch"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000000)
    parser.add_argument("--torch-steps", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", choices=PEERS, help="run this one here, and print one line of JSON")
    arguments = parser.parse_args()
    if arguments.peer:
        return PEERS[arguments.peer](arguments.steps)
    print("| system | steps | seconds | own account MB | growth MB | process MB |\n|---|---|---|---|---|---|")
    for peer in PEERS:
        steps = arguments.torch_steps if peer == "torch" else arguments.steps
        command = [sys.executable, __file__, "--peer", peer, "--steps", str(steps)]
        rounds = [subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(arguments.rounds)]
        if any(r.returncode for r in rounds):
            print(f"| {NAMES[peer]} | not to be had | | | | |")
            continue
        told = [json.loads(r.stdout) for r in rounds]
        own = told[0]["own"]
        print(f"| {NAMES[peer]} | {steps:,} | {min(t['seconds'] for t in told):.2f} | {'' if own is None else f'{own / 1e6:.2f}'} | "
              f"{min(t['growth'] for t in told) / 1e6:.1f} | {min(t['resident'] for t in told) / 1e6:.0f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
