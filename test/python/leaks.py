"""Calls, errors, runs and generators left half way, circles of references, functions of Python's and explanations, some times over, for LeakSanitizer (run.py --sanitized): whatever is left at the end
and was made by the extension is a leak."""
import gc

import numpy as np

import cairn

PROGRAM = """
(define (f x) (* 2 x))
(define (g x) (list x (vector x "text" 'symbol) (cons 1 2) (lambda (y) (+ x y))))
(define (h x) (doubled x))
(define (bad x) (car x))
(define (fails x) (failing x))
(define (count n) (if (= n 0) 0 (count (- n 1))))
"""


class Circle:
    """A program, a procedure, a run and a function of the host that refer to each other."""

    def __init__(self):
        self.m = cairn.compile("(define (f x) (own x))", hosts={"own": self.own}, output=self.write)
        self.f = self.m.f
        self.run = self.m.f.start(2)
        self.m.f.owner = self

    def own(self, x):
        return 2 * x

    def write(self, text):
        pass


def stepping(m, array):
    run, other = m.count.start(1000), m.f.start(array)
    yield from run.slices(steps=10)
    other.resume()


def fail(x):
    raise ValueError(x)


def everything():
    m = cairn.compile(PROGRAM, hosts={"doubled": cairn.host(lambda x: 2 * x, derivative=lambda x, y: [[2.0]]), "failing": fail}, output=[].append)
    for _ in range(10):
        m.f(np.ones(1000))
        m.f(np.ones((10, 10))[:, ::-1])
        m.g({"a": [1, 2.0], 3: ("x",)})
        cairn.grad(m.h)(2.0)
        run = m.f.start(2.0).resume(steps=1)
        m.f(1)
        assert run.value == 4.0
        generator = stepping(m, np.ones(1000))  # left half way
        next(generator), next(generator)
        assert Circle().f(3) == 6
        for wrong in (lambda: m.bad(1), lambda: m.fails(1), lambda: m.f(set()), lambda: m.f.start(set()), lambda: m.f(np.zeros(2, "f2")), lambda: m.f(1, 2),
                      lambda: cairn.compile("(define (f")):
            try:
                wrong()
            except (cairn.Error, TypeError):
                continue
            raise AssertionError
    explained = cairn.grad(m.f, explain=True)
    explained(2.0)
    assert explained.explanation.html


for _ in range(5):
    everything()
gc.collect()
