"""samples/networks/densenet.scm in PyTorch."""
from torch import nn

from noise import Beside, global_mean, of_classes, options, train_on_noise, unit

given = options(blocks=121, growth=32, classes=1000, size=224, batch=2, steps=2, rate=.01, count=False)


def normalised(inside, outside, window, padding=0):
    return nn.Sequential(nn.BatchNorm2d(inside), nn.ReLU(), nn.Conv2d(inside, outside, window, 1, padding, bias=False))


def dense(inside, count):
    return [
        Beside(nn.Identity(), nn.Sequential(
            normalised(inside + i * given.growth, 4 * given.growth, 1),
            normalised(4 * given.growth, given.growth, 3, 1)))
        for i in range(count)
    ]


counts = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}[given.blocks]
inside = 2 * given.growth
layers = [unit(nn.ReLU(), 3, inside, 7, 2, 3), nn.MaxPool2d(3, 2, 1)]
for number, count in enumerate(counts):
    layers += dense(inside, count)
    inside += count * given.growth
    if number < len(counts) - 1:
        layers += [normalised(inside, inside // 2, 1), nn.AvgPool2d(2)]
        inside //= 2
layers += [nn.BatchNorm2d(inside), nn.ReLU(), global_mean(), nn.Linear(inside, given.classes)]
train_on_noise(nn.Sequential(*layers), 3, of_classes, given)
