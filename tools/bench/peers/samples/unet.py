"""samples/networks/unet.scm in PyTorch."""
from torch import nn

from noise import Beside, options, points_of_classes, train_on_noise

given = options(width=64, depth=4, channels=1, classes=2, size=256, batch=1, steps=2, rate=.001, count=False)


def twice(inside, outside):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(),
        nn.Conv2d(outside, outside, 3, padding=1), nn.ReLU())


def unet(inside, width, depth):
    if depth == 0:
        return twice(inside, width)
    below = nn.Sequential(nn.MaxPool2d(2), unet(width, 2 * width, depth - 1), nn.ConvTranspose2d(2 * width, width, 2, 2))
    return nn.Sequential(twice(inside, width), Beside(nn.Identity(), below), twice(2 * width, width))


network = nn.Sequential(unet(given.channels, given.width, given.depth), nn.Conv2d(given.width, given.classes, 1))
train_on_noise(network, given.channels, points_of_classes, given)
