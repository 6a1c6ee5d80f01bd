"""Writes random arrays, each alone in its group, and what they hold:

    make_random.py SEED COUNT STORE TRUTH

STORE/gNNN/a is written by zarr-python 3, TensorStore, or (edges of several lengths) hand_writer.py; TRUTH/gNNN+a.npy is
made beside it, not read back. Runs in the environment zarr3 of packaging/install-test-readers.
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

import hand_writer
from read_store import canonical

warnings.simplefilter("ignore")

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
OTHERS = ["bool", "complex64", "complex128", "string", "datetime", "timedelta", "text", "letters", "bytes", "bfloat16",
          "float8_e5m2"]
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
    if kind == "text":
        return codec("fixed_length_utf32", length_bytes=20), "ä?", np.dtype("<U5"), "ä?"
    if kind == "letters":
        return codec("null_terminated_bytes", length_bytes=3), "bm8=", np.dtype("S3"), b"no"
    if kind == "bytes":
        return "variable_length_bytes", "", np.dtype(object), b""
    if kind == "timedelta":
        return codec("numpy.timedelta64", unit="ms", scale_factor=10), 5, np.dtype("<m8[10ms]"), np.timedelta64(50, "ms")
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


def numcodecs_compressors(rng, size):
    """The same with codecs of numcodecs, which only zarr-python writes."""
    return rng.choice([
        [codec("numcodecs.zlib", level=2)], [codec("numcodecs.lz4", acceleration=1)], [codec("numcodecs.bz2", level=1)],
        [codec("numcodecs.lzma", preset=1)], [codec("numcodecs.shuffle", elementsize=size), codec("numcodecs.zlib", level=1)],
        [codec("numcodecs.zlib", level=1), codec("numcodecs.adler32")], [codec("numcodecs.crc32")], [codec("numcodecs.fletcher32")],
        [codec("numcodecs.crc32"), codec("numcodecs.zstd", level=1)],
    ])


def filters(rng, kind, dtype, fill):
    """Array -> array codecs that keep these values and this fill value exactly."""
    name = dtype.str
    if kind == "bool":
        return [codec("numcodecs.packbits")]
    if dtype.kind in "iu":
        return [codec("numcodecs.delta", dtype=name)]
    if dtype.kind == "f" and np.isfinite(fill):
        wide = [codec("numcodecs.astype", encode_dtype="<f4", decode_dtype="<f8")] if name == "<f8" else []
        return rng.choice([wide, [codec("numcodecs.bitround", keepbits=8)], [codec("numcodecs.quantize", digits=2, dtype=name)],
                           [codec("numcodecs.fixedscaleoffset", offset=0, scale=4, dtype=name, astype="<i2")]])
    return []


def index_options(rng):
    codecs = [endian(rng)] + rng.choice([[{"name": "crc32c"}], [{"name": "crc32c"}], []])
    return {"index_codecs": codecs, "index_location": rng.choice(["start", "end", "end"])}


def inner_chain(rng, kind, dtype, rank, fill):
    chain = []
    if dtype == object:
        return [codec("vlen-utf8" if kind == "string" else "vlen-bytes")] + rng.choice([[], [codec("zstd", level=1, checksum=False)], [codec("gzip", level=1)]])
    if rank > 1 and rng.random() < 0.4:
        order = list(range(rank))
        rng.shuffle(order)
        chain.append(codec("transpose", order=rng.choice([order, list(reversed(range(rank)))])))
    known = kind not in NARROW
    # After a transpose zarr-python 3 hands filters elements in either order, and misreads what it has written.
    if known and not chain and rng.random() < 0.15:
        chain += filters(rng, kind, dtype, fill)
    more = numcodecs_compressors if known and rng.random() < 0.2 else compressors
    return chain + [endian(rng) if dtype.itemsize > 1 else {"name": "bytes"}] + more(rng, dtype.itemsize)


def random_edges(rng, extent, unit):
    """One axis of a rectilinear grid, each edge a multiple of `unit`, in any of the spellings; past the extent at times."""
    spelled, reached = [], 0
    while reached < extent:
        size, count = unit * rng.randrange(1, 5), rng.choice([1, 1, 1, 2, 3])
        spelled.append([size, count] if count > 1 or rng.random() < 0.2 else size)
        reached += size * count
    if rng.random() < 0.3:
        spelled.append([unit, 10**15] if rng.random() < 0.5 else unit * rng.randrange(1, 5))
    if rng.random() < 0.2:
        return unit * rng.randrange(1, 5)
    return spelled


def written_by_hand(rng, document):
    """Gives the array what only hand_writer.py writes; False where nothing of that fits."""
    grid, chain, shape = document["chunk_grid"]["configuration"], document["codecs"], document["shape"]
    sharded = chain[0]["name"] == "sharding_indexed"
    if not shape:
        return False
    if rng.random() < 0.7:
        units = chain[0]["configuration"]["chunk_shape"] if sharded else [1] * len(shape)
        edges = [random_edges(rng, extent, unit) for extent, unit in zip(shape, units)]
        document["chunk_grid"] = codec("rectilinear", kind="inline", chunk_shapes=edges)
    elif sharded and len(shape) > 1:
        order = list(range(len(shape)))
        rng.shuffle(order)
        chain.insert(0, codec("transpose", order=order))
        grid["chunk_shape"] = [grid["chunk_shape"][order.index(axis)] for axis in range(len(shape))]
    else:
        return False
    return True


def random_array(rng):
    """A zarr.json document, its numpy type and fill value, and the program that writes it."""
    rank = rng.randrange(6)
    kind = rng.choice(NUMBERS + NUMBERS + OTHERS)
    data_type, fill, dtype, value = fill_and_type(rng, kind)
    chunk = [rng.randrange(1, 4 if rank > 3 else 7) for _ in range(rank)]
    chain = inner_chain(rng, kind, dtype, rank, value)
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
    if "numcodecs." not in str(chain) and kind != "bytes" and rng.random() < 0.2 and written_by_hand(rng, document):
        return document, dtype, value, "hand"
    only_zarr = kind in ("string", "datetime", "timedelta", "text", "letters", "bytes") or "numcodecs." in str(chain)
    writer = "tensorstore" if kind in NARROW or (not only_zarr and rng.random() < 0.4) else "zarr"
    return document, dtype, value, writer


def random_values(rng, kind, dtype, shape):
    numbers = np.random.default_rng(rng.randrange(2**32))
    if dtype.kind in "SU" or (dtype == object and kind == "bytes"):
        texts = ["", "a", "ä b" if dtype.kind == "U" else "a b", "xyz"]
        chosen = [texts[n] if dtype.kind == "U" else texts[n].encode() for n in numbers.integers(0, 4, int(np.prod(shape, dtype=int)))]
        return np.array(chosen, dtype=dtype).reshape(shape)
    if dtype == object:
        texts = [f"wörd{n}" * (n % 3) for n in numbers.integers(0, 50, int(np.prod(shape, dtype=int)))]
        return np.array(texts, dtype=object).reshape(shape)
    if dtype.kind == "c":
        return (numbers.integers(-50, 50, shape) + 1j * numbers.integers(-9, 9, shape)).astype(dtype)
    if dtype.kind == "b":
        return numbers.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iuMm":
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
    values = random_values(rng, document["attributes"]["title"].removeprefix("random "), dtype, shape)
    truth = np.full(shape, fill, dtype)
    truth[region] = values[region]
    if writer == "hand":
        hand_writer.write(path, document, truth, region, fill)
    elif writer == "zarr":
        target = zarr.open_array(path, mode="r+")
        target[region] = values[region]
    else:
        target = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}, open=True).result()
        target[region].write(values[region]).result()
    return canonical(truth)


def group_document(values):
    """The array's group: an OME-Zarr 0.5 image of one level where the array may be one."""
    attributes = {}
    if 2 <= values.ndim <= 5 and values.dtype.kind in "iuf":
        axes = [{"name": name, "type": {"t": "time", "c": "channel"}.get(name, "space")} for name in "tczyx"[-values.ndim:]]
        level = {"path": "a", "coordinateTransformations": [{"type": "scale", "scale": [1.0] * values.ndim}]}
        attributes["ome"] = {"version": "0.5", "multiscales": [{"name": "random", "axes": axes, "datasets": [level]}]}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def main():
    seed, count, store, truth = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    os.makedirs(truth)
    os.makedirs(store)
    with open(os.path.join(store, "zarr.json"), "w") as text:
        json.dump({"zarr_format": 3, "node_type": "group", "attributes": {}}, text)
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
            json.dump(group_document(values), text)
        np.save(os.path.join(truth, f"g{made:04}+a.npy"), values, allow_pickle=True)
        made += 1
    print(json.dumps({"made": made, "refused by the writers": refused}))


if __name__ == "__main__":
    main()
