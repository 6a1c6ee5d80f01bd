"""Writes random volumes of other formats: make_volumes.py WRITER,... SEED COUNT STORE TRUTH

Each volume is a directory of STORE with one array, "a" (of blosc2 "a.b2nd"); what its own program reads of it goes to TRUTH/VOLUME+a.npy,
with axes c, z, y, x. WRITER is tensorstore or cloud-volume (Neuroglancer precomputed), wkw (webknossos-wrap), or blosc2 (b2nd, any axes).
"""
import json
import math
import os
import random
import sys

import numpy as np

TYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "float32"]
MOST_CHUNKS = 512  # thousands of tiny chunks take the readers many minutes, and tell no more


def few(shape, chunk):
    """`chunk`, longer along the axis that it divides most, until an array of `shape` has no more than MOST_CHUNKS of them."""
    chunk = list(chunk)
    counts = [-(-size // part) for size, part in zip(shape, chunk)]
    while math.prod(counts) > MOST_CHUNKS:
        axis = counts.index(max(counts))
        chunk[axis] = min(2 * chunk[axis], shape[axis])
        counts[axis] = -(-shape[axis] // chunk[axis])
    return chunk


def values_of(numbers, dtype, shape):
    """Blocks of equal values and noise, some of it 0."""
    shape = tuple(shape)
    coarse = numbers.integers(0, 120, tuple(-(-size // 5) for size in shape))
    for axis in range(len(shape)):
        coarse = coarse.repeat(5, axis)
    values = coarse[tuple(slice(0, size) for size in shape)] * (numbers.random(shape) < 0.9)
    return (values * (1000003 if dtype in ("uint64", "int64") else 1)).astype(dtype)


def random_sharding(choose):
    bits = [choose.randint(0, 4), choose.randint(0, 3), choose.randint(0, 6)]
    return {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": bits[0], "minishard_bits": bits[1], "shard_bits": bits[2],
            "hash": choose.choice(["identity", "murmurhash3_x86_128"]), "data_encoding": choose.choice(["raw", "gzip"]),
            "minishard_index_encoding": choose.choice(["raw", "gzip"])}


def random_encoding(choose):
    """Encoding, types and channels that it can have, and what else the scale says."""
    block = [choose.choice([2, 4, 8]) for _ in range(3)]
    return choose.choice([
        ("raw", TYPES, [1, 2, 3], {}), ("raw", TYPES, [1, 2, 3], {}), ("jpeg", ["uint8"], [1, 3], {}), ("png", ["uint8", "uint16"], [1, 2, 3, 4], {}),
        ("compressed_segmentation", ["uint32", "uint64"], [1, 2], {"compressed_segmentation_block_size": block})])


def write_tensorstore(choose, path):
    import tensorstore

    encoding, types, channels, more = random_encoding(choose)
    chunk = [choose.choice([1, 3, 8, 16, 32]) for _ in range(3)]
    size = [choose.randint(1, 70) for _ in range(3)]
    scale = {"key": "a", "size": size, "resolution": [8, 8.5, 30], "encoding": encoding, "chunk_size": few(size, chunk),
             "voxel_offset": [choose.choice([0, 0, 5, -17]) for _ in range(3)], **more}
    if choose.random() < 0.7:
        scale["sharding"] = random_sharding(choose)
    volume = tensorstore.open({
        "driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": path + "/"}, "create": True, "scale_metadata": scale,
        "multiscale_metadata": {"type": "image", "data_type": choose.choice(types), "num_channels": choose.choice(channels)}}).result()
    numbers = np.random.default_rng(choose.getrandbits(32))
    values = values_of(numbers, volume.dtype.name, volume.shape)
    origin = volume.domain.inclusive_min
    region = tuple(slice(origin[axis], origin[axis] + choose.randint(1, size)) if choose.random() < 0.2 else slice(origin[axis], origin[axis] + size)
                   for axis, size in enumerate(volume.shape))
    volume[region] = values[tuple(slice(0, part.stop - part.start) for part in region)]
    return np.asarray(volume.read().result())


def write_cloud_volume(choose, path):
    import cloudvolume

    encoding, types, channels, more = random_encoding(choose)
    dtype = choose.choice([name for name in types if name[0] != "i"])
    if encoding == "png":
        dtype = "uint8"  # it reads no others
    if encoding != "raw":
        channels = [1]  # it writes images of several in an order of its own, and labels not at all
    size = [choose.randint(1, 60) for _ in range(3)]
    chunk = [choose.choice([8, 16, 32]) for _ in range(3)]
    offset = [choose.choice([0, 16, 64]) for _ in range(3)]
    info = cloudvolume.CloudVolume.create_new_info(
        num_channels=choose.choice(channels), layer_type="image", data_type=dtype, encoding=encoding, resolution=[8, 8, 30], voxel_offset=offset,
        chunk_size=few(size, chunk), volume_size=size)
    info["scales"][0].update({"key": "a", **more})
    volume = cloudvolume.CloudVolume("file://" + path, info=info, compress=choose.choice(["gzip", "", "zstd"]), fill_missing=True, progress=False)
    volume.commit_info()
    numbers = np.random.default_rng(choose.getrandbits(32))
    volume[...] = values_of(numbers, dtype, [*size, info["num_channels"]])
    return np.asarray(volume[...])


def write_wkw(choose, path):
    from wkw import wkw

    types = [*TYPES, "int64", "float64"]
    block, edge, channels = choose.choice([1, 4, 8, 16]), choose.choice([1, 2, 4]), choose.choice([1, 1, 2, 3])
    kind = choose.choice([wkw.Header.BLOCK_TYPE_RAW, wkw.Header.BLOCK_TYPE_LZ4, wkw.Header.BLOCK_TYPE_LZ4HC])
    header = wkw.Header(np.dtype(choose.choice(types)), channels, block_len=block, file_len=edge, block_type=kind)
    cube = block * edge
    with wkw.Dataset.create(os.path.join(path, "a"), header) as volume:
        numbers = np.random.default_rng(choose.getrandbits(32))
        files = [choose.randint(1, 3 if edge < 4 else 2) for _ in range(3)]
        for place in np.ndindex(*files):
            last = tuple(number + 1 for number in place) == tuple(files)
            if last or choose.random() < 0.8:
                values = values_of(numbers, header.voxel_type, (channels, cube, cube, cube))
                volume.write([int(number) * cube for number in place], np.asfortranarray(values))
        shape = [number * cube for number in files]
        return np.moveaxis(volume.read((0, 0, 0), shape).reshape(channels, *shape), 0, 3)


def write_blosc2(choose, path):
    import blosc2

    rank = choose.randint(1, 5)
    shape = [choose.randint(1, 40 if rank < 4 else 9) for _ in range(rank)]
    chunks = few(shape, [choose.randint(1, size) for size in shape])
    blocks = [choose.randint(1, size) for size in chunks]
    dtype = np.dtype(choose.choice("<>") + choose.choice(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]))
    codec = choose.choice([blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD])
    filters = choose.choice([[], [blosc2.Filter.SHUFFLE], [blosc2.Filter.BITSHUFFLE]])  # not DELTA: it reads back other values than were written
    cparams = blosc2.CParams(codec=codec, clevel=choose.randint(0, 9), filters=filters, filters_meta=[0] * len(filters), typesize=dtype.itemsize)
    os.makedirs(path)
    settings = {"urlpath": os.path.join(path, "a.b2nd"), "chunks": chunks, "blocks": blocks, "cparams": cparams}
    special = {"zeros": blosc2.zeros, "nans": blosc2.nans if dtype.kind == "f" and dtype.str[0] == "<" else blosc2.zeros}
    array = special.get(choose.choice(["zeros", "nans", "full"]), lambda shape, **more: blosc2.full(shape, 7, **more))(shape, dtype=dtype, **settings)
    numbers = np.random.default_rng(choose.getrandbits(32))
    region = tuple(slice(choose.randint(0, size - 1), size) if choose.random() < 0.4 else slice(0, size) for size in shape)
    array[region] = values_of(numbers, dtype, [part.stop - part.start for part in region])
    return np.asarray(array[...]).T


WRITERS = {"tensorstore": write_tensorstore, "cloud-volume": write_cloud_volume, "wkw": write_wkw, "blosc2": write_blosc2}
ARRAYS = {"blosc2": "a.b2nd"}


def main():
    writers, seed, count, store, truth = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
    os.makedirs(store, exist_ok=True)
    os.makedirs(truth, exist_ok=True)
    written = 0
    for number in range(count):
        for writer in writers:
            choose = random.Random(f"{seed} {writer} {number}")
            name = f"{writer}-{number}"
            values = WRITERS[writer](choose, os.path.join(store, name))
            np.save(os.path.join(truth, f"{name}+{ARRAYS.get(writer, 'a')}.npy"), np.ascontiguousarray(values.T))
            written += 1
    print(json.dumps({"volumes": written}))


if __name__ == "__main__":
    main()
