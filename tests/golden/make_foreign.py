"""Writes the golden shards that are HDF5 and TIFF files as well, with the same chunks.

    build/venvs/formats/bin/python tests/golden/make_foreign.py
"""
import json
import os
import struct
import sys

import h5py
import numpy as np
import tifffile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
from data import crc32c, write_document  # noqa: E402

VALUES = (np.arange(32 * 32) % 251 + 1).astype("u1").reshape(32, 32)
CHUNK = 16


def hdf5(path):
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("a", data=VALUES, chunks=(CHUNK, CHUNK))
    with h5py.File(path) as file:
        chunks = [file["a"].id.get_chunk_info(i) for i in range(4)]
    places = {chunk.chunk_offset: chunk.byte_offset for chunk in chunks}
    return [places[y, x] for y in (0, CHUNK) for x in (0, CHUNK)]


def tiff(path):
    tifffile.imwrite(path, VALUES, tile=(CHUNK, CHUNK), photometric="minisblack")
    with tifffile.TiffFile(path) as file:
        return file.pages[0].dataoffsets


def main():
    for name, write in (("hdf5", hdf5), ("tiff", tiff)):
        array = os.path.join(HERE, "foreign", name)
        write_document(array, [32, 32], [32, 32], [CHUNK, CHUNK])
        os.makedirs(os.path.join(array, "c", "0"), exist_ok=True)
        shard = os.path.join(array, "c", "0", "0")
        if os.path.exists(shard):
            os.remove(shard)
        index = b"".join(struct.pack("<QQ", place, CHUNK * CHUNK) for place in write(shard))
        with open(shard, "ab") as file:
            file.write(index + struct.pack("<I", crc32c(index)))
    assert (tifffile.imread(os.path.join(HERE, "foreign/tiff/c/0/0")) == VALUES).all()
    with h5py.File(os.path.join(HERE, "foreign/hdf5/c/0/0")) as file:
        assert (file["a"][...] == VALUES).all()
    print(json.dumps({"sum": int(VALUES.sum())}))


if __name__ == "__main__":
    main()
