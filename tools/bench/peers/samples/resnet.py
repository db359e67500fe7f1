"""samples/networks/resnet.scm in PyTorch."""
from torch import nn

from noise import Residual, global_mean, of_classes, options, train_on_noise, unit

given = options(blocks="18", cifar=0, bottleneck=0, width=0, classes=1000, size=224, batch=2, steps=2, rate=.01, count=False)


def block(inside, outside, stride, layer):
    same = stride == 1 and inside == outside
    return Residual(layer, None if same else unit(nn.Identity(), inside, outside, 1, stride), nn.ReLU())


def basic(inside, width, stride):
    return block(inside, width, stride, nn.Sequential(
        unit(nn.ReLU(), inside, width, 3, stride, 1),
        unit(nn.Identity(), width, width, 3, 1, 1)))


def bottleneck(inside, width, stride):
    return block(inside, 4 * width, stride, nn.Sequential(
        unit(nn.ReLU(), inside, width, 1),
        unit(nn.ReLU(), width, width, 3, stride, 1),
        unit(nn.Identity(), width, 4 * width, 1)))


def stages(kind, widening, inside, width, counts):
    layers = []
    for number, count in enumerate(counts):
        for i in range(count):
            layers.append(kind(inside, width, 2 if i == 0 and number > 0 else 1))
            inside = widening * width
        width *= 2
    return [*layers, global_mean(), nn.Linear(inside, given.classes)]


def resnet(kind, widening, width, counts):
    return nn.Sequential(unit(nn.ReLU(), 3, width, 7, 2, 3), nn.MaxPool2d(3, 2, 1), *stages(kind, widening, width, width, counts))


def cifar_resnet(kind, widening, width, n):
    return nn.Sequential(unit(nn.ReLU(), 3, width, 3, 1, 1), *stages(kind, widening, width, width, [n, n, n]))


known = {"18": (0, [2, 2, 2, 2]), "34": (0, [3, 4, 6, 3]), "50": (1, [3, 4, 6, 3]), "101": (1, [3, 4, 23, 3]), "152": (1, [3, 8, 36, 3])}
if given.cifar:
    kind, widening, each = (bottleneck, 4, 9) if given.bottleneck else (basic, 1, 6)
    network = cifar_resnet(kind, widening, given.width or 16, (given.cifar - 2) // each)
else:
    deep, counts = known.get(given.blocks) or (given.bottleneck, [int(n) for n in given.blocks.split(",")])
    kind, widening = (bottleneck, 4) if deep else (basic, 1)
    network = resnet(kind, widening, given.width or 64, counts)
train_on_noise(network, 3, of_classes, given)
