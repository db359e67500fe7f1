"""A network of tensors_torch.py under checkpoint_sequential. Arguments: network, segments (0: no checkpoints), threads, and the sizes that the network
takes. Prints, of one gradient after a warm-up, user CPU seconds (the median of five), floating-point operations of products and convolutions, and the
most bytes of tensors at one time: what PyTorch's
allocator gave and had not got back, and the parameters and the input. (The largest resident size says more with checkpoints than without: the
threads of the sweep have arenas of their own.)
"""
import resource
import statistics
import sys

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.flop_counter import FlopCounterMode

import tensors_torch

network, segments, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sizes = [int(size) for size in sys.argv[4:]]
torch.set_num_threads(threads)
made = []
getattr(tensors_torch, network)(0, *sizes, made=made)
modules, x = made


def gradient():
    modules.zero_grad(set_to_none=True)
    y = modules(x) if segments == 0 else checkpoint_sequential(modules, segments, x, use_reentrant=False)
    loss = functional.cross_entropy(y, torch.arange(len(x))) if network == "resnet" else y.square().mean()
    loss.backward()


def usage():
    return resource.getrusage(resource.RUSAGE_SELF)


gradient()
seconds = []
for _ in range(5):
    begin = usage().ru_utime
    gradient()
    seconds.append(usage().ru_utime - begin)
modules.zero_grad(set_to_none=True)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
    gradient()
level = peak = 0
for event in sorted((e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns()):
    level += event.nbytes()
    peak = max(peak, level)
constant = sum(t.numel() * t.element_size() for t in [x, *modules.parameters()])
with FlopCounterMode(display=False) as counter:
    gradient()
print(statistics.median(seconds), counter.get_total_flops(), peak + constant)
