"""VGG-16's convolutions in PyTorch, on one thread, with checkpoints at given borders: SIZE WIDTH MODULES, numbers of modules (convolutions, ReLUs, pools)
between borders with commas between them. The image is SIZE x SIZE, WIDTH the channels of the first layer. Prints the version, seconds of the
processor for a gradient, after one of a small image, by programs and in the kernel, and the largest resident size in bytes.
"""
import resource
import sys

import torch
from torch.utils.checkpoint import checkpoint

size, width, lengths = int(sys.argv[1]), int(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")]
torch.set_num_threads(1)
torch.manual_seed(1)
modules, channels = [], 3
for of_width in (1, 1, 0, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8, 0, 8, 8, 8, 0):
    if of_width == 0:
        modules.append(torch.nn.MaxPool2d(2))
    else:
        modules += [torch.nn.Conv2d(channels, of_width * width, 3, padding=1, bias=False), torch.nn.ReLU()]
        channels = of_width * width
assert sum(lengths) == len(modules), f"there are {len(modules)} modules"
segments = []
for length in lengths:
    segments.append(torch.nn.Sequential(*modules[:length]))
    modules = modules[length:]
linear = torch.nn.Linear(channels, 10, bias=False)


def gradient(points):
    x = torch.rand(1, 3, points, points)
    begin = resource.getrusage(resource.RUSAGE_SELF)
    for segment in segments:
        x = checkpoint(segment, x, use_reentrant=False)
    linear(x.mean((2, 3))).square().sum().backward()
    end = resource.getrusage(resource.RUSAGE_SELF)
    return end.ru_utime - begin.ru_utime, end.ru_stime - begin.ru_stime


gradient(64)
seconds = gradient(size)
print(torch.__version__, *seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
