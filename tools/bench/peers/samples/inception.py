"""samples/networks/inception.scm in PyTorch."""
from torch import nn

from noise import Beside, global_mean, of_classes, options, train_on_noise, unit

given = options(auxiliary=False, width=64, classes=1000, size=299, batch=2, steps=2, rate=.01, count=False)


def wide(n):
    return 3 if n == 3 else max(1, n * given.width // 64)


def conv(inside, outside, window, stride=1, padding=0):
    made = unit(nn.ReLU(), wide(inside), wide(outside), window, stride, padding)
    made[1].eps = .001
    return made


def one(inside, outside):
    return conv(inside, outside, 1)


def across(inside, outside):
    return conv(inside, outside, (1, 7), 1, (0, 3))


def down(inside, outside):
    return conv(inside, outside, (7, 1), 1, (3, 0))


def pooled(inside, outside):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), one(inside, outside))


def block_a(inside, pool_out):
    return Beside(
        one(inside, 64),
        nn.Sequential(one(inside, 48), conv(48, 64, 5, 1, 2)),
        nn.Sequential(one(inside, 64), conv(64, 96, 3, 1, 1), conv(96, 96, 3, 1, 1)),
        pooled(inside, pool_out))


def block_b(inside):
    return Beside(
        conv(inside, 384, 3, 2),
        nn.Sequential(one(inside, 64), conv(64, 96, 3, 1, 1), conv(96, 96, 3, 2)),
        nn.MaxPool2d(3, 2))


def block_c(inside, n):
    return Beside(
        one(inside, 192),
        nn.Sequential(one(inside, n), across(n, n), down(n, 192)),
        nn.Sequential(one(inside, n), down(n, n), across(n, n), down(n, n), across(n, 192)),
        pooled(inside, 192))


def block_d(inside):
    return Beside(
        nn.Sequential(one(inside, 192), conv(192, 320, 3, 2)),
        nn.Sequential(one(inside, 192), across(192, 192), down(192, 192), conv(192, 192, 3, 2)),
        nn.MaxPool2d(3, 2))


def block_e(inside):
    def cross():
        return Beside(conv(384, 384, (1, 3), 1, (0, 1)), conv(384, 384, (3, 1), 1, (1, 0)))

    return Beside(
        one(inside, 320),
        nn.Sequential(one(inside, 384), cross()),
        nn.Sequential(one(inside, 448), conv(448, 384, 3, 1, 1), cross()),
        pooled(inside, 192))


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            conv(3, 32, 3, 2), conv(32, 32, 3), conv(32, 64, 3, 1, 1), nn.MaxPool2d(3, 2),
            one(64, 80), conv(80, 192, 3), nn.MaxPool2d(3, 2),
            block_a(192, 32), block_a(256, 64), block_a(288, 64), block_b(288),
            block_c(768, 128), block_c(768, 160), block_c(768, 160), block_c(768, 192))
        self.head = nn.Sequential(
            block_d(768), block_e(1280), block_e(2048), global_mean(), nn.Dropout(.5), nn.Linear(wide(2048), given.classes))
        if given.auxiliary:
            self.auxiliary = nn.Sequential(
                nn.AvgPool2d(5, 3), one(768, 128), conv(128, 768, 5), global_mean(), nn.Linear(wide(768), given.classes))

    def forward(self, x):
        x = self.stem(x)
        return (self.head(x), self.auxiliary(x)) if given.auxiliary else self.head(x)


def loss(y):
    return of_classes(y[0]) + .4 * of_classes(y[1]) if given.auxiliary else of_classes(y)


train_on_noise(Inception(), 3, loss, given)
