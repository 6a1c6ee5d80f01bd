"""What netCDF-C writes through a mount, read again by the same program: as from a plain directory.

Versions: 4.9.0 (Debian), 4.9.3 (netCDF4 1.7.4 of PyPI, the one with the filters for zlib and shuffle) and 4.10.1 (netCDF4 1.7.5, which
comes without them). 4.9.0 writes no text that is not ASCII, ignores zlib, reads NaN without
quotes only, as it writes it, and crashes where it reads a scalar of its own (nczarr mode). 4.9.0 keeps members of its own in .zgroup and .zarray, the
others in .zattrs.
"""
import json
import os
import shutil
import subprocess

import pytest
from conftest import DAEMON, VENVS, need
from test_default_profile import stored

PYTHONS = {"4.9.0": "/usr/bin/python3", "4.9.3": os.path.join(VENVS, "netcdf/bin/python"), "4.10.1": os.path.join(VENVS, "masks/bin/python")}
MODES = ["zarr,file", "nczarr,file", "xarray,zarr,file"]

WRITE = """
import sys
import netCDF4
import numpy as np
url, zlib, characters, ascii = sys.argv[1], sys.argv[2] == "zlib", sys.argv[3] == "characters", netCDF4.__netcdf4libversion__.startswith("4.9.0")
packed = dict(zlib=True) if zlib else {}
data = netCDF4.Dataset(url, "w")
data.title = "plain" if ascii else "Gr\\u00fc\\u00dfe \\u00b0C"
data.createDimension("t", 6 if ascii else None)
data.createDimension("x", 50)
temperature = data.createVariable("temperature", "i2", ("t", "x"), fill_value=-999, chunksizes=(3, 25), **packed)
temperature.units = "degC" if ascii else "\\u00b0C"
temperature.scale_factor = 0.5
temperature.valid_range = np.array([-100, 100], "i2")
temperature.set_auto_maskandscale(False)
numbers = np.arange(300).reshape(6, 50).astype("i2")
numbers[numbers % 7 == 0] = -999
temperature[:] = numbers
data.createVariable("plain", "f8", ("x",), **packed)[:] = np.linspace(0, 1, 50)
data.createVariable("holes", "f4", ("x",), fill_value=np.nan)[:] = np.where(np.arange(50) % 3, 1, np.nan)
declared = data.createVariable("declared", "f4", ("x",), fill_value=netCDF4.default_fillvals["f4"])
declared[:10] = 5
counts = data.createVariable("counts", "i1", ("x",))
counts.valid_range = np.array([-1, 5], "i1")
counts[:] = np.arange(50)
if not ascii:
    reference = data.createVariable("crs", "i4", ())
    reference.grid_mapping_name = "latitude_longitude"
    reference[...] = 7
group = data.createGroup("inner")
group.createDimension("y", 4)
group.createVariable("i", "i4", ("y",))[:] = [1, 2, 3, 4]
values = group.createVariable("f", "f4", ("x", "y"), fill_value=-1, **packed)
values[:] = np.arange(200).reshape(50, 4)
if characters:
    data.createVariable("letters", "S1", ("x",))[:] = np.array(list("abcdefghij" * 5), "S1")
    words = data.createVariable("words", str, ("x",))
    for number in range(50):
        words[number] = "word %d" % number
data.close()
"""

READ = """
import json
import sys
import netCDF4
import numpy as np

def attributes(of):
    return {name: [str(getattr(of.getncattr(name), "dtype", type(of.getncattr(name)).__name__)), repr(np.asarray(of.getncattr(name)).tolist())] for name in of.ncattrs()}

def variable(of):
    values = np.ma.asarray(of[:])
    number = values.dtype.kind in "iuf"
    return {"type": str(of.dtype), "dimensions": of.dimensions, "attributes": attributes(of), "missing": np.ma.getmaskarray(values).tolist(),
            "values": [repr(one) for one in np.ma.filled(values.astype("f8"), -1).ravel().tolist()] if number else [str(one) for one in np.asarray(values).ravel()]}

def group(of):
    return {"attributes": attributes(of), "dimensions": {name: [len(one), one.isunlimited()] for name, one in of.dimensions.items()},
            "variables": {name: variable(one) for name, one in of.variables.items()}, "groups": {name: group(one) for name, one in of.groups.items()}}

print(json.dumps(group(netCDF4.Dataset(sys.argv[1]))))
"""


def python_with(version):
    python = PYTHONS[version]
    if not os.path.exists(python):
        pytest.skip(f"netCDF-C {version} is missing: run packaging/install-test-readers all")
    return python


def write(version, folder, mode, *what):
    return subprocess.run([python_with(version), "-c", WRITE, f"file://{folder}#mode={mode}", *what, *["-"] * (2 - len(what))], capture_output=True,
                          text=True, timeout=600)


def read(version, folder, mode):
    done = subprocess.run([python_with(version), "-c", READ, f"file://{folder}#mode={mode}"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def written(version, folder, mode, *what):
    done = write(version, folder, mode, *what)
    assert done.returncode == 0, done.stderr


class DefaultMount:
    """A mount without a profile, which the fixture of conftest.py would give; with one where the test asks for it."""

    def __init__(self, store, place, *options):
        self.store, self.place, self.options = str(store), str(place), options

    def __enter__(self):
        os.makedirs(self.place, exist_ok=True)
        options = [part for option in self.options for part in ("-o", option)]
        subprocess.run([DAEMON, "mount", self.store, self.place, *options], check=True, capture_output=True, timeout=600)
        return self.place

    def __exit__(self, *failure):
        self.said = subprocess.run([DAEMON, "umount", self.place], capture_output=True, text=True, timeout=600)
        assert self.said.returncode == 0 or failure[0], self.said.stderr


def written_and_read(tmp_path, version, mode, options, *what):
    """What the program sees of a plain directory, of the mount that it wrote to, and of the next default mount."""
    plain, store = tmp_path / "plain", tmp_path / "store"
    shutil.rmtree(plain, ignore_errors=True)
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    written(version, plain, mode, *what)
    with DefaultMount(store, tmp_path / "mnt", *options) as place:
        written(version, f"{place}/data", mode, *what)
        same = read(version, f"{place}/data", mode)
    with DefaultMount(store, tmp_path / "mnt") as place:
        following = read(version, f"{place}/data", mode)
    return read(version, plain, mode), same, following


@pytest.mark.parametrize("options", [(), ("profile=netcdf",)], ids=["default", "netcdf"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", PYTHONS)
def test_what_netcdf_writes_it_reads_as_from_a_plain_directory(tmp_path, version, mode, options):
    plain, same, following = written_and_read(tmp_path, version, mode, options)
    assert plain["variables"]["temperature"]["missing"][0][0] and "_FillValue" not in plain["variables"]["plain"]["attributes"]
    assert same == plain
    assert following == plain


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", ["4.9.3", "4.10.1"])
def test_characters_and_words(tmp_path, version, mode):
    plain, same, following = written_and_read(tmp_path, version, mode, (), "-", "characters")
    assert plain["variables"]["words"]["values"][3] == "word 3"
    assert same == plain
    assert following == plain


@pytest.mark.parametrize("mode", MODES)
def test_shuffled_by_an_element_size_of_0_is_stored_in_words_that_all_read(tmp_path, mode):
    plain, same, following = written_and_read(tmp_path, "4.9.3", mode, (), "zlib")
    with open(tmp_path / "plain/temperature/.zarray") as text:
        assert str(json.load(text)["filters"][0]["elementsize"]) == "0"
    assert same == plain
    assert following == plain
    inner = stored(tmp_path / "store/data", "temperature")["codecs"][0]["configuration"]["codecs"]
    assert [codec["configuration"]["elementsize"] for codec in inner if codec["name"] == "numcodecs.shuffle"] == [2]


def copy_backwards(source, target):
    """As cp may copy: what lies deepest first, so that the documents of the data set come last."""
    for folder, _, names in sorted(os.walk(source), reverse=True):
        inside = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(inside, exist_ok=True)
        for name in sorted(names):
            shutil.copyfile(os.path.join(folder, name), os.path.join(inside, name))


@pytest.mark.parametrize("spelled", ["as written", "as a number"])
@pytest.mark.parametrize("mode", MODES)
def test_arrays_that_come_before_their_data_set_are_understood_as_netcdf_means_them(tmp_path, mode, spelled):
    plain, store = tmp_path / "plain", tmp_path / "store"
    written("4.9.3", plain, mode, "zlib")
    if spelled == "as a number":
        for path in plain.rglob(".zarray"):
            path.write_text(path.read_text().replace('"elementsize": "0"', '"elementsize": 0').replace('"level": "4"', '"level": 4'))
    store.mkdir()
    with DefaultMount(store, tmp_path / "mnt") as place:
        copy_backwards(plain, f"{place}/data")
        assert read("4.9.3", f"{place}/data", mode) == read("4.9.3", plain, mode)
    with DefaultMount(store, tmp_path / "mnt") as place:
        assert read("4.9.3", f"{place}/data", mode) == read("4.9.3", plain, mode)
    inner = stored(store / "data", "temperature")["codecs"][0]["configuration"]["codecs"]
    assert [codec["configuration"]["elementsize"] for codec in inner if codec["name"] == "numcodecs.shuffle"] == [2]


@pytest.mark.parametrize("mode", MODES)
def test_characters_of_netcdf_490_that_come_before_their_data_set_are_refused(tmp_path, mode):
    plain, store = tmp_path / "plain", tmp_path / "store"
    subprocess.run([python_with("4.9.0"), "-c", f"""
import netCDF4
import numpy as np
data = netCDF4.Dataset("file://{plain}#mode={mode}", "w")
data.createDimension("x", 3)
data.createVariable("letters", "S1", ("x",))[:] = np.array(list("abc"), "S1")
data.close()"""], check=True, timeout=300)
    store.mkdir()
    with DefaultMount(store, tmp_path / "mnt") as place:
        with pytest.raises(OSError, match="Invalid argument"):
            copy_backwards(plain, f"{place}/data")
        assert "netCDF-C 4.9.0 writes characters as <U1" in os.getxattr(place, "user.zarrfs.refused").decode()
        shutil.rmtree(f"{place}/data")


READ_V3 = """
import sys
import numpy as np
import tensorstore
import zarr
group = zarr.open_group(sys.argv[1] + "/data", mode="r")
array = group["temperature"]
assert "_NCZARR_GROUP" in group.attrs or "_nczarr_group" in group.attrs, dict(group.attrs)
assert "_NCZARR_ARRAY" in array.attrs or "_nczarr_array" in array.attrs, dict(array.attrs)
expected = np.arange(300).reshape(6, 50)
expected[expected % 7 == 0] = -999
assert (array[:] == expected).all()
assert array.metadata.dimension_names == ("t", "x")
kept = {"driver": "file", "path": sys.argv[1] + "/data/temperature"}
assert (tensorstore.open({"driver": "zarr3", "kvstore": kept}).result().read().result() == expected).all()
import zarrs
zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
assert (zarr.open_array(sys.argv[1] + "/data/temperature", mode="r")[:] == expected).all()
"""


@pytest.mark.parametrize("version", PYTHONS)
def test_readers_of_zarr_v3_open_what_netcdf_wrote(tmp_path, version):
    python = os.path.join(VENVS, "zarr3/bin/python")
    need(os.path.exists(python), "zarr3 is missing: run packaging/install-test-readers")
    store = tmp_path / "store"
    store.mkdir()
    with DefaultMount(store, tmp_path / "mnt") as place:
        written(version, f"{place}/data", "nczarr,file")
    done = subprocess.run([python, "-c", READ_V3, store], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_characters_of_netcdf_490_are_refused_at_the_write_that_completes_their_document(tmp_path, mode):
    store = tmp_path / "store"
    store.mkdir()
    mounted = DefaultMount(store, tmp_path / "mnt")
    with mounted as place:
        done = subprocess.run([python_with("4.9.0"), "-c", f"""
import netCDF4
import numpy as np
data = netCDF4.Dataset("file://{place}/data#mode={mode}", "w")
data.createDimension("x", 3)
data.createVariable("letters", "S1", ("x",))[:] = np.array(list("abc"), "S1")
data.close()"""], capture_output=True, text=True, timeout=300)
        assert done.returncode != 0 and "RuntimeError" in done.stderr, done.stderr
        why = os.getxattr(f"{place}/data/letters", "user.zarrfs.refused").decode()
        assert why.startswith("/data/letters/.zarray: netCDF-C 4.9.0 writes characters as <U1") and why.count("\n") == 1
        with open(f"{place}/.zarrfs/report.json") as text:
            assert [one["path"] for one in json.load(text)["refused"]] == ["/data/letters/.zarray"]
        assert "  refused: /data/letters/.zarray: netCDF-C 4.9.0" in subprocess.run([DAEMON, "mounts"], capture_output=True, text=True, timeout=600).stdout
    assert "refused while it was mounted:\n/data/letters/.zarray: netCDF-C 4.9.0" in mounted.said.stderr


def test_nccopy_and_nco_work_on_the_next_mount(tmp_path):
    for program in ("ncgen", "nccopy", "ncdump", "ncks"):
        need(shutil.which(program), f"{program} is missing: apt install netcdf-bin nco")
    source, store = tmp_path / "source.nc", tmp_path / "store"
    store.mkdir()
    text = "netcdf source { dimensions: t = 4 ; variables: short v(t) ; v:_FillValue = -9s ; v:units = \"K\" ; data: v = 1, _, 3, 4 ; }"
    subprocess.run(["ncgen", "-4", "-o", source], input=text, text=True, check=True, timeout=600)
    with DefaultMount(store, tmp_path / "mnt") as place:
        subprocess.run(["nccopy", source, f"file://{place}/data#mode=nczarr,file"], check=True, timeout=600)
    subprocess.run(["nccopy", source, f"file://{tmp_path}/plain#mode=nczarr,file"], check=True, timeout=600)
    with DefaultMount(store, tmp_path / "mnt") as place:
        for command in (["ncdump"], ["ncks", "-C"]):
            shown, plain = [subprocess.run([*command, f"file://{folder}#mode=nczarr,file"], capture_output=True, text=True, timeout=600).stdout
                            for folder in (f"{place}/data", tmp_path / "plain")]
            assert "units" in plain and shown.splitlines()[1:] == plain.splitlines()[1:]


ZARRAY = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i2", "fill_value": 0, "order": "C", "filters": None, "compressor": None}


@pytest.fixture
def place(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    with DefaultMount(store, tmp_path / "mnt", "profile=netcdf") as mounted:
        os.mkdir(f"{mounted}/a")
        yield f"{mounted}/a"


def test_a_document_is_refused_at_the_write_that_completes_it(place):
    file = os.open(f"{place}/.zarray", os.O_RDWR | os.O_CREAT)
    whole = json.dumps({**ZARRAY, "compressor": {"id": "zlib", "level": 1}}).encode()
    assert os.write(file, whole[:30]) == 30  # what is not complete is taken
    with pytest.raises(OSError, match="Invalid argument"):
        os.write(file, whole[30:])
    os.close(file)  # its writer has been told
    assert not os.path.exists(f"{place}/.zarray")
    assert "/a cannot be made in this mount: it would be shown as" in os.getxattr(place, "user.zarrfs.refused").decode()


def test_after_a_refused_write_the_next_one_counts(place):
    file = os.open(f"{place}/.zarray", os.O_RDWR | os.O_CREAT)
    with pytest.raises(OSError, match="Invalid argument"):
        os.write(file, json.dumps({**ZARRAY, "dtype": ">i2"}).encode())
    os.pwrite(file, json.dumps(ZARRAY).encode(), 0)
    with pytest.raises(OSError, match="Invalid argument"):
        os.pwrite(file, json.dumps({**ZARRAY, "dtype": ">i2"}).encode(), 0)
    os.close(file)  # submits what was taken
    with open(f"{place}/.zarray") as text:
        assert json.load(text)["dtype"] == "<i2"


def test_an_empty_object_may_be_corrected_before_it_is_closed(place):
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDWR):  # also over what is there
        file = os.open(f"{place}/.zarray", flags)
        os.pwrite(file, b"{}", 0)
        os.pwrite(file, json.dumps(ZARRAY).encode(), 0)
        os.close(file)
        with open(f"{place}/.zarray") as shown:
            assert json.load(shown)["shape"] == [4]
    file = os.open(f"{place}/.zarray", os.O_RDWR | os.O_TRUNC)
    os.write(file, b"{}")
    with pytest.raises(OSError, match="Invalid argument"):
        os.close(file)
    with open(f"{place}/.zarray") as shown:
        assert json.load(shown)["shape"] == [4]


def test_what_a_shell_writes_was_not_refused(place):
    text = json.dumps(ZARRAY)
    subprocess.run(["sh", "-c", f"echo '{text}' > .zarray"], cwd=place, check=True)
    with open(f"{place}/.zarray") as shown:
        assert json.load(shown)["shape"] == [4]
    with pytest.raises(OSError, match="No data available"):
        os.getxattr(place, "user.zarrfs.refused")


def test_a_document_that_comes_in_pieces_is_taken_as_a_whole(place):
    text = json.dumps(ZARRAY, indent=1)
    file = os.open(f"{place}/.zarray", os.O_RDWR | os.O_CREAT)
    for at in range(0, len(text), 7):
        os.write(file, text[at:at + 7].encode())
    os.close(file)
    with open(f"{place}/.zarray") as shown:
        assert json.load(shown)["shape"] == [4]


def test_text_is_shown_in_utf8_to_netcdf_alone(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    for profile, text in (("netcdf", "°C"), ("xarray", "\\u00b0C")):
        with DefaultMount(store, tmp_path / "mnt", f"profile={profile}") as place:
            if profile == "netcdf":
                os.mkdir(f"{place}/a")
                for name, document in ((".zarray", ZARRAY), (".zattrs", {"units": "°C"})):
                    with open(f"{place}/a/{name}", "w") as out:
                        json.dump(document, out)
        with DefaultMount(store, tmp_path / "mnt", f"profile={profile}", "ro") as place, open(f"{place}/a/.zattrs", encoding="utf-8") as shown:
            assert text in shown.read()


@pytest.mark.parametrize("script,told", [
    ("import zarr; zarr.create_array('{place}/b', shape=(4,), dtype='i2')", "zarr_format=2"),
    ("import zarr; zarr.open_group('{place}/b', mode='w')", "zarr_format=2"),
])
def test_zarr_python_3_is_told_what_to_do(place, script, told):
    python = os.path.join(VENVS, "zarr3/bin/python")
    need(os.path.exists(python), "zarr3 is missing: run packaging/install-test-readers")
    done = subprocess.run([python, "-c", script.format(place=os.path.dirname(place))], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0
    refused = os.getxattr(os.path.dirname(place), "user.zarrfs.refused").decode()
    assert told in refused and "-o view=v3" in refused


APPEND = """
import ctypes, sys, netCDF4, numpy as np
url, how = sys.argv[1:]
library = ctypes.CDLL([line.split()[-1] for line in open("/proc/self/maps") if "libnetcdf" in line][0])
size, file, variable = ctypes.c_size_t, ctypes.c_int(), ctypes.c_int()
def call(name, *arguments):
    result = getattr(library, name)(*arguments)
    assert result == 0, (name, result)
data = netCDF4.Dataset(url, "w")
data.createDimension("t", None)
data.createDimension("x", 1000)
data.createVariable("v", "f8", ("t", "x"), chunksizes=(1, 1000))[0:2] = 1.0
data.close()
if how == "small cache":
    call("nc_set_chunk_cache", size(80000), size(10), ctypes.c_float(0.5))
call("nc_open", url.encode(), 1, ctypes.byref(file))
call("nc_inq_varid", file, b"v", ctypes.byref(variable))
for record in range(2, 40):
    call("nc_put_vara", file, variable, (size * 2)(record, 0), (size * 2)(1, 1000), np.full((1, 1000), record, "f8").ctypes.data_as(ctypes.c_void_p))
    if how == "synced":
        call("nc_sync", file)
call("nc_close", file)
"""


@pytest.mark.parametrize("how", ["small cache", "synced"])
@pytest.mark.parametrize("version", ["4.9.3", "4.10.1"])
def test_records_that_are_appended_come_before_the_shape(mount, tmp_path, version, how):
    """netCDF-C opens a data set to write, and puts chunks of new records when its cache is full, or at nc_sync; the shape comes with nc_close."""
    if not os.path.exists(PYTHONS[version]):
        pytest.skip(f"netCDF-C {version} is missing: run packaging/install-test-readers all")
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, "rw")
    subprocess.run([PYTHONS[version], "-c", APPEND, f"file://{mounted.path}/d#mode=nczarr,file", how], check=True, timeout=600)
    read = "import sys, netCDF4; v = netCDF4.Dataset(sys.argv[1])['v'][:]; print([int(r[0]) if r.min() == r.max() else -1 for r in v.filled(-1)])"
    mounted.unmount()
    again = mount(store)
    found = subprocess.run([PYTHONS[version], "-c", read, f"file://{again.path}/d#mode=nczarr,file"], capture_output=True, text=True, check=True, timeout=600)
    assert json.loads(found.stdout) == [1, 1, *range(2, 40)]
