"""Procedures inside JAX, against the same functions written in JAX. Skipped where that is not installed."""
import unittest

import numpy as np

import cairn

try:
    import jax
except ImportError as missing:
    raise unittest.SkipTest("JAX is not installed") from missing

import jax.numpy as jnp  # noqa: E402

import cairn.jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

PROGRAM = """
(define (layer x w) (tanh (matmul x w)))
(define (wave x) (* x (sin x)))
(define (net p x) (sumall (square (+ (matmul x (car p)) (cadr p)))))
(define (named p) (* (dict-ref p "a") (sumall (dict-ref p "b"))))
(define (pair x) (list (sumall x) (vector (* x x) (exp x))))
(define (indexed t i) (sumall (index t i)))
(define (strict x) (if (> x 5) (* x x) (error "too small")))
"""


class Jax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = cairn.compile(PROGRAM)
        cls.x, cls.w = jnp.arange(6.0).reshape(2, 3) / 7, jnp.arange(12.0).reshape(3, 4) / 9

    def summed(self, f):
        return lambda *arguments: (f(*arguments) ** 2).sum()

    @staticmethod
    def layer(x, w):
        return jnp.tanh(x @ w)

    def same(self, a, b):
        self.assertEqual(jax.tree.structure(a), jax.tree.structure(b))
        for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b)):
            np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)

    def test_reverse_mode(self):
        ours, theirs = self.summed(cairn.jax.function(self.m.layer)), self.summed(self.layer)
        for f in (lambda h: h, lambda h: jax.grad(h), lambda h: jax.grad(h, 1), lambda h: jax.jit(jax.value_and_grad(h, (0, 1))),
                  lambda h: jax.jacrev(jax.grad(h))):
            self.same(f(ours)(self.x, self.w), f(theirs)(self.x, self.w))

    def test_forward_mode(self):
        ours, theirs = self.summed(cairn.jax.function(self.m.layer, mode="forward")), self.summed(self.layer)
        for f in (lambda h: jax.jacfwd(h), lambda h: jax.jit(jax.jacfwd(h, 1)), lambda h: jax.jacfwd(jax.jacfwd(h))):
            self.same(f(ours)(self.x, self.w), f(theirs)(self.x, self.w))
        tangents = (jnp.ones_like(self.x), jnp.zeros_like(self.w))
        self.same(jax.jvp(ours, (self.x, self.w), tangents), jax.jvp(theirs, (self.x, self.w), tangents))

    def test_hessians(self):
        ours, theirs = self.summed(cairn.jax.function(self.m.layer, mode="forward-over-reverse")), self.summed(self.layer)
        self.same(jax.jit(jax.hessian(ours))(self.x, self.w), jax.hessian(theirs)(self.x, self.w))

    def test_numbers(self):
        wave = cairn.jax.function(self.m.wave)
        self.same(jax.grad(wave)(2.0), jax.grad(lambda x: x * jnp.sin(x))(2.0))
        self.same(jax.grad(jax.grad(wave))(2.0), jax.grad(jax.grad(lambda x: x * jnp.sin(x)))(2.0))
        self.same(jax.vmap(wave)(jnp.arange(3.0)), jnp.arange(3.0) * jnp.sin(jnp.arange(3.0)))

    def test_vmap(self):
        ours, theirs = self.summed(cairn.jax.function(self.m.layer)), self.summed(self.layer)
        xs, ws = jnp.stack([self.x, self.x + 1, -self.x]), jnp.stack([self.w, 2 * self.w, self.w**2])
        moved = jnp.moveaxis(xs, 0, 2)
        for f in (lambda h: jax.vmap(h)(xs, ws), lambda h: jax.vmap(h, (2, None))(moved, self.w), lambda h: jax.jit(jax.vmap(jax.grad(h), (0, None)))(xs, self.w),
                  lambda h: jax.grad(lambda w: jax.vmap(h, (0, None))(xs, w).sum())(self.w), lambda h: jax.vmap(jax.grad(h, (0, 1)))(xs, ws),
                  lambda h: jax.vmap(jax.vmap(h, (None, 0)), (0, None))(xs, ws), lambda h: jax.lax.map(lambda x: h(x, self.w), xs)):
            self.same(f(ours), f(theirs))
        ours = self.summed(cairn.jax.function(self.m.layer, mode="forward"))
        self.same(jax.vmap(jax.jacfwd(ours), (0, None))(xs, self.w), jax.vmap(jax.jacfwd(theirs), (0, None))(xs, self.w))
        ours = self.summed(cairn.jax.function(self.m.layer, mode="forward-over-reverse"))
        self.same(jax.jit(jax.vmap(jax.hessian(ours), (0, None)))(xs, self.w), jax.vmap(jax.hessian(theirs), (0, None))(xs, self.w))

    def test_the_other_mode_is_refused_clearly(self):
        with self.assertRaisesRegex(Exception, "forward-mode"):
            jax.jacfwd(cairn.jax.function(self.m.layer))(self.x, self.w)

    def test_errors_come_out(self):
        number = jax.ShapeDtypeStruct((), jnp.float64)
        strict = cairn.jax.function(self.m.strict, result=number)
        for call, x in ((strict, 1.0), (jax.jit(strict), 1.0), (jax.vmap(strict), jnp.array([6.0, 1.0]))):
            with self.assertRaisesRegex(Exception, "error: too small"):
                jax.block_until_ready(call(x))
        self.same(strict(6.0), jnp.array(36.0))

    def test_structures(self):
        p = [self.w, jnp.ones(4)]
        self.same(jax.grad(cairn.jax.function(self.m.net))(p, self.x), jax.grad(lambda p, x: ((x @ p[0] + p[1]) ** 2).sum())(p, self.x))
        named = {"a": 2.0, "b": jnp.arange(3.0)}
        self.same(jax.grad(cairn.jax.function(self.m.named))(named), jax.grad(lambda p: p["a"] * p["b"].sum())(named))
        ours, theirs = cairn.jax.function(self.m.pair), lambda x: [x.sum(), (x * x, jnp.exp(x))]
        x = jnp.arange(3.0)
        self.same(jax.jit(ours)(x), theirs(x))
        self.same(jax.jacrev(ours)(x), jax.jacrev(theirs)(x))

    def test_integers_have_no_gradient(self):
        i = jnp.array([0, 2, 2])
        self.same(jax.grad(cairn.jax.function(self.m.indexed))(jnp.arange(4.0), i), jnp.array([1.0, 0, 2, 0]))
        self.same(jax.jacfwd(cairn.jax.function(self.m.indexed, mode="forward"))(jnp.arange(4.0), i), jnp.array([1.0, 0, 2, 0]))

    def test_what_the_value_looks_like(self):
        with self.assertRaises(cairn.ProgramError):
            jax.jit(cairn.jax.function(self.m.strict))(6.0)
        number = jax.ShapeDtypeStruct((), jnp.float64)
        self.same(jax.jit(jax.grad(cairn.jax.function(self.m.strict, result=number)))(6.0), jnp.array(12.0))

    def test_what_is_no_function_of_its_arguments_alone(self):
        m = cairn.compile("(define (drop x) (dropout x .5))\n(define (clip x) (if (> x 1) x 1))\n(define (shrinks x) (if (> (sumall x) 0) x (sum x)))")
        for call in (cairn.jax.function(m.drop), jax.jit(cairn.jax.function(m.drop))):
            with self.assertRaisesRegex(Exception, "draws random numbers"):
                jax.block_until_ready(call(jnp.ones(8)))
        for call in (cairn.jax.function(m.clip), jax.jit(cairn.jax.function(m.clip))):
            with self.assertRaisesRegex(Exception, "has the type float64, that of an earlier call"):
                jax.block_until_ready([call(0.5), call(2.5)])
        self.same(jax.jit(cairn.jax.function(m.clip, result=jax.ShapeDtypeStruct((), jnp.float64)))(2.5), jnp.array(2.5))
        shrinks = cairn.jax.function(m.shrinks)
        shrinks(jnp.ones(3))
        with self.assertRaisesRegex(Exception, "has the shape"):
            jax.block_until_ready(shrinks(-jnp.ones(3)))

    def test_values_of_another_form_than_before_are_no_zeros(self):
        m = cairn.compile("""(define (stops x) (if (> (sumall x) 0) x 0))
(define (fewer x) (if (> (sumall x) 0) (list x x) (list x)))
(define (more x) (if (> (sumall x) 0) (list x x) (list x x x)))
(define (bare x) (if (> (sumall x) 0) (list x x) 0))
(define (named x) (if (> (sumall x) 0) (dict "a" x) (dict "b" x)))""")
        for name in ("stops", "fewer", "more", "bare", "named"):
            f = cairn.jax.function(m[name])
            for call in (f, jax.jit(f)):
                jax.block_until_ready(call(jnp.ones(3)))
                with self.subTest(name), self.assertRaisesRegex(Exception, "of an earlier call"):
                    jax.block_until_ready(call(-jnp.ones(3)))
        self.same(jax.grad(lambda x: cairn.jax.function(m.fewer)(x)[0].sum())(jnp.ones(3)), jnp.ones(3))

    def test_settings(self):
        for settings in ({"checkpoint": False}, {"checkpoint": "bisection"}, {"memory": "4MiB"}):
            self.same(jax.grad(self.summed(cairn.jax.function(self.m.layer, **settings)))(self.x, self.w),
                      jax.grad(self.summed(self.layer))(self.x, self.w))
        with self.assertRaises(ValueError):
            cairn.jax.function(self.m.layer, mode="sideways")

    def test_arrays_of_jax_are_arrays(self):
        self.assertEqual(self.m.layer(self.x, self.w).shape, (2, 4))


if __name__ == "__main__":
    unittest.main()
