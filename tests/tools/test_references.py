"""`zarrfs refs` of a CF store as xarray writes it, opened by xarray through fsspec, by kerchunk's engine and by VirtualiZarr: values, what is
missing, dimensions and attributes are those that xarray reads from the store itself."""
import json
import os
import subprocess

import pytest
from conftest import VENVS, python_of, run

WRITE = """
import sys, numpy as np, xarray as xr
random = np.random.default_rng(1)
field = random.normal(280, 5, (6, 40, 60)).astype("f4")
field[0, :12, :25] = np.nan
packed = np.where(random.random((6, 40, 60)) < 0.1, np.nan, np.round(random.random((6, 40, 60)) * 100) / 10)
packed[4:, 30:, 40:] = np.nan
chunks, shards = (2, 10, 20), (4, 20, 60)
data = xr.Dataset({
    "field": (("time", "y", "x"), field, {"units": "K", "standard_name": "air_temperature", "grid_mapping": "crs"}),
    "packed": (("time", "y", "x"), packed, {"units": "\\u00b0C", "flags": [1, 2], "nested": {"a": [1, "b"]}}),
    "count": (("y", "x"), np.pad(random.integers(1, 9, (20, 60)).astype("i2"), ((0, 20), (0, 0)))),
    "flag": (("y", "x"), random.random((40, 60)) < 0.5),
    "zero": (("y", "x"), np.zeros((40, 60), "i4")),
    "label": ("x", np.array([f"n{i}\\u00e9" for i in range(60)], dtype=object)),
    "crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0}),
    "height": ((), 2.0, {"units": "m"}),
}, coords={"time": np.datetime64("2020-01-01", "ns") + np.arange(6) * np.timedelta64(1, "D"), "y": np.arange(40) * 0.5, "x": np.arange(60) * 0.25},
   attrs={"Conventions": "CF-1.8", "title": "a test, \\u00e4"})
encoding = {name: {"chunks": chunks[-data[name].ndim:], "shards": shards[-data[name].ndim:]} for name in ("field", "packed", "count", "flag", "zero")}
encoding["packed"].update(dtype="int16", scale_factor=0.1, add_offset=5.0, _FillValue=-999)
data.to_zarr(sys.argv[1], zarr_format=3, consolidated=False, encoding=encoding)
inner = data[["field", "crs"]].isel(time=slice(2)).drop_vars("time")
inner.to_zarr(sys.argv[1], group="sub/deep", mode="a", zarr_format=3, consolidated=False)
"""
COMPARE = """
import sys, json, xarray as xr
store, references, view, opener, raw, skipped = sys.argv[1:7]
as_it_is = {"mask_and_scale": False, "decode_times": False} if raw else {}

def open_by_fsspec(group):
    import fsspec, zarr
    files = fsspec.filesystem("reference", fo=references, remote_protocol="file", remote_options={"asynchronous": True}, asynchronous=True)
    at_group = zarr.storage.FsspecStore(files, read_only=True, path=group or "")  # zarr-python 3.1 lists no groups below the root
    return xr.open_zarr(at_group, zarr_format=int(view[1]), consolidated=False, **as_it_is)

def open_by_kerchunk(group):
    return xr.open_dataset(references, engine="kerchunk", group=group, **as_it_is)

def open_by_virtualizarr(group):
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser
    parser = KerchunkJSONParser(group=group, skip_variables=skipped.split())
    manifests = parser("file://" + references, ObjectStoreRegistry({"file://": LocalStore()}))
    return xr.open_zarr(manifests, zarr_format=3, consolidated=False, **as_it_is)

found, compared = [], 0
for group in (None, "sub/deep"):
    wanted = xr.open_zarr(store, consolidated=False, group=group, **as_it_is).drop_vars(skipped.split(), errors="ignore").load()
    seen = globals()["open_by_" + opener](group).load()
    found += [f"{group}: attributes"] * (wanted.attrs != seen.attrs)
    found += [f"{group}: {name} is another" for name in wanted.variables.keys() ^ seen.variables.keys()]
    for name in wanted.variables.keys() & seen.variables.keys():
        a, b = wanted[name].variable, seen[name].variable
        if raw:  # whether the fill value marks what is missing is what the profile tells
            a.attrs.pop("_FillValue", None), b.attrs.pop("_FillValue", None)
        found += [f"{group}: {name}: {what}" for what, same in (("dimensions", a.dims == b.dims), ("type", a.dtype == b.dtype or a.dtype.kind in "OT"),
                  ("values", a.equals(b)), ("attributes", a.attrs == b.attrs)) if not same]
        compared += 1
print(json.dumps([found, compared]))
"""
PROFILES = ["auto", "generic", "xarray", "ome", "gdal", "netcdf"]
RAW = {"generic", "ome"}  # these do not tell xarray what is missing: docs/readers.md, "What is missing"


@pytest.fixture(scope="module")
def climate(tmp_path_factory):
    store = tmp_path_factory.mktemp("climate") / "cf.zarr"
    subprocess.run([python_of("zarr3"), "-W", "ignore", "-c", WRITE, store], check=True, timeout=300)
    return store


def references_to(store, folder, view, profile):
    references = folder / "refs.json"
    assert run("refs", store, "--view", view, "--profile", profile, "-o", references).stderr_text == ""
    return references


def differences(environment, opener, store, references, view, profile, skipped=""):
    """What is otherwise than in the store, and how many variables were compared."""
    raw = "raw" if view == "v2" and profile in RAW else ""
    command = [python_of(environment), "-W", "ignore", "-c", COMPARE, store, references, view, opener, raw, skipped]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("view", ["v2", "v3"])
def test_xarray_reads_a_cf_store_by_its_references(climate, tmp_path, view, profile):
    references = references_to(climate, tmp_path, view, profile)
    assert differences("zarr3", "fsspec", climate, references, view, profile) == [[], 15]


@pytest.mark.parametrize("profile", PROFILES)
def test_kerchunk_and_virtualizarr_read_them(climate, tmp_path, profile):
    python = os.path.join(VENVS, "references", "bin", "python")
    if not os.path.exists(python) or subprocess.run([python, "-c", "import virtualizarr"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("references, with VirtualiZarr, is missing: run packaging/install-test-readers all")
    references = references_to(climate, tmp_path, "v2", profile)
    assert differences("references", "kerchunk", climate, references, "v2", profile) == [[], 15]
    # VirtualiZarr reads no text of Zarr v2.
    assert differences("references", "virtualizarr", climate, references, "v2", profile, skipped="label") == [[], 14]


def test_a_loss_is_seen(climate, tmp_path):
    references = references_to(climate, tmp_path, "v2", "xarray")
    whole = json.loads(references.read_text())
    packed, field, crs = (json.loads(whole["refs"][name]) for name in ("packed/.zarray", "field/.zattrs", "crs/.zattrs"))
    packed["fill_value"] = None
    attributes = json.loads(whole["refs"]["packed/.zattrs"])
    field["units"] = "m"
    del attributes["_FillValue"], crs["semi_major_axis"], whole["refs"]["label/0"], whole["refs"]["zero/.zarray"]
    whole["refs"].update({"packed/.zarray": json.dumps(packed), "packed/.zattrs": json.dumps(attributes), "field/.zattrs": json.dumps(field),
                          "crs/.zattrs": json.dumps(crs)})
    references.write_text(json.dumps(whole))
    found, _ = differences("zarr3", "fsspec", climate, references, "v2", "xarray")
    assert sorted(found) == ["None: crs: attributes", "None: field: attributes", "None: label: values", "None: packed: values", "None: zero is another"]


def test_chunks_are_referenced_where_they_are(climate, tmp_path):
    """Only what is missing stands in the references, where the reader would not fill it in."""
    refs = json.loads(references_to(climate, tmp_path, "v2", "auto").read_text())["refs"]
    inlined = sorted({key.split("/")[0] for key, value in refs.items() if isinstance(value, str) and value.startswith("base64:")})
    assert inlined == ["count", "crs", "sub", "zero"]
    assert sorted(key for key in refs if key.startswith("count/") and not isinstance(refs[key], list)) == [
        "count/.zarray", "count/.zattrs", *(f"count/{y}.{x}" for y in (2, 3) for x in (0, 1, 2))]
    field = [value for key, value in refs.items() if key.startswith("field/") and isinstance(value, list)]
    assert len(field) == 36 and all(value[0].startswith(f"{climate}/field/c/") for value in field)
