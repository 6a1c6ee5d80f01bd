"""Writes random arrays, each alone in its group, and what they hold:

    make_random.py SEED COUNT STORE TRUTH

STORE/gNNN/a is written by zarr-python 3 or TensorStore; TRUTH/gNNN+a.npy is made beside it, not read back. Runs in the
environment zarr3 of packaging/install-test-readers.
"""
import json
import os
import random
import sys
import warnings

import ml_dtypes
import numpy as np
import tensorstore
import zarr

from read_store import canonical

warnings.simplefilter("ignore")

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
OTHERS = ["bool", "complex64", "complex128", "string", "datetime", "bfloat16", "float8_e5m2"]
NARROW = {"bfloat16": ml_dtypes.bfloat16, "float8_e5m2": ml_dtypes.float8_e5m2}


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


def endian(rng):
    return codec("bytes", endian=rng.choice(["little", "little", "big"]))


def fill_and_type(rng, kind):
    """(data_type of zarr.json, fill_value of zarr.json, numpy type, fill value)."""
    if kind == "string":
        text = rng.choice(["", "n/a"])
        return kind, text, np.dtype(object), text
    if kind == "datetime":
        return codec("numpy.datetime64", unit="s", scale_factor=1), 0, np.dtype("<M8[s]"), np.datetime64(0, "s")
    if kind == "bool":
        value = rng.random() < 0.3
        return kind, value, np.dtype(bool), value
    dtype = np.dtype(NARROW.get(kind, kind))
    if kind.startswith("complex"):
        return kind, [1.5, -2.0], dtype, 1.5 - 2j
    if "float" in kind:
        name, value = rng.choice([("NaN", np.nan), (0.0, 0.0), (-2.5, -2.5), ("Infinity", np.inf)])
        return kind, name, dtype, value
    value = rng.choice([0, 1, 100])
    return kind, value, dtype, value


def compressors(rng, size):
    """Bytes -> bytes codecs that follow `bytes`."""
    blosc = codec("blosc", cname=rng.choice(["lz4", "zstd", "zlib", "blosclz", "lz4hc"]), clevel=5,
                  shuffle=rng.choice(["noshuffle", "shuffle", "bitshuffle"]), typesize=size, blocksize=0)
    return rng.choice([
        [], [codec("gzip", level=3)], [codec("zstd", level=2, checksum=False)], [codec("zstd", level=2, checksum=True)], [blosc],
        [{"name": "crc32c"}], [codec("zstd", level=1, checksum=False), {"name": "crc32c"}], [blosc, {"name": "crc32c"}],
        [codec("gzip", level=1), codec("zstd", level=1, checksum=False)],
    ])


def index_options(rng):
    codecs = [endian(rng)] + rng.choice([[{"name": "crc32c"}], [{"name": "crc32c"}], []])
    return {"index_codecs": codecs, "index_location": rng.choice(["start", "end", "end"])}


def inner_chain(rng, kind, dtype, rank):
    chain = []
    if kind == "string":
        return [codec("vlen-utf8")] + rng.choice([[], [codec("zstd", level=1, checksum=False)], [codec("gzip", level=1)]])
    if rank > 1 and rng.random() < 0.4:
        order = list(range(rank))
        rng.shuffle(order)
        chain.append(codec("transpose", order=rng.choice([order, list(reversed(range(rank)))])))
    return chain + [endian(rng) if dtype.itemsize > 1 else {"name": "bytes"}] + compressors(rng, dtype.itemsize)


def random_array(rng):
    """A zarr.json document, its numpy type and fill value, and the program that writes it."""
    rank = rng.randrange(6)
    kind = rng.choice(NUMBERS + NUMBERS + OTHERS)
    data_type, fill, dtype, value = fill_and_type(rng, kind)
    chunk = [rng.randrange(1, 4 if rank > 3 else 7) for _ in range(rank)]
    chain = inner_chain(rng, kind, dtype, rank)
    shard = list(chunk)
    for _ in range(rng.choice([0, 1, 1, 1, 2]) if rank else 0):
        chain = [codec("sharding_indexed", chunk_shape=list(shard), codecs=chain, **index_options(rng))]
        shard = [n * rng.randrange(1, 4) for n in shard]
        if rng.random() < 0.15:
            chain.append(rng.choice([codec("gzip", level=1), {"name": "crc32c"}]))
    limit = [6, 40, 24, 14, 8, 6][rank]
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [rng.randrange(1, limit + 1) for _ in range(rank)],
        "data_type": data_type, "fill_value": fill, "codecs": chain, "attributes": {"title": f"random {kind}"},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
        "chunk_key_encoding": codec(*rng.choice([("default",)] * 3 + [("v2",)]), separator=rng.choice("/.")),
    }
    if rng.random() < 0.5:
        document["dimension_names"] = [f"axis{i}" for i in range(rank)]
    only_zarr = kind in ("string", "datetime")
    writer = "tensorstore" if kind in NARROW or (not only_zarr and rng.random() < 0.4) else "zarr"
    return document, dtype, value, writer


def random_values(rng, dtype, shape):
    numbers = np.random.default_rng(rng.randrange(2**32))
    if dtype == object:
        texts = [f"wörd{n}" * (n % 3) for n in numbers.integers(0, 50, int(np.prod(shape, dtype=int)))]
        return np.array(texts, dtype=object).reshape(shape)
    if dtype.kind == "c":
        return (numbers.integers(-50, 50, shape) + 1j * numbers.integers(-9, 9, shape)).astype(dtype)
    if dtype.kind == "b":
        return numbers.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iuM":
        low = -100 if dtype.kind == "i" else 0
        return numbers.integers(low, 120, shape).astype(dtype)
    return (numbers.integers(-60, 60, shape) / 4).astype(dtype)


def written_region(rng, shape):
    """All of the array, or a block that leaves chunks missing."""
    if not shape or rng.random() < 0.5:
        return tuple(slice(0, n) for n in shape)
    starts = [rng.randrange(n) for n in shape]
    return tuple(slice(start, rng.randrange(start + 1, n + 1)) for start, n in zip(starts, shape))


def make_one(rng, path):
    """Writes one array and returns its values; an exception where the writer refuses the document."""
    document, dtype, fill, writer = random_array(rng)
    os.makedirs(path)
    with open(os.path.join(path, "zarr.json"), "w") as text:
        json.dump(document, text)
    shape = tuple(document["shape"])
    region = written_region(rng, shape)
    values = random_values(rng, dtype, shape)
    truth = np.full(shape, fill, dtype)
    truth[region] = values[region]
    if writer == "zarr":
        target = zarr.open_array(path, mode="r+")
        target[region] = values[region]
    else:
        target = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}, open=True).result()
        target[region].write(values[region]).result()
    return canonical(truth)


def main():
    seed, count, store, truth = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    os.makedirs(truth)
    os.makedirs(store)
    group = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}})
    with open(os.path.join(store, "zarr.json"), "w") as text:
        text.write(group)
    rng = random.Random(seed)
    refused, made = {}, 0
    while made < count:
        one = random.Random(rng.randrange(2**62))
        folder = os.path.join(store, f"g{made:04}")
        path = os.path.join(folder, "a")
        try:
            values = make_one(one, path)
        except Exception as error:  # a writer's refusal is no matter of zarrfs: another array is made instead
            reason = type(error).__name__ + ": " + str(error).splitlines()[0][:80]
            refused[reason] = refused.get(reason, 0) + 1
            os.rename(folder, os.path.join(truth, f"refused{sum(refused.values())}"))
            continue
        with open(os.path.join(folder, "zarr.json"), "w") as text:
            text.write(group)
        np.save(os.path.join(truth, f"g{made:04}+a.npy"), values, allow_pickle=True)
        made += 1
    json.dump({"made": made, "refused by the writers": refused}, sys.stdout)


if __name__ == "__main__":
    main()
