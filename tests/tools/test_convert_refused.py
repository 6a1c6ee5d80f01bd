"""What conversions leave as it is, or refuse, before anything is lost."""
import json
import os
import pathlib
import re
import subprocess

import pytest
from conftest import ZARRFS, add_array, arrays_of, run
from test_convert import files_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_an_integer_that_would_be_rounded_is_not_converted(tmp_path):
    number = 123456789012345678901234567890
    group = {"zarr_format": 3, "node_type": "group", "attributes": {"big": 1e30}}
    (tmp_path / "s").mkdir()
    (tmp_path / "s/zarr.json").write_text(json.dumps(group))
    add_array(tmp_path / "s/a", attributes={"id": number, "fits": 2**63})
    add_array(tmp_path / "s/b", attributes={"fits": 2**64 - 1, "far": 1e300})
    before = (tmp_path / "s/a/zarr.json").read_bytes()
    told = run("shard", tmp_path / "s", tmp_path / "made", "--shard-chunks", "2", status=1).stdout_text
    assert "/a: is left as it is" in told and str(number) in told and "/b: is left" not in told, told
    assert (tmp_path / "made/a/zarr.json").read_bytes() == before
    assert json.loads((tmp_path / "made/b/zarr.json").read_text())["attributes"] == {"fits": 2**64 - 1, "far": 1e300}
    (tmp_path / "s/zarr.json").write_text(json.dumps({**group, "attributes": {"id": number}}))
    told = run("shard", tmp_path / "s", "--in-place", "--shard-chunks", "2", status=2).stderr_text
    assert "zarr.json" in told and str(number) in told, told


def test_names_that_zarrfs_keeps_for_itself_are_nobodys(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    for name in ("ok", ".zarrfsx"):
        add_array(tmp_path / "s" / name)
    (tmp_path / "s/.zarrfs-notes.txt").write_text("mine")
    (tmp_path / "s/.zarrfs-new-1").write_text("left by a killed process")
    told = run("shard", tmp_path / "s", tmp_path / "made", "--shard-chunks", "2", status=1).stdout_text
    assert told.count("is left out: zarrfs keeps names that begin with .zarrfs for itself") == 2, told
    before = files_of(tmp_path / "s")
    told = run("shard", tmp_path / "s", "--in-place", "--shard-chunks", "2", status=2).stderr_text
    assert "/.zarrfs" in told and "give it another name" in told, told
    assert files_of(tmp_path / "s") == before


def test_an_array_in_a_group_of_v2_is_refused_before_anything_is_made(tmp_path):
    (tmp_path / "g/a").mkdir(parents=True)
    (tmp_path / "g/.zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "g/a/.zarray").write_text(json.dumps({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "fill_value": 0, "order": "C", "filters": None, "compressor": None}))
    (tmp_path / "g/a/0").write_bytes(b"ab")
    before = files_of(tmp_path)
    told = run("shard", tmp_path / "g/a", "--in-place", "--shard-chunks", "2", status=2).stderr_text
    assert "convert the whole store" in told and files_of(tmp_path) == before, told


def test_tiny_chunks_get_shards_with_an_index_that_fits(tmp_path):
    add_array(tmp_path / "a", shape=[5_000_000], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1]}})
    (tmp_path / "a/c/0").write_bytes(b"\1\0")
    run("shard", tmp_path / "a", tmp_path / "made", "--check")
    assert arrays_of(tmp_path / "made")[""]["shard_shape"] == [2**18]


def test_every_name_that_zarrfs_gives_is_its_own(tmp_path):
    add_array(tmp_path / "s")
    spelled = set()
    for room in ("core", "fs", "tools"):
        for path in [*pathlib.Path(ROOT, room).rglob("*.cc"), *pathlib.Path(ROOT, room).rglob("*.h")]:
            spelled.update(re.findall(r'"[^"\n]*(\.zarrfs-[a-z]+-?)', re.sub(r"//.*", "", path.read_text())))
    assert len(spelled) > 9, spelled
    for name in spelled:
        (tmp_path / "s" / (name + "1" if name.endswith("-") else name)).write_text("")
    (tmp_path / "s/.zarrfs-conversion").unlink()  # with which it is no source
    told = run("shard", tmp_path / "s", tmp_path / "made", "--shard-chunks", "2").stdout_text
    assert "is left out" not in told, told


@pytest.mark.parametrize("name", ["key", "a/c/1", "folder", "b"])
def test_links_out_of_the_store_are_followed_only_if_asked_for(tmp_path, name):
    store, outside = tmp_path / "s", tmp_path / "outside"
    add_array(outside / "array")
    secret = bytes(range(6))
    (outside / "file").write_bytes(secret)
    add_array(store / "a")
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (store / "inside").symlink_to("a/c/0")
    (store / name).symlink_to({"key": outside / "file", "a/c/1": outside / "file", "folder": outside, "b": outside / "array"}[name])
    done = subprocess.run([ZARRFS, "shard", store, tmp_path / "made", "--shard-chunks", "2"], capture_output=True, text=True)
    assert done.returncode in (1, 2, 3) and "leaves the store" in done.stderr + done.stdout and name in done.stderr + done.stdout, done
    assert not any(secret in path.read_bytes() for path in (tmp_path / "made").rglob("*") if path.is_file())
    run("shard", store, tmp_path / "followed", "--shard-chunks", "2", "--symlinks", "follow")
    assert (tmp_path / "followed" / {"a/c/1": "a/c/0", "b": "b/c/0", "folder": "folder/file"}.get(name, name)).exists()
    assert (tmp_path / "followed/inside").read_bytes() == (store / "a/c/0").read_bytes()


def test_names_of_dimensions_that_v2_does_not_get_are_told(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    for name, shape, names in (("a", 7, ["x"]), ("b", 9, ["x"]), ("c", 5, ["y"]), ("d", 5, None)):
        add_array(tmp_path / "s" / name, shape=[shape], **({"dimension_names": names} if names else {}))
    told = run("unshard", tmp_path / "s", tmp_path / "v2", "--format", "v2").stdout_text
    assert sorted(line[:2] for line in told.splitlines() if "lose their names" in line) == ["/a", "/b"], told
    told = run("unshard", tmp_path / "s", tmp_path / "xarray", "--format", "v2", "--profile", "xarray").stdout_text
    assert "lose their names" not in told, told
