#!/usr/bin/env python3
"""Writes test/data/pictures: small pictures of every kind that is read, by Pillow (13.0.0 was used), and the bytes that Pillow reads from them."""
import json
import pathlib

import numpy
from PIL import Image

TARGET = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "data" / "pictures"
HEIGHT, WIDTH = 19, 25


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    rgb = numpy.stack([(9 * x) % 256, (11 * y + 2 * x) % 256, (x * y) % 256], 2).astype(numpy.uint8)
    alpha = ((x + y) * 5 % 256).astype(numpy.uint8)
    picture, grey = Image.fromarray(rgb), Image.fromarray(rgb[:, :, 1])
    both = Image.merge("RGBA", (*picture.split(), Image.fromarray(alpha)))
    picture.save(TARGET / "rgb.png")
    grey.save(TARGET / "grey.png")
    both.save(TARGET / "rgba.png")
    Image.merge("LA", (grey, Image.fromarray(alpha))).save(TARGET / "grey-alpha.png")
    picture.quantize(16).save(TARGET / "palette.png")
    grey.convert("1").save(TARGET / "bits.png")
    Image.fromarray((x * 2000 + y * 97).astype(numpy.uint16)).save(TARGET / "deep.png")
    smooth = Image.fromarray(numpy.stack([x * 9, y * 12, 255 - x * 5], 2).astype(numpy.uint8))
    smooth.save(TARGET / "rgb.jpg", quality=95, subsampling=0)
    smooth.save(TARGET / "halved.jpg", quality=90, subsampling=2)
    smooth.save(TARGET / "progressive.jpg", quality=90, progressive=True)
    grey.save(TARGET / "grey.jpg", quality=90)
    smooth.convert("CMYK").save(TARGET / "cmyk.jpg")
    expected = {}
    for path in sorted(TARGET.glob("*.*g")):
        with Image.open(path) as image:
            if path.stem == "cmyk":
                continue
            if path.stem == "deep":
                elements = (numpy.asarray(image).astype(numpy.int64) * 255 + 32895) >> 16  # as libpng rounds
            else:
                elements = numpy.asarray(image.convert({"P": "RGB", "1": "L"}.get(image.mode, image.mode)))
            expected[path.name] = elements.reshape(HEIGHT, WIDTH, -1).tolist()
    (TARGET / "expected.json").write_text(json.dumps(expected) + "\n")


main()
