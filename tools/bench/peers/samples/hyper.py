"""samples/hyper.scm in PyTorch, but for its picture; without checkpoints."""
import math

import torch
from torch.nn import functional as F

from noise import options

given = options(steps=40, rounds=40)
inputs = torch.linspace(-3, 3, 64).view(64, 1)
targets = (2 * inputs).sin()
start = []
for inside, outside in ((1, 24), (24, 1)):
    bound = math.sqrt(6 / (inside + outside))
    start += [bound * (2 * torch.rand(inside, outside) - 1), .5 * torch.randn(outside)]


def loss(network):
    w1, b1, w2, b2 = network
    return F.mse_loss((inputs @ w1 + b1).tanh() @ w2 + b2, targets)


def rate_and_momentum(hyper):
    return hyper[0].exp(), hyper[1].sigmoid()


def trained(hyper):
    rate, decay = rate_and_momentum(hyper)
    network = [p.clone().requires_grad_() for p in start]
    velocity = [0, 0, 0, 0]
    for _ in range(given.steps):
        gradients = torch.autograd.grad(loss(network), network, create_graph=True)
        velocity = [decay * v + g for v, g in zip(velocity, gradients)]
        network = [p - rate * v for p, v in zip(network, velocity)]
    return loss(network)


hyper = torch.tensor([math.log(.01), 0.], requires_grad=True)
optimizer = torch.optim.Adam([hyper], lr=.1)
for i in range(given.rounds):
    value = trained(hyper)
    if i == 0:
        print(value.item())
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
print(*[x.item() for x in rate_and_momentum(hyper)], trained(hyper).item(), sep="\n")
