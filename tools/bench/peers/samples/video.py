"""samples/video.scm in PyTorch."""
import torch
from torch import nn
from torch.nn import functional as F

from noise import Residual, options

given = options(model="tsm", frames=8, points=32, batch=16, steps=150, rate=.003)
frames, points = given.frames, given.points
across = points // 8


def draw_clips(n):
    directions = torch.randint(4, (n,))
    speed = 8 / frames * torch.tensor([[1., 0], [-1, 0], [0, 1], [0, -1]])[directions]
    start = points / 4 + points / 2 * torch.rand(n, 2)
    places = start[:, None] + (torch.arange(frames) - frames / 2)[:, None] * speed[:, None]
    x, y = places[..., 0, None, None], places[..., 1, None, None]
    along = torch.arange(points)
    square = ((along - x).abs() < 3) & ((along[:, None] - y).abs() < 3)
    return square + .3 * torch.randn(square.shape), directions, places


class Shift(nn.Module):
    def forward(self, x):
        t = x.view(-1, frames, *x.shape[1:])
        k = x.shape[1] // 8
        shifted = t.clone()
        shifted[:, 1:, :k] = t[:, :-1, :k]
        shifted[:, 0, :k] = 0
        shifted[:, :-1, k:2 * k] = t[:, 1:, k:2 * k]
        shifted[:, -1, k:2 * k] = 0
        return shifted.view(x.shape)


def unit(inside, outside, stride):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU())


def block(c):
    return Residual(nn.Sequential(Shift(), unit(c, c, 1), unit(c, c, 1)))


class TSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.frames = nn.Sequential(unit(1, 16, 2), block(16), block(16), unit(16, 32, 2), block(32), block(32))
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        y = self.frames(x.view(-1, 1, points, points)).mean((2, 3))
        return self.out(y.view(-1, frames, 32).mean(1))

    def loss(self, y, directions, places):
        return F.cross_entropy(y, directions)

    def test(self, y, directions, places):
        return [(y.argmax(1) == directions).float().mean().item()]


def leaky(inside, outside):
    return nn.Sequential(nn.Conv3d(inside, outside, 3, 1, 1, bias=False), nn.BatchNorm3d(outside), nn.LeakyReLU(.1))


def between(places):
    return places.view(len(places), frames // 2, 2, 2).mean(2)


def at_cells(y, cell):
    return y.gather(2, cell[..., None, None].expand(-1, -1, 1, 7)).squeeze(2)


class YOLO(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            leaky(1, 8), nn.MaxPool3d((1, 2, 2)),
            leaky(8, 16), nn.MaxPool3d((1, 2, 2)),
            leaky(16, 32), nn.MaxPool3d(2),
            leaky(32, 32), nn.Conv3d(32, 7, 1))

    def forward(self, x):
        return self.layers(x[:, None]).permute(0, 2, 3, 4, 1).reshape(len(x), frames // 2, -1, 7)

    def loss(self, y, directions, places):
        place = between(places) / 8
        corner = place.floor().clamp(0, across - 1)
        cell = (corner[..., 0] + across * corner[..., 1]).long()
        own = at_cells(y, cell)
        each = directions[:, None].expand(cell.shape)
        return (4 * F.binary_cross_entropy_with_logits(y[..., 0], F.one_hot(cell, across * across).float())
                + F.mse_loss(own[..., 1:3].sigmoid(), place - corner)
                + F.cross_entropy(own[..., 3:].flatten(0, 1), each.flatten()))

    def test(self, y, directions, places):
        cell = y[..., 0].argmax(2)
        own = at_cells(y, cell)
        known = (own[..., 3:].mean(1).argmax(1) == directions).float().mean().item()
        corner = torch.stack([cell % across, cell // across], 2)
        centre = 8 * (own[..., 1:3].sigmoid() + corner)
        return [known, (centre - between(places)).norm(dim=2).mean().item()]


network = {"tsm": TSM, "yolo3d": YOLO}[given.model]()
print(sum(p.numel() for p in network.parameters()))
optimizer = torch.optim.Adam(network.parameters(), lr=given.rate)
for _ in range(given.steps):
    x, directions, places = draw_clips(given.batch)
    loss = network.loss(network(x), directions, places)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
network.eval()
tests = []
with torch.no_grad():
    for _ in range(4):
        x, directions, places = draw_clips(given.batch)
        tests.append(network.test(network(x), directions, places))
print(*[sum(numbers) / len(numbers) for numbers in zip(*tests)], sep="\n")
