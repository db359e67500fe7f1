"""A ResNet for small images of samples/networks/resnet.scm in PyTorch: steps of gradient descent. Arguments: depth (9n + 2), segments of checkpoint_sequential (0: no
checkpoints), steps, width, points, batch. Prints seconds of the wall and of the processors a step, and the most bytes of tensors in a step: what PyTorch's
allocator gave and had not got back, beside parameters and images. Threads: OMP_NUM_THREADS.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint_sequential
from training_torch import Bottleneck, unit


def resnet(depth, width):
    modules, inside = [nn.Sequential(unit(3, width, 3), nn.ReLU(inplace=True))], width
    for stage in range(3):
        for i in range((depth - 2) // 9):
            modules.append(Bottleneck(inside, width << stage, 2 if i == 0 and stage > 0 else 1))
            inside = 4 * width << stage
    return nn.Sequential(*modules, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 10)))


def most_bytes(step, lasting):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    level = peak = 0
    for event in sorted((e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        level += event.nbytes()
        peak = max(peak, level)
    return peak + sum(t.numel() * t.element_size() for t in lasting)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(torch.__version__)
        sys.exit()
    depth, segments, steps, width, points, batch = map(int, sys.argv[1:])
    network = resnet(depth, width)
    images, classes = torch.randn(batch, 3, points, points), torch.arange(batch) % 10
    optimizer = torch.optim.SGD(network.parameters(), lr=.01)

    def step():
        optimizer.zero_grad(set_to_none=True)
        y = checkpoint_sequential(network, segments, images, use_reentrant=False) if segments else network(images)
        F.cross_entropy(y, classes).backward()
        optimizer.step()

    begin, processor = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    seconds = (time.perf_counter() - begin) / max(1, steps), (time.process_time() - processor) / max(1, steps)
    optimizer.zero_grad(set_to_none=True)
    print(*seconds, most_bytes(step, [*network.parameters(), *network.buffers(), images]))
