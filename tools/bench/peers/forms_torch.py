"""The networks of the benchmark `forms` in PyTorch: prints the bytes that autograd saves for the reverse pass, each storage once and without what lasts
(parameters, buffers, inputs), and the least seconds of some rounds. Arguments: network, rounds, threads, and the sizes that the program takes.
"""
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from tensors_torch import Block as Bottleneck


def resnet(batch, pixels):
    modules, inside = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for i in range(blocks):
            modules.append(Bottleneck(inside, 64 << stage, 2 if i == 0 and stage > 0 else 1, i == 0))
            inside = 4 * 64 << stage
    return images(nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000)), batch, pixels)


def vgg(batch, pixels):
    modules, inside = [], 3
    for out, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            modules += [nn.Conv2d(inside, out, 3, 1, 1), nn.ReLU(inplace=True)]
            inside = out
        modules.append(nn.MaxPool2d(2))
    of_image = 512 * (pixels // 32) ** 2
    return images(nn.Sequential(*modules, nn.Flatten(), nn.Linear(of_image, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, 4096),
                                nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, 1000)), batch, pixels)


def alexnet(batch, pixels):
    def stage(*sizes):
        return [nn.Conv2d(*sizes), nn.ReLU(inplace=True)]
    return images(nn.Sequential(*stage(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), *stage(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2), *stage(192, 384, 3, 1, 1),
                                *stage(384, 256, 3, 1, 1), *stage(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6), nn.Flatten(),
                                nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(inplace=True),
                                nn.Linear(4096, 1000)), batch, pixels)


def images(network, batch, pixels):
    x, labels = torch.randn(batch, 3, pixels, pixels), torch.arange(batch)
    return network, lambda: F.cross_entropy(network(x), labels), [x, labels]


class Transformer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.parts(self.before(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.between(x))))


def gpt(layers, width, tokens, batch):
    network, x = nn.Sequential(*(Transformer(width, 12) for _ in range(layers))), torch.randn(batch, tokens, width)
    return network, lambda: network(x).square().mean(), [x]


class Recurrent(nn.Module):
    """The step of lstm.scm, and of nn.LSTMCell."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.cell = nn.LSTMCell(inputs, hidden)

    def forward(self, sequence):
        state = None
        for x in sequence:
            state = self.cell(x, state)
        return state[0]


def lstm(length, batch, inputs, hidden):
    network, sequence = Recurrent(inputs, hidden), [torch.randn(batch, inputs) for _ in range(length)]
    return network, lambda: network(sequence).square().mean(), sequence


def saved_bytes(loss, lasting):
    """By storage: views share theirs."""
    known, saved = {t.untyped_storage().data_ptr() for t in lasting}, {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in known:
            saved[storage.data_ptr()] = (storage.nbytes(), storage)  # held, so that no other gets its address
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = loss()
    total = sum(size for size, _ in saved.values())
    del y
    return total


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(torch.__version__)
        sys.exit()
    name, rounds, threads, *sizes = sys.argv[1:]
    torch.set_num_threads(int(threads))
    network, loss, inputs = {"resnet": resnet, "vgg": vgg, "alexnet": alexnet, "gpt": gpt, "lstm": lstm}[name](*map(int, sizes))
    lasting = [*network.parameters(), *network.buffers(), *inputs]
    total = saved_bytes(loss, lasting)
    best = math.inf
    for _ in range(int(rounds)):
        network.zero_grad(set_to_none=True)
        begin = time.perf_counter()
        loss().backward()
        best = min(best, time.perf_counter() - begin)
    print(total, best)
