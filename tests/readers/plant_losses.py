"""Losses that the matrix of writing has to find: each is planted into a copy of a store of known content and read by a program that can see it."""
import collections
import json
import os
import shutil

import numpy as np

from make_sets import spell

# What is lost, the store that loses it, the label of the reader that has to tell, and what is done to the copy.
Loss = collections.namedtuple("Loss", "what store reader plant")


def stores():
    """The stores, by name: the label of the writer, the data set, and what its plan has besides."""
    values = np.arange(24, dtype="<i2").reshape(4, 1, 6) - 3
    values[2] = -999
    reals = np.arange(24, dtype="<f4").reshape(4, 6) / 4
    reals[1, 2] = np.nan
    square = np.arange(36, dtype="<i4").reshape(6, 6)
    packed = {"_FillValue": ["i2", -999], "scale_factor": ["f8", 0.5], "add_offset": ["f8", 10.0], "units": ["text", "°C"], "comment": ["text", ""], "level": ["i4", 7],
              "flags": ["i4", [1, 2]], "valid_range": ["f4", [0.5, 2.5]]}
    variables = [
        {"name": "packed", "dims": ["time", "one", "x"], "kind": "packed", "attributes": packed, "data": spell(values)},
        {"name": "reals", "dims": ["time", "x"], "kind": "floats", "attributes": {"units": ["text", "m"]}, "data": spell(reals)},
        {"name": "square", "dims": ["a", "x"], "kind": "counts", "attributes": {}, "data": spell(square)},
        {"name": "crs", "dims": [], "kind": "counts", "attributes": {"grid_mapping_name": ["text", "latitude_longitude"]}, "data": spell(np.array(7, "<i4"))},
        {"name": "time", "dims": ["time"], "kind": "times", "attributes": {"units": ["text", "days since 2000-01-01"], "calendar": ["text", "standard"]},
         "data": spell(np.arange(4) + 80)}]
    names = {"name": "names", "dims": ["x"], "kind": "words", "attributes": {}, "data": spell(np.array(["Zürich", "", "a", "b", "c", "東京"], "<U6"))}
    inner = {"attributes": {}, "dims": {"x": 6, "time": 4}, "variables": variables[1:2]}
    cf = {"kind": "cf", "dims": {"time": 4, "one": 1, "x": 6, "a": 6}, "unlimited": [], "attributes": {"Conventions": ["text", "CF-1.8"], "title": ["text", "Größe"]},
          "variables": variables + [names], "groups": {"inner": inner}}
    numbers = {**cf, "variables": [v for v in variables if v["dims"]], "groups": {}}  # netCDF-C 4.9.0 dies of its own scalars
    image = {"kind": "image", "axes": "cyx", "levels": [spell(np.arange(128, dtype="<u2").reshape(2, 8, 8)), spell(np.arange(32, dtype="<u2").reshape(2, 4, 4))],
             "dimension_names": False, "name": "画像", "scale": [1.0, 0.5, 0.25], "separator": "/", "attributes": {}}
    return {"cf": ("xarray 2023.01, zarr-python 2.13", cf, {"consolidated": False}), "netcdf": ("netCDF-C 4.9.0, nczarr", numbers, {"strings": False}),
            "image": ("zarr-python 2.13", image, {})}


def edit(document, change):
    """A loss by changing a JSON document."""

    def plant(path):
        name = os.path.join(path, document)
        with open(name) as text:
            content = json.load(text)
        change(content)
        with open(name, "w") as text:
            json.dump(content, text)

    return plant


def rewrite(name, change):
    """A loss by writing an array anew, with the same attributes."""

    def plant(path):
        import zarr

        old = zarr.open(os.path.join(path, name), mode="r")
        attributes, values, fill = dict(old.attrs), change(old[...]), old.fill_value
        new = zarr.open(os.path.join(path, name), mode="w", shape=values.shape, dtype=values.dtype, fill_value=fill, dimension_separator=old._dimension_separator)
        new.attrs.update({**attributes, "_ARRAY_DIMENSIONS": attributes["_ARRAY_DIMENSIONS"][-values.ndim:]} if "_ARRAY_DIMENSIONS" in attributes and values.ndim else attributes)
        new[...] = values

    return plant


def with_value(index, value):
    def change(values):
        changed = values.copy()
        changed[index] = value
        return changed

    return change


def put(name, value):
    return lambda content: content.__setitem__(name, value)


def drop(name):
    return lambda content: content.pop(name)


def remove(name):
    return lambda path: shutil.rmtree(os.path.join(path, name)) if os.path.isdir(os.path.join(path, name)) else os.remove(os.path.join(path, name))


def scale_of(content):
    content["multiscales"][0]["datasets"][1]["coordinateTransformations"][0]["scale"][2] = 0.25


XARRAY, ZARR, NETCDF, GDAL = "xarray 2023.01", "zarr-python 2.13", "netCDF-C 4.9.0", "GDAL 3.6, mdim"
LOSSES = [
    Loss("the mark of missing cells", "cf", XARRAY, edit("packed/.zarray", put("fill_value", None))),
    Loss("the mark, which is another", "cf", XARRAY, edit("packed/.zarray", put("fill_value", 0))),
    Loss("the mark, to GDAL", "cf", GDAL, edit("packed/.zarray", put("fill_value", None))),
    Loss("units", "cf", XARRAY, edit("packed/.zattrs", drop("units"))),
    Loss("units that are not ASCII", "cf", XARRAY, edit("packed/.zattrs", put("units", "u00b0C"))),
    Loss("units, to netCDF-C", "netcdf", NETCDF, edit("packed/.zattrs", put("units", "K"))),
    Loss("an attribute without text", "cf", XARRAY, edit("packed/.zattrs", drop("comment"))),
    Loss("an attribute of the group", "cf", XARRAY, edit(".zattrs", drop("title"))),
    Loss("the type of an attribute's number", "cf", XARRAY, edit("packed/.zattrs", put("level", 7.0))),
    Loss("the type of an attribute, to netCDF-C", "netcdf", NETCDF, edit("packed/.zattrs", lambda content: content["_NCZARR_ATTR"]["types"].update(level="<i8"))),
    Loss("an attribute's list", "cf", XARRAY, edit("packed/.zattrs", put("flags", 1))),
    Loss("an attribute's second number", "cf", XARRAY, edit("packed/.zattrs", put("valid_range", [0.5, 2.0]))),
    Loss("scale_factor", "cf", XARRAY, edit("packed/.zattrs", drop("scale_factor"))),
    Loss("add_offset, to GDAL", "cf", GDAL, edit("packed/.zattrs", put("add_offset", 0))),
    Loss("the name of a dimension", "cf", XARRAY, edit("square/.zattrs", put("_ARRAY_DIMENSIONS", ["b", "x"]))),
    Loss("the order of dimensions", "cf", XARRAY, edit("square/.zattrs", put("_ARRAY_DIMENSIONS", ["x", "a"]))),
    Loss("a dimension of length 1", "cf", ZARR, rewrite("packed", lambda values: values[:, 0])),
    Loss("the order of elements", "cf", XARRAY, edit("square/.zarray", put("order", "F"))),
    Loss("the order of values", "cf", ZARR, rewrite("square", lambda values: values[::-1])),
    Loss("a type", "cf", XARRAY, rewrite("square", lambda values: values.astype("<i8"))),
    Loss("one value", "cf", XARRAY, rewrite("square", with_value((3, 3), 77))),
    Loss("a NaN", "cf", XARRAY, rewrite("reals", with_value((1, 2), 0))),
    Loss("a scalar's value", "cf", XARRAY, rewrite("crs", with_value((), 0))),
    Loss("a letter", "cf", XARRAY, rewrite("names", with_value(0, "Zurich"))),
    Loss("a chunk", "cf", XARRAY, remove("square/0.0")),
    Loss("a calendar", "cf", XARRAY, edit("time/.zattrs", put("calendar", "noleap"))),
    Loss("a variable", "cf", XARRAY, remove("reals")),
    Loss("a group", "cf", XARRAY, remove("inner")),
    Loss("a scale of an image", "image", ZARR, edit(".zattrs", scale_of)),
    Loss("a level of an image", "image", ZARR, remove("1")),
    Loss("an image's name", "image", ZARR, edit(".zattrs", lambda content: content["multiscales"][0].update(name="??"))),
]
