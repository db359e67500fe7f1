"""Operands of convolutions of a small network of PyTorch's, trained for so many steps on the digits of samples/data: one file of f32 each, channels closest, as
Cairn keeps them. Prints a line for each: its file, the axes."""
import sys
from pathlib import Path

import numpy
import torch
from torch import nn

STEPS, IMAGES, BATCH, SIZE = 120, 64, 32, 32


def pair(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]


def main(data, folder):
    torch.manual_seed(1)
    rows = torch.tensor(numpy.load(data).astype(numpy.int64))
    images = nn.functional.interpolate(rows[:, :64].reshape(-1, 1, 8, 8) / 16, size=(SIZE, SIZE), mode="bilinear")
    net = nn.Sequential(*pair(1, 32), *pair(32, 64), *pair(64, 128), nn.Flatten(), nn.Linear(128 * (SIZE // 8) ** 2, 10))
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(STEPS):
        some = torch.randint(0, len(rows), (BATCH,))
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(images[some]), rows[some, 64]).backward()
        optimiser.step()
    x = images[:IMAGES]
    with torch.no_grad():
        for number, module in enumerate(net):
            if isinstance(module, nn.Conv2d) and module.in_channels > 1:
                path = Path(folder) / f"{number}.f32"
                kept = x.permute(0, 2, 3, 1).contiguous().numpy()
                kept.tofile(path)
                print(path, *kept.shape, flush=True)
            x = module(x)


main(*sys.argv[1:])
