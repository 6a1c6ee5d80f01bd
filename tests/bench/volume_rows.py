"""Chunks of a precomputed volume's shards through a mount, beside those of Zarr's shards: the same sizes and numbers of both."""
import itertools
import json
import os
import random
import struct

from chunk_rows import mount_passes, pick
from data import Grid
from measure import Table, alternate, median, ratio

MINISHARD_BITS, SHARD_BITS = 3, 2


def compressed_morton(at, counts):
    """The number of a chunk, x first; see docs/formats.md for its source."""
    code, bits = 0, 0
    for bit in range(64):
        for place, count in zip(at, counts):
            if (count - 1) >> bit:
                code |= (place >> bit & 1) << bits
                bits += 1
    return code


def write_precomputed(grid, path):
    """A volume of raw chunks in raw shards, with the chunks of `grid`; its bytes are random."""
    counts = [s * c for s, c in zip(grid.shards, grid.chunks)][::-1]
    sharding = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 6, "hash": "identity", "minishard_bits": MINISHARD_BITS,
                "shard_bits": SHARD_BITS, "minishard_index_encoding": "raw", "data_encoding": "raw"}
    scale = {"key": "a", "size": grid.shape[::-1], "resolution": [1, 1, 1], "chunk_sizes": [list(grid.chunk[::-1])], "encoding": "raw",
             "sharding": sharding}
    os.makedirs(os.path.join(path, "a"))
    with open(os.path.join(path, "info"), "w") as text:
        json.dump({"@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint8", "num_channels": 1, "scales": [scale]}, text)
    shards = {}
    for at in itertools.product(*map(range, counts)):
        code = compressed_morton(at, counts)
        minishard = code >> 6 & (1 << MINISHARD_BITS) - 1
        shard = code >> 6 + MINISHARD_BITS & (1 << SHARD_BITS) - 1
        shards.setdefault(shard, {}).setdefault(minishard, []).append(code)
    for shard, minishards in shards.items():
        with open(os.path.join(path, "a", f"{shard:x}.shard"), "wb") as file:
            table, at = [(0, 0)] * (1 << MINISHARD_BITS), 0
            file.seek(16 << MINISHARD_BITS)
            for minishard, codes in sorted(minishards.items()):
                codes.sort()
                for _ in codes:
                    file.write(os.urandom(grid.size))
                deltas = [code - before for code, before in zip(codes, [0, *codes])]
                index = struct.pack(f"<{3 * len(codes)}Q", *deltas, at, *[0] * (len(codes) - 1), *[grid.size] * len(codes))
                at += len(codes) * grid.size
                table[minishard] = (at, at + len(index))
                file.write(index)
                at += len(index)
            file.seek(0)
            file.write(b"".join(struct.pack("<QQ", *entry) for entry in table))


def volumes(bench):
    table = Table("Chunks of a precomputed volume beside those of a Zarr store, both through a mount (immutable):",
                  ["chunk", "walk", "Zarr's shards cold, a chunk", "precomputed / Zarr cold", "first", "again"])
    sizes = {"64 KiB": Grid((2, 1, 1), (8, 8, 8), (32, 32, 64))}
    if not bench.short:
        sizes["1 MiB"] = Grid((2, 1, 1), (4, 4, 4), (64, 128, 128))
    for size, grid in sizes.items():
        key = size.replace(" ", "")
        store = bench.make("volume-store-" + key, lambda path, grid=grid: grid.write_sharded(path, "Morton"))  # as zarr-python 3 does
        volume = bench.make("volume-" + key, lambda path, grid=grid: write_precomputed(grid, path))
        names = grid.names()
        for walk in ("in order", "random"):
            if walk == "random":
                random.Random(5).shuffle(names)
            lists = bench.names(f"volume-{key}", names), bench.names(f"volume-{key}-4", ["a/0." + name for name in names])
            options = "ro,immutable,view=v2,separator=."
            sides = {"zarr": mount_passes(bench, bench.mount(store, options), lists[0], 1),
                     "precomputed": mount_passes(bench, bench.mount(volume, options, "volume"), lists[1], 1)}
            seconds = alternate(sides, bench.rounds)
            table.add(size, walk, median(pick(seconds, "zarr", "cold"), grid.count),
                      *(ratio(pick(seconds, "precomputed", state), pick(seconds, "zarr", state)) for state in ("cold", "first", "again")))
        bench.forget("volume-store-" + key, "volume-" + key)
    return [table]
