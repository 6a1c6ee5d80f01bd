"""Marks of missing cells in the words of every program.

In Zarr v2 programs mark missing cells, and name dimensions, each in its own way: xarray and GDAL by `fill_value`, netCDF-C by `_FillValue`. The profiles of a
mount tell each reader in its own words (docs/readers.md), where a plain directory tells only those who have the writer's. What a reader sees of a mount may
therefore also be what it sees of a plain directory that has them all.
"""
import json
import os

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
        array["fill_value"] = "NaN" if dtype.kind == "f" else None  # black is a value
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


def consolidate(path):
    """Consolidated metadata, which readers prefer, and by which some see more and others less."""
    metadata, ascii = {}, True
    for folder, _, names in os.walk(path):
        for name in sorted({".zarray", ".zattrs", ".zgroup"}.intersection(names)):
            place = os.path.join(folder, name)
            metadata[os.path.normpath(os.path.relpath(place, path))] = load(place)
            ascii = ascii and is_ascii(place)
    save(os.path.join(path, ".zmetadata"), {"zarr_consolidated_format": 1, "metadata": metadata}, ascii)


def spell_out(path):
    """Every word for what is missing, and for dimensions."""
    forget_consolidated(path)
    images = images_below(path)
    for folder in arrays_below(path):
        spell_out_array(folder, folder not in images)


def forget_consolidated(path):
    if os.path.exists(os.path.join(path, ".zmetadata")):
        os.remove(os.path.join(path, ".zmetadata"))


def arrays_below(path):
    return [folder for folder, _, names in os.walk(path) if ".zarray" in names]


def take_missing_value(path):
    """`missing_value` as the mark where there is no other: docs/readers.md, "What is missing"."""
    forget_consolidated(path)
    for folder in arrays_below(path):
        attributes, array = load(os.path.join(folder, ".zattrs")), load(os.path.join(folder, ".zarray"))
        mark = attributes.get("missing_value")
        mark = mark[0] if isinstance(mark, list) and len(mark) == 1 else mark
        if "_FillValue" not in attributes and isinstance(mark, (int, float)) and np.dtype(array["dtype"]).kind in "iuf":
            array["fill_value"] = mark
            save(os.path.join(folder, ".zarray"), array)


def without_marks_of_text(path):
    """No mark where the values are text: in Zarr v3 xarray reads none there."""
    forget_consolidated(path)
    for folder in arrays_below(path):
        array = load(os.path.join(folder, ".zarray"))
        if np.dtype(array["dtype"]).kind in "SUO":
            array["fill_value"] = None
            save(os.path.join(folder, ".zarray"), array)


def is_whole(folder, array):
    """Whether each chunk of an array of Zarr v2 is stored."""
    wanted = int(np.prod([-(-length // chunk) for length, chunk in zip(array["shape"], array["chunks"])]))
    return wanted == sum(not name.startswith(".") for _, _, names in os.walk(folder) for name in names)


def lacks_values(folder):
    """Whether nothing tells what some of the cells hold."""
    array = load(os.path.join(folder, ".zarray"))
    return bool(array) and array["fill_value"] is None and not is_whole(folder, array)


def without_marks_of_images(path):
    """No mark in levels of an image, whose fill value marks nothing (docs/semantics.md); only where each chunk is there, since nothing else tells it then."""
    forget_consolidated(path)
    for folder in images_below(path):
        array = load(os.path.join(folder, ".zarray"))
        if array and is_whole(folder, array):
            save(os.path.join(folder, ".zarray"), {**array, "fill_value": None})


def is_list_of_numbers(value):
    return isinstance(value, list) and value and all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in value)


def as_netcdf_reads(path, others=()):
    """The words of profile=netcdf: attributes that it does not read as JSON text, all in UTF-8, and a name of a dimension for each of its lengths. `others`
    are names and lengths of arrays that lie beside, as (depth below `path`, name, length)."""
    forget_consolidated(path)
    for folder, _, names in os.walk(path):
        for name in {".zattrs", ".zarray", ".zgroup"}.intersection(names):
            document = load(os.path.join(folder, name))
            for key, value in document.items() if name == ".zattrs" else ():
                if key != "_ARRAY_DIMENSIONS" and not key.lower().startswith("_nczarr") and not is_list_of_numbers(value) and not isinstance(value, (str, int, float)):
                    document[key] = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            save(os.path.join(folder, name), document)
    rename_dimensions(path, others)


def rename_dimensions(path, others):
    found = []
    for folder in arrays_below(path):
        inside, shape = os.path.relpath(folder, path), load(os.path.join(folder, ".zarray"))["shape"]
        names = load(os.path.join(folder, ".zattrs")).get("_ARRAY_DIMENSIONS", [])
        found += [(inside.count(os.sep), 0, inside, name, length) for name, length in zip(names, shape)]
    found += [(depth, 1, "", name, length) for depth, name, length in others]
    taken, shown = {}, {}
    for _, _, _, name, length in sorted(found, key=lambda one: one[:3]):  # those nearest to the root have the name
        if (name, length) in shown:
            continue
        called = name if taken.get(name, length) == length else f"{name}_{length}"
        while taken.get(called, length) != length:
            called += "_"
        taken[called], shown[name, length] = length, called
    for folder in arrays_below(path):
        attributes, shape = load(os.path.join(folder, ".zattrs")), load(os.path.join(folder, ".zarray"))["shape"]
        if "_ARRAY_DIMENSIONS" in attributes:
            attributes["_ARRAY_DIMENSIONS"] = [shown[pair] for pair in zip(attributes["_ARRAY_DIMENSIONS"], shape)]
            save(os.path.join(folder, ".zattrs"), attributes)


def dimensions_of_stored(path):
    """Names and lengths of the dimensions of a store of Zarr v3, as as_netcdf_reads() takes those of others."""
    found = []
    for folder, _, names in sorted(os.walk(path)):
        document = load(os.path.join(folder, "zarr.json")) if "zarr.json" in names else {}
        if "shape" in document:
            depth = os.path.relpath(folder, path).count(os.sep) - 1  # below the directory that lies beside
            found += [(depth, name, length) for name, length in zip(document.get("dimension_names") or [], document["shape"]) if name]
    return found


def with_names_that_stay(path, store, arrays):
    """Names of dimensions that a program dropped with attributes that it changed: those that the arrays of the store of Zarr v3 kept."""
    forget_consolidated(path)
    for array in arrays:
        document, attributes = load(os.path.join(store, array, "zarr.json")), load(os.path.join(path, array, ".zattrs"))
        names = document.get("dimension_names") or [None]
        if all(names) and "_ARRAY_DIMENSIONS" not in attributes:
            save(os.path.join(path, array, ".zattrs"), {**attributes, "_ARRAY_DIMENSIONS": names})
