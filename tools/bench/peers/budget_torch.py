"""A network of tensors_torch.py under checkpoint_sequential. Arguments: `counts` or `seconds`, network, numbers of segments with commas between them
(0: no checkpoints), threads, and the sizes that the network takes. Prints a line for each number of segments, after a warm-up: user CPU seconds of one
gradient; or floating-point operations of products and convolutions, and the most bytes of tensors at one time: what PyTorch's allocator gave and had
not got back, and the parameters and inputs. A number of segments that PyTorch refuses has the line `refused`. (The largest resident size says more with
checkpoints than without: the threads of the sweep have arenas of their own.)
"""
import resource
import sys

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.flop_counter import FlopCounterMode

import tensors_torch

what, network, segments, threads = sys.argv[1], sys.argv[2], [int(number) for number in sys.argv[3].split(",")], int(sys.argv[4])
sizes = [int(size) for size in sys.argv[5:]]
torch.set_num_threads(threads)
made = []
getattr(tensors_torch, network)(0, *sizes, made=made)
modules, x = made


def gradient(number):
    modules.zero_grad(set_to_none=True)
    y = modules(x) if number == 0 else checkpoint_sequential(modules, number, x, use_reentrant=False)
    loss = y.square().mean() if network in ("gpt", "lstm") else functional.cross_entropy(y, torch.arange(len(x)))
    loss.backward()


def timed(number):
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    gradient(number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin


def accepted(number):
    try:
        gradient(number)
        return True
    except (RuntimeError, ValueError):  # of a segment that begins with an operation in place, say, or where there are more segments than modules
        return False


def most_bytes(number):
    modules.zero_grad(set_to_none=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        gradient(number)
    level = peak = 0
    for event in sorted((e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        level += event.nbytes()
        peak = max(peak, level)
    return peak + sum(t.numel() * t.element_size() for t in [x, *modules.parameters(), *modules.buffers()])


def operations(number):
    with FlopCounterMode(display=False) as counter:
        gradient(number)
    return counter.get_total_flops()


good = [number for number in segments if accepted(number)]
for number in segments:
    if number not in good:
        print("refused")
    elif what == "seconds":
        print(timed(number))
    else:
        print(operations(number), most_bytes(number))
