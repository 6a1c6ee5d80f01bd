"""Writes the golden arrays of Blosc2 beside this file, and blosc2.json: what python-blosc2 reads of them.

    build/venvs/formats/bin/python tests/golden/make_blosc2.py

Run it only to add arrays: they are committed, so that the tests do not depend on what today's writers do.
"""
import json
import os
import shutil
import sys

import blosc2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "readers"))
from read_store import describe  # noqa: E402

FOLDER = os.path.join(HERE, "blosc2")


def numbers(dtype, *shape):
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % 251).astype(dtype)


def arrays():
    """name, array, and how it is stored."""
    yield "plane", numbers("<i2", 17, 9), {"chunks": (8, 4), "blocks": (3, 2)}
    yield "volume", numbers("<f4", 5, 11, 13), {"chunks": (3, 5, 6), "blocks": (2, 2, 4)}
    yield "big_endian", numbers(">i4", 50), {"chunks": (20,), "blocks": (7,)}
    yield "four", numbers("|u1", 3, 4, 5, 6), {"chunks": (2, 2, 3, 4), "blocks": (1, 2, 2, 3)}
    yield "scalar", np.array(5.5), {}
    yield "empty", np.zeros((0, 4), "<f4"), {}
    yield "bool", numbers("<i2", 50) % 3 == 0, {}
    yield "complex", numbers("<c8", 4, 6) + np.complex64(2j), {"chunks": (2, 4)}
    yield "bytes", np.array([b"ab", b"c", b"def"]), {}
    yield "dates", numbers("<M8[s]", 12), {"chunks": (5,)}
    for codec in (blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD):
        for filter in (blosc2.Filter.SHUFFLE, blosc2.Filter.BITSHUFFLE):
            cparams = blosc2.CParams(codec=codec, filters=[filter], clevel=5)
            yield f"{codec.name}-{filter.name}".lower(), numbers("<i4", 40, 30), {"chunks": (20, 20), "blocks": (10, 10), "cparams": cparams}


def special():
    """name, and an array in parts of which chunks have no bytes."""
    settings = {"chunks": (4, 4), "blocks": (2, 2)}
    yield "zeros", blosc2.zeros((12, 12), dtype="<f4", urlpath=os.path.join(FOLDER, "zeros.b2nd"), **settings)
    yield "nans", blosc2.nans((12, 12), dtype="<f8", urlpath=os.path.join(FOLDER, "nans.b2nd"), **settings)
    yield "sevens", blosc2.full((12, 12), 7, dtype="<i8", urlpath=os.path.join(FOLDER, "sevens.b2nd"), **settings)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    expected = {}
    for name, values, settings in arrays():
        array = blosc2.asarray(values, urlpath=os.path.join(FOLDER, name + ".b2nd"), **settings)
        expected[name + ".b2nd"] = describe(np.asarray(array[()]))
    for name, array in special():
        array[2:6, 3:7] = np.arange(16).reshape(4, 4)
        expected[name + ".b2nd"] = describe(np.asarray(array[...]))
    with open(os.path.join(HERE, "blosc2.json"), "w") as text:
        json.dump(expected, text, indent=1, sort_keys=True)
        text.write("\n")


if __name__ == "__main__":
    main()
