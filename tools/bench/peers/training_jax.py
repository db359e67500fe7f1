"""The small networks of training_programs/train.scm in JAX: a step is one compiled function of parameters, Adam's state and batch, whose memory it may use
again. Prints the seconds of the steps that count, of the wall and of the processors, the loss in the last of them, 0, and by how many bytes the largest resident size exceeds that after the
import. Arguments: the network, steps to warm up (compilation among them), steps that count, its sizes.
"""
import math
import resource
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy

random = numpy.random.default_rng(1)


def drawn(*sizes, scale=1.):
    return jnp.asarray(scale * random.standard_normal(sizes), jnp.float32)


def linear(inside, outside):
    return drawn(inside, outside, scale=math.sqrt(2 / (inside + outside))), jnp.zeros(outside)


def apply_linear(p, x):
    return x @ p[0] + p[1]


def cross_entropy(scores, classes):
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), classes[:, None], 1).mean()


def classified(parameters, network, x, batch, kinds=10):
    y = random.integers(kinds, size=len(x))
    x = numpy.asarray(x, numpy.float32)

    def batches():
        while True:
            order = random.permutation(len(x))
            for i in range(0, len(x) - batch + 1, batch):
                yield x[order[i:i + batch]], y[order[i:i + batch]]

    return parameters, lambda p, key, data: cross_entropy(network(p, key, data[0]), data[1]), batches()


def mlp(width):
    def network(p, key, x):
        return apply_linear(p[2], jax.nn.relu(apply_linear(p[1], jax.nn.relu(apply_linear(p[0], x)))))

    return classified([linear(784, width), linear(width, width), linear(width, 10)], network, random.random((4096, 784)), 64)


def convolve(x, w, padding, groups=1):
    return jax.lax.conv_general_dilated(x, w, (1, 1), padding, feature_group_count=groups, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv(channels):
    def network(p, key, x):
        x = jax.nn.relu(convolve(x, p[0], "SAME") + p[1])
        x = jax.nn.relu(convolve(x, p[2], "SAME") + p[3])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return apply_linear(p[5], jax.nn.relu(apply_linear(p[4], x.reshape(len(x), -1))))

    parameters = [drawn(3, 3, 1, channels, scale=.4), jnp.zeros(channels), drawn(3, 3, channels, 2 * channels, scale=math.sqrt(2 / (9 * channels))),
                  jnp.zeros(2 * channels), linear(2 * channels * 196, 128), linear(128, 10)]
    return classified(parameters, network, random.random((2048, 28, 28, 1)), 32)


def lstm(width):
    def network(p, key, x):
        def step(state, x):
            seen, cell = state
            into, forget, new, out = jnp.split(apply_linear(p[0], x) + apply_linear(p[1], seen), 4, -1)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(into) * jnp.tanh(new)
            return (jax.nn.sigmoid(out) * jnp.tanh(cell), cell), None

        zero = jnp.zeros((len(x), width))
        return apply_linear(p[2], jax.lax.scan(step, (zero, zero), x.transpose(1, 0, 2))[0][0])

    return classified([linear(28, 4 * width), linear(width, 4 * width), linear(width, 10)], network, random.random((2048, 28, 28)), 64)


def normalised(p, x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * p[0] + p[1]


def gpt(blocks, width, heads, kinds, tokens, texts):
    def block(x, p):
        norm1, inside, outside, norm2, up, down = p
        q, k, v = (t.reshape(texts, tokens, heads, -1) for t in jnp.split(apply_linear(inside, normalised(norm1, x)), 3, -1))
        x = x + apply_linear(outside, jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape))
        return x + apply_linear(down, jax.nn.gelu(apply_linear(up, normalised(norm2, x)), approximate=False))

    def loss(p, key, text):
        x = p[0][text[:, :-1]] + p[1]
        for layer in p[2]:
            x = block(x, layer)
        return cross_entropy((normalised(p[3], x) @ p[0].T).reshape(-1, kinds), text[:, 1:].reshape(-1))

    def batches():
        text = random.integers(kinds, size=100000)
        while True:
            yield numpy.stack([text[i:i + tokens + 1] for i in random.integers(len(text) - tokens, size=texts)])

    def norm():
        return jnp.ones(width), jnp.zeros(width)

    return [drawn(kinds, width, scale=.02), drawn(tokens, width, scale=.02),
            [(norm(), linear(width, 3 * width), linear(width, width), norm(), linear(width, 4 * width), linear(4 * width, width)) for _ in range(blocks)],
            norm()], loss, batches()


def eegnet(channels):
    def batch_norm(p, x):
        return (x - x.mean((0, 1, 2))) * jax.lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * p[0] + p[1]

    def averaged(x, n):
        return jax.lax.reduce_window(x, 0., jax.lax.add, (1, 1, n, 1), (1, 1, n, 1), "VALID") / n

    def dropout(key, x):
        return jnp.where(jax.random.bernoulli(key, .75, x.shape), x / .75, 0)

    def network(p, key, x):
        first, second = jax.random.split(key)
        x = batch_norm(p[1], convolve(x, p[0], ((0, 0), (31, 32))))
        x = dropout(first, averaged(jax.nn.elu(batch_norm(p[3], convolve(x, p[2], "VALID", 8))), 4))
        x = convolve(convolve(x, p[4], ((0, 0), (7, 8)), 16), p[5], "VALID")
        x = dropout(second, averaged(jax.nn.elu(batch_norm(p[6], x)), 8))
        return apply_linear(p[7], x.reshape(len(x), -1))

    def norm(n):
        return jnp.ones(n), jnp.zeros(n)

    parameters = [drawn(1, 64, 1, 8, scale=.2), norm(8), drawn(channels, 1, 1, 16, scale=.5), norm(16), drawn(1, 16, 1, 16, scale=.4),
                  drawn(1, 1, 16, 16, scale=.4), norm(16), linear(64, 4)]
    return classified(parameters, network, random.standard_normal((512, channels, 128, 1)), 32, 4)


@partial(jax.jit, static_argnums=0, donate_argnums=(1, 2))
def step(loss_of, p, state, batch):
    means, squares, n, key = state
    key, now = jax.random.split(key)
    value, g = jax.value_and_grad(loss_of)(p, now, batch)
    n = n + 1
    means = jax.tree.map(lambda m, g: .9 * m + .1 * g, means, g)
    squares = jax.tree.map(lambda s, g: .999 * s + .001 * g * g, squares, g)
    p = jax.tree.map(lambda p, m, s: p - .001 * (m / (1 - .9**n)) / (jnp.sqrt(s / (1 - .999**n)) + 1e-8), p, means, squares)
    return value, p, (means, squares, n, key)


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(jax.__version__)
        sys.exit()
    warm, steps, *given = map(int, sys.argv[2:])
    before = resident()
    parameters, loss_of, batches = globals()[sys.argv[1]](*given)
    state = (jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters), jnp.zeros((), jnp.float32), jax.random.key(0))
    for i in range(warm + steps):
        if i == warm:
            begin, processor = time.perf_counter(), time.process_time()
        value, parameters, state = step(loss_of, parameters, state, next(batches))
        last = float(value)  # as the others, it looks at each loss
    print(time.perf_counter() - begin, time.process_time() - processor, last, 0, resident() - before)
