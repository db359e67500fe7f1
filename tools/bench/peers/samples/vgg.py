"""samples/networks/vgg.scm in PyTorch."""
from torch import nn

from noise import of_classes, options, train_on_noise

given = options(name="vgg16", width=64, classes=1000, size=224, batch=2, steps=2, rate=.001, count=False)


def wide(n):
    return n * given.width // 64


def classifier(inputs):
    return [
        nn.Flatten(),
        nn.Linear(inputs, wide(4096)), nn.ReLU(), nn.Dropout(.5),
        nn.Linear(wide(4096), wide(4096)), nn.ReLU(), nn.Dropout(.5),
        nn.Linear(wide(4096), given.classes),
    ]


def vgg(counts):
    layers, inside = [], 3
    for outside, count in zip(map(wide, (64, 128, 256, 512, 512)), counts):
        for _ in range(count):
            layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU()]
            inside = outside
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(7), *classifier(49 * inside))


def alexnet():
    def stage(inside, outside, *more):
        return nn.Sequential(nn.Conv2d(inside if inside == 3 else wide(inside), wide(outside), *more), nn.ReLU())

    return nn.Sequential(
        stage(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2),
        stage(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2),
        stage(192, 384, 3, 1, 1),
        stage(384, 256, 3, 1, 1),
        stage(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2),
        nn.AdaptiveAvgPool2d(6), nn.Dropout(.5), *classifier(36 * wide(256)))


known = {"vgg11": (1, 1, 2, 2, 2), "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}
network = alexnet() if given.name == "alexnet" else vgg(known[given.name])
train_on_noise(network, 3, of_classes, given)
