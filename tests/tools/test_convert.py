"""shard, unshard, reshard: values stay, whatever happens meanwhile."""
import json
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import time

import numpy as np
import pytest
from conftest import CORPUS, GOLDEN, ZARRFS, add_array, arrays_of, need, python_of, read_all, compared, readable, run

STORES = [os.path.join(GOLDEN, name) for name in ("sharding.zarr", "types.zarr", "codecs.zarr")]
STORES += [os.path.join(CORPUS, name) for name in ("brain.ome.zarr", "zarrita.zarr", "points.zarrvectors", "zarr-java/ome-0.5.zarr")]


def files_of(directory):
    return sorted(os.path.relpath(os.path.join(folder, name), directory) for folder, _, names in os.walk(directory) for name in names)


@pytest.mark.parametrize("source", STORES, ids=os.path.basename)
def test_round_through_all_forms(source, tmp_path):
    need(os.path.isdir(source), "the corpus is not there")
    plain, sharded, resharded, again = (tmp_path / name for name in ("plain", "sharded", "resharded", "again"))
    run("unshard", source, plain, "--check")
    run("shard", plain, sharded, "--shard-chunks", "2", "--check")
    run("reshard", sharded, resharded, "--shard-chunks", "3", "--check")
    run("unshard", resharded, again, "--check")
    for made in (plain, sharded, resharded, again):
        run("verify", made, "--decode")
        run("diff", source, made)
    assert not any(facts["sharded"] for facts in arrays_of(plain).values())
    python = python_of("zarr3")
    wanted = readable(read_all(python, "zarr3", source))
    for made in (plain, sharded, resharded):
        got = read_all(python, "zarr3", made)
        assert compared(got, wanted) == wanted
    wanted = readable(read_all(python, "tensorstore3", source))
    got = read_all(python, "tensorstore3", resharded)
    assert {path: got[path] for path in wanted} == wanted


def test_new_shards_have_the_shape_asked_for(tmp_path):
    source = os.path.join(GOLDEN, "sharding.zarr")
    run("reshard", source, tmp_path / "elements", "--shard-shape", "16,30", status=1)
    facts = arrays_of(tmp_path / "elements")
    assert facts["index_end"]["shard_shape"] == [16, 30]
    assert facts["vector"]["shard_shape"] == [16]  # of another rank: as it was
    told = run("reshard", source, tmp_path / "one", "--shard-shape", "17", status=1).stdout_text
    facts = arrays_of(tmp_path / "one")
    assert facts["index_end"]["shard_shape"] == [20, 20] and facts["vector"]["shard_shape"] == [20]
    assert "/scalar: is left as it is: is not sharded" in told
    run("reshard", source, tmp_path / "bytes", "--shard-bytes", "320", status=1)
    assert arrays_of(tmp_path / "bytes")["index_end"]["shard_shape"] in ([16, 10], [8, 20])
    for option in ("--shard-shape", "--shard-chunks", "--shard-bytes"):
        for value in ("0", "-1", "99999999999999999999"):
            told = run("shard", source, tmp_path / "none", f"{option}={value}", status=2)
            assert option in told.stderr_text and value in told.stderr_text and not (tmp_path / "none").exists()
    run("shard", source, tmp_path / "none", "--shard-bytes", "0K", status=2)
    run("shard", source, tmp_path / "both", "--shard-shape", "4", "--shard-chunks", "4", status=2)


@pytest.mark.parametrize("in_place", [False, True])
def test_an_array_that_does_not_get_the_form_asked_for_is_told_by_the_status(tmp_path, in_place):
    source = tmp_path / "source"
    add_array(source / "line")
    add_array(source / "line2")
    add_array(source / "plane", shape=[7, 4], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [3, 2]}})
    (source / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')

    def convert(command, *options, status):
        store = tmp_path / "store"
        if not in_place:
            done = run(command, source, store, *options, status=status)
            shutil.rmtree(source)
            os.rename(store, source)
            return done
        return run(command, source, "--in-place", *options, status=status)

    def shards():
        return {path: facts["sharded"] and facts["shard_shape"] for path, facts in arrays_of(source).items()}

    convert("unshard", status=0)  # they are plain
    done = convert("shard", "--shard-shape", "6,4", status=1)
    assert "/line: is left as it is: its rank is 1" in done.stdout_text and "not everything got the form asked for" in done.stderr_text
    assert shards() == {"line": False, "line2": False, "plane": [6, 4]}
    convert("shard", "--shard-shape", "6,4", status=1)
    assert "/line: is left as it is: is not sharded" in convert("reshard", "--shard-chunks", "1", status=1).stdout_text
    assert shards() == {"line": False, "line2": False, "plane": [3, 2]}
    assert "/plane: is left as it is: is sharded already, but not in shards of 6x4" in convert("shard", "--shard-shape", "6,4", status=1).stdout_text
    assert "/plane: is left as it is" in convert("shard", "--shard-chunks", "2", status=1).stdout_text
    assert shards() == {"line": [6], "line2": [6], "plane": [3, 2]}
    convert("shard", status=0)
    convert("reshard", "--shard-chunks", "2", status=0)
    convert("shard", "--shard-chunks", "2", status=0)
    assert shards() == {"line": [6], "line2": [6], "plane": [6, 4]}
    convert("unshard", status=0)
    assert shards() == {"line": False, "line2": False, "plane": False}


def test_chunks_are_copied_not_recompressed_and_lie_in_order(store, tmp_path):
    run("reshard", store, tmp_path / "new", "--shard-chunks", "5,6")
    listing = [line.split("\t") for line in run("ls", "-l", tmp_path / "new", "a").stdout_text.splitlines()]
    assert [line[0] for line in listing] == [f"{y}.{x}" for y in range(5) for x in range(6)]
    end = 0
    for chunk, length, _, offset in listing:
        assert int(offset) == end
        end += int(length)
        assert run("cat", store, f"a/{chunk}").stdout == run("cat", tmp_path / "new", f"a/{chunk}").stdout


def test_what_is_so_already_is_only_copied(store, tmp_path):
    assert "is sharded already" in run("shard", store, tmp_path / "new").stdout_text
    for name in files_of(store):
        assert (store / name).read_bytes() == (tmp_path / "new" / name).read_bytes()
    before = os.stat(store / "a" / "zarr.json").st_ino
    run("shard", store, "--in-place")
    assert os.stat(store / "a" / "zarr.json").st_ino == before


def test_consolidated_metadata_stay_true(tmp_path):
    brain = os.path.join(CORPUS, "brain.ome.zarr")
    need(os.path.isdir(brain), "the corpus is not there")
    run("unshard", brain, tmp_path / "plain")
    document = json.loads((tmp_path / "plain" / "zarr.json").read_text())
    for path in ("0", "1"):
        assert document["consolidated_metadata"]["metadata"][path] == json.loads((tmp_path / "plain" / path / "zarr.json").read_text())
    shutil.copytree(brain, tmp_path / "copy")
    assert "consolidated" in run("unshard", tmp_path / "copy" / "0", "--in-place").stderr_text
    assert "consolidated_metadata" not in json.loads((tmp_path / "copy" / "zarr.json").read_text())
    run("diff", brain, tmp_path / "copy")


def test_other_files_come_along(store, tmp_path):
    long = 240 * "x" + ".txt"
    for name in ("readme.txt", long):
        (store / name).write_text("hello")
    (store / "a" / "notes").mkdir()
    (store / "a" / "notes" / "one").write_text("1")
    (store / "a" / "c" / "9").mkdir()
    (store / "a" / "c" / "9" / "0").write_text("beyond the array")
    told = run("unshard", store, tmp_path / "new").stdout_text
    assert {(tmp_path / "new" / name).read_text() for name in ("readme.txt", long)} == {"hello"}
    assert (tmp_path / "new" / "a" / "notes" / "one").read_text() == "1"
    assert not (tmp_path / "new" / "a" / "c" / "9").exists() and "beyond the array's shape" in told


def make_v2(path):
    """A store of zarr-python 2: several types, codecs, orders, separators, dimensions."""
    import zarr
    from numcodecs import Blosc, Delta, Zlib

    rng = np.random.default_rng(5)
    group = zarr.open_group(str(path), mode="w")
    group.attrs["title"] = "made by zarr-python 2"
    wanted = {}
    for name, dtype, options in [
        ("plain", "<i4", {}), ("big", ">i2", {"compressor": None}), ("fortran", "<f8", {"order": "F"}),
        ("zlib", "<u2", {"compressor": Zlib(3)}), ("delta", "<i4", {"filters": [Delta("<i4")]}),
        ("nested", "<f4", {"dimension_separator": "/", "compressor": Blosc("zstd", 3, Blosc.BITSHUFFLE)}),
        ("nan", "<f4", {"fill_value": float("nan")}), ("flag", "|b1", {}), ("complex", "<c8", {}), ("when", "<M8[s]", {}),
        ("text", "<U5", {}), ("fixed", "|S4", {}),
    ]:
        values = rng.integers(0, 2 if dtype == "|b1" else 900, (10, 14))
        if dtype[1] in "US":
            values = values.astype(str)
        array = group.create_dataset(name, shape=(10, 14), chunks=(3, 4), dtype=dtype, **options)
        array[:7] = values[:7].astype(dtype)
        wanted[name] = array[...]
    group["plain"].attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    zarr.consolidate_metadata(str(path))
    return wanted


@pytest.mark.parametrize("in_place", [False, True])
def test_stores_of_zarr_python_2_become_sharded_v3(tmp_path, in_place):
    wanted = make_v2(tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "work")
    new = tmp_path / ("work" if in_place else "new")
    run("shard", tmp_path / "work", *(["--in-place"] if in_place else [new]), "--shard-chunks", "2", "--check")
    run("diff", tmp_path / "old", new)
    assert not [name for name in files_of(new) if os.path.basename(name).startswith(".")]
    document = json.loads((new / "zarr.json").read_text())
    assert document["attributes"] == {"title": "made by zarr-python 2"} and len(document["consolidated_metadata"]["metadata"]) == len(wanted)
    array = json.loads((new / "plain" / "zarr.json").read_text())
    assert array["dimension_names"] == ["y", "x"] and "_ARRAY_DIMENSIONS" not in array["attributes"]
    before = readable(read_all("/usr/bin/python3", "zarr2", tmp_path / "old"))
    after = read_all(python_of("zarr3"), "zarr3", new)
    assert len(before) == len(wanted)
    assert {name: after[name].get("sha256", after[name]) for name in before} == {name: before[name]["sha256"] for name in before}


# GDAL writes arrays of several dimensions with missing chunks, or a raster with its axes; what it holds goes to a .npz file.
# Not LZMA: no other program reads its configuration.
GDAL_ARRAYS = """
import sys, numpy as np
from osgeo import gdal
gdal.UseExceptions()
path, held = sys.argv[1:3]
rng = np.random.default_rng(7)
dataset = gdal.GetDriverByName("Zarr").CreateMultiDimensional(path, options=["FORMAT=ZARR_V2"])
root = dataset.GetRootGroup()
group = root.CreateGroup("below")
axes = [root.CreateDimension(name, None, None, size) for name, size in (("time", 5), ("y", 20), ("x", 30))]
wanted = {}
for home, name, kind, dtype, options in [
    (root, "byte", gdal.GDT_Byte, "u1", ["COMPRESS=NONE"]), (root, "short", gdal.GDT_Int16, "i2", ["COMPRESS=ZLIB"]),
    (root, "float", gdal.GDT_Float32, "f4", ["COMPRESS=BLOSC"]), (root, "gzip", gdal.GDT_Float32, "f4", ["COMPRESS=GZIP"]),
    (group, "delta", gdal.GDT_Int32, "i4", ["COMPRESS=ZSTD", "FILTER=DELTA"]), (group, "lz4", gdal.GDT_UInt32, "u4", ["COMPRESS=LZ4"]),
    (root, "lzma", gdal.GDT_Int32, "i4", ["COMPRESS=LZMA", "LZMA_DELTA=4"]), (group, "complex", gdal.GDT_CFloat64, "c16", []), (group, "blocks", gdal.GDT_Float64, "f8", ["CHUNK_MEMORY_LAYOUT=F"]),
]:
    array = home.CreateMDArray(name, axes, gdal.ExtendedDataType.Create(kind), ["BLOCKSIZE=2,6,7", *options])
    if dtype[0] != "c":
        array.SetNoDataValueDouble(99)
    array.SetUnit("m")
    values = np.full((5, 20, 30), 0 if dtype[0] == "c" else 99, dtype)
    values[:, :11] = rng.integers(0, 90, (5, 11, 30))
    array.Write(values[:, :11].copy(), array_start_idx=[0, 0, 0], count=[5, 11, 30])
    wanted[home.GetFullName().strip("/") + "/" + name] = values
np.savez(held, **{name.strip("/"): values for name, values in wanted.items()})
"""

GDAL_RASTER = """
import sys, numpy as np
from osgeo import gdal, osr
gdal.UseExceptions()
path, held = sys.argv[1:3]
values = np.random.default_rng(8).integers(0, 60000, (3, 20, 30)).astype("u2")
dataset = gdal.GetDriverByName("Zarr").Create(path, 30, 20, 3, gdal.GDT_UInt16, ["ARRAY_NAME=map", "BLOCKSIZE=6,7", "COMPRESS=ZLIB"])
place = osr.SpatialReference()
place.ImportFromEPSG(32633)
dataset.SetProjection(place.ExportToWkt())
dataset.SetGeoTransform([500000, 10, 0, 5300000, 0, -10])
dataset.WriteArray(values)
np.savez(held, X=500005 + 10.0 * np.arange(30), Y=5299995 - 10.0 * np.arange(20), **{f"map_band{i + 1}": values[i] for i in range(3)})
"""

HOLDS = """
import json, sys, numpy as np, zarr
group, wanted = zarr.open_group(sys.argv[1], mode="r"), np.load(sys.argv[2])
for name in wanted.files:
    np.testing.assert_array_equal(group[name][...], wanted[name], name)
    assert group[name].dtype == wanted[name].dtype and getattr(group[name], "shards", "v2") is not None, name
print(json.dumps(sorted(wanted.files)))
"""


def python_output(python, code, *arguments):
    done = subprocess.run([python, "-W", "ignore", "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("code", [GDAL_ARRAYS, GDAL_RASTER], ids=["arrays", "raster"])
def test_stores_of_gdal_become_sharded_v3(tmp_path, code):
    old, new, held = tmp_path / "old", tmp_path / "new", tmp_path / "held.npz"
    python_output("/usr/bin/python3", code, old, held)
    assert (old / ".zgroup").exists()
    run("shard", old, new, "--shard-chunks", "2", "--check")
    run("diff", old, new)
    run("verify", new, "--decode")
    assert not [name for name in files_of(new) if os.path.basename(name).startswith(".")]
    assert json.loads(python_output(python_of("zarr3"), HOLDS, new, held)) == sorted(arrays_of(new))
    run("unshard", new, tmp_path / "v2", "--format", "v2", "--check")
    assert json.loads(python_output("/usr/bin/python3", HOLDS, tmp_path / "v2", held)) == sorted(arrays_of(new))


@pytest.mark.parametrize("name", ["sharding.zarr", "types.zarr", "codecs.zarr"])
def test_unshard_to_v2_is_read_by_zarr_python_2(tmp_path, name):
    source = os.path.join(GOLDEN, name)
    new = tmp_path / "new"
    done = subprocess.run([ZARRFS, "unshard", source, new, "--format", "v2", "--check"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    left_out = {line.split(":")[0].strip("/") for line in done.stdout.splitlines() if "is left out" in line}
    assert bool(left_out) == (done.returncode == 1)
    assert not [file for file in files_of(new) if file.endswith("zarr.json")]
    got = read_all("/usr/bin/python3", "zarr2", new)
    with open(os.path.join(os.path.dirname(GOLDEN), "expected.json")) as file:
        expected = {key.split("/")[1]: value for key, value in json.load(file).items() if key.startswith(name + "/")}
    errors = {path: value for path, value in got.items() if "error" in value}
    assert not errors
    wrong = [path for path, value in got.items() if path in expected and "sha256" in expected[path]
             and expected[path]["dtype"] == value["dtype"] and expected[path]["sha256"] != value["sha256"]]
    assert not wrong
    assert set(expected) - set(got) <= left_out


RECTILINEAR = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[3, 1, 1, 2]]}}


def contents_of(directory):
    return {name: open(os.path.join(directory, name), "rb").read() for name in files_of(directory)}


@pytest.mark.parametrize("in_place", [False, True])
def test_what_v2_cannot_be_made_of_is_left_out_but_never_lost(store, tmp_path, in_place):
    add_array(store / "months", chunk_grid=RECTILINEAR)
    before = contents_of(store / "months")
    new = store if in_place else tmp_path / "new"
    told = run("unshard", store, *(["--in-place"] if in_place else [new]), "--format", "v2", status=1).stdout_text
    assert f"/months: is left {'as it is' if in_place else 'out'}: its chunks are of several sizes" in told
    assert (contents_of(new / "months") == before) if in_place else not (new / "months").exists()
    assert (new / "a" / ".zarray").exists() and not (new / "a" / "zarr.json").exists()


@pytest.mark.parametrize("command", [["shard"], ["unshard"], ["unshard", "--format", "v2"]])
def test_what_is_not_understood_is_named_and_stays(store, command):
    add_array(store / "odd", codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "odd"}])
    add_array(store / "plain")
    before = contents_of(store / "odd")
    assert "/odd: is left as it is: " in run(*command, store, "--in-place", status=1).stdout_text
    assert contents_of(store / "odd") == before
    inode = os.stat(store).st_ino
    assert "/odd: is left as it is: " in run(*command, store, "--in-place", status=1).stdout_text
    assert os.stat(store).st_ino == inode  # nothing was left to do: no exchange


def test_no_group_changes_its_format_alone(tmp_path):
    store = tmp_path / "store"
    add_array(store / "odd", data_type="odd")
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    before = contents_of(store)
    assert "/odd: is left as it is: " in run("unshard", store, "--in-place", "--format", "v2", status=1).stdout_text
    assert contents_of(store) == before


def test_names_of_a_store_do_not_reach_the_terminal_raw(tmp_path):
    store, new = tmp_path / "store", tmp_path / "new"
    evil = "a\033[2J\r\n\\b"
    add_array(store / evil)
    add_array(store / f"{evil}odd", data_type="odd")
    add_array(store / f"{evil}v2")
    os.remove(store / f"{evil}v2" / "zarr.json")
    (store / f"{evil}v2" / ".zarray").write_text('{"zarr_format": 2}')
    os.truncate(store / evil / "c" / "0", 0)
    marker = tmp_path / "marked" / ".zarrfs-conversion"
    marker.parent.mkdir()
    marker.write_text('{"source": "\\u001b[2J\\u009b"}')
    for command in (["info", store], ["ls", "-l", store, evil], ["verify", store], ["verify", "--decode", store], ["diff", store, store],
                    ["locate", store, f"{evil}/1"], ["cat", store, f"{evil}/1"], ["map", store, f"{evil}odd"], ["compact", store], ["refs", store],
                    ["shard", store, new], ["shard", store, marker.parent], ["unshard", store, tmp_path / "v2", "--format", "v2"],
                    ["ls", store, f"{evil}odd"], ["info", store, f"{evil}none"], ["locate", store, f"{evil}v2/0"]):
        done = subprocess.run([ZARRFS, *map(str, command)], capture_output=True, text=True)
        assert done.returncode in (0, 1, 2, 3) and done.stdout + done.stderr, command
        told = (done.stdout + done.stderr).replace("\n", "").replace("\t", "")
        assert told.isprintable(), (command, told)
    assert json.loads(run("ls", "--json", store, evil).stdout)["shard"] == f"{evil}/c/0"


def test_zarr_vectors_reads_what_was_converted(tmp_path):
    points = os.path.join(CORPUS, "points.zarrvectors")
    need(os.path.isdir(points), "the corpus is not there")
    run("unshard", points, tmp_path / "plain")
    run("shard", tmp_path / "plain", tmp_path / "sharded", "--shard-shape", "4")
    for path in ("0/vertices", "0/vertex_fragments"):
        before, plain, after = (json.load(open(os.path.join(root, path, "zarr.json"))) for root in (points, tmp_path / "plain", tmp_path / "sharded"))
        assert before["attributes"] == plain["attributes"] == after["attributes"]
        assert after["chunk_grid"] == before["chunk_grid"] and after["codecs"] == before["codecs"]
    document = json.loads((tmp_path / "plain" / "0" / "vertices" / "zarr.json").read_text())
    chunk = document["attributes"]["nonempty_chunks"][0]
    os.remove(tmp_path / "plain" / "0" / "vertices" / "c" / chunk.replace(".", "/"))
    run("shard", tmp_path / "plain", tmp_path / "less", "--shard-shape", "4")
    less = json.loads((tmp_path / "less" / "0" / "vertices" / "zarr.json").read_text())["attributes"]["nonempty_chunks"]
    assert less == [name for name in document["attributes"]["nonempty_chunks"] if name != chunk]


def make_many(path, count=40):
    """A plain v3 store of many small chunks, written without any Zarr program."""
    path.mkdir()
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        (path / name).mkdir()
        (path / name / "zarr.json").write_text(json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": [count * 8, count * 8], "data_type": "int32", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8]}}, "attributes": {},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}))
        for y in range(count):
            folder = path / name / "c" / str(y)
            folder.mkdir(parents=True)
            for x in range(count):
                if (x + y) % 7:
                    (folder / str(x)).write_bytes(rng.integers(0, 99, 64, dtype="<i4").tobytes())


def kill_after(seconds, *arguments):
    """Runs `zarrfs ARGUMENTS`, killed once it has worked for `seconds`, by a timer of its own: however busy the machine is, it
    comes as far. Whether it had ended by itself."""
    done = subprocess.run([ZARRFS, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.setitimer(signal.ITIMER_PROF, seconds))
    assert done.returncode in (0, -signal.SIGPROF), done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("command", ["shard", "unshard"])
def test_a_killed_conversion_goes_on(tmp_path, command, in_place):
    make_many(tmp_path / "plain")
    if command == "unshard":
        run("shard", tmp_path / "plain", tmp_path / "sharded", "--shard-chunks", "3")
        os.rename(tmp_path / "plain", tmp_path / "truth")
        os.rename(tmp_path / "sharded", tmp_path / "work")
    else:
        shutil.copytree(tmp_path / "plain", tmp_path / "work")
        os.rename(tmp_path / "plain", tmp_path / "truth")
    new = tmp_path / ("work" if in_place else "new")
    arguments = [command, tmp_path / "work"] + (["--in-place"] if in_place else [new, "--check"])
    arguments += ["--shard-chunks", "5"] if command == "shard" else []
    rng = random.Random(f"{command} {in_place}")
    kills = 0
    pause = 0.02
    while not kill_after(rng.uniform(0.005, pause), *arguments):
        kills += 1
        if not in_place and new.exists() and os.listdir(new) and not (new / ".zarrfs-conversion").exists():
            break  # It was complete, and killed before it could say so.
        pause *= 1.2
        run("diff", tmp_path / "truth", tmp_path / "work")  # The original, or the complete new one.
    assert kills > 0
    run("diff", tmp_path / "truth", new)
    run("verify", new, "--decode")
    assert all(facts["sharded"] == (command == "shard") for facts in arrays_of(new).values())
    assert not [name for name in files_of(tmp_path) if "zarrfs" in name]
    assert set(os.listdir(tmp_path)) == {"truth", "work"} | ({"new"} if not in_place else set())


def stopped_by_damage(store, *arguments):
    """Starts a conversion of `store` that a damaged shard stops, and mends the shard."""
    shard = store / "a" / "c" / "1" / "0"
    whole = shard.read_bytes()
    os.truncate(shard, 30)
    run(*arguments, status=1)
    shard.unlink()  # what a conversion in place has made shares files with its source
    shard.write_bytes(whole)


@pytest.mark.parametrize("in_place", [False, True])
def test_what_a_killed_conversion_made_is_discarded(tmp_path, in_place):
    store, new = tmp_path / "store", tmp_path / ("store.zarrfs-new" if in_place else "new")
    make_many(store)
    before = contents_of(store)
    where = [store, "--in-place"] if in_place else [store, new]
    pause = 0.01
    while not (new / "a").exists():
        assert not kill_after(pause, "shard", *where, "--shard-chunks", "1")
        pause += 0.002
    process = subprocess.Popen(["flock", new / ".zarrfs-conversion", "sleep", "60"], start_new_session=True)
    while subprocess.run(["flock", "-n", new / ".zarrfs-conversion", "true"]).returncode == 0:
        time.sleep(0.01)
    assert "is being written by another process" in run("shard", *where, "--discard", status=3).stderr_text
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "which --discard removes" in run("shard", *where, "--shard-chunks", "3", status=3).stderr_text
    assert "is removed" in run("unshard", *where, "--discard").stderr_text
    assert os.listdir(tmp_path) == ["store"] and contents_of(store) == before
    assert "no unfinished conversion was left behind" in run("shard", *where, "--discard").stderr_text
    run("shard", *where, "--shard-chunks", "3")


def test_what_is_no_unfinished_conversion_of_the_source_is_not_discarded(store, tmp_path):
    shutil.copytree(store, tmp_path / "other")
    stopped_by_damage(store, "unshard", store, tmp_path / "unfinished")
    (tmp_path / "file").write_text("mine")
    before = files_of(tmp_path)
    for target in ("other", "file"):
        assert "is no unfinished conversion" in run("shard", store, tmp_path / target, "--discard", status=3).stderr_text
    assert "of another source" in run("shard", tmp_path / "other", tmp_path / "unfinished", "--discard", status=3).stderr_text
    run("shard", store, "--discard", status=2)
    run("shard", store, store / "a", "--discard", status=2)
    shutil.copytree(store, tmp_path / "store.zarrfs-new")
    assert "is no unfinished conversion" in run("shard", store, "--in-place", "--discard", status=3).stderr_text
    shutil.copy(tmp_path / "unfinished" / ".zarrfs-conversion", store)  # as between the exchange of the names and the end
    assert "is complete already" in run("shard", store, "--in-place", "--discard", status=3).stderr_text
    assert (tmp_path / "store.zarrfs-new" / "zarr.json").exists()
    os.remove(store / ".zarrfs-conversion")
    shutil.rmtree(tmp_path / "store.zarrfs-new")
    assert files_of(tmp_path) == before


def test_what_an_unfinished_conversion_made_is_no_source(store, tmp_path):
    new = tmp_path / "new"
    stopped_by_damage(store, "unshard", store, new)
    before = files_of(new)
    for command in (["shard", new, "--in-place"], ["unshard", new, "--in-place", "--format", "v2"], ["unshard", new, tmp_path / "other"]):
        assert "is itself the unfinished result of a conversion" in run(*command, status=3).stderr_text
    assert files_of(new) == before and not (tmp_path / "other").exists()
    run("unshard", store, new)
    run("shard", new, "--in-place")
    run("diff", store, new)


def test_who_reads_what_is_unfinished_is_told(store, tmp_path):
    new = tmp_path / "new"
    shutil.copytree(store, new)
    (new / ".zarrfs-conversion").write_text("{}")
    words = f"store {new} is the unfinished result of a conversion: run that again"
    done = run("verify", new, status=1)
    assert words in done.stderr_text and "the unfinished result of a conversion: not all of it is there" in done.stdout_text
    for command in (["info", new], ["diff", new, new]):
        assert words in run(*command).stderr_text
    (new / ".zarrfs-conversion").unlink()
    done = run("verify", new)
    assert "unfinished" not in done.stdout_text + done.stderr_text


@pytest.mark.parametrize("name", ["store", b"n\xff\n"])
def test_another_conversion_in_place_follows_one_whose_old_store_is_still_there(store, tmp_path, name):
    tmp_path = tmp_path / "folder"
    tmp_path.mkdir()
    store = pathlib.Path(shutil.move(store, tmp_path / os.fsdecode(name)))
    made = tmp_path / (store.name + ".zarrfs-new")
    shutil.copytree(store, tmp_path / "truth")
    stopped_by_damage(store, "unshard", store, "--in-place")
    marker = (made / ".zarrfs-conversion").read_bytes()
    run("unshard", store, "--in-place")
    made.mkdir()
    (made / "zarr.json").write_text("the old store")
    (store / ".zarrfs-conversion").write_bytes(marker)
    run("shard", store, "--in-place", "--shard-chunks", "2")
    assert sorted(os.listdir(tmp_path)) == [store.name, "truth"] and arrays_of(store)["a"]["shard_shape"] == [8, 10]
    run("diff", store, tmp_path / "truth")


def test_an_unfinished_conversion_within_a_store_is_no_part_of_it(store, tmp_path):
    before = contents_of(store)
    shutil.copytree(store / "a", store / "a.zarrfs-new")
    assert sorted(arrays_of(store)) == ["a"]
    run("shard", store, tmp_path / "new")
    assert contents_of(tmp_path / "new") == before


def test_interrupt_leaves_a_conversion_that_goes_on(tmp_path):
    make_many(tmp_path / "plain")
    for _ in range(50):  # as often as it has ended before it was interrupted
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        process = subprocess.Popen([ZARRFS, "shard", tmp_path / "plain", tmp_path / "new", "--shard-chunks", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while process.poll() is None and not (tmp_path / "new" / "a").exists():
            pass
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
        if process.returncode != 0:
            break
    assert process.returncode == 3 and b"interrupted" in told
    assert f"{tmp_path / 'new'} is unfinished: the same command goes on with it, and removes it with --discard" in told.decode()
    refused = run("shard", tmp_path / "plain", tmp_path / "new", "--shard-chunks", "2", status=3)
    assert f"another conversion, which --discard removes: zarrfs shard {tmp_path / 'plain'} --shard-chunks 1" in refused.stderr_text
    assert refused.stdout == b"", "a plan that is not going to be followed"
    run("shard", tmp_path / "plain", tmp_path / "new", "--shard-chunks", "1")
    run("diff", tmp_path / "plain", tmp_path / "new")


def test_a_target_that_is_something_else_is_left_alone(store, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    assert run("unshard", store, tmp_path / "full", status=3).stdout == b"", "a plan that is not going to be followed"
    assert "not empty" in run("unshard", store, tmp_path / "full", status=3).stderr_text
    assert "within the source" in run("unshard", store, store / "new", status=2).stderr_text
    assert files_of(tmp_path / "full") == ["file"]
    (tmp_path / "link").symlink_to(store)
    assert "within the source" in run("unshard", store, tmp_path / "link" / "new", status=2).stderr_text
    assert not (store / "new").exists()
    for command in (["shard"], ["unshard", "--begin"]):
        told = run(*command, store, tmp_path / "no" / "new", status=3).stderr_text
        assert f"{tmp_path}/no/new: there is no directory {tmp_path}/no: make it first" in told


def test_damage_stops_a_conversion(store, tmp_path):
    with open(store / "a" / "c" / "1" / "0", "r+b") as file:
        file.truncate(30)
    before = files_of(store)
    assert "a/c/1/0" in run("unshard", store, "--in-place", status=1).stderr_text
    assert files_of(store) == before


def test_what_is_converted_in_place_keeps_modes_and_owners(store):
    os.chmod(store, 0o2750)
    for folder, _, names in os.walk(store):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o640)
    run("unshard", store, "--in-place")
    assert stat.S_IMODE(os.stat(store).st_mode) == 0o2750
    modes = {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for folder, _, names in os.walk(store) for name in names}
    assert modes == {0o640}


@pytest.mark.parametrize("command", [["unshard"], ["compact"]])
def test_a_store_that_is_mounted_for_writing_is_left_alone(store, tmp_path, command):
    need(os.path.exists("/dev/fuse"), "/dev/fuse is missing: nothing can be mounted here")
    mountpoint = tmp_path / "mnt"
    mountpoint.mkdir()
    run("mount", store, mountpoint, "-o", f"rw,log={tmp_path}/log")
    try:
        for part in (store, store / "a"):  # nothing was written through the mount: the lock tells
            in_place = ["--in-place"] if command == ["unshard"] else []
            assert "is already written by" in run(*command, part, *in_place, status=3).stderr_text
    finally:
        run("umount", mountpoint)
