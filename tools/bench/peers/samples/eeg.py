"""samples/eeg.scm in PyTorch; recordings are read by pyedflib."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from noise import options

given = options(model="eegnet", edf="", seconds=1., epochs=20, batch=32, rate=.003, channels=8, trials=480)


def made_trials(n, count):
    each = torch.arange(n) % count
    rhythms = torch.tensor([6., 10, 15, 22])[each]
    places = torch.randn(count, given.channels)[each]
    turns = 2 * math.pi * (rhythms[:, None] * torch.arange(128) / 128 + torch.rand(n, 1))
    signals = .5 * places[:, :, None] * turns.sin()[:, None]
    return signals + torch.randn(signals.shape), each, count


def recorded_trials(path, seconds):
    import pyedflib
    reader = pyedflib.EdfReader(path)
    rate = reader.getSampleFrequency(0)
    signals = [reader.readSignal(i) for i in range(reader.signals_in_file) if reader.getSampleFrequency(i) == rate]
    measured = torch.stack([torch.from_numpy(s).float() for s in signals])
    measured = (measured - measured.mean(1, keepdim=True)) / (1e-6 + measured.std(1, unbiased=False, keepdim=True))
    n = round(rate * seconds)
    onsets, _, texts = reader.readAnnotations()
    whole = [(round(rate * onset), text) for onset, text in zip(onsets, texts) if round(rate * onset) + n <= measured.shape[1]]
    names = sorted({text for _, text in whole})
    trials = torch.stack([measured[:, begin:begin + n] for begin, _ in whole])
    return trials, torch.tensor([names.index(text) for _, text in whole]), len(names)


trials, classes, kinds = recorded_trials(given.edf, given.seconds) if given.edf else made_trials(given.trials, 4)
order = torch.randperm(len(trials))
trials, classes = trials[order], classes[order]
seen = len(trials) - len(trials) // 4
channels, samples = trials.shape[1:]


def eegnet():
    return nn.Sequential(
        nn.Unflatten(1, (1, channels)),
        nn.ZeroPad2d((31, 32, 0, 0)), nn.Conv2d(1, 8, (1, 64), bias=False), nn.BatchNorm2d(8),
        nn.Conv2d(8, 16, (channels, 1), groups=8, bias=False), nn.BatchNorm2d(16), nn.ELU(),
        nn.AvgPool2d((1, 4)), nn.Dropout(.25),
        nn.ZeroPad2d((7, 8, 0, 0)), nn.Conv2d(16, 16, (1, 16), groups=16, bias=False),
        nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ELU(),
        nn.AvgPool2d((1, 8)), nn.Dropout(.25),
        nn.Flatten(), nn.Linear(16 * (samples // 4 // 8), kinds))


def cnn():
    def stage(inside, outside):
        return nn.Sequential(nn.Conv1d(inside, outside, 7, 2, 3, bias=False), nn.BatchNorm1d(outside), nn.ReLU())

    return nn.Sequential(
        stage(channels, 32), stage(32, 32), stage(32, 64),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Dropout(.25), nn.Linear(64, kinds))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * samples, 64), nn.ReLU(), nn.Dropout(.5), nn.Linear(64, kinds))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(channels, 32, batch_first=True)
        self.out = nn.Linear(32, kinds)

    def forward(self, x):
        _, (last, _) = self.cell(x.transpose(1, 2))
        return self.out(last[0])


network = {"eegnet": eegnet, "cnn": cnn, "mlp": mlp, "lstm": Recurrent}[given.model]()
print(sum(p.numel() for p in network.parameters()))
optimizer = torch.optim.Adam(network.parameters(), lr=given.rate)
for _ in range(given.epochs):
    total = 0
    for batch in torch.randperm(seen).split(given.batch):
        loss = F.cross_entropy(network(trials[batch]), classes[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
print(total / seen)
network.eval()
with torch.no_grad():
    print((network(trials[seen:]).argmax(1) == classes[seen:]).float().mean().item())
