"""What is measured on: stores made from nothing but the specification, and the mounts of them."""
import itertools
import json
import os
import random
import re
import struct
import subprocess

CRC_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    CRC_TABLE.append(_byte)


def crc32c(data):
    table, value = CRC_TABLE, 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def morton(shape):
    """The order in which zarr-python 3 writes the chunks of a shard: bits of the axes in turn, the first axis lowest."""
    bits = [(length - 1).bit_length() for length in shape]
    for code in range(1 << sum(bits)):
        at, rest = [0] * len(shape), code
        for bit in range(max(bits, default=0)):
            for axis, count in enumerate(bits):
                if bit < count:
                    at[axis] |= (rest & 1) << bit
                    rest >>= 1
        if all(i < length for i, length in zip(at, shape)):
            yield tuple(at)


def chunk_order(order, shape):
    everything = list(itertools.product(*map(range, shape)))
    if order == "Morton":
        return list(morton(shape))
    if order == "random":
        random.Random(11).shuffle(everything)
    return everything


def write_document(store, shape, shard, chunk):
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    document = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0, "attributes": {},
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
                "chunk_key_encoding": {"name": "default"},
                "codecs": [{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": chunk, "codecs": [{"name": "bytes"}], "index_codecs": index}}]}
    os.makedirs(store, exist_ok=True)
    with open(os.path.join(store, "zarr.json"), "w") as text:
        json.dump(document, text)


class Grid:
    """A uint8 array: `shards` shards along each axis, of `chunks` chunks along each axis, of `chunk` elements."""

    def __init__(self, shards, chunks, chunk):
        self.shards, self.chunks, self.chunk = shards, chunks, chunk
        self.shape = [s * c * e for s, c, e in zip(shards, chunks, chunk)]
        self.size = product(chunk)
        self.count = product(shards) * product(chunks)

    def names(self, separator="."):
        counts = [s * c for s, c in zip(self.shards, self.chunks)]
        return [separator.join(map(str, at)) for at in itertools.product(*map(range, counts))]

    def write_sharded(self, store, order="C"):
        """Shards whose chunks lie in `order`: C, Morton or random. The bytes are random, as well compressed ones look."""
        write_document(store, self.shape, [c * e for c, e in zip(self.chunks, self.chunk)], list(self.chunk))
        strides = [product(self.chunks[axis + 1:]) for axis in range(len(self.chunks))]
        places = [0] * product(self.chunks)
        for place, at in enumerate(chunk_order(order, self.chunks)):
            places[sum(i * stride for i, stride in zip(at, strides))] = place
        index = b"".join(struct.pack("<QQ", place * self.size, self.size) for place in places)
        index += struct.pack("<I", crc32c(index))
        for at in itertools.product(*map(range, self.shards)):
            path = os.path.join(store, "c", *map(str, at))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as shard:
                for _ in range(len(places)):
                    shard.write(os.urandom(self.size))
                shard.write(index)

    def write_native(self, directory, separator="."):
        """The same number of chunks of the same size, each a file."""
        names = self.names(separator)
        for parent in {os.path.dirname(name) for name in names}:
            os.makedirs(os.path.join(directory, parent), exist_ok=True)
        for name in names:
            with open(os.path.join(directory, name), "wb", buffering=0) as file:
                file.write(os.urandom(self.size))


class Mount:
    """zarrfs on `store`, as a context; `again` mounts anew, so that nothing is cached in it."""

    def __init__(self, daemon, store, point, options):
        self.daemon, self.store, self.point, self.options = daemon, store, point, options
        self.mounted = False

    def up(self):
        os.makedirs(self.point, exist_ok=True)
        command = [self.daemon, "mount", self.store, self.point, "-o", self.options]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.mounted = True

    def down(self):
        if self.mounted:
            subprocess.run([self.daemon, "umount", self.point], check=True, stdin=subprocess.DEVNULL)
            self.mounted = False

    def again(self):
        self.down()
        self.up()

    def memory(self):
        """MiB resident."""
        with open(os.path.join(self.point, ".zarrfs/stats.json")) as text:
            process = re.search(r'"process": (\d+)', text.read()).group(1)
        with open(f"/proc/{process}/status") as text:
            return next(int(line.split()[1]) / 1024 for line in text if line.startswith("VmRSS"))

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()
