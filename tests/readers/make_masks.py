"""Writes random CF data, one group for each variable, and what xarray makes of it:

    make_masks.py SEED COUNT STORE TRUTH

STORE/gNNN/v is sharded; TRUTH/gNNN.npz holds what xarray reads from the store itself, without zarrfs: the values, NaN where they
are missing. Runs in the environment zarr3 of packaging/install-test-readers.
"""
import json
import os
import random
import sys
import warnings

import numpy as np
import xarray
import zarr
from xarray.backends.zarr import FillValueCoder

warnings.simplefilter("ignore")

TYPES = ["float32", "float64", "float32", "int8", "int16", "int16", "int32", "uint8", "uint16", "int64"]
SHAPE, CHUNK, SHARD = (6, 10), (2, 5), (4, 10)


def attributes_of(rng, dtype):
    """CF attributes, and the numbers that mark missing cells by them."""
    attributes, markers = {"long_name": "random"}, []
    low = 100 if dtype.kind == "u" or dtype.itemsize == 1 else 999
    marker = low if dtype.kind == "u" else -low
    if dtype.kind == "f" and rng.random() < 0.2:
        marker = float("nan")
    if rng.random() < 0.7:
        attributes["_FillValue"] = FillValueCoder.encode(dtype.type(marker), dtype)
        markers.append(marker)
    if rng.random() < 0.3 and marker == marker:
        attributes["missing_value"] = dtype.type(marker).item()
        markers.append(marker)
    if dtype.kind != "f" and rng.random() < 0.5:
        attributes["scale_factor"], attributes["add_offset"] = 0.5, 10.0
    return attributes, markers


def make_one(rng, group):
    dtype = np.dtype(rng.choice(TYPES))
    attributes, markers = attributes_of(rng, dtype)
    fill = rng.choice([0, 0, 7] + markers + (["NaN"] if dtype.kind == "f" else []))
    variable = group.create_array("v", shape=SHAPE, chunks=CHUNK, shards=SHARD, dtype=dtype, fill_value=dtype.type(fill),
                                  dimension_names=["y", "x"], attributes=attributes, compressors=rng.choice([None, "auto"]))
    values = np.random.default_rng(rng.randrange(2**32)).integers(0, 60, SHAPE).astype(dtype)
    values.flat[rng.randrange(60)] = 0
    if markers and rng.random() < 0.8:
        for _ in range(rng.randrange(1, 12)):
            values.flat[rng.randrange(60)] = markers[0]
    if dtype.kind == "f" and rng.random() < 0.3:
        values.flat[rng.randrange(60)] = np.nan
    rows = rng.choice([6, 6, 4, 2])
    variable[:rows] = values[:rows]
    return variable


def main():
    seed, count, store, truth = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    os.makedirs(truth)
    root = zarr.open_group(store, mode="w", zarr_format=3)
    rng = random.Random(seed)
    for number in range(count):
        name = f"g{number:04}"
        group = root.create_group(name)
        variable = make_one(rng, group)
        with xarray.open_zarr(os.path.join(store, name), consolidated=False, decode_times=False) as data:
            read = data["v"].values.astype("float64")
        np.savez(os.path.join(truth, f"{name}.npz"), values=read)
        described = {"dtype": variable.dtype.str, "fill_value": str(variable.fill_value), **variable.attrs.asdict()}
        with open(os.path.join(truth, f"{name}.json"), "w") as text:
            json.dump(described, text)


if __name__ == "__main__":
    main()
