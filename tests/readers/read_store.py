"""Reads every array below a directory with one reader and prints what came out, as one JSON object.

    read_store.py READER DIRECTORY [TRUTH | NAMES.json]

Without TRUTH each array's path is given its shape, type and the SHA-256 of its values, or {"error": ...}. TRUTH is a
directory of PATH.npy files ("/" in PATH is written "+"): then each array is "equal", "differs: why" or "error: why".
NAMES.json lists the arrays, where no directory may be asked for them. DIRECTORY may be a URL: then the arrays are those
of TRUTH whose path begins with its last name, which stands for the URL without it.

Runs in any Python that has the reader: Debian's own, or one of packaging/install-test-readers.
"""
import hashlib
import importlib.util
import json
import os
import resource
import sys
import warnings

import numpy as np

import programs

warnings.simplefilter("ignore")
if importlib.util.find_spec("numpy._core") is None:  # an old numpy reads object arrays that numpy 2 has pickled
    sys.modules.update({"numpy._core": np.core, "numpy._core.multiarray": np.core.multiarray})

MEMORY = 4 << 30  # bytes of address space: a reader that goes astray must not take the machine with it


def canonical(values):
    """Little-endian and in types that every numpy has, so that equal values are equal bytes."""
    values = np.asarray(values)
    if values.dtype.type.__module__ == "ml_dtypes":
        name = values.dtype.name
        return values.astype("<i1" if name.startswith("int") else "<u1" if name.startswith("uint") else "<f4")
    if values.dtype.kind in "OTU":
        return values.astype(object)
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).reshape(values.shape)


def describe(values):
    """Shape, type and SHA-256 of the values (C order, little-endian; strings as a JSON list, byte strings as hex)."""
    values = canonical(values)
    if values.dtype == object:
        data = json.dumps([v.hex() if isinstance(v, bytes) else v for v in values.ravel().tolist()]).encode()
    else:
        data = values.tobytes()
    return {"shape": list(values.shape), "dtype": values.dtype.str, "sha256": hashlib.sha256(data).hexdigest()}


def same_values(left, right):
    if right.dtype.kind == "S" and left.dtype == object:  # GDAL has text, not bytes
        left = np.array([one.encode() for one in left.ravel().tolist()], right.dtype)
    if left.dtype == object or right.dtype == object or left.dtype.kind in "SVU":
        return left.astype(object).ravel().tolist() == right.astype(object).ravel().tolist()
    if right.dtype.kind in "fc":
        return bool(np.array_equal(left.astype(right.dtype), right, equal_nan=True))
    if right.dtype.kind in "Mm":
        return bool(np.array_equal(left.astype(right.dtype).view("i8"), right.view("i8")))
    if left.dtype.kind == "f" and right.dtype.kind in "iub" and np.isnan(left).any():
        return False
    return bool(np.array_equal(left, right))


def compare(values, truth):
    """Equal, or what the first difference is. Types may be wider than the truth's (GDAL 3.6 has no int8)."""
    values = canonical(values)
    if tuple(values.shape) != tuple(truth.shape):
        return f"differs: shape {values.shape} for {truth.shape}"
    if truth.dtype.names and values.dtype.names is None and values.dtype.kind == "V":
        values = values.view(truth.dtype)
    if truth.dtype.kind == "V" and values.dtype == truth.dtype:
        return "equal" if values.tobytes() == truth.tobytes() else "differs: bytes"
    if same_values(values, truth):
        return "equal"
    flat = [(a, b) for a, b in zip(values.ravel().tolist(), truth.ravel().tolist()) if a != b and not (a != a and b != b)]
    first = f"{flat[0][0]!r} for {flat[0][1]!r}" if flat else "type"
    return f"differs: {len(flat)} of {truth.size} values ({values.dtype} for {truth.dtype}), first {first}"


def array_paths(directory, document):
    """Paths, relative to `directory`, of the arrays below it: where `document` is and says so."""
    for folder, subfolders, names in os.walk(directory):
        subfolders.sort()
        if document in names:
            if document == "zarr.json":
                with open(os.path.join(folder, document)) as text:
                    if json.load(text).get("node_type") != "array":
                        continue
            subfolders.clear()
            yield os.path.relpath(folder, directory)


def read_zarr2(path):
    import zarr

    return np.asarray(zarr.open_array(path, mode="r")[...])


def read_zarr3(path):
    import zarr

    if tuple(int(part) for part in zarr.__version__.split(".")[:2]) >= (3, 4):
        zarr.config.set({"array.rectilinear_chunks": True})
    return np.asarray(zarr.open_array(path, mode="r")[...])


def read_zarrs(path):
    import zarr
    import zarrs  # noqa: F401  (registers the pipeline)

    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}):
        return np.asarray(zarr.open_array(path, mode="r")[...])


def tensorstore(driver):
    def read(path):
        import tensorstore as ts

        spec = {"driver": driver, "kvstore": {"driver": "file", "path": path + "/"}}
        store = ts.open(spec, read=True).result()
        if driver == "zarr" and programs.described(path)["dtype"][1] == "S":  # it hands out letters as elements of no bytes
            raise ValueError("text: not read by this test")
        return np.asarray(store.read().result())

    return read


def read_xarray(path):
    """As a user does: the array's group, with xarray's masking."""
    import xarray

    group, name = os.path.split(path)
    data = xarray.open_zarr(group, consolidated=False, decode_times=False, drop_variables=[
        other for other in os.listdir(group) if other != name and os.path.isdir(os.path.join(group, other))])
    return np.asarray(data[name].values)


def read_gdal(path):
    from osgeo import gdal

    gdal.UseExceptions()
    group = gdal.OpenEx(f'ZARR:"{path}"', gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    array = group.OpenMDArray(os.path.splitext(os.path.basename(path))[0])  # it calls "a.b2nd" "a"
    if array is None:
        raise ValueError(gdal.GetLastErrorMsg() or "no array")
    kind = array.GetDataType()
    if kind.GetClass() == gdal.GEDTC_NUMERIC:
        return array.ReadAsArray()
    shape = [dimension.GetSize() for dimension in array.GetDimensions()]
    if kind.GetClass() == gdal.GEDTC_STRING:
        return np.array(array.Read(), dtype=object).reshape(shape)
    raise ValueError("compound type: not read by this test")


def read_netcdf(path):
    import netCDF4

    group, name = os.path.split(path)
    with netCDF4.Dataset(f"file://{group}#mode=zarr,file") as data:
        variable = data.variables[name]
        variable.set_auto_maskandscale(False)
        return np.asarray(variable[...])


def read_ome(path):
    """An array of a multiscale image, by way of ome-zarr's reader."""
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    image, name = os.path.split(path)
    location = parse_url(image)
    if "multiscales" not in location.root_attrs:
        raise ValueError("no image: not read by this test")
    node = next(iter(Reader(location)()))
    datasets = [dataset["path"] for dataset in node.zarr.root_attrs["multiscales"][0]["datasets"]]
    return np.asarray(node.data[datasets.index(name)])


def read_z5(path):
    import z5py

    group, name = os.path.split(path)
    with z5py.File(group, mode="r", use_zarr_format=True) as data:
        return data[name][...]


def read_ngff_zarr(path):
    import ngff_zarr

    check_image(path)
    return np.asarray(ngff_zarr.from_ngff_zarr(os.path.dirname(path)).images[0].data)


def read_bioio(path):
    from bioio_ome_zarr import Reader

    check_image(path)
    return np.asarray(Reader(os.path.dirname(path)).data)


def read_iohub(path):
    from iohub import open_ome_zarr

    check_image(path)
    image, name = os.path.split(path)
    with open_ome_zarr(image, layout="fov", mode="r") as data:
        return np.asarray(data[name][...])


def check_image(path):
    with open(os.path.join(os.path.dirname(path), ".zattrs")) as text:
        if "multiscales" not in json.load(text):
            raise ValueError("no image: not read by this test")


READERS = {
    **programs.READERS,
    "z5": (read_z5, ".zarray"),
    "ngff": (read_ngff_zarr, ".zarray"),
    "bioio": (read_bioio, ".zarray"),
    "iohub": (read_iohub, ".zarray"),
    "zarr2": (read_zarr2, ".zarray"),
    "xarray": (read_xarray, ".zarray"),
    "gdal": (read_gdal, ".zarray"),
    "netcdf": (read_netcdf, ".zarray"),
    "tensorstore2": (tensorstore("zarr"), ".zarray"),
    "ome": (read_ome, ".zarray"),
    "zarr3": (read_zarr3, "zarr.json"),
    "zarr3of2": (read_zarr3, ".zarray"),
    "tensorstore3": (tensorstore("zarr3"), "zarr.json"),
    "zarrs": (read_zarrs, "zarr.json"),
}


def truth_path(truth, name):
    return os.path.join(truth, name.replace("/", "+") + ".npy")


def served_arrays(url, truth):
    """{array path in TRUTH: its URL} of the arrays below URL/NAME, which are NAME/ARRAY there."""
    base, top = url.rsplit("/", 1)
    names = [name.removesuffix(".npy").replace("+", "/") for name in sorted(os.listdir(truth))]
    return {name: base + name.removeprefix(top) for name in names if name.split("/")[0] == top}


def main():
    reader, directory = sys.argv[1:3]
    if reader not in programs.RESERVING:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    truth = sys.argv[3] if len(sys.argv) > 3 else None
    read, document = READERS[reader]
    served = served_arrays(directory, truth) if "://" in directory else {}
    names = list(served) or array_paths(directory, document)
    if truth and truth.endswith(".json"):
        with open(truth) as text:
            names, truth = json.load(text), None
    found = {}
    for name in names:
        try:
            values = read(served.get(name) or os.path.normpath(os.path.join(directory, name)))
            found[name] = compare(values, np.load(truth_path(truth, name), allow_pickle=True)) if truth else describe(values)
        except Exception as error:  # whatever a reader raises is its answer
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            found[name] = f"error: {reason}" if truth else {"error": reason}
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
