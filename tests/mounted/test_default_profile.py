"""The profile that a mount chooses by what the store is, and what programs write into such a mount."""
import base64
import json
import os
import struct
import subprocess

import numpy as np
import pytest
import zarr
from conftest import DAEMON
from test_programs import BRAIN

FILL = base64.b64encode(struct.pack("<d", -999.0)).decode()  # as xarray writes it into Zarr v3


def write_document(path, document):
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "zarr.json"), "w") as text:
        json.dump({"zarr_format": 3, **document}, text)


def array(shape, names=None, **attributes):
    grid = {"name": "regular", "configuration": {"chunk_shape": shape}}
    document = {"node_type": "array", "shape": shape, "data_type": "float32", "fill_value": 0, "chunk_grid": grid, "attributes": attributes,
                "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
    return {**document, "dimension_names": names} if names else document


@pytest.fixture
def climate(tmp_path):
    store = tmp_path / "climate.zarr"
    write_document(store, {"node_type": "group", "attributes": {"Conventions": "CF-1.8"}})
    write_document(store / "t", array([4], ["x"], _FillValue=FILL, units="K"))
    return store


def stored(store, name):
    with open(os.path.join(store, name, "zarr.json")) as text:
        return json.load(text)


def report(shown):
    with open(shown / ".zarrfs/report.json") as text:
        return json.load(text)


def test_the_mount_says_what_it_chose(climate, tmp_path):
    mountpoint = tmp_path / "said"
    for store, profile in ((BRAIN, "ome"), (str(climate), "netcdf")):
        mountpoint.mkdir(exist_ok=True)
        done = subprocess.run([DAEMON, "mount", store, mountpoint, "-o", f"ro,log={tmp_path}/log"], capture_output=True, text=True, timeout=600)
        try:
            assert done.returncode == 0, done.stderr
            assert done.stderr.startswith(f"zarrfs: profile {profile} (/ has ") and done.stderr.count("\n") == 1, done.stderr
            with open(mountpoint / ".zarrfs/report.json") as text:
                said = json.load(text)
            assert said["profile"] == profile and said["profile_because"].startswith("/ has ")
        finally:
            subprocess.run([DAEMON, "umount", mountpoint], check=True, timeout=600)


def test_one_line_says_all_that_the_user_did_not(climate, tmp_path):
    words = array([4], ["x"])
    write_document(climate / "words", {**words, "data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]})
    (climate / "torn").mkdir()
    (climate / "torn/zarr.json").write_text('{"zarr_format": 3, "node')
    torn = ", 1 cannot be read (/torn)"
    lines = {"": "zarrfs: mounted on {place}, read and write, profile xarray (/ has metadata as xarray and netCDF write it; programs of netCDF need profile=netcdf, which would hide /words), 2 arrays" + torn + ": see .zarrfs/report.json",
             "rw,profile=netcdf": "zarrfs: mounted on {place}" + torn + ", 1 hidden (/words): see .zarrfs/report.json"}
    for options, line in lines.items():
        done = subprocess.run([DAEMON, "mount", climate, *(["-o", options] if options else [])], capture_output=True, text=True, timeout=600, cwd=tmp_path)
        place = done.stderr.split("mounted on ")[1].split(",")[0]
        subprocess.run([DAEMON, "umount", place], check=True, timeout=600, cwd=tmp_path)
        assert done.stderr == line.format(place=place) + "\n"


def test_the_report_has_what_the_line_tells_before_anything_is_looked_at(mount, climate):
    write_document(climate / "flags", {**array([4], ["x"]), "data_type": "bool", "fill_value": False})
    assert ("/flags", "hidden") in [(node["path"], node["shown"]) for node in report(mount(climate, "profile=netcdf"))["nodes"]]
    assert "/t" in [node["path"] for node in report(mount(climate, "rechunk=2x2,profile=xarray"))["nodes"]]


def test_an_explicit_profile_wins(mount):
    shown = mount(BRAIN, "profile=generic")
    assert report(shown)["profile"] == "generic" and "profile_because" not in report(shown)


def test_what_programs_make_in_it_is_shown_as_they_made_it(mount, climate):
    shown = mount(climate, "rw,profile=auto")
    assert report(shown)["profile"] == "netcdf"
    made = zarr.open(shown / "new", mode="w", shape=(8,), chunks=(4,), dtype="i4", compressor=zarr.Zlib(1), fill_value=7)
    made[:4] = np.arange(4)
    again = zarr.open(shown / "new", mode="r")
    assert again.compressor == zarr.Zlib(1) and again[...].tolist() == [0, 1, 2, 3, 7, 7, 7, 7]
    zarr.open(shown / "t", mode="r+")[:] = [1, 2, 3, -999]
    assert zarr.open(shown / "t", mode="r")[...].tolist() == [1, 2, 3, -999]


@pytest.mark.parametrize("profile", ["netcdf", "xarray", "gdal"])
def test_attributes_that_the_view_changes_are_stored_as_they_were(mount, climate, profile):
    shown = mount(climate, f"rw,profile={profile}")
    with open(shown / "t/.zattrs") as text:
        attributes = json.load(text)
    assert attributes.get("_FillValue") == (-999.0 if profile == "netcdf" else None)
    attributes["units"] = "mK"
    with open(shown / "t/.zattrs", "w") as text:
        json.dump(attributes, text)
    document = stored(climate, "t")
    assert document["attributes"] == {"_FillValue": FILL, "units": "mK"}
    assert document["dimension_names"] == ["x"]


def test_levels_of_a_plate_are_written_by_number_and_stored_by_name(mount, tmp_path):
    store = tmp_path / "plate.zarr"
    transform = [{"type": "scale", "scale": [1.0]}]
    image = {"multiscales": [{"datasets": [{"path": "s0", "coordinateTransformations": transform}]}]}
    for path, ome in (("", {"plate": {}}), ("A", None), ("A/1", {"well": {}}), ("A/1/0", image)):
        write_document(store / path, {"node_type": "group", "attributes": {"ome": {"version": "0.5", **ome}} if ome else {}})
    write_document(store / "A/1/0/s0", array([4]))
    shown = mount(store, "rw,profile=auto")
    zarr.open(shown / "A/1/0/0", mode="r+")[:] = [1, 2, 3, 4]
    with open(shown / "A/1/0/.zattrs") as text:
        attributes = json.load(text)
    assert attributes["multiscales"][0]["datasets"][0]["path"] == "0"
    attributes["multiscales"][0]["name"] = "renamed"
    with open(shown / "A/1/0/.zattrs", "w") as text:
        json.dump(attributes, text)
    with pytest.raises(FileExistsError):
        os.mkdir(shown / "A/1/0/s0")
    subprocess.run([DAEMON, "sync", shown.path], check=True, timeout=600)
    assert sorted(name for name in os.listdir(store / "A/1/0") if not name.startswith(".")) == ["s0", "zarr.json"]
    assert np.fromfile(store / "A/1/0/s0/c/0", "<f4").tolist() == [1, 2, 3, 4]
    kept = stored(store, "A/1/0")["attributes"]["ome"]["multiscales"][0]
    assert kept["name"] == "renamed" and kept["datasets"][0]["path"] == "s0"
