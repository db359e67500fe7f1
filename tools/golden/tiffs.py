#!/usr/bin/env python3
"""Writes test/data/tiffs: small pages of TIFF, for what damages files: tests have larger ones and more kinds, which they write themselves."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "tools"))
from tiffs import DEFLATE, JPEG, LZW, PACKBITS, SHORT, page, tiff  # noqa: E402  pylint: disable=wrong-import-position

TARGET = ROOT / "test" / "data" / "tiffs"


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    planes = [[[(x * y + x + 40 * z) % 256 for x in range(20)] for y in range(18)] for z in range(3)]
    floats = [[[x / 4 - y for x in range(20)] for y in range(18)]]
    picture = (ROOT / "test" / "data" / "pictures" / "rgb.jpg").read_bytes()
    for name, file in {"strips": tiff(page(planes, "u8", rows=5)), "lzw": tiff(page(planes, "u8", (16, 16), compression=LZW, predictor=2), page(floats, "f32")),
                       "deflate": tiff(page(planes, "u16", (16, 16), planar=True, compression=DEFLATE), big_endian=True, wide=True),
                       "floats": tiff(page(floats, "f64", rows=7, compression=DEFLATE, predictor=3)), "packbits": tiff(page(planes, "i16", rows=18, compression=PACKBITS), big_endian=True),
                       "jpeg": tiff(page([[[0] * 25] * 19] * 3, "u8", compression=JPEG, photometric=6, pieces=[picture], more=[(530, SHORT, [1, 1])]))}.items():
        (TARGET / f"{name}.tif").write_bytes(file)


if __name__ == "__main__":
    main()
