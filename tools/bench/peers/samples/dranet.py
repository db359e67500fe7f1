"""samples/networks/dranet.scm in PyTorch."""
import torch
from torch import nn
from torch.nn import functional as F

from noise import Beside, Residual, options, points_of_classes, train_on_noise, unit

given = options(blocks=101, middle=0, width=64, classes=19, size=256, batch=2, steps=2, rate=.01, count=False)
base = given.width


def bottleneck(inside, width, stride, dilation):
    layer = nn.Sequential(
        unit(nn.ReLU(), inside, width, 1),
        unit(nn.ReLU(), width, width, 3, stride, dilation, dilation),
        unit(nn.Identity(), width, 4 * width, 1))
    same = stride == 1 and inside == 4 * width
    return Residual(layer, None if same else unit(nn.Identity(), inside, 4 * width, 1, stride), nn.ReLU())


def stage(inside, width, n, stride, dilation):
    first = bottleneck(inside, width, stride, dilation)
    return nn.Sequential(first, *[bottleneck(4 * width, width, 1, dilation) for _ in range(n - 1)])


def rows(x):
    return x.flatten(2).transpose(1, 2)


def images(rows, like):
    return rows.transpose(1, 2).view(like.shape)


class Parts(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.layer = nn.Sequential(nn.AdaptiveAvgPool2d(n), unit(nn.ReLU(), d, d, 1))

    def forward(self, x):
        return rows(self.layer(x))


class AttentionOfPlaces(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.means = Beside(*[Parts(n, d) for n in (1, 2, 3, 6)])
        self.query, self.key, self.value = nn.Linear(d, d // 4), nn.Linear(d, d // 4), nn.Linear(d, d)
        self.part = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        means = self.means(x)
        scores = self.query(rows(x)) @ self.key(means).transpose(1, 2)
        return x + self.part * images(scores.softmax(-1) @ self.value(means), x)


class AttentionOfChannels(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.few = unit(nn.ReLU(), d, d // 16, 1)
        self.part = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        few = rows(self.few(x))
        scores = rows(x).transpose(1, 2) @ few
        weights = (scores.amax(-1, keepdim=True) - scores).softmax(-1)
        return x + self.part * (weights @ few.transpose(1, 2)).view(x.shape)


class DRANet(nn.Module):
    def __init__(self):
        super().__init__()
        counts = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}[given.blocks]
        if given.middle:
            counts = (3, 8, given.middle, 3)
        self.early = nn.Sequential(unit(nn.ReLU(), 3, base, 7, 2, 3), nn.MaxPool2d(3, 2, 1), stage(base, base, counts[0], 1, 1))
        self.late = nn.Sequential(
            stage(4 * base, 2 * base, counts[1], 2, 1),
            stage(8 * base, 4 * base, counts[2], 2, 1),
            stage(16 * base, 8 * base, counts[3], 1, 2))
        inside, d = 32 * base, 8 * base
        self.attention = nn.Sequential(
            Beside(
                nn.Sequential(unit(nn.ReLU(), inside, d, 1), AttentionOfPlaces(d), unit(nn.ReLU(), d, d, 3, 1, 1)),
                nn.Sequential(unit(nn.ReLU(), inside, d, 3, 1, 1), AttentionOfChannels(d), unit(nn.ReLU(), d, d, 3, 1, 1))),
            unit(nn.ReLU(), 2 * d, d, 3, 1, 1))
        self.narrow = unit(nn.ReLU(), 4 * base, d, 3, 1, 1)
        self.gate = unit(nn.Sigmoid(), 2 * d, 1, 1)
        self.join = unit(nn.ReLU(), 2 * d, d, 3, 1, 1)
        self.classify = nn.Sequential(nn.Dropout(.1), nn.Conv2d(d, given.classes, 1))

    def forward(self, x):
        early = self.early(x)
        late = self.attention(self.late(early))
        early = self.narrow(early)
        late = F.interpolate(late, early.shape[2:], mode="bilinear")
        gate = self.gate(torch.cat([early, late], 1))
        y = self.classify(self.join(torch.cat([gate * early, late], 1)))
        return F.interpolate(y, x.shape[2:], mode="bilinear")


train_on_noise(DRANet(), 3, points_of_classes, given)
