"""gradient_programs/flow.scm in PyTorch. Arguments: all (what autograd keeps by itself) or segments (torch.utils.checkpoint around about as many
segments as each has steps), and the number of steps."""
import sys

import torch
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
way, steps = sys.argv[1], int(sys.argv[2])
x = torch.sin(torch.arange(4096, dtype=torch.float32).view(128, 32))
w = (0.1 * torch.cos(torch.arange(1024, dtype=torch.float32).view(32, 32))).requires_grad_()


def flow(x, w, n):
    for _ in range(n):
        x = x + 10 / steps * torch.tanh(x @ w)
    return x


if way == "all":
    x = flow(x, w, steps)
else:
    segment = max(1, round(steps**0.5))
    for start in range(0, steps, segment):
        x = checkpoint(flow, x, w, min(segment, steps - start), use_reentrant=False)
value = x.square().mean()
value.backward()
print(value.item())
print(w.grad.square().sum().sqrt().item())
