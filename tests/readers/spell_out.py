"""Marks of missing cells in the words of every program.

In Zarr v2 programs mark missing cells, and name dimensions, each in its own way: xarray and GDAL by `fill_value`, netCDF-C by `_FillValue`. The profiles of a
mount tell each reader in its own words (docs/readers.md), where a plain directory tells only those who have the writer's. What a reader sees of a mount may
therefore also be what it sees of a plain directory that has them all.
"""
import json
import os
import shutil

import numpy as np


def load(path):
    if not os.path.exists(path):
        return {}
    with open(path) as text:
        return json.load(text)


def save(path, document):
    with open(path, "w") as text:
        json.dump(document, text, ensure_ascii=False)


def images_below(path):
    """Directories that are levels of an image: their fill value marks nothing."""
    found = set()
    for folder, _, names in os.walk(path):
        for multiscale in load(os.path.join(folder, ".zattrs")).get("multiscales", []) if ".zattrs" in names else []:
            found.update(os.path.normpath(os.path.join(folder, dataset["path"])) for dataset in multiscale["datasets"])
    return found


def spell_out_array(folder, marks):
    array, attributes = load(os.path.join(folder, ".zarray")), load(os.path.join(folder, ".zattrs"))
    dtype = np.dtype(array["dtype"])
    if marks and dtype.kind == "f" and array["fill_value"] is None:
        array["fill_value"] = "NaN"  # to floats without a mark NaN is one
    elif marks and dtype.kind in "iuf" and array["fill_value"] is not None:
        attributes.setdefault("_FillValue", float("nan") if array["fill_value"] == "NaN" else array["fill_value"])
        types = {name: dtype.str for name in ("_FillValue", "missing_value") if name in attributes}
        attributes.setdefault("_NCZARR_ATTR", {"types": types})
    if len(attributes.get("_ARRAY_DIMENSIONS", [])) != len(array["shape"]):
        attributes["_ARRAY_DIMENSIONS"] = [f"dim_{axis}_{length}" for axis, length in enumerate(array["shape"])]
    save(os.path.join(folder, ".zarray"), array)
    save(os.path.join(folder, ".zattrs"), attributes)


def spell_out(plain, target):
    """A copy of a Zarr v2 directory that has every word."""
    shutil.copytree(plain, target, ignore=shutil.ignore_patterns(".zmetadata"))
    images = images_below(target)
    for folder, _, names in os.walk(target):
        if ".zarray" in names:
            spell_out_array(folder, folder not in images)
