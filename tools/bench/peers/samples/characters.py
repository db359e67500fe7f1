"""samples/characters.scm in PyTorch."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from noise import options

given = options(text="", width=32, rounds=150, rate=.02, window=67, batch=16)
text = open(given.text).read() if given.text else "how much wood would a woodchuck chuck if a woodchuck could chuck wood"

alphabet = sorted(set(text))
encoded = torch.tensor([alphabet.index(c) for c in text])
window = min(given.window, len(text) - 2)
starts = len(text) - window - 1


def draw_windows():
    begins = torch.randint(starts, (given.batch, 1)) if given.text else torch.zeros(1, 1, dtype=torch.int64)
    return encoded[begins + torch.arange(window + 2)]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(len(alphabet), 8)
        self.cell = nn.LSTM(8, given.width, batch_first=True)
        self.out = nn.Linear(given.width, len(alphabet))

    def forward(self, indices, state=None):
        seen, state = self.cell(self.table(indices), state)
        return self.out(seen), state


def continue_from(model, index, n):
    state = None
    for _ in range(n):
        print(alphabet[index], end="")
        logits, state = model(torch.tensor([[index]]), state)
        if given.text:
            index = torch.distributions.Categorical(logits=logits.view(-1)).sample().item()
        else:
            index = logits.argmax().item()
    print(alphabet[index])


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=given.rate)
for _ in range(given.rounds):
    windows = draw_windows()
    logits, _ = model(windows[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(math.exp(loss.item()))
continue_from(model, alphabet.index(text[0]), 300 if given.text else window + 1)
