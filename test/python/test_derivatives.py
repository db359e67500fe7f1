"""Derivative operators: any nesting of arguments, several of them, under schedules and budgets, and of each other."""
import unittest

import numpy as np

import cairn

PROGRAM = """
(define (cube x) (* x x x))
(define (product a b) (* a a b))
(define (loss p x) (sumall (square (- (matmul x (cadr p)) (car p)))))
(define (parts d) (+ (* (dict-ref d "a") (vector-ref (dict-ref d "b") 0)) (sumall (vector-ref (dict-ref d "b") 1))))
(define (both v) (vector (* (vector-ref v 0) (vector-ref v 1)) (+ (vector-ref v 0) (vector-ref v 1))))
(define (walk n x) (if (= n 0) x (walk (- n 1) (+ x (* .001 (sin x))))))
(define (quadratic x) (sumall (* x x x)))
(define (ignores x y) (* x x))
(define rule (sgd .1))
(define momentum-rule (adam .1))
(define (fit p) (square (- (* (car p) (cadr p)) 6)))
(define (fit-to p target) (square (- (car p) target)))
(define (layers x) (sumall (let loop ((n 30) (x x)) (if (= n 0) x (loop (- n 1) (tanh (+ x (fill '(100 100) .1))))))))
(define (made x) (sumall (* x (fill '(2) 3.))))
"""


class Derivatives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = cairn.compile(PROGRAM)

    def test_of_a_number(self):
        self.assertEqual(cairn.grad(self.m.cube)(2.0), 12.0)
        self.assertEqual(cairn.value_and_grad(self.m.cube)(2.0), (8.0, 12.0))
        self.assertEqual(cairn.jacobian(self.m.cube)(2.0), 12.0)
        self.assertEqual(cairn.hvp(self.m.cube)(2.0, 10.0), 120.0)
        self.assertEqual(cairn.jvp(self.m.cube, (2.0,), (10.0,)), (8.0, 120.0))
        value, pullback = cairn.vjp(self.m.cube, 2.0)
        self.assertEqual((value, pullback(10.0)), (8.0, (120.0,)))

    def test_a_pullback_draws_the_random_numbers_of_the_value(self):
        m = cairn.compile("(define (drop x) (dropout x .5))\n(define (noise) (random-real))", seed=3)
        x = np.linspace(1, 2, 64)
        value, pullback = cairn.vjp(m.drop, x)
        plain = m.copy()
        plain.drop(x)
        for _ in range(2):
            np.testing.assert_allclose(pullback(np.ones(64))[0], value / x)
        self.assertEqual(m.noise(), plain.noise())

    def test_of_several_arguments(self):
        self.assertEqual(cairn.grad(self.m.product)(3.0, 5.0), 30.0)
        self.assertEqual(cairn.grad(self.m.product, 1)(3.0, 5.0), 9.0)
        self.assertEqual(cairn.grad(self.m.product, (0, 1))(3.0, 5.0), (30.0, 9.0))
        self.assertEqual(cairn.hvp(self.m.product, (0, 1))(3.0, 5.0, (1.0, 0.0)), (10.0, 6.0))
        self.assertEqual(cairn.jvp(self.m.product, (3.0, 5.0), (1.0, 1.0)), (45.0, 39.0))
        self.assertEqual(cairn.vjp(self.m.product, 3.0, 5.0)[1](1.0), (30.0, 9.0))
        self.assertEqual(cairn.grad(self.m.ignores, (0, 1))(3.0, 5.0), (6.0, 0))
        for wrong in ((1, 0), (0, 0), (), -1):
            with self.assertRaises(ValueError):
                cairn.grad(self.m.product, wrong)

    def test_of_nested_arguments(self):
        generator = np.random.default_rng(0)
        w, b, x = generator.standard_normal((3, 2)), generator.standard_normal(2), generator.standard_normal((5, 3))
        value, (db, dw) = cairn.value_and_grad(self.m.loss)([b, w], x)
        error = x @ w - b
        np.testing.assert_allclose(value, (error**2).sum())
        np.testing.assert_allclose(dw, 2 * x.T @ error)
        np.testing.assert_allclose(db, -2 * error.sum(0))
        gradient = cairn.grad(self.m.parts)({"a": 2.0, "b": (3.0, np.ones(2))})
        self.assertEqual((gradient["a"], gradient["b"][0], gradient["b"][1].tolist()), (3.0, 2.0, [1.0, 1.0]))
        self.assertEqual(cairn.jacobian(self.m.both)((2.0, 3.0)), ((3.0, 2.0), (1.0, 1.0)))
        np.testing.assert_allclose(cairn.hvp(self.m.quadratic)(np.array([1.0, 2.0]), np.array([1.0, 0.0])), [6.0, 0.0])

    def test_of_derivatives(self):
        self.assertEqual(cairn.grad(cairn.grad(self.m.cube))(2.0), 12.0)
        self.assertEqual(cairn.grad(cairn.grad(cairn.grad(self.m.cube)))(2.0), 6.0)
        self.assertEqual(cairn.jvp(cairn.grad(self.m.cube), (2.0,), (1.0,)), (12.0, 12.0))
        self.assertEqual(cairn.hvp(cairn.grad(self.m.cube))(2.0, 1.0), 6.0)

    def test_schedules_and_budgets_give_the_same_bits(self):
        exact = cairn.grad(self.m.walk, 1, checkpoint=False)(20000, 1.0)
        for settings in ({}, {"checkpoint": "bisection,base=64"}, {"checkpoint": "binomial,snapshots=5"}, {"memory": "1MiB"}, {"memory": 2000000}):
            self.assertEqual(cairn.grad(self.m.walk, 1, **settings)(20000, 1.0), exact, settings)
        for wrong in (7, None, 1.0):
            with self.assertRaisesRegex(TypeError, "checkpoint: True, False or the text of a schedule"):
                cairn.grad(self.m.walk, 1, checkpoint=wrong)
        for operator in (cairn.grad, cairn.value_and_grad, cairn.jacobian, cairn.hvp):  # before anything is called
            with self.assertRaisesRegex(cairn.Error, "^checkpoint: .*no schedule 'fastest'"):
                operator(self.m.walk, 1, checkpoint="fastest")
        with self.assertRaises(ValueError):
            cairn.grad(self.m.walk, memory="1MiB", checkpoint=False)
        with self.assertRaisesRegex(ValueError, "no size"):
            cairn.grad(self.m.walk, memory="much")

    def test_every_operator_takes_every_setting(self):
        x, v = np.array([1.0, 2.0]), np.array([0.5, 3.0])
        settings = ({"checkpoint": False}, {"checkpoint": "bisection"}, {"memory": "4MiB"}, {"device": "emulated"}, {"explain": True},
                    {"memory": "4MiB", "device": "emulated", "explain": True})
        for operator, arguments in ((cairn.grad, (x,)), (cairn.value_and_grad, (x,)), (cairn.jacobian, (x,)), (cairn.hvp, (x, v))):
            expected = operator(self.m.quadratic)(*arguments)
            for chosen in settings:
                with self.subTest(operator=operator.__name__, **chosen):
                    made = operator(self.m.quadratic, **chosen)
                    np.testing.assert_equal(made(*arguments), expected)
                    if "explain" in chosen:
                        self.assertEqual(str(made.explanation).splitlines()[0].split()[:2], ["place", "schedule"])
        expected = cairn.update(self.m.quadratic, self.m.rule)(x, 0)
        for chosen in settings:
            made = cairn.update(self.m.quadratic, self.m.rule, **chosen)
            np.testing.assert_equal(made(x, 0), expected)
            if "explain" in chosen:
                self.assertEqual(len(made.explanation.gradients), 1)
        for chosen in settings[:4]:
            value, pullback = cairn.vjp(self.m.quadratic, x, **chosen)
            np.testing.assert_equal((value, pullback(2.0)), (9.0, (6 * x * x,)))
        self.assertEqual(cairn.jvp(self.m.quadratic, (x,), (v,), device="emulated"), (9.0, 37.5))

    def test_a_budget_is_kept(self):
        m = cairn.compile(PROGRAM)
        x = np.zeros((100, 100), dtype=np.float32)
        cairn.grad(m.layers, checkpoint=False)(x)
        tape = m.statistics["tensor_peak_bytes"]
        m = cairn.compile(PROGRAM)
        cairn.grad(m.layers, memory=600000)(x)
        self.assertLess(m.statistics["tensor_peak_bytes"], 700000)
        self.assertGreater(tape, 1200000)

    def test_an_explanation(self):
        gradient = cairn.grad(self.m.walk, 1, checkpoint="binomial,snapshots=4", explain=True)
        self.assertIsNone(gradient.explanation)
        gradient(30000, 1.0)
        first = gradient.explanation
        self.assertEqual(len(first.gradients), 1)
        self.assertIn(f"{first.gradients[0]['steps']:,}", str(first))
        self.assertEqual(first.gradients[0]["place"], "grad of walk")
        self.assertIn("grad of walk", first.html)
        self.assertNotIn("cairn-python.scm", first.html)
        self.assertEqual(repr(first), "<Explanation of 1 gradient>")
        self.assertEqual(first.gradients[0]["schedule"], "binomial,snapshots=4")
        self.assertIn("<svg", first._repr_html_())
        for n in (10000, 20000, 30000, 20000):
            gradient(n, 1.0)
            self.assertEqual(len(gradient.explanation.gradients), 1)
        self.assertEqual(gradient(30000, 1.0) and gradient.explanation.gradients[0]["steps"], first.gradients[0]["steps"])

    def test_updates(self):
        step = cairn.update(self.m.fit, self.m.rule)
        self.assertEqual(step([1.0, 2.0], 0)[:2], (16.0, [1.0 + 1.6, 2.0 + 0.8]))
        p, state = [1.0, 2.0], 0
        step = cairn.update(self.m.fit, self.m.momentum_rule)
        for _ in range(300):
            value, p, state = step(p, state)
        self.assertLess(value, 1e-6)
        self.assertAlmostEqual(p[0] * p[1], 6, places=4)
        self.assertEqual(cairn.update(self.m.fit_to, self.m.rule, checkpoint=False)([1.0], 0, 2.0)[:2], (1.0, [1.2]))

    def test_on_another_device(self):
        gradient = cairn.grad(self.m.made, device="emulated")
        self.assertEqual(gradient(np.ones(2)).tolist(), [3.0, 3.0])
        self.assertEqual(gradient(np.ones((2, 2))[:, 0]).tolist(), [3.0, 3.0])
        self.assertIn("device", cairn.compile(PROGRAM, device="emulated").statistics)
        with self.assertRaises(cairn.Error):
            cairn.grad(self.m.made, device="abacus")
        with self.assertRaisesRegex(cairn.Error, "cuda"):
            cairn.compile("1", device="cuda:77")

    def test_what_is_no_procedure_is_refused(self):
        with self.assertRaisesRegex(TypeError, "a procedure of a program"):
            cairn.grad(abs)
        with self.assertRaises(cairn.ProgramError):
            cairn.grad(self.m.both)((1.0, 2.0))
        with self.assertRaisesRegex(cairn.ProgramError, "integers"):
            cairn.grad(self.m.quadratic)(np.array([1, 2]))


if __name__ == "__main__":
    unittest.main()
