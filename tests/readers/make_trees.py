"""Writes trees of many shapes, and what stands in them:

    make_trees.py SEED COUNT STORES TRUTH

STORES/tNN is a store; TRUTH/tNN.json says of what kind it is, and of each array the shape, the names of its dimensions and the sum
of its values. Runs in the environment zarr3 of packaging/install-test-readers.
"""
import json
import os
import random
import sys
import warnings

import numpy as np
import xarray
import zarr

warnings.simplefilter("ignore")


def numbers(rng, shape):
    return np.random.default_rng(rng.randrange(2**32)).integers(1, 100, shape).astype(rng.choice(["int16", "int32", "float32", "float64"]))


def groups(rng, path):
    """Groups in groups, with arrays at any height, some of them in directories without a document."""
    zarr.open_group(path, mode="w", zarr_format=3)
    for number in range(rng.randrange(2, 6)):
        parts = [rng.choice("abc") + str(number) for _ in range(rng.randrange(1, 4))]
        shape = [rng.randrange(1, 9) for _ in range(rng.randrange(1, 4))]
        chunk = [rng.randrange(1, 4) for _ in shape]
        array = zarr.create_array(os.path.join(path, *parts, "v"), shape=shape, dtype="int32", fill_value=0, zarr_format=3,
                                  chunks=chunk, shards=[2 * n for n in chunk])
        array[...] = numbers(rng, shape).astype("int32")
        top = zarr.open_group(os.path.join(path, parts[0]), mode="a", zarr_format=3)
        top.attrs["place"] = parts[0]


def dataset(rng, lengths):
    """Variables over y and x, with coordinates for some of the dimensions."""
    variables = {}
    for name in rng.sample(["temperature", "pressure", "wind"], rng.randrange(1, 4)):
        dims = rng.choice([("y", "x"), ("x",), ("y",)])
        variables[name] = (dims, numbers(rng, [lengths[dim] for dim in dims]))
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {dim: (dim, np.arange(lengths[dim], dtype="float64")) for dim in used if rng.random() < 0.6}
    return xarray.Dataset(variables, coords, {"Conventions": "CF-1.8"})


def sharded(node):
    return {name: {"chunks": [2] * v.ndim, "shards": [4] * v.ndim} for name, v in node.variables.items() if v.ndim}


def datatree(rng, path):
    """A DataTree, whose groups may have dimensions of the same names and other lengths; siblings always may."""
    nodes = {"/": dataset(rng, {"y": 6, "x": 8})} if rng.random() < 0.4 else {"/": xarray.Dataset()}
    for name in rng.sample(["coarse", "fine", "other"], rng.randrange(1, 4)):
        same = len(nodes["/"].sizes) > 0
        lengths = {"y": 6, "x": 8} if same else {"y": rng.randrange(3, 9), "x": rng.randrange(3, 9)}
        nodes[f"/{name}"] = dataset(rng, lengths)
    tree = xarray.DataTree.from_dict(nodes)
    tree.to_zarr(path, mode="w", zarr_format=3, consolidated=False, encoding={node.path: sharded(node.to_dataset(inherit=False)) for node in tree.subtree})


def lengths(rng, path):
    """Groups in which a name stands for another length than further out: not a DataTree, and yet found."""
    root = zarr.open_group(path, mode="w", zarr_format=3)
    places = ["", "inner", "inner/deep", "beside"]
    for number, place in enumerate(rng.sample(places, rng.randrange(2, 5))):
        group = root.require_group(place) if place else root
        length = rng.randrange(2, 9)
        array = group.create_array(f"v{number}", shape=[length, 5], dtype="int32", fill_value=0, chunks=[2, 5], shards=[4, 5],
                                   dimension_names=["x", "y"], attributes={"units": "m", "coordinates": "t"})
        array[...] = numbers(rng, [length, 5]).astype("int32")


def image(rng, group, level_names):
    datasets = []
    for number, name in enumerate(level_names):
        shape = [1, 16 >> number, 24 >> number]
        array = group.create_array(name, shape=shape, dtype="uint16", fill_value=0, chunks=[1, 4, 6], shards=[1, 8, 12],
                                   chunk_key_encoding={"name": "default", "separator": "/"})
        array[...] = np.random.default_rng(rng.randrange(2**32)).integers(1, 1000, shape)
        datasets.append({"path": name, "coordinateTransformations": [{"type": "scale", "scale": [1.0, 2.0**number, 2.0**number]}]})
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "image", "axes": axes, "datasets": datasets}]}


def plate(rng, path):
    """Wells with images and labels; levels are called s0, s1 (ome-zarr 0.21) or 0, 1."""
    root = zarr.open_group(path, mode="w", zarr_format=3)
    rows, columns = ["A", "B"][: rng.randrange(1, 3)], ["1", "2"][: rng.randrange(1, 3)]
    fields = rng.randrange(1, 3)
    levels = rng.choice([["s0", "s1"], ["0", "1"]])
    wells = [{"path": f"{row}/{column}", "rowIndex": i, "columnIndex": j} for i, row in enumerate(rows) for j, column in enumerate(columns)]
    root.attrs["ome"] = {"version": "0.5", "plate": {"name": "plate", "rows": [{"name": row} for row in rows], "wells": wells,
                         "columns": [{"name": column} for column in columns], "field_count": fields}}
    for well in wells:
        group = root.create_group(well["path"])
        group.attrs["ome"] = {"version": "0.5", "well": {"images": [{"path": str(field)} for field in range(fields)]}}
        for field in range(fields):
            image(rng, group.create_group(str(field)), levels)
        if rng.random() < 0.5:
            labels = group["0"].create_group("labels")
            labels.attrs["ome"] = {"version": "0.5", "labels": ["nuclei"]}
            image(rng, labels.create_group("nuclei"), levels)


KINDS = {"groups": groups, "datatree": datatree, "lengths": lengths, "plate": plate}


def arrays_of(path):
    found = {}
    for folder, _, files in os.walk(path):
        if "zarr.json" not in files:
            continue
        with open(os.path.join(folder, "zarr.json")) as text:
            document = json.load(text)
        if document["node_type"] == "array":
            values = zarr.open_array(folder, mode="r")[...]
            found[os.path.relpath(folder, path)] = {"shape": document["shape"], "dimensions": document.get("dimension_names"),
                                                    "sum": float(np.nansum(values.astype("float64")))}
    return found


def main():
    seed, count, stores, truth = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    os.makedirs(stores)
    os.makedirs(truth)
    rng = random.Random(seed)
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        path = os.path.join(stores, f"t{number:02}")
        KINDS[kind](random.Random(rng.randrange(2**62)), path)
        with open(os.path.join(truth, f"t{number:02}.json"), "w") as text:
            json.dump({"kind": kind, "arrays": arrays_of(path)}, text)


if __name__ == "__main__":
    main()
