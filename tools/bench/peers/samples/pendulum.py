"""samples/pendulum.scm in PyTorch, but for its picture; without checkpoints."""
import math

import torch

from noise import options

given = options(steps=2000, rounds=150)
seconds, measurements = 8, 100
h = seconds / given.steps
every = given.steps // measurements


def angles(guess):
    length, friction = guess.exp()
    pull = 9.81 / length
    angle = speed = torch.tensor(0., dtype=torch.float64)
    angle = angle + 2
    seen = []
    for i in range(given.steps):
        speed = speed - h * (pull * angle.sin() + friction * speed)
        angle = angle + h * speed
        if i % every == 0:
            seen.append(angle)
    return torch.stack(seen)


with torch.no_grad():
    truth = torch.tensor([math.log(1.2), math.log(.15)], dtype=torch.float64)
    measured = angles(truth) + .02 * torch.randn(measurements, dtype=torch.float64)


def loss(guess):
    return (angles(guess) - measured).square().mean()


guess = torch.tensor([math.log(1.6), math.log(.4)], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([guess], lr=.03)
for _ in range(given.rounds):
    value = loss(guess)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
print(*guess.exp().tolist(), loss(guess).sqrt().item(), sep="\n")
