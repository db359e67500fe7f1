"""samples/nbody.scm in PyTorch, but for its picture; without checkpoints."""
import torch

from noise import options

given = options(steps=400, rounds=200)
torch.set_default_dtype(torch.float64)
h = 3 / given.steps
every = given.steps // 40
places = torch.tensor([[0, 0], [1, 0], [-.4, 1.5]])
speeds = torch.tensor([[0, -.1], [0, 1], [-.7, 0]])


def pull(x, masses):
    distances = x[None] - x[:, None]
    squares = 1e-3 + distances.square().sum(2, keepdim=True)
    return (masses.view(1, 3, 1) * distances / (squares * squares.sqrt())).sum(1)


def orbits(logarithms):
    masses = logarithms.exp()
    x = places
    v = speeds + h / 2 * pull(x, masses)
    seen = []
    for i in range(given.steps):
        x = x + h * v
        v = v + h * pull(x, masses)
        if i % every == 0:
            seen.append(x)
    return torch.stack(seen)


with torch.no_grad():
    observed = orbits(torch.tensor([1, .1, .03]).log())


def loss(logarithms):
    return (orbits(logarithms) - observed).square().mean()


guess = torch.tensor([.8, .2, .1]).log().requires_grad_()
optimizer = torch.optim.Adam([guess], lr=.06)
for _ in range(given.rounds):
    value = loss(guess)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
print(*guess.exp().tolist(), loss(guess).sqrt().item(), sep="\n")
