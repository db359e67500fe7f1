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


def indices(*sizes, made={}):
    """Along the first axis, one for each row or for each element."""
    if sizes not in made:
        made[sizes] = torch.randint(4096, sizes).expand(4096, 4096)
    return made[sizes]


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
    "gather-rows": lambda x: x.gather(0, indices(4096, 1)),
    "gather-elements": lambda x: x.gather(0, indices(4096, 4096)),
    "scatter-add-rows": lambda x: x.scatter_add(0, indices(4096, 1), x),
    "scatter-add-elements": lambda x: x.scatter_add(0, indices(4096, 4096), x),
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


def resnet(n, batch, pixels, channels=64, *blocks, made=[]):
    if not made:
        stages, inner = [], channels
        for number, count in enumerate(blocks or (3, 4, 6, 3)):
            wide = channels * 2**number
            for i in range(count):
                stages.append(Block(inner, wide, 2 if i == 0 and number > 0 else 1, i == 0))
                inner = 4 * wide
        network = torch.nn.Sequential(unit(3, channels, 7, 2), torch.nn.ReLU(inplace=True), torch.nn.MaxPool2d(3, 2, 1), *stages,
                                      torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(inner, 1000))
        made += [network, torch.randn(batch, 3, pixels, pixels)]
    classify(n, batch, *made)


def classify(n, batch, network, images):
    for _ in range(n):
        network.zero_grad(set_to_none=True)
        functional.cross_entropy(network(images), torch.arange(batch)).backward()


class Dense(torch.nn.Module):
    """What two convolutions make, behind what they make it of."""

    def __init__(self, inner, growth):
        super().__init__()
        self.new = torch.nn.Sequential(*before(inner, 4 * growth, 1), *before(4 * growth, growth, 3))

    def forward(self, x):
        return torch.cat((x, self.new(x)), 1)


def before(inner, outer, k):
    """A convolution with its normalisation in front."""
    return torch.nn.BatchNorm2d(inner), torch.nn.ReLU(), torch.nn.Conv2d(inner, outer, k, padding=k // 2, bias=False)


def densenet(n, batch, pixels, growth, *blocks, made=[]):
    if not made:
        channels = 2 * growth
        modules = [torch.nn.Conv2d(3, channels, 3, padding=1, bias=False)]
        for number, layers in enumerate(blocks):
            if number > 0:
                modules.append(torch.nn.Sequential(*before(channels, channels // 2, 1), torch.nn.AvgPool2d(2)))
                channels //= 2
            modules += [Dense(channels + i * growth, growth) for i in range(layers)]
            channels += layers * growth
        made += [torch.nn.Sequential(*modules, *head(channels)), torch.randn(batch, 3, pixels, pixels)]
    classify(n, batch, *made)


def head(channels):
    return torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10, bias=False)


class Branches(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()

        def units(*shapes):
            return torch.nn.Sequential(*(layer for shape in shapes for layer in (unit(*shape), torch.nn.ReLU())))

        inner, half = 4 * channels, channels // 2
        self.branches = torch.nn.ModuleList([units((inner, channels, 1)), units((inner, channels, 1), (channels, channels, 3)),
                                             units((inner, half, 1), (half, channels, 5)),
                                             torch.nn.Sequential(torch.nn.MaxPool2d(3, 1, 1), units((inner, channels, 1)))])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception(n, batch, pixels, channels, blocks, made=[]):
    if not made:
        network = torch.nn.Sequential(torch.nn.Conv2d(3, 4 * channels, 3, padding=1, bias=False), *(Branches(channels) for _ in range(blocks)),
                                      *head(4 * channels))
        made += [network, torch.randn(batch, 3, pixels, pixels)]
    classify(n, batch, *made)


class Step(torch.nn.Module):
    """One step of an LSTM, with the input that is its turn; the state is a stack of what goes out and the cell. All steps share the weights."""

    def __init__(self, weights, x):
        super().__init__()
        self.from_input, self.from_hidden, self.bias = weights
        self.register_buffer("x", x)

    def forward(self, state):
        i, f, g, o = (self.x @ self.from_input + state[0] @ self.from_hidden + self.bias).chunk(4, 1)
        cell = torch.sigmoid(i) * state[1] + torch.sigmoid(f) * torch.tanh(g)
        return torch.stack((torch.sigmoid(o) * torch.tanh(cell), cell))


def lstm(n, length, batch, inputs, hidden, made=[]):
    if not made:
        weights = [torch.nn.Parameter(0.1 * torch.randn(size, 4 * hidden)) for size in (inputs, hidden)]
        weights.append(torch.nn.Parameter(torch.zeros(4 * hidden)))
        made += [torch.nn.Sequential(*(Step(weights, torch.randn(batch, inputs)) for _ in range(length))), torch.zeros(2, batch, hidden)]
    network, start = made
    for _ in range(n):
        network.zero_grad(set_to_none=True)
        network(start)[0].square().mean().backward()


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
