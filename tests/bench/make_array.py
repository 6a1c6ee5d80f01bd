"""Writes with zarr-python 3 the array that conversions and whole-array reads are measured on.

    make_array.py TARGET sharded|plain Z Y X     (uint16; chunks of 32 x 64 x 64, shards of 128 x 256 x 256, zstd)
"""
import sys

import numpy
import zarr
from zarr.codecs import ZstdCodec

target, kind, *shape = sys.argv[1:]
shape = tuple(map(int, shape))
rng = numpy.random.default_rng(3)
shards = (128, 256, 256) if kind == "sharded" else None
array = zarr.create_array(target, shape=shape, chunks=(32, 64, 64), shards=shards, dtype="uint16", fill_value=0,
                          compressors=[ZstdCodec(level=1)])
y, x = numpy.mgrid[0:shape[1], 0:shape[2]]
for z in range(0, shape[0], 128):
    smooth = 2000 * (numpy.sin(y / 70) + numpy.cos(x / 90 + z / 50)) + 5000
    noise = rng.integers(0, 64, (min(128, shape[0] - z), shape[1], shape[2]), dtype="uint16")
    array[z:z + 128] = smooth.astype("uint16") + noise
