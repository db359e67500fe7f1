"""Procedures inside PyTorch, against the same functions written in PyTorch. Skipped where that is not installed."""
import unittest

import numpy as np

import cairn

try:
    import torch
except ImportError as missing:
    raise unittest.SkipTest("PyTorch is not installed") from missing

import cairn.torch  # noqa: E402

PROGRAM = """
(define (layer x w b) (tanh (+ (matmul x w) b)))
(define (loss x w) (sumall (square (tanh (matmul x w)))))
(define (number x) (tensor->number (sumall (* x x x))))
(define (several x y) (list (* x y) (sumall x) (tensor->number (sumall y))))
(define (scaled x k) (* k x))
(define (first x y) (* x x))
(define (rounded x) (cast x 'i64))
(define (walk x) (let loop ((n 500) (x x)) (if (= n 0) x (loop (- n 1) (+ x (* .01 (sin x)))))))
"""


class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = cairn.compile(PROGRAM)

    def setUp(self):
        generator = torch.Generator().manual_seed(0)
        self.x, self.w, self.b, self.y = (torch.randn(*sizes, generator=generator, dtype=torch.float64, requires_grad=True)
                                          for sizes in ((3, 4), (4, 2), (2,), (3, 4)))

    def compare(self, ours, theirs, *arguments):
        """Values, gradients, and gradients of these."""
        results = []
        for function in (ours, theirs):
            value = function(*arguments)
            values = value if isinstance(value, tuple) else (value,)
            first = torch.autograd.grad(sum((v * v).sum() for v in values), arguments, create_graph=True)
            second = torch.autograd.grad(sum((g * g).sum() for g in first), arguments)
            results.append([*values, *first, *second])
        for a, b in zip(*results):
            torch.testing.assert_close(a, b)

    def test_against_pytorch(self):
        self.compare(cairn.torch.function(self.m.layer), lambda x, w, b: torch.tanh(x @ w + b), self.x, self.w, self.b)
        self.compare(cairn.torch.function(self.m.loss), lambda x, w: torch.tanh(x @ w).square().sum(), self.x, self.w)
        self.compare(cairn.torch.function(self.m.number), lambda x: (x**3).sum(), self.x)
        self.compare(cairn.torch.function(self.m.several), lambda x, y: (x * y, x.sum(), y.sum()), self.x, self.y)
        self.compare(cairn.torch.function(self.m.walk, checkpoint="bisection,base=64"), self.walk, self.x)
        self.compare(cairn.torch.function(self.m.walk, memory="1MiB"), self.walk, self.x)

    @staticmethod
    def walk(x):
        for _ in range(500):
            x = x + 0.01 * torch.sin(x)
        return x

    def test_by_differences(self):
        for name, arguments in (("layer", (self.x, self.w, self.b)), ("several", (self.x, self.y)), ("number", (self.x,))):
            function = cairn.torch.function(self.m[name])
            self.assertTrue(torch.autograd.gradcheck(function, arguments))
            self.assertTrue(torch.autograd.gradgradcheck(function, arguments))

    def test_a_scalar_again_and_again(self):
        function = cairn.torch.function(self.m.loss)
        for _ in range(3):  # from the second call on its gradient is computed with the value
            gradient, = torch.autograd.grad(3 * function(self.x, self.w), self.w)
            expected, = torch.autograd.grad(3 * torch.tanh(self.x @ self.w).square().sum(), self.w)
            torch.testing.assert_close(gradient, expected)

    def test_what_has_no_gradient(self):
        function = cairn.torch.function(self.m.scaled)
        gradient, = torch.autograd.grad(function(self.x, 3).sum(), self.x)
        self.assertTrue((gradient == 3).all())
        value = cairn.torch.function(cairn.compile("(define (f x nothing) (* x x))").f)(self.x, None)
        self.assertTrue(torch.allclose(torch.autograd.grad(value.sum(), self.x)[0], 2 * self.x))
        with torch.no_grad():
            self.assertFalse(function(self.x, 3.0).requires_grad)
        value = cairn.torch.function(self.m.first)(self.x, self.y)
        gradient = torch.autograd.grad(value.sum(), (self.x, self.y), allow_unused=True)
        self.assertTrue((gradient[1] == 0).all())
        whole = cairn.torch.function(self.m.rounded)(self.x)
        self.assertEqual(whole.dtype, torch.int64)
        self.assertFalse(whole.requires_grad)

    def test_types_and_layouts(self):
        function = cairn.torch.function(self.m.scaled)
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(3, 4, dtype=dtype, requires_grad=True)
            y = function(x.T, 2)
            self.assertEqual((y.dtype, tuple(y.shape)), (dtype, (4, 3)))
            torch.testing.assert_close(y, 2 * x.T)
            y.sum().backward()
            self.assertEqual(x.grad.dtype, dtype)
            self.assertTrue((x.grad == 2).all())

    def test_tensors_are_lent_and_results_pytorchs_own(self):
        x = torch.ones(4)
        y = cairn.torch.function(self.m.scaled)(x, 1)
        y.mul_(5)
        self.assertTrue((x == 1).all())
        with self.assertRaisesRegex(ValueError, "processor"):
            cairn.torch.function(self.m.scaled)(torch.ones(2, device="meta"), 1)

    def test_a_training(self):
        torch.manual_seed(0)
        layer = cairn.torch.function(self.m.layer)
        x = torch.linspace(-1, 1, 50).reshape(-1, 1)
        parameters = [torch.nn.Parameter(p) for p in (torch.randn(1, 16), torch.zeros(16))]
        last = torch.nn.Linear(16, 1)
        optimizer = torch.optim.Adam([*parameters, *last.parameters()], 0.02)
        for _ in range(300):
            optimizer.zero_grad()
            loss = (last(layer(x, *parameters)) - torch.sin(3 * x)).square().mean()
            loss.backward()
            optimizer.step()
        self.assertLess(loss.item(), 0.01)

    def test_arrays_by_dlpack(self):
        self.assertEqual(self.m.scaled(torch.ones(3), 2).tolist(), [2, 2, 2])
        self.assertEqual(np.asarray(self.m.scaled(torch.ones(2, 3).T, 2)).tolist(), [[2, 2]] * 3)
        with self.assertRaises((RuntimeError, BufferError)):
            self.m.scaled(torch.ones(3, requires_grad=True), 2)


if __name__ == "__main__":
    unittest.main()
