"""Procedures inside PyTorch, against the same functions written in PyTorch. Skipped where that is not installed."""
import copy
import pickle
import signal
import unittest
import warnings

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

    def test_tensors_of_all_kinds_are_lent(self):
        twice = cairn.torch.function(self.m.scaled)
        grid = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        negative = torch.complex(grid, grid).conj().imag
        self.assertTrue(negative.is_neg())
        for tensor in (grid, grid.t(), grid[:, 1:3], grid[::2], grid[0].expand(5, 4), grid[0, 0], grid[:0], negative, torch.nn.Parameter(grid),
                       grid.to(torch.bfloat16), grid.to(torch.int32), grid.to(torch.int64), grid.to(torch.uint8)):
            torch.testing.assert_close(twice(tensor, 2), 2 * tensor)
        self.assertEqual(twice(grid > 5, 2).dtype, torch.uint8)
        many = cairn.torch.function(cairn.compile("(define (f . xs) (apply + xs))").f)
        torch.testing.assert_close(many(*[grid] * 50), 50 * grid)

    def test_values_are_tensors_of_their_own(self):
        m = cairn.compile("(define (same x) x)\n(define (both x) (list x x))\n(define c (fill (list 4) 1.))\n(define (constant x) c)")
        x = torch.ones(4, dtype=torch.float64)
        for y in (cairn.torch.function(m.same)(x), *cairn.torch.function(m.both)(x), cairn.torch.function(m.constant)(x)):
            y += 1
        self.assertEqual((x.tolist(), m.c.tolist()), ([1] * 4, [1] * 4))

    def test_what_becomes_of_a_tensor_behind_a_call_does_not_matter_to_a_run_that_was_stopped(self):
        class Enough(Exception):
            pass

        def ring(*_):
            raise Enough

        m = cairn.compile("(define (slow n x) (if (= n 0) (sumall x) (slow (- n 1) x)))")
        x = torch.full((1000,), 3.0, dtype=torch.float64)
        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with self.assertRaises(Enough) as raised:
                cairn.torch.function(m.slow)(10**8, x)
        finally:
            signal.signal(signal.SIGALRM, before)
        x.data = torch.zeros(1)
        others = [torch.zeros(1000, dtype=torch.float64) for _ in range(100)]
        self.assertEqual(raised.exception.run.value, 3000)
        del others

    def test_copies_share_the_procedure(self):
        layer = cairn.torch.function(self.m.layer, checkpoint=False)
        for copied in (copy.deepcopy(layer), copy.copy(layer), copy.deepcopy({"layer": layer})["layer"]):
            self.assertIs(copied.procedure, layer.procedure)
            self.compare(copied, layer, self.x, self.w, self.b)

        class Model(torch.nn.Module):
            def __init__(self, w):
                super().__init__()
                self.w, self.layer = torch.nn.Parameter(w), layer

            def forward(self, x):
                return self.layer(x, self.w, 0)

        model = Model(self.w.detach())
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin.w.zero_()
        self.assertEqual(twin(self.x).abs().sum(), 0)
        self.assertNotEqual(model(self.x).abs().sum(), 0)
        again = pickle.loads(pickle.dumps(layer))  # which has a machine of its own
        self.compare(again, layer, self.x, self.w, self.b)

    def test_forward_mode(self):
        def pushed(function, primals, tangents):
            with torch.autograd.forward_ad.dual_level():
                value = function(*(p if t is None else torch.autograd.forward_ad.make_dual(p, t) for p, t in zip(primals, tangents)))
                return [torch.autograd.forward_ad.unpack_dual(v) for v in (value if isinstance(value, tuple) else (value,))]

        x, y = self.x.detach(), self.y.detach()
        t = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
        for name, theirs in (("several", lambda x, y: (x * y, x.sum(), y.sum())), ("first", lambda x, y: x * x)):
            for tangents in ((t, None), (t, 2 * t), (None, t)):
                for ours, other in zip(pushed(cairn.torch.function(self.m[name]), (x, y), tangents), pushed(theirs, (x, y), tangents)):
                    torch.testing.assert_close(ours.primal, other.primal)
                    given = [torch.zeros_like(v.primal) if v.tangent is None else v.tangent for v in (ours, other)]
                    torch.testing.assert_close(*given)

    def test_transforms(self):
        from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

        x, w, b = (a.detach() for a in (self.x, self.w, self.b))
        xs, ws = torch.stack([x, x + 1, -x]), torch.stack([w, 2 * w, w**2])
        pairs = [(cairn.torch.function(self.m.layer), lambda x, w, b: torch.tanh(x @ w + b)),
                 (cairn.torch.function(self.m.layer, checkpoint=False), lambda x, w, b: torch.tanh(x @ w + b))]
        summed = lambda f: lambda *a: f(*a).square().sum()  # noqa: E731
        calls = [lambda f: grad(summed(f), (0, 1, 2))(x, w, b), lambda f: grad_and_value(summed(f))(x, w, b),
                 lambda f: vjp(f, x, w, b)[1](torch.ones(3, 2, dtype=x.dtype)), lambda f: jvp(f, (x, w, b), (x, w, b)), lambda f: jacrev(f)(x, w, b),
                 lambda f: jacfwd(f, (0, 2))(x, w, b), lambda f: hessian(summed(f))(x, w, b), lambda f: jacrev(jacrev(summed(f)))(x, w, b),
                 lambda f: jacrev(jacfwd(summed(f)))(x, w, b), lambda f: grad(lambda x: grad(summed(f))(x, w, b).sum())(x),
                 lambda f: vmap(f)(xs, ws, torch.stack([b] * 3)), lambda f: vmap(f, (2, None, None), 1)(xs.movedim(0, 2), w, b),
                 lambda f: vmap(vmap(f, (None, 0, None)), (0, None, None))(xs, ws, b), lambda f: vmap(grad(summed(f), (0, 1)), (0, None, None))(xs, w, b),
                 lambda f: grad(lambda w: vmap(f, (0, None, None))(xs, w, b).square().sum())(w)]
        for ours, theirs in pairs:
            for i, call in enumerate(calls):
                with self.subTest(call=i):
                    torch.testing.assert_close(call(ours), call(theirs))
        several = cairn.torch.function(self.m.several), lambda x, y: (x * y, x.sum(), y.sum())
        for call in (lambda f: vmap(f)(xs, xs), lambda f: vmap(jacrev(f))(xs, xs), lambda f: jacfwd(f, (0, 1))(x, x),
                     lambda f: vjp(f, x, x)[1](tuple(torch.ones_like(v) for v in f(x, x)))):
            torch.testing.assert_close(call(several[0]), call(several[1]))
        number = cairn.torch.function(self.m.number), lambda x: (x**3).sum()
        for call in (lambda f: grad(f)(x), lambda f: hessian(f)(x), lambda f: vmap(grad(f))(xs), lambda f: grad(lambda x: grad(f)(x).sum())(x)):
            for _ in range(2):
                torch.testing.assert_close(call(number[0]), call(number[1]))
        with self.assertRaisesRegex(ValueError, "vmap over nothing"):
            vmap(several[0])(xs[:0], xs[:0])

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(w)

            def forward(self, x):
                return pairs[0][0](x, self.w, b)

        module = Layer()
        gradient = grad(lambda p: functional_call(module, p, (x,)).sum())(dict(module.named_parameters()))
        torch.testing.assert_close(gradient["w"], grad(lambda w: pairs[0][1](x, w, b).sum())(w))

    def test_functional(self):
        ours, theirs = cairn.torch.function(self.m.layer), lambda x, w, b: torch.tanh(x @ w + b)
        functional = torch.autograd.functional
        arguments = self.x, self.w, self.b
        torch.testing.assert_close(functional.jacobian(ours, arguments), functional.jacobian(theirs, arguments))
        torch.testing.assert_close(functional.hessian(lambda x: ours(x, self.w, self.b).sum(), self.x),
                                   functional.hessian(lambda x: theirs(x, self.w, self.b).sum(), self.x))
        for strategy in ("reverse-mode", "forward-mode"):  # an older vmap than that of torch.func, without rules for functions
            with self.assertRaisesRegex((ValueError, RuntimeError), "torch.func|vmap"):
                functional.jacobian(ours, arguments, vectorize=True, strategy=strategy)

    def test_compiled(self):
        layer = cairn.torch.function(self.m.layer)
        compiled = torch.compile(lambda x, w, b: 2 * layer(x + 1, w, b), backend="eager")
        for arguments in ((self.x, self.w, self.b), (self.x.detach(), self.w, self.b)):
            torch.testing.assert_close(compiled(*arguments), 2 * torch.tanh((arguments[0] + 1) @ self.w + self.b))
        gradient, = torch.autograd.grad(compiled(self.x, self.w, self.b).sum(), self.w)
        torch.testing.assert_close(gradient, torch.autograd.grad((2 * torch.tanh((self.x + 1) @ self.w + self.b)).sum(), self.w)[0])

    def test_traces_are_refused(self):
        f = cairn.torch.function(self.m.layer)
        x, w, b = (t.detach() for t in (self.x, self.w, self.b))
        inside = lambda x: f(x, w, b) + x.sum()
        value = f(self.x, self.w, self.b)

        class Model(torch.nn.Module):
            def forward(self, x):
                return inside(x)

        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.utils.flop_counter import FlopCounterMode
        traces = {
            "linearize": lambda: torch.func.linearize(inside, x), "make_fx": lambda: make_fx(inside)(x),
            "of a gradient": lambda: make_fx(torch.func.grad(lambda x: inside(x).sum()))(x),
            "of a pullback": lambda: make_fx(lambda c: torch.autograd.grad(value, self.x, c, retain_graph=True))(torch.ones_like(value)),
            "of values that are computed": lambda: make_fx(lambda y: inside(x) * y)(torch.ones(2, dtype=torch.float64)),
            "before dispatch": lambda: make_fx(inside, pre_dispatch=True)(x), "fake": lambda: make_fx(inside, tracing_mode="fake")(x),
            "export": lambda: torch.export.export(Model(), (x,), strict=False), "jit": lambda: torch.jit.trace(inside, x)}
        for name, trace in traces.items():
            with self.subTest(name), warnings.catch_warnings(), self.assertRaisesRegex(RuntimeError, "cannot be traced.*jvp and vjp"):
                warnings.simplefilter("ignore")
                trace()
        with torch._subclasses.FakeTensorMode() as mode, self.assertRaisesRegex(ValueError, "argument 1: a tensor without elements"):
            f(mode.from_tensor(x), mode.from_tensor(w), mode.from_tensor(b))
        with FlopCounterMode(display=False):  # sees operations and leaves them what they are
            torch.testing.assert_close(inside(x), torch.tanh(x @ w + b) + x.sum())

    def test_by_differences(self):
        for name, arguments in (("layer", (self.x, self.w, self.b)), ("several", (self.x, self.y)), ("number", (self.x,))):
            function = cairn.torch.function(self.m[name])
            self.assertTrue(torch.autograd.gradcheck(function, arguments, check_forward_ad=True))
            self.assertTrue(torch.autograd.gradgradcheck(function, arguments))

    def test_a_scalar_again_and_again(self):
        function = cairn.torch.function(self.m.loss)
        for _ in range(3):  # from the second call on its gradient is computed with the value
            gradient, = torch.autograd.grad(3 * function(self.x, self.w), self.w)
            expected, = torch.autograd.grad(3 * torch.tanh(self.x @ self.w).square().sum(), self.w)
            torch.testing.assert_close(gradient, expected)

    def test_gradients_by_some_arguments_of_any_number(self):
        f = cairn.torch.function(cairn.compile("(define (f . xs) (apply * xs))").f)
        grid = torch.arange(1, 4, dtype=torch.float64)
        for wanted in ((True,), (True, True), (False, True), (True, False, True), (True, True, True)):
            results = []
            for function in (f, lambda *xs: torch.stack(xs).prod(0)):
                xs = [(grid + i).requires_grad_(w) for i, w in enumerate(wanted)]
                results.append(torch.autograd.grad(function(*xs), [x for x in xs if x.requires_grad], grid))
            torch.testing.assert_close(*results)
        x = torch.ones(3, requires_grad=True)
        constant = cairn.torch.function(cairn.compile("(define (f . xs) (fill '(3) 2.))").f)
        self.assertEqual(torch.autograd.grad(constant(x, x * 2).sum(), x)[0].tolist(), [0, 0, 0])

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

    def test_random_numbers_of_the_backward_pass_are_those_of_the_forward_pass(self):
        m = cairn.compile("(define (drop x) (dropout x .5))\n(define (dropped x) (sumall (dropout x .5)))\n(define (noise) (random-real))", seed=3)
        dropped, total = cairn.torch.function(m.drop), cairn.torch.function(m.dropped)
        x = torch.linspace(1, 2, 64, dtype=torch.float64, requires_grad=True)
        for graph in (False, True):
            one, two = dropped(x), dropped(x)
            self.assertFalse(torch.equal(one, two))
            for y in (two, one):  # in another order than they were drawn
                (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=graph)
                torch.testing.assert_close(gradient, (y / x).detach(), check_layout=False)
        for _ in range(2):  # the second time with its gradient at once
            y = total(x)
            (gradient,) = torch.autograd.grad(y, x)
            self.assertAlmostEqual((gradient * x).sum().item(), y.item())
        value, pull = torch.func.vjp(dropped, x.detach())
        torch.testing.assert_close(pull(torch.ones_like(value))[0], value / x.detach())
        torch.testing.assert_close(torch.func.jacrev(dropped)(x.detach()).count_nonzero(1) <= 1, torch.ones(64, dtype=torch.bool))
        value, tangent = torch.func.jvp(dropped, (x.detach(),), (x.detach(),))
        torch.testing.assert_close(tangent, value)
        with self.assertRaisesRegex(ValueError, "one element after the other"):
            torch.func.vmap(torch.func.grad(lambda x: dropped(x).sum()))(torch.ones(2, 8))
        # What comes behind a backward pass is what would have come without it.
        other = m.copy()
        cairn.torch.function(other.drop)(x)
        other_next = other.noise()
        again = m.copy()
        cairn.torch.function(again.drop)(x).sum().backward()
        self.assertEqual(again.noise(), other_next)

    def test_without_gradients_none_is_computed(self):
        m = cairn.compile("(define (f x) (* x x))\n(define (g x) (* 2 (car x)))")
        f, x = cairn.torch.function(m.f), torch.ones(1, requires_grad=True)
        f(x).backward()

        def steps(action):
            before = m.steps
            action()
            return m.steps - before

        with torch.no_grad():
            self.assertEqual(steps(lambda: f(x)), steps(lambda: m.f(np.ones(1, np.float32))))
        self.assertGreater(steps(lambda: f(x)), steps(lambda: m.f(np.ones(1, np.float32))))
        with self.assertRaisesRegex(ValueError, "an argument of its own"):
            cairn.torch.function(m.g)([x])

    def test_errors_of_the_program_are_told_and_nothing_is_run_again_for_them(self):
        told, calls = [], []

        def host(x):
            calls.append(x)
            if len(calls) > 1:
                raise OSError("gone")
            return x

        m = cairn.compile("(define (f x) (begin (display \"once \") (let ((y (sumall x))) (if (> y 100) (car y) (+ y (* 0 (seen 1)))))))", hosts={"seen": host},
                          output=told.append)
        f, x = cairn.torch.function(m.f), torch.ones(3, requires_grad=True)
        f(x)  # one number: the next call computes the gradient at once
        with self.assertRaisesRegex(cairn.ProgramError, "OSError: gone") as raised:
            f(x)
        self.assertIsInstance(raised.exception.__cause__, OSError)
        self.assertEqual(("".join(told), len(calls)), ("once once ", 2))
        with self.assertRaisesRegex(cairn.ProgramError, "car: expected a pair"):
            f((100 * x).detach().requires_grad_())
        self.assertEqual("".join(told), "once once once ")

    def test_values_that_change_their_form(self):
        f = cairn.torch.function(cairn.compile("(define (f x) (if (> (sumall x) 0) (sumall x) (* 2 x)))").f)
        x = torch.ones(3, requires_grad=True)
        f(x).backward()
        y = f((-x).detach().requires_grad_())
        self.assertEqual(y.tolist(), [-2, -2, -2])
        y.sum().backward()

    def test_elements_that_a_program_refers_to_are_not_written(self):
        m = cairn.compile("(define w (cast (list->tensor '(1. 2. 3.)) 'bf16))\n(define t (transpose (cast (list->tensor '((1. 2. 3.) (4. 5. 6.))) 'bf16)))\n"
                          "(define (total) (sumall (cast w 'f64)))\n(define (same x) (* 1 x))")
        torch.from_dlpack(m.w).fill_(7)
        self.assertEqual(m.total(), 6.0)
        self.assertEqual(torch.from_dlpack(m.t).tolist(), [[1, 4], [2, 5], [3, 6]])
        with self.assertRaisesRegex(BufferError, "only a copy"):
            m.w.__dlpack__(copy=False)
        self.assertEqual(torch.from_dlpack(m.same(m.w)).tolist(), [1, 2, 3])
        ours = m.same(m.w)
        copied, shared = torch.from_dlpack(torch.utils.dlpack.from_dlpack(ours.__dlpack__(copy=True))), torch.from_dlpack(ours)
        shared.fill_(5)
        self.assertEqual((copied.tolist(), torch.from_dlpack(ours).tolist()), ([1, 2, 3], [5, 5, 5]))

    def test_arrays_by_dlpack(self):
        self.assertEqual(self.m.scaled(torch.ones(3), 2).tolist(), [2, 2, 2])
        self.assertEqual(np.asarray(self.m.scaled(torch.ones(2, 3).T, 2)).tolist(), [[2, 2]] * 3)
        with self.assertRaises((RuntimeError, BufferError)):
            self.m.scaled(torch.ones(3, requires_grad=True), 2)


if __name__ == "__main__":
    unittest.main()
