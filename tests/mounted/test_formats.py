"""Volumes of other formats: through the mount they read as their own programs read them, and damage is never a value."""
import errno
import functools
import json
import os
import shutil
import struct

import numpy as np
import pytest
from conftest import GOLDEN, read_all

VOLUMES = os.path.join(GOLDEN, "volumes")
with open(os.path.join(GOLDEN, "volumes.json")) as text:
    EXPECTED = json.load(text)

read_once = functools.lru_cache(maxsize=None)(read_all)


@pytest.fixture
def volumes(tmp_path):
    """volumes(name) -> a writable copy of a golden volume."""

    def copy(name):
        shutil.copytree(os.path.join(VOLUMES, name), tmp_path / "data" / name)
        return tmp_path / "data" / name

    return copy


DOTS = "view=v2,separator=."


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.parametrize("reader, options", [
    ("zarr2", "view=v2"), ("zarr2", "view=v2,profile=ome"), ("zarr3", "view=v3"), ("tensorstore3", "view=v3"), ("gdal", "view=v2,profile=gdal")])
def test_volumes_read_as_their_programs_read_them(shared_mount, reader, options):
    found = read_once(reader, shared_mount(VOLUMES, options).path)
    expected = {name: entry for name, entry in EXPECTED.items() if reader != "tensorstore3" or "wkw/segmentation" not in name}  # it has no lz4
    wrong = {name: found.get(name, "not shown") for name, entry in expected.items() if found.get(name) != entry}
    assert not wrong, json.dumps(wrong, indent=1)[:4000]
    assert set(found) == set(EXPECTED)


def test_chunks_that_zarr_has_words_for_are_shown_in_place(shared_mount):
    mounted = shared_mount(VOLUMES, DOTS)
    with open(mounted / "sharded-gzip/fine/.zarray") as document:
        assert json.load(document)["compressor"]["id"] == "gzip"
    shards = b"".join(bytes_of(os.path.join(VOLUMES, "sharded-gzip/fine", name)) for name in os.listdir(os.path.join(VOLUMES, "sharded-gzip/fine")))
    assert bytes_of(mounted / "sharded-gzip/fine/0.0.0.0") in shards
    with open(mounted / "wkw/segmentation/1/.zarray") as document:
        assert json.load(document)["compressor"]["id"] == "lz4"
    assert bytes_of(mounted / "wkw/segmentation/1/0.0.0.0")[4:] in bytes_of(os.path.join(VOLUMES, "wkw/segmentation/1/z0/y0/x0.wkw"))
    unsharded = shared_mount(VOLUMES, "view=v3")
    assert bytes_of(unsharded / "wkw/color/1/c/0/0/0/0") in bytes_of(os.path.join(VOLUMES, "wkw/color/1/z0/y0/x0.wkw"))


def test_scales_are_an_image(shared_mount):
    with open(shared_mount(VOLUMES, "view=v2,profile=ome") / "sharded-gzip/.zattrs") as document:
        image = json.load(document)["multiscales"][0]
    assert [axis["name"] for axis in image["axes"]] == ["c", "z", "y", "x"]
    assert {axis.get("unit") for axis in image["axes"][1:]} == {"nanometer"}
    assert [dataset["path"] for dataset in image["datasets"]] == ["fine", "coarse"]
    fine, coarse = (dataset["coordinateTransformations"] for dataset in image["datasets"])
    assert fine[0]["scale"] == [1, 40, 4, 4] and coarse[0]["scale"] == [1, 80, 8, 8]
    assert fine[1]["translation"] == [0, 0, 20, -12]
    assert coarse[1]["translation"] == [0, 20, 42, -22]


def test_a_volume_is_mounted_read_only(mount, volumes):
    mounted = mount(volumes("sharded-gzip"), DOTS)
    with pytest.raises(OSError) as refused:
        open(mounted / "fine/0.0.0.0", "wb")
    assert refused.value.errno == errno.EROFS


def test_a_volume_beside_zarr_is_never_written_into(mount, volumes):
    source = volumes("files").parent
    mounted = mount(source, DOTS + ",rw")
    with pytest.raises(OSError) as refused:
        with open(mounted / "files/fine/0.0.0.0", "wb") as file:
            file.write(bytes(8 * 8 * 4 * 2))
    assert refused.value.errno == errno.EROFS
    with pytest.raises(OSError) as refused:
        os.remove(mounted / "files/fine/0.0.0.0")
        os.sync()
    assert refused.value.errno == errno.EROFS
    assert bytes_of(mounted / "files/fine/0.0.0.0") == bytes_of(os.path.join(VOLUMES, "files/fine/7-15_0-8_-2-2"))


def test_an_encoding_that_nobody_here_decodes_is_hidden_by_name(mount, volumes):
    source = volumes("files-jpeg")
    (source / "info").write_text((source / "info").read_text().replace('"jpeg"', '"compresso"', 1))
    mounted = mount(source, "view=v2")
    assert sorted(os.listdir(mounted.path)) == [".zattrs", ".zgroup", ".zmetadata", "coarse"]
    hidden = [node for node in mounted.report()["nodes"] if node["shown"] == "hidden"]
    assert "neuroglancer_precomputed.compresso" in hidden[0]["reason"]


def chunk_values(mounted, array, truth):
    """Reads each chunk as zarr-python 2 does. Returns how many were right, and the errno of each of the others."""
    with open(mounted / f"{array}/.zarray") as document:
        found = json.load(document)
    grid = [-(-size // edge) for size, edge in zip(found["shape"], found["chunks"])]
    right, errors = 0, []
    for index in np.ndindex(*grid):
        path = mounted / (array + "/" + ".".join(map(str, index)))
        try:
            found = bytes_of(path)
        except FileNotFoundError:
            found = None
        except OSError as error:
            errors.append(error.errno)
            continue
        assert found == truth.get(index), f"{path}: another value, or none"
        right += 1
    return right, errors


def all_chunks(mounted, array):
    with open(mounted / f"{array}/.zarray") as document:
        found = json.load(document)
    grid = [-(-size // edge) for size, edge in zip(found["shape"], found["chunks"])]
    found = {}
    for index in np.ndindex(*grid):
        path = mounted / (array + "/" + ".".join(map(str, index)))
        if os.path.exists(path):
            found[index] = bytes_of(path)
    return found


@pytest.mark.parametrize("volume, array, suffix", [
    ("sharded-gzip", "fine", ".shard"), ("sharded-murmur", "fine", ".shard"), ("wkw", "color/1", ".wkw"), ("wkw", "segmentation/1", ".wkw"),
    ("files", "fine", "")])
@pytest.mark.parametrize("harm", ["cut in the index", "cut in the data", "empty", "index of ones"])
def test_damage_is_an_error_and_never_a_value(shared_mount, mount, volumes, volume, array, suffix, harm):
    truth = all_chunks(shared_mount(VOLUMES, DOTS), f"{volume}/{array}")
    source = volumes(volume)
    for folder, _, names in os.walk(source / array):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(suffix) or name == "header.wkw":
                continue
            data = bytes_of(path)
            size = {"cut in the index": min(20, len(data) - 1), "cut in the data": len(data) - 1, "empty": 0, "index of ones": len(data)}[harm]
            ones = b"" if harm != "index of ones" else b"\xff" * 24 if suffix == ".shard" else data[:16] + b"\xff" * 16 if suffix == ".wkw" else b""
            if harm == "index of ones" and (not suffix or (volume, array) == ("wkw", "color/1")):
                return  # files that have no index
            with open(path, "wb") as file:
                file.write((ones + data[len(ones):])[:size])
    right, errors = chunk_values(mount(source, DOTS, damaged=True), array, truth)
    assert errors and set(errors) == {errno.EUCLEAN}, (right, errors)


def test_a_chunk_beyond_the_end_is_named_with_its_numbers(mount, volumes):
    source = volumes("sharded-murmur")
    shard = max((source / "fine").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(shard.read_bytes())
    start, end = struct.unpack_from("<QQ", data, 0)
    assert end > start
    struct.pack_into("<Q", data, 32 + start + (end - start) // 3, 1 << 40)
    shard.write_bytes(data)
    mounted = mount(source, DOTS, damaged=True)
    seen = []
    for name in sorted(os.listdir(mounted / "fine")):
        try:
            bytes_of(mounted / f"fine/{name}")
        except OSError as error:
            seen.append(error.errno)
    assert errno.EUCLEAN in seen
    assert f"shard fine/{shard.name}: chunk " in mounted.log_text() and "lies past the end" in mounted.log_text()
