"""Commands on volumes of other formats, which they take for arrays of Zarr."""
import json
import os
import shutil
import subprocess

import pytest
from conftest import GOLDEN, ROOT, need, python_of, read_all, run, run_json

VOLUMES = os.path.join(os.path.dirname(GOLDEN), "volumes")
with open(os.path.join(os.path.dirname(GOLDEN), "volumes.json")) as text:
    EXPECTED = json.load(text)


def expected_of(volume):
    return {name[len(volume) + 1:]: entry for name, entry in EXPECTED.items() if name.startswith(volume + "/")}


@pytest.mark.parametrize("volume", sorted(os.listdir(VOLUMES)))
def test_a_volume_becomes_sharded_zarr(tmp_path, volume):
    source = os.path.join(VOLUMES, volume)
    run("shard", source, tmp_path / "store", "--shard-chunks", "2")
    assert read_all(python_of("zarr3"), "zarr3", tmp_path / "store") == expected_of(volume)
    assert "equal" in run("diff", source, tmp_path / "store").stdout_text
    run("verify", "--decode", tmp_path / "store")
    left = [name for _, _, names in os.walk(tmp_path / "store") for name in names if name in ("info", "header.wkw", "datasource-properties.json")]
    assert not left


def test_compressed_chunks_become_zarr_without_decoding(tmp_path):
    source = os.path.join(VOLUMES, "sharded-gzip")
    run("shard", source, tmp_path / "store")
    for chunk in ("fine/0.0.0.0", "fine/0.0.0.1"):
        place = run_json("locate", source, chunk)
        assert place["shard"].startswith("fine/") and place["shard"].endswith(".shard") and place["present"]
        with open(os.path.join(source, place["shard"]), "rb") as shard:
            shard.seek(place["offset"])
            stored = shard.read(place["length"])
        assert stored[:2] == b"\x1f\x8b"
        made = run_json("locate", tmp_path / "store", chunk)
        with open(tmp_path / "store" / made["shard"], "rb") as shard:
            shard.seek(made["offset"])
            assert shard.read(made["length"]) == stored


def test_what_is_in_a_volume():
    source = os.path.join(VOLUMES, "sharded-gzip")
    assert "uint32 1x9x12x19" in run("info", source).stdout_text
    assert "no damage" in run("verify", "--decode", source).stdout_text
    listed = [json.loads(line) for line in run("ls", source, "fine", "--json").stdout_text.splitlines()]
    assert all(line["shard"].endswith(".shard") for line in listed if line["offset"])
    assert run("cat", source, "fine/0.0.0.0").stdout
    run("map", source, "fine")
    assert "missing" in run("locate", source, "fine/0.0.1.1").stdout_text


@pytest.mark.parametrize("volume", sorted(os.listdir(VOLUMES)))
def test_what_is_stored_of_a_volume(volume):
    """Not what is made of it: info counts the bytes of chunks as they lie in the files that locate names."""
    source = os.path.join(VOLUMES, volume)
    arrays = [node for node in run_json("info", source)["nodes"] if node["kind"] == "array"]
    assert arrays and all(node["format"] for node in arrays)
    for node in arrays:
        assert f"volume   {node['format']}" in run("info", source, node["path"]).stdout_text
        stored = 0
        for line in run("ls", source, node["path"], "--json").stdout_text.splitlines():
            place = json.loads(line)
            found = run_json("locate", source, f"{node['path']}/{place['chunk']}")
            assert [found[name] for name in ("shard", "offset", "length")] == [place[name] for name in ("shard", "offset", "length")]
            assert found["offset"] + found["length"] <= os.path.getsize(os.path.join(source, found["shard"])) or found["length"] == 0
            stored += found["length"]
        assert node["stored_bytes"] == stored


def test_what_cannot_be_read_of_a_volume_is_named(tmp_path):
    shutil.copytree(os.path.join(VOLUMES, "files"), tmp_path / "volume")
    [array] = [node for node in run_json("info", tmp_path / "volume")["nodes"] if node["kind"] == "array"][:1]
    place = json.loads(run("ls", tmp_path / "volume", array["path"], "--json").stdout_text.splitlines()[0])
    os.truncate(tmp_path / "volume" / place["shard"], 0)
    told = run("info", tmp_path / "volume", array["path"], status=1).stdout_text
    assert "damage   1 found, such as " in told and array["path"] in told, told


def test_a_volume_is_never_converted_in_place(tmp_path):
    shutil.copytree(os.path.join(VOLUMES, "files"), tmp_path / "volume")
    before = sorted(str(path) for path in (tmp_path / "volume").rglob("*"))
    assert "shown read-only" in run("shard", tmp_path / "volume", "--in-place", status=3).stderr_text
    assert sorted(str(path) for path in (tmp_path / "volume").rglob("*")) == before


@pytest.mark.parametrize("volume", ["sharded-gzip", "sharded-murmur", "files"])
def test_references_point_into_the_volume(tmp_path, volume):
    python = python_of("zarr2")
    need(subprocess.run([python, "-c", "import fsspec"], capture_output=True).returncode == 0, "zarr2 lacks fsspec")
    references = tmp_path / "refs.json"
    run("refs", os.path.join(VOLUMES, volume), "-o", references)
    found = json.loads(references.read_text())["refs"]
    ranges = [value for key, value in found.items() if isinstance(value, list)]
    assert ranges and all(os.path.isfile(url) for url, _, _ in ranges)
    program = f"""
import fsspec, json, sys, zarr
sys.path.insert(0, {os.path.join(ROOT, "tests", "readers")!r})
from read_store import describe
group = zarr.open_group(fsspec.get_mapper("reference://", fo={str(references)!r}, remote_protocol="file"), mode="r")
print(json.dumps({{name: describe(group[name][...]) for name in {sorted(expected_of(volume))!r}}}))
"""
    done = subprocess.run([python, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == expected_of(volume)


def test_a_damaged_volume_is_found(tmp_path):
    shutil.copytree(os.path.join(VOLUMES, "sharded-murmur"), tmp_path / "volume")
    shard = next((tmp_path / "volume" / "fine").iterdir())
    shard.write_bytes(shard.read_bytes()[:-1])
    found = run("verify", tmp_path / "volume", status=1)
    assert f"fine/{shard.name}" in found.stdout_text + found.stderr_text
    assert any(word in found.stdout_text + found.stderr_text for word in ("lies past the end", "the shard has"))
