"""The programs of tensor_programs/ in PyTorch: prints the seconds that `count` rounds take, after a warm-up. Arguments: program, count, threads."""
import sys
import time

import torch


def tiny(n):
    t = torch.tensor([1.0, 2, 3, 4])
    x = t
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


def product(n, x=[]):
    if not x:
        x += [torch.randn(1024, 1024), 0.03 * torch.randn(1024, 1024)]
    y = x[0]
    for _ in range(n):
        y = y @ x[1]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(torch.__version__)
        sys.exit()
    program, count, threads = globals()[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    program(max(1, count // 10))
    begin = time.perf_counter()
    program(count)
    print(time.perf_counter() - begin)
