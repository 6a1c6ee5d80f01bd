"""Small stores that tests write themselves, byte by byte, so that they know what must come out."""
import json
import os
import struct

import numpy as np

MISSING = 2**64 - 1
CRC32C_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = (_byte >> 1) ^ (0x82F63B78 if _byte & 1 else 0)
    CRC32C_TABLE.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def shard_bytes(chunks, index_location="end"):
    """A shard with a CRC32C behind its index. `chunks`: the inner chunks in C order; None is missing."""
    body, entries = b"", []
    first = 16 * len(chunks) + 4 if index_location == "start" else 0
    for chunk in chunks:
        entries.append((MISSING, MISSING) if chunk is None else (first + len(body), len(chunk)))
        body += chunk or b""
    index = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    index += struct.pack("<I", crc32c(index))
    return index + body if index_location == "start" else body + index


def document(shape, shard, chunk, data_type="int32", fill=0, codecs=None, **more):
    return {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type, "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shard)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": list(chunk), "index_location": "end",
            "codecs": codecs or [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}],
        "attributes": {}, **more,
    }


def write_json(path, value):
    """Replaces a document as a careful program does: a new file, renamed over the old one."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as text:
        json.dump(value, text)
    os.rename(path + ".new", path)


def write_file(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as out:
        out.write(data)
    os.rename(path + ".new", path)


def files_of(store):
    """(path in the store, full path) of each file."""
    def fail(error):
        raise error

    for folder, _, names in sorted(os.walk(store, onerror=fail)):
        for name in sorted(names):
            full = os.path.join(folder, name)
            yield os.path.relpath(full, store), full


def objects_of(source, name):
    """(key, bytes) of each object that a file, or a directory, called `name` becomes in a bucket."""
    for path, full in files_of(source) if os.path.isdir(source) else [("", source)]:
        with open(full, "rb") as file:
            yield os.path.join(name, path).rstrip("/"), file.read()


class SmallStore:
    """A group "store" with one array "a": 8 x 8 int32, shards 4 x 4, inner chunks 2 x 2, raw. Chunk i.j holds the
    number 10 i + j four times; shard c/1/1 is missing, and so is chunk 0.1 of shard c/0/0."""

    def __init__(self, folder, attributes=None):
        self.path = os.path.join(str(folder), "store")
        write_json(self.file("zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}})
        write_json(self.file("a/zarr.json"), document((8, 8), (4, 4), (2, 2), fill=7))
        for row, column in ((0, 0), (0, 1), (1, 0)):
            self.write_shard(row, column)

    def file(self, name):
        return os.path.join(self.path, name)

    @staticmethod
    def chunk(row, column, add=0):
        return np.full(4, 10 * row + column + add, "<i4").tobytes()

    def write_shard(self, row, column, add=0):
        cells = [(2 * row + i, 2 * column + j) for i in range(2) for j in range(2)]
        chunks = [None if cell == (0, 1) else self.chunk(*cell, add) for cell in cells]
        write_file(self.file(f"a/c/{row}/{column}"), shard_bytes(chunks))

    @staticmethod
    def present():
        return sorted(f"{i}.{j}" for i in range(4) for j in range(4) if (i, j) != (0, 1) and not (i >= 2 and j >= 2))
