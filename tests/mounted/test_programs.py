"""Programs that read, list and copy a view, and grids of several edges, which zarr-python 3.4 and zarr_vectors read through it."""
import http.server
import json
import os
import shutil
import subprocess
import threading

import numpy as np
import pytest
from conftest import CORPUS, ROOT, VENVS, need, read_all
from stores import write_file, write_json

BRAIN = os.path.join(ROOT, "examples", "brain.ome.zarr")
ZARR34 = os.path.join(VENVS, "zarr34", "bin", "python")  # needs a Python newer than Debian 12's: not in CI


def run(*command):
    need(shutil.which(command[0]), f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


def zarr34():
    if not os.path.exists(ZARR34):
        pytest.skip("zarr34 is missing: run packaging/install-test-readers all")
    return ZARR34


def corpus_store(name):
    if not os.path.exists(os.path.join(CORPUS, name)):
        pytest.skip("the corpus is missing: set ZARRFS_CORPUS")
    return os.path.join(CORPUS, name)


@pytest.mark.parametrize("command", [
    ["cp", "-a", "VIEW/.", "COPY"], ["rsync", "-a", "VIEW/", "COPY"], ["sh", "-c", "tar -C VIEW -c . | tar -C COPY -x"]],
    ids=["cp", "rsync", "tar"])
@pytest.mark.parametrize("view,reader", [("v2", "zarr2"), ("v3", "zarr3")])
def test_a_copy_is_what_was_shown(shared_mount, tmp_path, command, view, reader):
    shown = shared_mount(BRAIN, f"view={view}").path
    run(*[part.replace("VIEW", shown).replace("COPY", str(tmp_path)) for part in command])
    run("diff", "-r", "--exclude=.zarrfs", shown, str(tmp_path))
    shutil.rmtree(tmp_path / ".zarrfs", ignore_errors=True)
    found = read_all(reader, tmp_path)
    assert found == read_all(reader, shown)
    assert len(found) == 2 and not [entry for entry in found.values() if "error" in entry]
    if shutil.which("rsync"):
        assert run("rsync", "-an", "--itemize-changes", "--exclude=.zarrfs", shown + "/", str(tmp_path)) == ""


def test_ncdump_opens_an_image(shared_mount):
    shown = shared_mount(BRAIN, "profile=netcdf")
    text = run("ncdump", "-h", f"file://{shown.path}#mode=zarr,file")
    with open(shown / ".zattrs") as attributes:
        multiscales = json.load(attributes)["multiscales"]
    assert json.loads(multiscales)[0]["version"] == "0.4"  # as text: netCDF-C opens nothing with a nested list
    assert "group: 0" in text or "short \\0(" in text, text


def test_gdal_shows_and_translates_a_slice(shared_mount, tmp_path):
    shown = shared_mount(BRAIN, "profile=gdal")
    name = f'ZARR:"{shown / "1"}":/1:0:3'
    assert json.loads(run("gdalinfo", "-json", name))["size"] == [64, 48]
    run("gdal_translate", "-q", "-of", "ENVI", name, str(tmp_path / "slice.img"))
    wanted = run("/usr/bin/python3", "-c", f"import zarr, sys; sys.stdout.write(zarr.open({shown.path!r}, 'r')['1'][0, 3].tobytes().hex())")
    assert (tmp_path / "slice.img").read_bytes().hex() == wanted


RECTILINEAR = {"zarr_format": 3, "node_type": "array", "shape": [7], "data_type": "int16", "fill_value": -5, "attributes": {},
               "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
               "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
# Chunks of 3, 1, 1 and then as many as the second member says, of an array of 7.
SPELLINGS = {"list": ([[3, 1, 1, 2]], 2), "runs": ([[3, [1, 2], [2, 1]]], 2), "past the extent": ([[3, [1, 2], 5, 4]], 5),
             "a very long run": ([[3, [1, 2], 2, [1, 10**15]]], 2)}
VIEWS = {"view=v2": "zarr2", "view=v2,rechunk=2": "zarr2", "view=v3": "zarr3.4", "view=v3,rechunk=2": "zarr3"}


@pytest.mark.parametrize("spelled", sorted(SPELLINGS))
@pytest.mark.parametrize("options", sorted(VIEWS))
def test_edges_of_several_lengths(mount, tmp_path, spelled, options):
    edges, last = SPELLINGS[spelled]
    reader = VIEWS[options]
    if reader == "zarr3.4":
        zarr34()
    store = str(tmp_path / "store")
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": edges}}
    write_json(os.path.join(store, "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(os.path.join(store, "a", "zarr.json"), {**RECTILINEAR, "chunk_grid": grid})
    for key, values in ((0, [0, 1, 2]), (2, [4]), (3, ([5, 6] + [99] * 3)[:last])):
        write_file(os.path.join(store, "a", "c", str(key)), np.array(values, "<i2").tobytes())
    shown = mount(store, options)
    os.makedirs(tmp_path / "truth")
    np.save(tmp_path / "truth" / "a.npy", np.array([0, 1, 2, -5, 4, 5, 6], "<i2"))
    verdict = read_all(reader, shown.path, tmp_path / "truth")["a"]
    if reader == "zarr3.4" and spelled == "a very long run":  # which zarr-python expands, of the store too
        assert "MemoryError" in verdict and sorted(os.listdir(shown / "a/c")) == ["0", "2", "3"]
    else:
        assert verdict == "equal"


@pytest.mark.parametrize("options", ["view=v2", "view=v3", "view=v2,rechunk=50", "view=v3,rechunk=50"])
def test_the_grids_of_the_corpus(shared_mount, options):
    store = corpus_store("rectilinear.zarr")
    with open(os.path.join(CORPUS, "expected.json")) as text:
        expected = {name.split("/")[1]: entry["sha256"] for name, entry in json.load(text).items() if name.startswith("rectilinear")}
    if options == "view=v3":
        zarr34()
    reader = "zarr2" if "v2" in options else "zarr3" if "rechunk" in options else "zarr3.4"
    found = read_all(reader, shared_mount(store, options).path)
    assert {name: entry.get("sha256") for name, entry in found.items()} == expected


READ_POINTS = """
import sys, warnings
import numpy as np
from zarr_vectors.types.points import read_points
warnings.simplefilter("ignore")
def sorted_points(path, **where):
    points = np.asarray(read_points(path, **where)["positions"])
    return points[np.lexsort(points.T)]
box = (np.array([150.0, 90.0, 0.0]), np.array([420.0, 380.0, 200.0]))
for where in ({}, {"bbox": box}, {"chunks": [(2, 3, 1)]}):
    ours, theirs = sorted_points(sys.argv[1], **where), sorted_points(sys.argv[2], **where)
    assert len(theirs) > 0 and ours.tobytes() == theirs.tobytes(), (where.keys(), ours.shape, theirs.shape)
    print(len(ours))
"""


def test_zarr_vectors_reads_its_points(shared_mount):
    store = corpus_store("points.zarrvectors")
    shown = shared_mount(store, "view=v3")
    counts = run(zarr34(), "-c", READ_POINTS, shown.path, store).split()
    assert counts[0] == "6000" and 0 < int(counts[1]) < 6000


class Served(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def test_vivs_loader_reads_every_plane(shared_mount):
    loader = os.path.join(VENVS, "viv")
    if not os.path.isdir(loader) or shutil.which("node") is None:
        pytest.skip("viv is missing: run packaging/install-test-readers all")
    shutil.copy(os.path.join(ROOT, "tests/readers/read_viv.mjs"), loader)  # node looks for packages beside the script
    shown = shared_mount(BRAIN, "profile=ome")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *more: Served(*more, directory=shown.path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        levels = json.loads(run("node", os.path.join(loader, "read_viv.mjs"), f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()
    assert [level["shape"] for level in levels] == [[2, 24, 96, 128], [2, 24, 48, 64]]
    assert [level["sum"] for level in levels] == [101985356, 25507445]  # what zarr-python 3 reads from the shards
