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


def save(path, document, ascii=False):
    with open(path, "w") as text:
        json.dump(document, text, ensure_ascii=ascii)


def is_ascii(path):
    """Whether a document is written in ASCII, which all readers take; zarr-python 2.13 takes nothing else."""
    if not os.path.exists(path):
        return True
    with open(path, "rb") as text:
        return text.read().isascii()


def images_below(path):
    """Directories that are levels of an image: their fill value marks nothing."""
    found = set()
    for folder, _, names in os.walk(path):
        for multiscale in load(os.path.join(folder, ".zattrs")).get("multiscales", []) if ".zattrs" in names else []:
            found.update(os.path.normpath(os.path.join(folder, dataset["path"])) for dataset in multiscale["datasets"])
    return found


def spell_marks(array, attributes, dtype, marks):
    mark = attributes.get("_FillValue")
    if not marks:
        array["fill_value"] = None  # black is a value
        return
    if dtype == np.float32 and isinstance(mark, float):
        mark = attributes["_FillValue"] = float(np.float32(mark))  # xarray compares all digits
    if array["fill_value"] is None and isinstance(mark, (int, float)):
        array["fill_value"] = mark
    elif dtype.kind == "f" and array["fill_value"] is None:
        array["fill_value"] = "NaN"  # to floats without a mark NaN is one
    elif dtype.kind in "iuf" and array["fill_value"] is not None:
        attributes.setdefault("_FillValue", array["fill_value"])
    types = {name: dtype.str for name in ("_FillValue", "missing_value") if name in attributes}
    if types and dtype.kind in "iuf":
        attributes.setdefault("_NCZARR_ATTR", {"types": types})


def spell_out_array(folder, marks):
    array, attributes = load(os.path.join(folder, ".zarray")), load(os.path.join(folder, ".zattrs"))
    dtype = np.dtype(array["dtype"])
    spell_marks(array, attributes, dtype, marks)
    names = attributes.get("_ARRAY_DIMENSIONS")
    if names is None or len(names) != len(array["shape"]):
        references = (array.get("_NCZARR_ARRAY") or attributes.get("_nczarr_array") or {}).get("dimrefs", [])
        made_up = [f"dim_{axis}_{length}" for axis, length in enumerate(array["shape"])]
        attributes["_ARRAY_DIMENSIONS"] = [path.rsplit("/", 1)[-1] for path in references] or made_up
    save(os.path.join(folder, ".zarray"), array)
    place = os.path.join(folder, ".zattrs")
    save(place, attributes, is_ascii(place))


def consolidate(plain, target):
    """A copy with consolidated metadata, which readers prefer, and by which some see more and others less."""
    shutil.copytree(plain, target)
    metadata, ascii = {}, True
    for folder, _, names in os.walk(target):
        for name in sorted({".zarray", ".zattrs", ".zgroup"}.intersection(names)):
            path = os.path.join(folder, name)
            metadata[os.path.normpath(os.path.relpath(path, target))] = load(path)
            ascii = ascii and is_ascii(path)
    save(os.path.join(target, ".zmetadata"), {"zarr_consolidated_format": 1, "metadata": metadata}, ascii)


def spell_out(plain, target):
    """A copy of a Zarr v2 directory that has every word."""
    shutil.copytree(plain, target, ignore=shutil.ignore_patterns(".zmetadata"))
    images = images_below(target)
    for folder, _, names in os.walk(target):
        if ".zarray" in names:
            spell_out_array(folder, folder not in images)
