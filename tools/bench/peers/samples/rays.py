"""samples/rays.scm in PyTorch, but for its pictures; without checkpoints."""
import torch

from noise import options

given = options(width=40, rounds=100)
torch.set_default_dtype(torch.float64)
width, height = given.width, given.width * 3 // 4


def meets(origin, direction, ball):
    center, radius = ball
    to = center - origin
    along = to @ direction
    inside = along * along + radius * radius - to @ to
    if inside > 0:
        distance = along - inside.sqrt()
        if distance > 1e-6:
            return distance
    return None


def nearest(origin, direction, balls):
    best = None
    for ball in balls:
        distance = meets(origin, direction, ball)
        if distance is not None and (best is None or distance < best[0]):
            best = distance, ball
    return best


def trace(origin, direction, balls):
    strength, bounces = 1, 0
    while True:
        met = nearest(origin, direction, balls)
        if met is None:
            break
        distance, (center, radius) = met
        origin = origin + distance * direction
        normal = (origin - center) / radius
        direction = direction - 2 * (normal @ direction) * normal
        strength, bounces = .85 * strength, bounces + 1
    if direction[1] < 0:
        distance = origin[1] / -direction[1]
        x, y, z = origin + distance * direction
        light = .5 + .5 * (1.5 * x).sin() * (1.5 * z).sin() / (1 + .02 * distance * distance)
    else:
        light = .55 + .45 * direction[1]
    return strength * light, bounces


def rays(p):
    x1, z1, x2, z2, radius = p
    balls = [(torch.stack([x1, radius, z1]), radius), (torch.stack([x2, torch.tensor(.8), z2]), torch.tensor(.8))]
    traced = []
    for j in range(height):
        for i in range(width):
            direction = torch.tensor([(i - width / 2) / width, (height / 2 - j) / 2 / height - .12, .8])
            traced.append(trace(torch.tensor([0, 1.4, -3.5]), direction / direction.norm(), balls))
    return traced


def picture(p):
    return torch.stack([light for light, _ in rays(p)])


truth = torch.tensor([-1, 1.4, .95, .8, 1])
with torch.no_grad():
    traced = rays(truth)
seen = torch.stack([light for light, _ in traced])
print(max(bounces for _, bounces in traced))
guess = torch.tensor([-1.1, 1.3, 1.05, .9, .9], requires_grad=True)
optimizer = torch.optim.Adam([guess], lr=.01)
for i in range(given.rounds):
    optimizer.param_groups[0]["lr"] = .002 if given.rounds - i < 40 else .01
    loss = (picture(guess) - seen).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(*guess.tolist(), (picture(guess) - seen).square().mean().sqrt().item(), sep="\n")
