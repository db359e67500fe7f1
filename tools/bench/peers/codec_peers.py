"""SZ3 (pysz) and zfp (zfpy) on a file of f32: for each relative bound, a share of the largest magnitude, a line with the name, the bound, bytes, and seconds
to encode and to decode, the least of some rounds. One thread."""
import sys
import time

import numpy
import pysz
import zfpy


def timed(f):
    start = time.perf_counter()
    return f(), time.perf_counter() - start


def with_sz3(x, bound):
    config = pysz.szConfig(x.shape)
    config.errorBoundMode = pysz.szErrorBoundMode.ABS
    config.absErrorBound = bound
    (packed, _), encoding = timed(lambda: pysz.sz.compress(x, config))
    _, decoding = timed(lambda: pysz.sz.decompress(packed, x.dtype, x.shape))
    return packed.nbytes, encoding, decoding


def with_zfp(x, bound):
    packed, encoding = timed(lambda: zfpy.compress_numpy(x, tolerance=bound))
    _, decoding = timed(lambda: zfpy.decompress_numpy(packed))
    return len(packed), encoding, decoding


def main(rounds, path, shape, *bounds):
    x = numpy.fromfile(path, numpy.float32).reshape([int(size) for size in shape.split("x")])
    for bound in map(float, bounds):
        absolute = bound * float(abs(x).max())
        for name, run in (("SZ3", with_sz3), ("zfp", with_zfp)):
            found = [run(x, absolute) for _ in range(int(rounds))]
            print(name, bound, found[0][0], min(f[1] for f in found), min(f[2] for f in found))


main(*sys.argv[1:])
