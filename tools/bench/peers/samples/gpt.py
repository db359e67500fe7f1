"""samples/networks/gpt.scm in PyTorch."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from noise import options

given = options(name="", width=768, blocks=12, heads=12, tokens=50257, context=2048, length=64, batch=2, steps=2, rate=.0006, count=False)
sizes = {
    "small": (12, 768, 12), "medium": (24, 1024, 16), "large": (24, 1536, 16), "xl": (24, 2048, 16), "2.7B": (32, 2560, 32),
    "6.7B": (32, 4096, 32), "13B": (40, 5120, 40), "85B": (105, 8192, 64), "175B": (96, 12288, 96),
}
blocks, width, heads = sizes.get(given.name, (given.blocks, given.width, given.heads))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inside, self.outside = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.units = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x):
        q, k, v = (t.view(*x.shape[:2], heads, -1).transpose(1, 2) for t in self.inside(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        seen = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        return self.outside(seen.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.units(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(.02 * torch.randn(given.tokens, width))
        self.positions = nn.Parameter(.01 * torch.randn(given.context, width))
        self.blocks = nn.Sequential(*[Block() for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)

    def forward(self, indices):
        x = F.embedding(indices, self.table) + self.positions[:indices.shape[1]]
        return self.norm(self.blocks(x)) @ self.table.t()


print((given.tokens + given.context) * width + blocks * (12 * width * width + 13 * width) + 2 * width)
if not given.count:
    gpt = GPT()
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=given.rate)
    text = torch.randint(given.tokens, (given.batch, given.length + 1))
    for _ in range(given.steps):
        loss = F.cross_entropy(gpt(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
