"""Writes a store that others write into, for the matrix of writing: make_full.py cf|image STORE. Runs in the environment zarr3."""
import sys

import numpy as np
import zarr


def main():
    kind, path = sys.argv[1:3]
    root = zarr.open_group(path, mode="w", zarr_format=3)
    old = root.create_group("old")
    if kind == "cf":
        array = old.create_array("t", shape=[6, 10], chunks=[2, 5], shards=[4, 10], dtype="int16", fill_value=0, dimension_names=["y", "x"],
                                 attributes={"_FillValue": -999, "scale_factor": 0.5, "units": "°C", "coordinates": "x"})
    else:
        array = old.create_array("0", shape=[6, 10], chunks=[2, 5], shards=[4, 10], dtype="uint8", fill_value=0, dimension_names=["y", "x"])
        axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
        datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
        old.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "old", "axes": axes, "datasets": datasets}]}
    array[...] = np.arange(60).reshape(6, 10)


if __name__ == "__main__":
    main()
