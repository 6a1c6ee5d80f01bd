"""Reads all arrays of a tree with one reader, found as its user finds them:

    read_tree.py READER DIRECTORY

Prints {path: {"shape": ..., "sum": ...}} of what it found, or {"error": ...}.
"""
import json
import os
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def said(values):
    values = np.asarray(values)
    return {"shape": list(values.shape), "sum": float(np.nansum(values.astype("float64")))}


def read_zarr(path):
    import zarr

    found = {}

    def walk(group, place):
        for name, array in group.arrays():
            found[place + name] = said(array[...])
        for name, inner in group.groups():
            walk(inner, f"{place}{name}/")

    walk(zarr.open_group(path, mode="r"), "")
    return found


def read_consolidated(path):
    """The arrays that .zmetadata names, which zarr-python then opens without a look at the directories."""
    import zarr

    with open(os.path.join(path, ".zmetadata")) as text:
        keys = json.load(text)["metadata"]
    root = zarr.open_consolidated(path, mode="r")
    return {key.removesuffix("/.zarray"): said(root[key.removesuffix("/.zarray")][...]) for key in keys if key.endswith("/.zarray")}


def read_xarray(path):
    import xarray

    found = {}
    with xarray.open_datatree(path, engine="zarr", consolidated=False, decode_times=False) as tree:
        for node in tree.subtree:
            for name, variable in node.to_dataset(inherit=False).variables.items():
                found[os.path.join(node.path, name).strip("/")] = said(variable.values)
    return found


def read_netcdf(path):
    import netCDF4

    found = {}

    def walk(group, place):
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            found[place + name] = said(variable[...])
            lengths = [len(variable.get_dims()[axis]) for axis in range(variable.ndim)]
            if lengths != list(variable.shape):
                raise ValueError(f"{name}: dimensions of {lengths}, shape {variable.shape}")
        for name, inner in group.groups.items():
            walk(inner, f"{place}{name}/")

    with netCDF4.Dataset(f"file://{path}#mode=zarr,file") as data:
        walk(data, "")
    return found


def read_gdal(path):
    from osgeo import gdal

    gdal.UseExceptions()
    found = {}

    def walk(group, place):
        for name in group.GetMDArrayNames() or []:
            found[place + name] = said(group.OpenMDArray(name).ReadAsArray())
        for name in group.GetGroupNames() or []:
            walk(group.OpenGroup(name), f"{place}{name}/")

    walk(gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup(), "")
    return found


def read_plate(path):
    """The image that ome-zarr puts together of all wells, at full size and at the next level: sums of the images it is made of."""
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    nodes = list(Reader(parse_url(path))())
    levels = nodes[0].data
    return {str(number): {"shape": list(level.shape), "sum": float(level.sum().compute())} for number, level in enumerate(levels[:2])}


READERS = {"zarr": read_zarr, "consolidated": read_consolidated, "xarray": read_xarray, "netcdf": read_netcdf, "gdal": read_gdal, "plate": read_plate}


def main():
    reader, directory = sys.argv[1:3]
    try:
        found = READERS[reader](directory)
    except Exception as error:  # whatever a reader raises is its answer
        found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
