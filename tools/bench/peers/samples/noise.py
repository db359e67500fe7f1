"""What the twins of samples/networks share, as noise.scm there."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


def options(**defaults):
    parser = argparse.ArgumentParser()
    for name, value in defaults.items():
        if isinstance(value, bool):
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def of_classes(y):
    return F.cross_entropy(y, torch.arange(len(y)) % y.shape[1])


def points_of_classes(y):
    return F.cross_entropy(y, torch.randint(y.shape[1], (y.shape[0], *y.shape[2:])))


def noise(channels, loss, given):
    x = torch.randn(given.batch, channels, given.size, given.size)
    while True:
        yield x, loss


def train_on_noise(network, channels, loss, given):
    train_on(network, given, lambda: noise(channels, loss, given))


def train_on(network, given, batches):
    print(sum(p.numel() for p in network.parameters()))
    if given.count:
        return
    optimizer = torch.optim.SGD(network.parameters(), lr=given.rate)
    for _, (x, loss) in zip(range(given.steps), batches()):
        value = loss(network(x))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        print(value.item())


def unit(f, inside, outside, window, stride=1, padding=0, dilation=1):
    convolution = nn.Conv2d(inside, outside, window, stride, padding, dilation, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outside), f)


class Residual(nn.Module):
    def __init__(self, layer, shortcut=None, after=None):
        super().__init__()
        self.layer = layer
        self.shortcut = shortcut or nn.Identity()
        self.after = after or nn.Identity()

    def forward(self, x):
        return self.after(self.layer(x) + self.shortcut(x))


class Beside(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return torch.cat([layer(x) for layer in self.layers], 1)


def global_mean():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
