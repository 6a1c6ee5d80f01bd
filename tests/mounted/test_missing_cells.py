"""What programs mean by missing cells, when they write: each reader sees through the same mount, the next one and in the store itself what it sees of a plain directory."""
import functools
import json
import os
import subprocess

import pytest
from conftest import DAEMON, python_of
from warm_python import run_warm

# Packed integers, an unsigned type whose mark is 0, floats marked by NaN and by 1e20, integers without a mark, text's place.
WRITE = """
import sys, numpy as np, xarray as xr, zarr
d, full = sys.argv[1], sys.argv[2] == "full"
def part(first):
    missing = np.array([[True, False, True, False], [False, True, False, True]])
    halves = np.where(missing, np.nan, first + np.arange(8.0).reshape(2, 4) / 2)
    return xr.Dataset({
        "packed": (("t", "x"), halves, {"units": "K"}, {"_FillValue": np.int16(-999), "scale_factor": 0.5, "dtype": "i2"}),
        "black": (("t", "x"), np.where(missing, np.nan, 1.0 + first), {}, {"_FillValue": np.uint8(0), "dtype": "u1"}),
        "nan": (("t", "x"), halves.astype("f4")),
        "big": (("t", "x"), halves.astype("f4"), {}, {"_FillValue": np.float32(1e20)}),
        "tenth": (("t", "x"), halves, {}, {"_FillValue": 0.1}),
        "counts": (("t", "x"), np.arange(8).reshape(2, 4) + first),
        "x": ("x", np.arange(4)), "t": ("t", [first, first + 1])})
if full:
    older = zarr.open_group(d, mode="a").create_dataset("older", shape=(4,), chunks=(2,), fill_value=None, compressor=None)
    older[:] = 1
    older.attrs["_ARRAY_DIMENSIONS"] = ["z"]
part(0).to_zarr(d, mode="a", encoding={n: {"chunks": (1, 3), "compressor": None} for n in part(0).data_vars} | {n: {"compressor": None} for n in ("x", "t")})
part(2).to_zarr(d, append_dim="t")
part(4).to_zarr(d, append_dim="t")
part(8).drop_vars(["x", "t"]).to_zarr(d, region={"t": slice(1, 3)})
zarr.open_group(d, mode="r+")["packed"].attrs["units"] = "mK"
part(6).to_zarr(d, append_dim="t", consolidated=True)
"""

# One line for each store: to start a reader takes longer than to read.
READ = """
import sys, json, numpy as np, xarray as xr
def values(v): return [None if isinstance(x, float) and x != x else x for x in v.values.ravel().tolist()]
for store in sys.argv[1:]:
    ds = xr.open_zarr(store, consolidated=False)
    print(json.dumps({str(n): [list(v.dims), list(v.shape), values(v), v.attrs.get("units")] for n, v in ds.variables.items()}, sort_keys=True))
"""
PYTHONS = {"xarray": "xarray 2023.01 and zarr 2.13", "zarr2.18": "xarray 2025.01 and zarr 2.18", "zarr3": "xarray 2025.06 and zarr 3.1"}


def program(which, text, *arguments):
    return run_warm(python_of(which), [] if which == "gdal" else ["zarr", "xarray", "dask.array"], text, *arguments)


def read(which, *stores):
    return [json.loads(line) for line in program(which, READ, *stores).splitlines()]


@pytest.fixture(scope="module")
def meant(tmp_path_factory):
    """What each reader sees of the plain directory that a writer has made: made once, since that takes longer than to mount."""
    @functools.cache
    def by(writer, state):
        plain = tmp_path_factory.mktemp("made") / "plain"
        if state == "full":
            program(writer, "import sys, zarr; zarr.open_group(sys.argv[1], mode='w')", plain)
        program(writer, WRITE, plain, state)
        return {reader: read(reader, plain)[0] for reader in PYTHONS}
    return by


def assert_means_the_same(mount, store, wanted):
    """In the next mounts, and in the store itself."""
    places = {one: mount(store, one).path for one in ("profile=auto", "profile=generic", "profile=xarray")}
    for reader in PYTHONS:
        if reader == "zarr3":
            places["the store itself"] = store
        for place, seen in zip(places, read(reader, *places.values()), strict=True):
            assert seen == wanted[reader], f"{reader}, {place}"


# Fails on a version before marks were stored: there profile=xarray loses those of what is appended, and others read -499.5.
@pytest.mark.parametrize("profile", ["auto", "generic", "xarray", "gdal", "netcdf", "ome"])
@pytest.mark.parametrize("writer, state", [
    pytest.param(writer, state, marks=pytest.mark.xdist_group(f"{writer}-{state}"))  # each with one `meant`
    for writer, state in (("xarray", "empty"), ("zarr2.18", "empty"), ("xarray", "full"))  # one writer is enough for what lies beside
])
def test_what_xarray_marks_stays_marked(mount, tmp_path, meant, writer, profile, state):
    store = tmp_path / "store"
    store.mkdir()
    if state == "full":  # a store that xarray did not make, mounted for the first time
        (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"Conventions": "CF-1.8"}}')
    shown = mount(store, f"rw,profile={profile}")
    program(writer, WRITE, shown.path, state)
    wanted = meant(writer, state)
    marks = wanted[writer]
    assert marks["packed"][2].count(None) == 16 and marks["black"][2].count(None) == 16  # the plain directory has what is asked for
    marked = [node["path"] for node in shown.report()["nodes"] if "it is stored as _FillValue" in node.get("reason", "")]
    assert set(marked) >= {"/packed", "/black", "/nan", "/big", "/tenth"} and "/counts" not in marked
    assert read(writer, shown.path) == [marks]
    shown.unmount()
    assert_means_the_same(mount, store, wanted)


def test_xarray_with_zarr_3_writes_into_the_v3_view(mount, tmp_path):
    write = WRITE.replace('.to_zarr(d, mode="a",', '.to_zarr(d, mode="a", zarr_format=3,').replace(', "compressor": None', "").replace('"compressor": None', "")
    plain, store = tmp_path / "plain", tmp_path / "store"
    store.mkdir()
    shown = mount(store, "rw,view=v3")
    for target in (plain, shown.path):
        program("zarr3", write, target, "empty")
    wanted, seen = read("zarr3", plain, shown.path)
    assert wanted["packed"][2].count(None) == 16
    assert seen == wanted
    shown.unmount()
    assert read("zarr3", store) == [wanted]
    options = ("profile=auto", "profile=generic", "profile=xarray")
    mounts = [mount(store, one).path for one in options]
    for reader in ("xarray", "zarr2.18"):
        for one, seen in zip(options, read(reader, *mounts), strict=True):
            assert seen == wanted, f"{reader} {one}"


GDAL = """
import sys, numpy as np
from osgeo import gdal
gdal.UseExceptions()
def write(path):
    made = gdal.GetDriverByName("Zarr").CreateMultiDimensional(path)
    root = made.GetRootGroup()
    y, x = root.CreateDimension("y", None, None, 2), root.CreateDimension("x", None, None, 4)
    for name, nodata in (("dem", -9999), ("plain", None)):
        array = root.CreateMDArray(name, [y, x], gdal.ExtendedDataType.Create(gdal.GDT_Int16), ["BLOCKSIZE=2,3"])
        if nodata is not None: array.SetNoDataValueDouble(nodata)
        array.Write(np.array([[-9999, 1, 2, 3], [0, 5, -9999, 7]], "i2"))
write(sys.argv[1])
"""
READ_GDAL = """
import sys, json
from osgeo import gdal
gdal.UseExceptions()
root = gdal.OpenEx(sys.argv[1], gdal.OF_MULTIDIM_RASTER).GetRootGroup()
print(json.dumps({n: [root.OpenMDArray(n).GetNoDataValueAsDouble(), root.OpenMDArray(n).ReadAsArray().tolist()] for n in ("dem", "plain")}))
"""


@pytest.mark.parametrize("profile", ["auto", "generic", "gdal"])
def test_what_gdal_marks_stays_marked(mount, tmp_path, profile):
    plain, store = tmp_path / "plain", tmp_path / "store"
    store.mkdir()
    shown = mount(store, f"rw,profile={profile}")
    program("gdal", GDAL, plain)
    program("gdal", GDAL, f"{shown.path}/made")
    wanted = json.loads(program("gdal", READ_GDAL, plain))
    assert wanted["dem"][0] == -9999 and wanted["plain"][0] is None
    assert json.loads(program("gdal", READ_GDAL, f"{shown.path}/made")) == wanted
    shown.unmount()
    # GDAL 3.6 names no axes of such arrays: that it takes fill values for missing data is what profile=gdal says, as is that 0 is none.
    for options in ("profile=auto", "profile=generic", "profile=gdal"):
        got = json.loads(program("gdal", READ_GDAL, f"{mount(store, options).path}/made"))
        if options != "profile=gdal":
            assert got["dem"] == wanted["dem"], options
        elif profile == "gdal":
            assert got == wanted
    mark = json.loads((store / "made/dem/zarr.json").read_text())["attributes"].get("_FillValue")
    assert mark == (-9999 if profile == "gdal" else None)


PIXELS = """
import sys, zarr, numpy as np
root = zarr.open_group(sys.argv[1], mode="w")
def multiscales():
    root.attrs["multiscales"] = [{"version": "0.4", "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
                                  "datasets": [{"path": "scale0/image", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}]
if sys.argv[2] == "before": multiscales()
level = root.create_dataset("scale0/image", data=np.eye(4, dtype="u1"), chunks=(2, 2), fill_value=0)
level.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
if sys.argv[2] == "after": multiscales()
root.create_dataset("plain", data=np.eye(4, dtype="u1"), chunks=(2, 2), fill_value=0)
"""


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("profile", ["auto", "generic", "xarray", "ome"])
def test_black_stays_black(mount, tmp_path, profile, order):
    store = tmp_path / "store"
    store.mkdir()
    shown = mount(store, f"rw,profile={profile}")
    program("zarr2", PIXELS, f"{shown.path}/made", order)
    shown.unmount()
    for name in ("scale0/image", *([] if profile == "xarray" else ["plain"])):  # profile=xarray says that fill values mark cells
        assert "_FillValue" not in json.loads((store / "made" / name / "zarr.json").read_text()).get("attributes", {}), name
    assert read("zarr3", store / "made/scale0")[0]["image"][2] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


# A store whose fill value is no missing cell, as xarray writes it with zarr-python 3; packed, compressed, nested names, 0 marked as missing.
MARKED = """
import sys, zarr, numpy as np
g = zarr.open_group(sys.argv[1], mode="w", zarr_format=3)
for name, dtype, fill, mark, more in (
        ("nan", "f4", 0.0, "AAAAAAAA+H8=", {}), ("big", "f8", 0.0, "rkfhehSuR8A=", {"compressors": None}), ("packed", "i2", 0, -999, {}), ("black", "u1", 7, 0, {})):
    a = g.create_array(name, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype=dtype, fill_value=fill, dimension_names=["y", "x"], **more)
    a.attrs["_FillValue"] = mark
    a[:6] = np.arange(1, 49).reshape(6, 8)
"""
# Whole chunks of the fill value that the program sees, over values and where nothing is stored; it does not write such chunks.
EMPTY = {
    "zarr2.18": """
import sys, zarr
for name in sys.argv[2:]:
    a = zarr.open_array(f"{sys.argv[1]}/{name}", mode="r+", write_empty_chunks=False)
    a[0:2] = a.fill_value
    a[6:8, 0:2] = a.fill_value
    print(name, a.fill_value)
""",
    "zarr3": """
import sys, zarr
for name in sys.argv[2:]:
    a = zarr.open_array(f"{sys.argv[1]}/{name}", mode="r+", zarr_format=2)
    a[0:2] = a.fill_value
    a[6:8, 0:2] = a.fill_value
    print(name, a.fill_value)
""",
    "tensorstore": """
import json, sys, numpy as np, tensorstore as ts
for name in sys.argv[2:]:
    with open(f"{sys.argv[1]}/{name}/.zarray") as file:
        fill = json.load(file)["fill_value"]
    a = ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": f"{sys.argv[1]}/{name}/"}, "store_data_equal_to_fill_value": False}, open=True).result()
    a[0:2] = np.array(float(fill), a.dtype.numpy_dtype)
    a[6:8, 0:2] = np.array(float(fill), a.dtype.numpy_dtype)
    print(name, fill)
"""}
STORED = """
import sys, json, zarr, numpy as np
print(json.dumps([zarr.open_array(f"{sys.argv[1]}/{name}", mode="r")[:].astype("f8").tolist() for name in sys.argv[2:]]))
"""
MARKED_ARRAYS = ("nan", "big", "packed", "black")


def filled(told):
    return {name: float(fill) for name, fill in (line.rsplit(" ", 1) for line in told.splitlines() if line)}


@pytest.mark.parametrize("writer", EMPTY)
@pytest.mark.parametrize("profile", ["auto", "xarray", "gdal"])
def test_a_chunk_of_the_fill_value_that_a_program_leaves_out_holds_it(mount, tmp_path, writer, profile):
    store = tmp_path / "store"
    program("zarr3", MARKED, store)
    before = dict(zip(MARKED_ARRAYS, json.loads(program("zarr3", STORED, store, *MARKED_ARRAYS))))
    mounted = mount(store, f"rw,profile={profile}")
    fills = filled(program("zarr3" if writer == "tensorstore" else writer, EMPTY[writer], mounted.path, *MARKED_ARRAYS))
    mounted.unmount()
    after = dict(zip(MARKED_ARRAYS, json.loads(program("zarr3", STORED, store, *MARKED_ARRAYS))))
    for name in MARKED_ARRAYS:
        wanted = [[fills[name]] * 8] * 2 + before[name][2:6] + [[fills[name]] * 2 + row[2:] for row in before[name][6:]]
        assert str(after[name]) == str(wanted), f"{name}, fill value {fills[name]}"


@pytest.mark.parametrize("way", ["rm -r {0}/big", "find {0}/big -name '[0-9]*' -delete; rm {0}/big/.z*; rmdir {0}/big",
                                 "rm {0}/big/0.1; '{1}' sync {0}; rm -rf {0}/big", "python3 -c 'import shutil; shutil.rmtree(\"{0}/big\")'"])
def test_such_an_array_is_removed_whole(mount, tmp_path, way):
    store = tmp_path / "store"
    program("zarr3", MARKED, store)
    mounted = mount(store, "rw,profile=xarray")
    subprocess.run(["/bin/bash", "-ec", way.format(mounted.path, DAEMON)], check=True, timeout=600)
    assert not (tmp_path / "store/big/zarr.json").exists() and "big" not in os.listdir(mounted.path)
    mounted.unmount()
    assert not (store / "big").exists()


def test_tar_makes_such_chunks_anew(mount, tmp_path):
    store = tmp_path / "store"
    program("zarr3", MARKED, store)
    mounted = mount(store, "rw,profile=xarray")
    with open(f"{mounted.path}/big/0.1", "rb") as file:
        old = file.read()
    subprocess.run(["tar", "-C", f"{mounted.path}/big", "-cf", tmp_path / "t.tar", "0.1", "3.1"], check=True)
    os.unlink(f"{mounted.path}/big/0.1")
    subprocess.run(["tar", "-C", f"{mounted.path}/big", "-xf", tmp_path / "t.tar"], check=True)
    subprocess.run(["tar", "-C", f"{mounted.path}/big", "-xf", tmp_path / "t.tar"], check=True)
    with open(f"{mounted.path}/big/0.1", "rb") as file:
        assert file.read() == old
