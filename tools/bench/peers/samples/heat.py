"""samples/heat.scm in PyTorch, but for its pictures; without checkpoints."""
import math

import torch

from noise import options

given = options(steps=400, rounds=600)
torch.set_default_dtype(torch.float64)
cells = 24
h = 160 / given.steps
every = given.steps // 10


def temperatures(logarithms):
    conductivity = logarithms.exp()
    t = torch.zeros(cells)
    seen = []
    for i in range(given.steps):
        flow = conductivity * (torch.cat([torch.ones(1), t[:-1]]) - t)
        t = t + h * (flow - torch.cat([flow[1:], torch.zeros(1)]))
        if (i + 1) % every == 0:
            seen.append(t)
    return torch.stack(seen)


def part(i):
    if i < 7:
        return 1
    return .7 + .5 * math.sin(i) if i < 14 else .6


truth = torch.tensor([float(part(i)) for i in range(cells)]).log()
with torch.no_grad():
    measured = temperatures(truth)


def loss(logarithms):
    return (temperatures(logarithms) - measured).square().mean()


def deviation(logarithms):
    return (logarithms.exp() - truth.exp()).abs().max().item()


guess = torch.full((cells,), math.log(.8), requires_grad=True)
print(deviation(guess))
optimizer = torch.optim.Adam([guess], lr=.04)
for _ in range(given.rounds):
    value = loss(guess)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
print(deviation(guess))
