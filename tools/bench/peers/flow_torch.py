"""gradient_programs/flow.scm in PyTorch. Arguments: all (what autograd keeps by itself) or segments (torch.utils.checkpoint around about as many
segments as each has steps), and the number of steps. Prints the value, the norm of the gradient, and after a warm-up user CPU seconds and by how
many bytes the largest resident size grows."""
import resource
import sys

import torch
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
way, steps = sys.argv[1], int(sys.argv[2])
x = torch.sin(torch.arange(4096, dtype=torch.float32).view(128, 32))
w = (0.1 * torch.cos(torch.arange(1024, dtype=torch.float32).view(32, 32))).requires_grad_()


def flow(x, w, h, n):
    for _ in range(n):
        x = x + h * torch.tanh(x @ w)
    return x


def gradient(steps):
    h = 10 / steps
    if way == "all":
        end = flow(x, w, h, steps)
    else:
        segment = max(1, round(steps**0.5))
        end = x.clone().requires_grad_()  # reentrant segments are differentiated where their first operand is
        for start in range(0, steps, segment):
            end = checkpoint(flow, end, w, h, min(segment, steps - start), use_reentrant=True)  # the other kind kept 38 KiB a step in PyTorch 2.15
    value = end.square().mean()
    w.grad = None
    value.backward()
    return value


gradient(1)
before = resource.getrusage(resource.RUSAGE_SELF)
value = gradient(steps)
after = resource.getrusage(resource.RUSAGE_SELF)
print(value.item())
print(w.grad.square().sum().sqrt().item())
print(after.ru_utime - before.ru_utime)
print((after.ru_maxrss - before.ru_maxrss) * 1024)
