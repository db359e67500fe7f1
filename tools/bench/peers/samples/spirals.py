"""samples/spirals.scm in PyTorch."""
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

points = 96
radius = .1 + torch.arange(points) / points


def spiral(turned):
    angle = turned + 6 * radius
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


inputs = torch.cat([spiral(0), spiral(math.pi)])
classes = torch.cat([torch.zeros(points, dtype=torch.int64), torch.ones(points, dtype=torch.int64)])
network = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(network.parameters(), lr=.01)
for _ in range(int(sys.argv[1]) if sys.argv[1:] else 400):
    loss = F.cross_entropy(network(inputs), classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
print((network(inputs).argmax(1) == classes).float().mean().item())
