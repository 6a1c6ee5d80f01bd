"""Writes Zarr v3 arrays from numpy by hand, for what no writer here writes: grids with edges of several lengths.

write(path, document, values, region): `document` is the zarr.json; objects that `region` does not touch are left out, and
so are inner chunks that hold nothing but the fill value. Knows the codecs transpose, bytes, gzip, zstd, blosc, crc32c,
vlen-utf8 and sharding_indexed.
"""
import gzip
import itertools
import json
import os
import struct

import google_crc32c
import numcodecs
import numpy as np

MISSING = 2**64 - 1
SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}


def edges_of(spelled, extent):
    """The edges of one axis, up to the extent: an integer, or a list of edges and [size, count]."""
    edges, reached = [], 0
    for item in spelled if isinstance(spelled, list) else [[spelled, extent]]:
        size, count = item if isinstance(item, list) else (item, 1)
        while count > 0 and reached < extent:
            edges.append(size)
            reached += size
            count -= 1
    return edges


def grid_edges(document):
    grid, shape = document["chunk_grid"], document["shape"]
    configuration = grid["configuration"]
    spelled = configuration["chunk_shape"] if grid["name"] == "regular" else configuration["chunk_shapes"]
    return [edges_of(one, extent) for one, extent in zip(spelled, shape)]


def encode_bytes(codec, data):
    name, options = codec["name"], codec.get("configuration", {})
    if name == "gzip":
        return gzip.compress(data, options["level"], mtime=0)
    if name == "zstd":
        return numcodecs.Zstd(level=options["level"], checksum=options["checksum"]).encode(data)
    if name == "blosc":
        blosc = numcodecs.Blosc(options["cname"], options["clevel"], SHUFFLES[options["shuffle"]], options["blocksize"])
        return blosc.encode(np.frombuffer(data, f"V{options['typesize']}"))
    if name == "crc32c":
        return data + struct.pack("<I", google_crc32c.value(bytes(data)))
    raise ValueError(f"codec {name} is not written by hand")


def encode_elements(codec, values):
    options = codec.get("configuration", {})
    if codec["name"] == "bytes":
        order = ">" if options.get("endian") == "big" else "<"
        plain = values.view(f"u{values.dtype.itemsize}") if values.dtype.type.__module__ == "ml_dtypes" else values
        return np.ascontiguousarray(plain).astype(plain.dtype.newbyteorder(order)).tobytes()
    if codec["name"] == "vlen-utf8":
        return bytes(numcodecs.VLenUTF8().encode(values.ravel()))
    raise ValueError(f"codec {codec['name']} is not written by hand")


def same_as(values, fill):
    if values.dtype == object:
        return all(one == fill for one in values.ravel().tolist())
    return values.tobytes() == np.full_like(values, fill).tobytes()


def encode_shard(options, values, fill):
    """The bytes of a shard, or None where all of it is missing."""
    counts = [whole // part for whole, part in zip(values.shape, options["chunk_shape"])]
    body, entries = [], []
    for index in np.ndindex(*counts):
        box = tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, options["chunk_shape"]))
        body.append(None if same_as(values[box], fill) else encode(options["codecs"], values[box], fill))
    start = options["index_location"] == "start"
    names = [codec["name"] for codec in options["index_codecs"]]
    index_size = 16 * len(body) + 4 * names.count("crc32c")
    at = index_size if start else 0
    for data in body:
        entries += [MISSING, MISSING] if data is None else [at, len(data)]
        at += len(data or b"")
    if entries.count(MISSING) == len(entries):
        return None
    index = np.array(entries, "u8")
    for codec in options["index_codecs"]:
        index = encode_bytes(codec, index) if codec["name"] == "crc32c" else encode_elements(codec, index)
    stored = b"".join(data for data in body if data is not None)
    return index + stored if start else stored + index


def encode(codecs, values, fill):
    data = values
    for codec in codecs:
        if data is None:
            return None
        if codec["name"] == "transpose":
            data = data.transpose(codec["configuration"]["order"])
        elif codec["name"] == "sharding_indexed":
            data = encode_shard(codec["configuration"], data, fill)
        elif isinstance(data, np.ndarray):
            data = encode_elements(codec, data)
        else:
            data = bytes(encode_bytes(codec, data))
    return data


def key_of(encoding, index):
    separator = encoding["configuration"]["separator"]
    numbers = [str(i) for i in index]
    if encoding["name"] == "default":
        return separator.join(["c"] + numbers)
    return separator.join(numbers) or "0"


def write(path, document, values, region, fill):
    edges = grid_edges(document)
    begins = [[0] + list(itertools.accumulate(one)) for one in edges]
    for index in np.ndindex(*[len(one) for one in edges]):
        box = [(begins[axis][i], begins[axis][i] + edges[axis][i]) for axis, i in enumerate(index)]
        if any(end <= part.start or begin >= part.stop for (begin, end), part in zip(box, region)):
            continue
        chunk = np.full([end - begin for begin, end in box], fill, values.dtype)
        inside = tuple(slice(begin, end) for begin, end in box)
        part = values[inside]
        chunk[tuple(slice(0, n) for n in part.shape)] = part
        data = encode(document["codecs"], chunk, fill)
        if data is None:
            continue
        target = os.path.join(path, key_of(document["chunk_key_encoding"], index))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as out:
            out.write(data)
    with open(os.path.join(path, "zarr.json"), "w") as text:
        json.dump(document, text)
