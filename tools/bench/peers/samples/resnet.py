"""samples/networks/resnet.scm in PyTorch; folders of pictures need Pillow."""
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from noise import Residual, global_mean, of_classes, options, train_on, train_on_noise, unit

given = options(blocks="18", cifar=0, bottleneck=0, width=0, classes=1000, size=224, batch=2, steps=2, rate=.01, count=False, data="", folder="")


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


def normalized(x, mean, deviation):
    x = x.flip(-1) if torch.rand(()) < .5 else x
    return (x / 255 - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(deviation).view(3, 1, 1)


class Records(Dataset):
    def __init__(self, path):
        self.records = numpy.memmap(path, numpy.uint8).reshape(-1, 3073)

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        record = torch.tensor(self.records[i])
        y, x = torch.randint(9, (2,)).tolist()
        image = F.pad(record[1:].view(3, 32, 32), (4, 4, 4, 4))[:, y:y + 32, x:x + 32]
        return normalized(image, (.491, .482, .447), (.247, .243, .262)), record[0].long()


class Pictures(Dataset):
    def __init__(self, path, size):
        folders = sorted(folder for folder in pathlib.Path(path).iterdir() if folder.is_dir() and folder.name[0] != ".")
        self.size = size
        self.files = [(file, i) for i, folder in enumerate(folders) for file in sorted(folder.iterdir())
                      if file.suffix.lower() in (".png", ".jpg", ".jpeg")]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        from PIL import Image, ImageOps
        file, label = self.files[i]
        image = ImageOps.fit(Image.open(file).convert("RGB"), (self.size, self.size), Image.Resampling.BILINEAR)
        return normalized(torch.tensor(numpy.array(image)).permute(2, 0, 1), (.485, .456, .406), (.229, .224, .225)), label


def batches_of(data):
    loader = DataLoader(data, given.batch, shuffle=True, drop_last=True, num_workers=1)
    while True:
        for x, classes in loader:
            yield x, lambda y, classes=classes: F.cross_entropy(y, classes)


if given.data:
    train_on(network, given, lambda: batches_of(Records(given.data)))
elif given.folder:
    train_on(network, given, lambda: batches_of(Pictures(given.folder, given.size)))
else:
    train_on_noise(network, 3, of_classes, given)
