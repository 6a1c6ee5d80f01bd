#!/usr/bin/env python3
"""The example of ZEP 2 as sparse files: 10.36 million inner chunks in 351 shards of (25000, 18000, 6000) uint8.

    tests/bench/scale.py [--times N] DAEMON     N: that many times more shards

Prints how long it takes until the mount answers, the daemon's memory, a listing of one shard's directory and of all chunks
(`find`), 20,000 random stats, and the memory after them.
"""
import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SHAPE, CHUNK, SHARD = (25000, 18000, 6000), 64, 2048
PER_SHARD = (SHARD // CHUNK) ** 3


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def crc32c(data):
    table, value = crc32c_table(), 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def make(store, times):
    shape = (SHAPE[0] * times, *SHAPE[1:])
    os.makedirs(os.path.join(store, "c"))
    codecs = [{"name": "bytes"}]
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    document = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0, "attributes": {},
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [SHARD] * 3}},
                "chunk_key_encoding": {"name": "default"},
                "codecs": [{"name": "sharding_indexed",
                            "configuration": {"chunk_shape": [CHUNK] * 3, "codecs": codecs, "index_codecs": index}}]}
    with open(os.path.join(store, "zarr.json"), "w") as text:
        json.dump(document, text)
    size = CHUNK ** 3
    entries = b"".join(struct.pack("<QQ", number * size, size) for number in range(PER_SHARD))
    entries += struct.pack("<I", crc32c(entries))
    grid = [-(-extent // SHARD) for extent in shape]
    shards = 0
    for i in range(grid[0]):
        for j in range(grid[1]):
            os.makedirs(os.path.join(store, "c", str(i), str(j)))
            for k in range(grid[2]):
                with open(os.path.join(store, "c", str(i), str(j), str(k)), "wb") as shard:
                    shard.seek(PER_SHARD * size)
                    shard.write(entries)
                shards += 1
    return shape, shards


def memory(mount):
    with open(os.path.join(mount, ".zarrfs/stats.json")) as text:
        process = json.load(text)["process"]
    with open(f"/proc/{process}/status") as text:
        return next(int(line.split()[1]) / 1024 for line in text if line.startswith("VmRSS"))


def timed(act):
    begin = time.perf_counter()
    result = act()
    return time.perf_counter() - begin, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("daemon")
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="zarrfs-scale-")
    store, mount = os.path.join(work, "store"), os.path.join(work, "mount")
    os.makedirs(mount)
    try:
        shape, shards = make(store, options.times)
        counts = [-(-extent // CHUNK) for extent in shape]
        print(f"{counts[0] * counts[1] * counts[2] / 1e6:.2f} million chunks in {shards} shards")
        seconds, _ = timed(lambda: subprocess.run([options.daemon, "mount", store, mount, "-o", "ro,separator=/"], check=True))
        print(f"mount until it answers       {seconds * 1000:8.1f} ms   {memory(mount):6.1f} MiB resident")
        seconds, names = timed(lambda: os.listdir(os.path.join(mount, "5", "7")))
        print(f"one directory, {len(names):6} names  {seconds * 1000:8.1f} ms")
        rng = random.Random(7)
        chunks = [os.path.join(mount, *(str(rng.randrange(count)) for count in counts)) for _ in range(20000)]
        seconds, _ = timed(lambda: [os.stat(chunk) for chunk in chunks])
        print(f"20,000 random stats          {seconds:8.2f} s    {memory(mount):6.1f} MiB resident")
        seconds, found = timed(lambda: subprocess.run(["find", mount, "-type", "f", "-name", "[0-9]*", "-printf", "x"],
                                                      check=True, capture_output=True).stdout)
        print(f"find, {len(found):9} chunks     {seconds:8.2f} s    {memory(mount):6.1f} MiB resident")
    finally:
        subprocess.run([options.daemon, "umount", mount])
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
