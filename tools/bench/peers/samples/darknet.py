"""samples/networks/darknet.scm in PyTorch."""
from torch import nn

from noise import Residual, global_mean, of_classes, options, train_on_noise, unit

given = options(layers=53, width=32, classes=1000, size=256, batch=1, steps=2, rate=.01, count=False)


def wide(n):
    return n * given.width // 32


def leaky(inside, outside, window, stride=1, padding=0):
    return unit(nn.LeakyReLU(.1), inside, outside, window, stride, padding)


def darknet53():
    inside = wide(32)
    layers = [leaky(3, inside, 3, 1, 1)]
    for count in (1, 2, 8, 8, 4):
        layers.append(leaky(inside, 2 * inside, 3, 2, 1))
        for _ in range(count):
            layers.append(Residual(nn.Sequential(leaky(2 * inside, inside, 1), leaky(inside, 2 * inside, 3, 1, 1))))
        inside *= 2
    return nn.Sequential(*layers, global_mean(), nn.Linear(inside, given.classes))


def turns(inside, outside, n):
    layers = [leaky(inside, outside, 3, 1, 1)]
    for _ in range(n // 2):
        layers += [leaky(outside, outside // 2, 1), leaky(outside // 2, outside, 3, 1, 1)]
    return layers


def darknet19():
    layers, inside = [], 3
    for outside, n in zip(map(wide, (32, 64, 128, 256, 512, 1024)), (1, 1, 3, 3, 5, 5)):
        layers += turns(inside, outside, n)
        if outside != wide(1024):
            layers.append(nn.MaxPool2d(2))
        inside = outside
    return nn.Sequential(*layers, nn.Conv2d(inside, given.classes, 1), global_mean())


train_on_noise({53: darknet53, 19: darknet19}[given.layers](), 3, of_classes, given)
