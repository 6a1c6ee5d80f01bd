"""Writes the golden stores beside this file, and expected.json: what their arrays hold, read back by zarr-python 3.

    build/venvs/zarr3/bin/python tests/golden/make_golden.py

The arrays are listed in arrays.py; zarr-python 3, TensorStore and zarrs write them. Run it only to add arrays: the
stores are committed, so that the tests do not depend on what today's writers do.
"""
import json
import os
import shutil
import sys
import warnings

import numpy as np
import tensorstore
import zarr

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "readers"))
import arrays  # noqa: E402
from read_store import describe, read_zarr3  # noqa: E402

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))


def make_values(dtype, shape):
    """Values that differ from cell to cell, of any type."""
    count = int(np.prod(shape, dtype=int))
    numbers = (np.arange(count) * 37 % 251).astype("i8")
    if dtype.names:
        values = np.zeros(count, dtype)
        for name in dtype.names:
            values[name] = numbers
    elif dtype.kind in "OT":
        values = np.array([f"värde {n}" * (n % 4) for n in numbers], dtype=object)
    elif dtype.kind == "U":
        values = np.array([f"å{n}" for n in numbers]).astype(dtype)
    elif dtype.kind in "SV" and dtype.type.__module__ != "ml_dtypes":
        width = dtype.itemsize
        values = np.frombuffer(b"".join(int(n + 1).to_bytes(1, "little").rjust(width, b"x") for n in numbers), f"S{width}").astype(dtype)
    elif dtype.kind == "b":
        values = numbers % 3 == 0
    elif dtype.kind in "Mm":
        values = numbers.astype(dtype)
    elif dtype.kind in "iu":
        values = (numbers % 120 + 1).astype(dtype)
    elif dtype.kind == "c":
        values = (numbers - 1j * numbers / 2).astype(dtype)
    elif dtype.name == "int4":
        values = (numbers % 16 - 8).astype(dtype)
    else:
        values = (numbers / 4 - 9).astype(dtype)
    return values.reshape(shape)


def regions(shape, how):
    """The slices that are written: everything, nothing, or two corners that leave shards and inner chunks missing."""
    if how == "none" or 0 in shape:
        return []
    if how == "all" or not shape:
        return [tuple(slice(0, n) for n in shape)]
    return [tuple(slice(0, max(1, n // 5)) for n in shape), tuple(slice(n - max(1, n // 3), n) for n in shape)]


def write_zarr(path, row):
    # zarr-python 3.1.6 cannot tell whether a chunk of these equals the fill value.
    unhashable = isinstance(row["document"]["data_type"], dict) and row["document"]["data_type"]["name"] in ("raw_bytes", "structured")
    target = zarr.open_array(path, mode="r+", config={"write_empty_chunks": unhashable})
    values = make_values(np.dtype(target.dtype), target.shape)
    if row["document"]["data_type"] == "variable_length_bytes":
        values = np.array([v.encode() for v in values.ravel()], dtype=object).reshape(values.shape)
    for region in regions(target.shape, row["values"]):
        target[region] = values[region]


def write_zarrs(path, row):
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        write_zarr(path, row)


def open_tensorstore(path):
    return tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}, open=True).result()


def write_tensorstore(path, row):
    target = open_tensorstore(path)
    values = make_values(np.dtype(target.dtype.numpy_dtype), target.shape)
    for region in regions(target.shape, row["values"]):
        target[region] = values[region]


WRITERS = {"zarr": write_zarr, "zarrs": write_zarrs, "tensorstore": write_tensorstore}


def read_back(path, row):
    if row["writer"] == "tensorstore":
        return describe(open_tensorstore(path).read().result())
    return describe(read_zarr3(path))


def main():
    expected = {}
    for store, rows in arrays.STORES.items():
        root = os.path.join(HERE, "stores", store)
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        with open(os.path.join(root, "zarr.json"), "w") as text:
            json.dump({"zarr_format": 3, "node_type": "group", "attributes": {}}, text)
        for name, row in rows().items():
            path = os.path.join(root, name)
            os.makedirs(path)
            with open(os.path.join(path, "zarr.json"), "w") as text:
                json.dump(row["document"], text, indent=1)
            try:
                WRITERS[row["writer"]](path, row)
                expected[f"{store}/{name}"] = read_back(path, row)
            except Exception as error:
                raise RuntimeError(f"{store}/{name}: {error}") from error
    with open(os.path.join(HERE, "expected.json"), "w") as text:
        json.dump(expected, text, indent=1, sort_keys=True)
        text.write("\n")
    print(f"{len(expected)} arrays")


if __name__ == "__main__":
    main()
