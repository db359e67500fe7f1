"""The programs of tensor_programs/ in PyTorch: prints the seconds that `count` rounds take, after a warm-up, and by how many bytes the largest
resident size exceeds that after the import. Arguments: program, count, threads, and the sizes that the program takes.
"""
import math
import resource
import sys
import time

import torch
import torch.nn.functional as functional


def tiny(n):
    t = torch.tensor([1.0, 2, 3, 4])
    x = t
    for _ in range(n):
        x = x + t


def recorded(n):
    t = torch.tensor([1.0, 2.0, 3.0, 4.0])
    x = t.clone().requires_grad_()
    for _ in range(n):
        x = x + t


def taped(n):
    t = torch.tensor([0.1, 0.2, 0.3, 0.4])
    x = start = t.clone().requires_grad_()
    for _ in range(n):
        x = torch.tanh(x + t)
    x.sum().backward()


def cell(n):
    u, v = (0.1 * torch.randn(32, 32, requires_grad=False) for _ in range(2))
    b = torch.zeros(32)
    for w in (u, v, b):
        w.requires_grad_()
    x, h = torch.randn(1, 32), torch.zeros(1, 32)
    for _ in range(n):
        h = torch.tanh(h @ u + x @ v + b)
    h.sum().backward()


def chain(n, x=[]):
    if not x:
        x.append(torch.rand(4096, 4096))
    y = x[0]
    for _ in range(n):
        y = torch.relu(y) * 0.5 + x[0]


def sums(n, x=[]):
    if not x:
        x.append(torch.rand(4096, 4096))
    s = 0.0
    for _ in range(n):
        s += x[0].sum().item() + x[0].sum(1).sum().item()


LARGE = {
    "sum": lambda x: x.sum(),
    "sum-rows": lambda x: x.sum(1),
    "sum-columns": lambda x: x.sum(0),
    "max-rows": lambda x: x.max(1),
    "max-columns": lambda x: x.max(0),
    "argmax-rows": lambda x: x.argmax(1),
    "argmax-columns": lambda x: x.argmax(0),
    "norm-rows": lambda x: x.norm(dim=1),
    "norm-columns": lambda x: x.norm(dim=0),
    "variance-rows": lambda x: x.var(1, unbiased=False),
    "variance-columns": lambda x: x.var(0, unbiased=False),
    "logsumexp-rows": lambda x: x.logsumexp(1),
    "logsumexp-columns": lambda x: x.logsumexp(0),
    "softmax-rows": lambda x: x.softmax(1),
    "softmax-columns": lambda x: x.softmax(0),
    "cumulative-sum-rows": lambda x: x.cumsum(1),
    "cumulative-sum-columns": lambda x: x.cumsum(0),
    "sort-rows": lambda x: x.sort(1),
    "top-5-of-rows": lambda x: x.topk(5, 1),
    "exp": torch.exp,
    "tanh": torch.tanh,
    "GeLU": functional.gelu,
    "sin": torch.sin,
    "tan": torch.tan,
    "atan": torch.atan,
    "sinh": torch.sinh,
    "power": lambda x: x**2.5,
}


def large(n, name, x=[]):
    if not x:
        x.append(torch.rand(4096, 4096))
    for _ in range(n):
        LARGE[name](x[0])


def product(n, size, x=[]):
    if not x:
        x += [torch.randn(size, size), size**-0.5 * torch.randn(size, size)]
    y = x[0]
    for _ in range(n):
        y = y @ x[1]


class Block(torch.nn.Module):
    """1x1, 3x3 with the stride, 1x1; and a projection where the shape changes."""

    def __init__(self, inner, wide, stride, first):
        super().__init__()
        self.units = torch.nn.Sequential(unit(inner, wide, 1), torch.nn.ReLU(inplace=True), unit(wide, wide, 3, stride),
                                         torch.nn.ReLU(inplace=True), unit(wide, 4 * wide, 1))
        self.projection = unit(inner, 4 * wide, 1, stride) if first else torch.nn.Identity()

    def forward(self, x):
        return functional.relu_(self.units(x) + self.projection(x))


def unit(inner, outer, k, stride=1):
    convolution = torch.nn.Conv2d(inner, outer, k, stride, k // 2, bias=False)
    torch.nn.init.normal_(convolution.weight, std=math.sqrt(2 / (outer * k * k)))
    return torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(outer))


def resnet(n, batch, pixels, made=[]):
    if not made:
        stages, inner = [], 64
        for wide, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(blocks):
                stages.append(Block(inner, wide, stride if i == 0 else 1, i == 0))
                inner = 4 * wide
        network = torch.nn.Sequential(unit(3, 64, 7, 2), torch.nn.ReLU(inplace=True), torch.nn.MaxPool2d(3, 2, 1), *stages,
                                      torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(2048, 1000))
        made += [network, torch.randn(batch, 3, pixels, pixels)]
    network, images = made
    for _ in range(n):
        network.zero_grad(set_to_none=True)
        functional.cross_entropy(network(images), torch.arange(batch)).backward()


class TransformerBlock(torch.nn.Module):
    def __init__(self, width, tokens):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.inward, self.outward = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.mask = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)

    def attention(self, x, heads=12):
        batch, tokens, width = x.shape
        q, k, v = self.inward(x).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1) * (1 / math.sqrt(width // heads))).masked_fill(self.mask, -math.inf)
        return self.outward((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, tokens, width))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.down(functional.gelu(self.up(self.between(x))))


def gpt(n, layers, width, tokens, batch, made=[]):
    if not made:
        made += [torch.nn.Sequential(*(TransformerBlock(width, tokens) for _ in range(layers))), torch.randn(batch, tokens, width)]
    blocks, x = made
    for _ in range(n):
        blocks.zero_grad(set_to_none=True)
        blocks(x).square().mean().backward()


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(torch.__version__)
        sys.exit()
    program, count, threads = globals()[sys.argv[1]], *map(int, sys.argv[2:4])
    sizes = [int(size) if size.isdigit() else size for size in sys.argv[4:]]
    before = resident()
    torch.set_num_threads(threads)
    program(max(1, count // 10), *sizes)
    begin = time.perf_counter()
    program(count, *sizes)
    print(time.perf_counter() - begin, resident() - before)
