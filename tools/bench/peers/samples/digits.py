"""samples/digits.scm in PyTorch, but for its pictures."""
import csv

import numpy
import torch
from torch import nn
from torch.nn import functional as F

from noise import options

given = options(epochs=10, batch=32, save="", load="", metrics="", data="samples/data/digits.npy")

rows = torch.from_numpy(numpy.load(given.data)).long()
mixed = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(2026))]
images = (mixed[:, :64] / 16).view(-1, 1, 8, 8)
classes = mixed[:, 64]
held_out = 359
seen = len(rows) - held_out

reader = nn.Sequential(
    nn.Conv2d(1, 16, 3, 1, 1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(),
    nn.MaxPool2d(2), nn.Dropout(.25), nn.Flatten(),
    nn.Linear(512, 64), nn.ReLU(), nn.Dropout(.25),
    nn.Linear(64, 10))


def epoch(optimizer):
    reader.train()
    order = torch.randperm(seen)
    total = 0
    for batch in order.split(given.batch):
        loss = F.cross_entropy(reader(images[batch]), classes[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / seen


def test():
    reader.eval()
    with torch.no_grad():
        return (reader(images[seen:]).argmax(1) == classes[seen:]).float().mean().item()


if given.load:
    reader.load_state_dict(torch.load(given.load))
optimizer = torch.optim.Adam(reader.parameters(), lr=.003)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, given.epochs))
losses = []
for i in range(given.epochs):
    losses.append((i + 1, epoch(optimizer)))
    schedule.step()
    print(losses[-1][1])
    if given.metrics:
        with open(given.metrics, "w") as file:
            csv.writer(file).writerows([("epoch", "loss"), *losses])
if given.save:
    torch.save(reader.state_dict(), given.save)
print(test())
