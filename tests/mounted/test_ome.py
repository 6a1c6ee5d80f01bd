"""OME-Zarr 0.6 read as 0.4, with images of ngff-zarr: what its readers see, what is told, and what is stored when a program writes."""
import json
import os
import subprocess

import pytest
from conftest import DAEMON, VENVS
from stores import document, shard_bytes, write_file, write_json

SYSTEMS = [{"name": name, "axes": [{"name": axis, "type": "space", "unit": unit} for axis in "yx"]}
           for name, unit in (("tilted", "meter"), ("physical", "micrometer"))]
ROTATION = {"type": "rotation", "rotation": [[0, -1], [1, 0]], "input": {"name": "physical"}, "output": {"name": "tilted"}}
WRITE = """
import sys, numpy, ngff_zarr
values = numpy.arange(4 * 64 * 96, dtype="u2").reshape(4, 64, 96)
image = ngff_zarr.to_ngff_image(values, dims=["z", "y", "x"], scale={"z": 2.0, "y": 0.5, "x": 0.25}, axes_units=dict.fromkeys("zyx", "micrometer"),
                                translation={"z": 1.0, "y": 10.0, "x": 20.0})
multiscales = ngff_zarr.to_multiscales(image, scale_factors=[2], chunks=32)
ngff_zarr.to_ngff_zarr(sys.argv[1], multiscales, version="0.6", chunks_per_shard=2)
"""
READ = """
import sys, json, ngff_zarr
for path in sys.argv[1:]:
    found = ngff_zarr.from_ngff_zarr(path).images
    print(json.dumps([[one.dims, one.scale, one.translation, one.axes_units, one.data.compute().astype("i8").sum().item()] for one in found]))
"""
READ_OME = """
import sys, json
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
(image,) = Reader(parse_url(sys.argv[1]))()
print(json.dumps([image.metadata["axes"], image.metadata["coordinateTransformations"], [int(level.sum().compute()) for level in image.data]]))
"""
ADD_A_NOTE = "import sys, zarr; group = zarr.open_group(sys.argv[1], mode='r+'); group.attrs['note'] = 1"


def python(environment, program, *paths):
    path = os.path.join(VENVS, environment, "bin", "python")
    if not os.path.exists(path):
        pytest.skip(f"{environment} is missing: run packaging/install-test-readers all")
    done = subprocess.run([path, "-W", "ignore", "-c", program, *map(str, paths)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def attributes(path):
    with open(path) as text:
        return json.load(text)


def image(path, transformation, further=()):
    """An image of one level, `transformation` of which leads to the system "physical"."""
    level = {"path": "s0", "coordinateTransformations": [{**transformation, "input": {"path": "s0"}, "output": {"name": "physical"}}]}
    multiscale = {"name": "cells", "coordinateSystems": SYSTEMS, "datasets": [level], "coordinateTransformations": list(further)}
    ome = {"ome": {"version": "0.6", "multiscales": [multiscale]}}
    write_json(f"{path}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": ome})
    write_json(f"{path}/s0/zarr.json", document([4, 4], [4, 4], [2, 4]))
    write_file(f"{path}/s0/c/0/0", shard_bytes([bytes(32), None]))
    return multiscale


def test_what_04_cannot_say_is_told_at_mount_and_kept(tmp_path, mount):
    store = tmp_path / "store"
    write_json(f"{store}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    image(store / "placed", {"type": "identity"})
    kept = image(store / "reduced", {"type": "affine", "affine": [[2, 0, 5], [0, 3, 0]]}, [ROTATION])
    image(store / "rotated", ROTATION)
    mountpoint = tmp_path / "said"
    mountpoint.mkdir()
    done = subprocess.run([DAEMON, "mount", store, mountpoint, "-o", f"ro,log={tmp_path}/said.log"], capture_output=True, text=True, timeout=600)
    subprocess.run([DAEMON, "umount", mountpoint], check=True, timeout=600)
    assert ("1 with an image that OME-Zarr 0.4 cannot place (/rotated), 1 without what OME-Zarr 0.4 cannot say (/reduced): "
            "see .zarrfs/report.json\n") in done.stderr, done.stderr

    shown = mount(store, "rw,profile=ome")
    reduced = {node["path"]: node["reason"] for node in shown.report()["nodes"] if node["shown"] == "reduced"}
    assert reduced == {"/reduced": 'OME-Zarr 0.4 cannot say all: image "cells" is shown without the rotation from "physical" to "tilted"',
                       "/rotated": 'OME-Zarr 0.4 cannot say all: image "cells" is left out: level "s0": rotation is more than a scale and a translation'}
    places = {name: [one["datasets"][0]["coordinateTransformations"] for one in attributes(shown / f"{name}/.zattrs")["multiscales"]]
              for name in ("placed", "reduced", "rotated")}
    assert places == {"placed": [[{"type": "scale", "scale": [1, 1]}]], "rotated": [],
                      "reduced": [[{"type": "scale", "scale": [2, 3]}, {"type": "translation", "translation": [5, 0]}]]}
    assert attributes(shown / "reduced/.zattrs")["multiscales"][0]["axes"] == SYSTEMS[1]["axes"]

    subprocess.run(["/usr/bin/python3", "-c", ADD_A_NOTE, shown / "reduced"], check=True, timeout=600)
    shown.unmount()
    stored = attributes(store / "reduced/zarr.json")["attributes"]
    assert stored["note"] == 1 and stored["ome"] == {"version": "0.6", "multiscales": [kept]}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    store = tmp_path_factory.mktemp("written") / "image.zarr"
    python("images", WRITE, store)
    return store


def test_an_image_of_06_is_the_same_to_readers_of_04(written, mount):
    shown = mount(written, "profile=ome")
    assert not [node for node in shown.report()["nodes"] if node["shown"] == "reduced"]
    direct, through = python("images", READ, written, shown.path)
    assert direct == through and len(direct) == 2
    axes, transformations, sums = python("ome", READ_OME, shown.path)[0]
    assert sums == [level[-1] for level in direct]
    for level, (dims, scale, translation, units, _) in zip(transformations, direct):
        assert [axis["name"] for axis in axes] == dims and [axis["unit"] for axis in axes] == [units[axis] for axis in dims]
        assert level == [{"type": "scale", "scale": [scale[axis] for axis in dims]}, {"type": "translation", "translation": [translation[axis] for axis in dims]}]


def test_a_rotation_into_another_system_hides_nothing(written, tmp_path, mount):
    store = tmp_path / "image.zarr"
    subprocess.run(["cp", "-a", written, store], check=True)
    whole = attributes(store / "zarr.json")
    multiscale = whole["attributes"]["ome"]["multiscales"][0]
    tilted = [{"name": f"t{axis}", "type": "space", "unit": "meter"} for axis in "zyx"]
    multiscale["coordinateSystems"].insert(0, {"name": "tilted", "axes": tilted})
    multiscale["coordinateTransformations"] = [{"type": "rotation", "rotation": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
                                                "input": {"name": "intrinsic"}, "output": {"name": "tilted"}}]
    write_json(f"{store}/zarr.json", whole)
    shown = mount(store, "rw,profile=ome")
    direct, through = python("images", READ, written, shown.path)
    assert direct == through
    assert 'the rotation from "intrinsic" to "tilted"' in json.dumps(shown.report()["nodes"]).replace("\\", "")
    python("zarr2", ADD_A_NOTE, shown.path)
    shown.unmount()
    stored = attributes(store / "zarr.json")["attributes"]
    assert stored.pop("note") == 1 and stored == whole["attributes"]
