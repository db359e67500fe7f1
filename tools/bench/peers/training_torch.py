"""training_programs/train.scm in PyTorch, with its own modules and fused Adam: prints the seconds of the steps that count, of the wall and of the processors, the loss in
the last of them, the most bytes of tensors in one step (what PyTorch's allocator gave and had not got back, beside what lives between steps), and by how many bytes the
largest resident size exceeds that after the import. Arguments: the network, steps to warm up, steps that count, its sizes. Threads: OMP_NUM_THREADS.
"""
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset


def mlp(width):
    network = nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    return classified(network, torch.rand(4096, 784), 64)


def classified(network, x, batch, kinds=10):
    loader = DataLoader(TensorDataset(x, torch.randint(kinds, (len(x),))), batch, shuffle=True, drop_last=True)
    return network, lambda data: F.cross_entropy(network(data[0]), data[1]), loader


def conv(channels):
    network = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.ReLU(),
                            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2 * channels * 196, 128), nn.ReLU(), nn.Linear(128, 10))
    return classified(network, torch.rand(2048, 1, 28, 28), 32)


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell, self.out = nn.LSTM(28, width, batch_first=True), nn.Linear(width, 10)

    def forward(self, x):
        return self.out(self.cell(x)[1][0][0])


def lstm(width):
    return classified(Recurrent(width), torch.rand(2048, 28, 28), 64)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.inside, self.outside = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.units = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (t.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for t in self.inside(self.norm1(x)).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.outside(seen.transpose(1, 2).reshape(x.shape))
        return x + self.units(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, blocks, width, heads, kinds, tokens):
        super().__init__()
        self.table = nn.Parameter(.02 * torch.randn(kinds, width))
        self.positions = nn.Parameter(.02 * torch.randn(tokens, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)

    def forward(self, indices):
        return self.norm(self.blocks(F.embedding(indices, self.table) + self.positions)) @ self.table.t()


class Windows(Dataset):
    def __init__(self, text, length):
        self.text, self.length = text, length

    def __len__(self):
        return len(self.text) - self.length + 1

    def __getitem__(self, i):
        return self.text[i:i + self.length]


def gpt(blocks, width, heads, kinds, tokens, texts):
    network = GPT(blocks, width, heads, kinds, tokens)
    loader = DataLoader(Windows(torch.randint(kinds, (100000,)), tokens + 1), texts, shuffle=True, drop_last=True)
    return network, lambda text: F.cross_entropy(network(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()), loader


def unit(inside, outside, k, stride=1):
    return nn.Sequential(nn.Conv2d(inside, outside, k, stride, k // 2, bias=False), nn.BatchNorm2d(outside))


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        self.units = nn.Sequential(unit(inside, width, 1), nn.ReLU(inplace=True), unit(width, width, 3, stride), nn.ReLU(inplace=True),
                                   unit(width, 4 * width, 1))
        self.shortcut = nn.Identity() if stride == 1 and inside == 4 * width else unit(inside, 4 * width, 1, stride)

    def forward(self, x):
        return F.relu_(self.units(x) + self.shortcut(x))


class Images(Dataset):
    """Bytes of a file, mirrored at random."""

    def __init__(self, path):
        import numpy
        self.images = numpy.load(path, mmap_mode="r")
        self.classes = torch.randint(1000, (len(self.images),))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = (torch.from_numpy(self.images[i].copy()).float() - 128) / 64
        return image.flip(-1) if torch.rand(()) < .5 else image, self.classes[i]


def resnet(points, batch):
    stages, inside = [], 64
    for width, stride, count in ((64, 1, 3), (128, 2, 4), (256, 2, 6), (512, 2, 3)):
        for i in range(count):
            stages.append(Bottleneck(inside, width, stride if i == 0 else 1))
            inside = 4 * width
    network = nn.Sequential(unit(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                            nn.Linear(inside, 1000))
    loader = DataLoader(Images("images.npy"), batch, shuffle=True, drop_last=True)
    return network, lambda data: F.cross_entropy(network(data[0]), data[1]), loader


def eegnet(channels):
    network = nn.Sequential(
        nn.ZeroPad2d((31, 32, 0, 0)), nn.Conv2d(1, 8, (1, 64), bias=False), nn.BatchNorm2d(8),
        nn.Conv2d(8, 16, (channels, 1), groups=8, bias=False), nn.BatchNorm2d(16), nn.ELU(), nn.AvgPool2d((1, 4)), nn.Dropout(.25),
        nn.ZeroPad2d((7, 8, 0, 0)), nn.Conv2d(16, 16, (1, 16), groups=16, bias=False), nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ELU(),
        nn.AvgPool2d((1, 8)), nn.Dropout(.25), nn.Flatten(), nn.Linear(16 * 4, 4))
    return classified(network, torch.randn(512, 1, channels, 128), 32, 4)


def endless(loader):
    while True:
        yield from loader


def most_bytes(step, between):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    level = peak = 0
    for event in sorted((e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        level += event.nbytes()
        peak = max(peak, level)
    return peak + between


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(torch.__version__)
        sys.exit()
    warm, steps, *given = map(int, sys.argv[2:])
    before = resident()
    network, loss_of, loader = globals()[sys.argv[1]](*given)
    optimizer = torch.optim.Adam(network.parameters(), lr=.001, fused=True)
    batches = endless(loader)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(next(batches))
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(warm):
        step()
    begin, processor = time.perf_counter(), time.process_time()
    for _ in range(steps):
        value = step()
    seconds, processor, most = time.perf_counter() - begin, time.process_time() - processor, resident() - before
    optimizer.zero_grad(set_to_none=True)
    lasting = [*network.parameters(), *network.buffers(), *(t for s in optimizer.state.values() for t in s.values())]
    print(seconds, processor, value, most_bytes(step, sum(t.numel() * t.element_size() for t in lasting)), most)
